#include "optim/granular/granular_stress_gradient.h"

enum { ROUNDS = 3 };

PetscErrorCode flow_gradient_staggered_create(flow_solver *S, flow_gradient *w)
{
  PetscFunctionBegin;
  PetscCall(flow_array(S, "flow components", FLOW_COMPONENTS, sizeof *w->part, &w->part));
  PetscCall(flow_array(S, "flow stress at cells", FLOW_COMPONENTS * S->f->n_cells, sizeof(double), &w->at_cells));
  PetscCall(flow_array(S, "flow lengths", S->f->n_cells, sizeof(double), &w->shrink));
  for (int e = 0; e < FLOW_COMPONENTS; ++e) PetscCall(flow_component_create(S, e, &w->part[e]));
  PetscFunctionReturn(PETSC_SUCCESS);
}
void flow_gradient_staggered_destroy(flow_gradient *w)
{
  for (int e = 0; e < FLOW_COMPONENTS && w->part; ++e) flow_component_destroy(&w->part[e]);
}

/* Towards the cones of all cells by the mean of what these ask for: the smallest of them would bound an edge by the pressure of the
 * cell nearest to the surface, too little by half a cell. */
static void shorten_once(flow_solver *S, flow_gradient *w, double *s)
{
  const flow_problem *f = S->f;
  for (int e = 0; e < FLOW_COMPONENTS; ++e) {
    flow_component *k = &w->part[e];
    FLOW_FOR(i, k->n) k->x[i] = s[k->sample[i]];
    flow_component_to_cells(k, k->x, k->cells);
    FLOW_FOR(c, f->n_cells) w->at_cells[FLOW_COMPONENTS * c + e] = k->cells[c];
  }
  FLOW_FOR(c, f->n_cells) {
    const double size = sqrt(flow_norm2(f->is_orthonormal, w->at_cells + FLOW_COMPONENTS * c));
    w->shrink[c]      = size > S->radius[c] ? S->radius[c] / size : 1.0;
  }
  FLOW_FOR(i, f->n_stress) {
    double sum = 0.0;
    int    n   = 0;
    for (int q = 0; q < 4; ++q)
      if (f->sample_cells[i][q] >= 0) sum += w->shrink[f->sample_cells[i][q]], ++n;
    if (n > 0) s[i] *= sum / n;
  }
}

void flow_gradient_staggered_shorten(flow_solver *S, flow_gradient *w, double *s)
{
  for (int round = 0; round < ROUNDS; ++round) shorten_once(S, w, s);
}

flow_step_sums flow_gradient_staggered_step(flow_solver *S, flow_gradient *w, bool is_again)
{
  const flow_problem *f    = S->f;
  flow_step_sums      sums = {0};
  FLOW_FOR(i, f->n_stress) {
    if (!is_again) S->g_s[i] = w->extra[i] - flow_row(f->D, i, w->wu);
    w->next[i] = w->s[i] + w->beta * (w->s[i] - w->old[i]) - S->g_s[i] / (w->L * w->metric[i]);
  }
  flow_gradient_staggered_shorten(S, w, w->next);
  for (int64_t i = 0; i < f->n_stress; ++i) {
    const double step = w->next[i] - w->s[i] - w->beta * (w->s[i] - w->old[i]);
    sums.uphill -= w->metric[i] * step * (w->next[i] - w->s[i]);
    sums.size2 += w->metric[i] * step * step;
    sums.largest = fmax(sums.largest, fabs(step));
  }
  return sums;
}
