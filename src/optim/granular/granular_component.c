/* Implementation: rows and couplings of one stress component, then the solvers `pyramid` and `sp`. */
#include "optim/granular/granular_component.h"

/* Copy the rows of D that belong to the samples of k. */
static PetscErrorCode extract_rows(granular_component *k)
{
  const sparse_rows *D         = k->S->f->D;
  int64_t            n_entries = 0, slot = 0, *start = NULL;
  int32_t           *col   = NULL;
  double            *value = NULL;
  PetscFunctionBegin;
  for (int64_t i = 0; i < k->n; ++i) n_entries += D->start[k->sample[i] + 1] - D->start[k->sample[i]];
  PetscCall(ARENA_ALLOC(k->S->memory, "granular component", ARRAY(start, k->n + 1), ARRAY(col, n_entries), ARRAY(value, n_entries)));
  for (int64_t i = 0; i < k->n; ++i) {
    for (int64_t l = D->start[k->sample[i]]; l < D->start[k->sample[i] + 1]; ++l) col[slot] = D->col[l], value[slot++] = D->value[l];
    start[i + 1] = slot;
  }
  k->D = (sparse_rows){k->n, D->n_cols, start, col, value}; /* in the arena, not to be destroyed */
  PetscCall(sparse_rows_transposed(&k->D, &k->DT));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode extract_coupling(granular_component *k, const int32_t *number)
{
  const granular_coupling *F      = &k->S->f->F_s;
  int32_t                 *sample = NULL, *body = NULL;
  double(*wrench)[GRANULAR_BODY] = NULL;
  int64_t n                      = 0;
  PetscFunctionBegin;
  for (int64_t i = 0; i < F->n; ++i) n += number[F->sample[i]] >= 0;
  PetscCall(ARENA_ALLOC(k->S->memory, "component coupling", ARRAY(sample, n), ARRAY(body, n), ARRAY(wrench, n)));
  n = 0;
  for (int64_t i = 0; i < F->n; ++i)
    if (number[F->sample[i]] >= 0) {
      sample[n] = number[F->sample[i]], body[n] = F->body[i];
      memcpy(wrench[n++], F->wrench[i], sizeof *wrench);
    }
  k->F = (granular_coupling){n, sample, body, (const double(*)[GRANULAR_BODY])wrench};
  PetscCall(granular_coupled_create(k->S, &k->F, &k->coupled));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Build T (staggered samples only): the value of a cell is the mean of the samples that list the cell. */
static PetscErrorCode create_cell_interpolation(granular_component *k)
{
  const granular_problem *f     = k->S->f;
  int32_t                *count = NULL, *row = NULL, *col = NULL;
  double                 *value = NULL;
  int64_t                 n     = 0;
  PetscFunctionBegin;
  if (!f->is_staggered) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(ARENA_ALLOC(k->S->memory, "granular component", ARRAY(count, f->n_cells), ARRAY(row, 4 * k->n), ARRAY(col, 4 * k->n),
                        ARRAY(value, 4 * k->n)));
  for (int64_t i = 0; i < k->n; ++i)
    for (int q = 0; q < 4; ++q) {
      const int32_t c = f->sample_cells[k->sample[i]][q];
      if (c >= 0) ++count[c], row[n] = c, col[n++] = (int32_t)i;
    }
  for (int64_t i = 0; i < n; ++i) value[i] = 1.0 / count[row[i]];
  PetscCall(sparse_rows_from_triplets("interpolation of stress", f->n_cells, k->n, n, row, col, value, &k->T));
  PetscCall(sparse_rows_transposed(&k->T, &k->TT));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void fill_diagonal(granular_component *k)
{
  for (int64_t i = 0; i < k->n; ++i) k->own[i] = k->S->diagonal_s[k->sample[i]] > 0.0 ? k->S->diagonal_s[k->sample[i]] : 1.0;
  granular_copy(k->diagonal, k->own, k->n);
}

static PetscErrorCode fill_component(granular_solver *S, int e, granular_component *k)
{
  const granular_problem *f      = S->f;
  int32_t                *number = NULL;
  PetscFunctionBegin;
  for (int64_t i = 0; i < f->n_stress; ++i) k->n += e < 0 || f->component[i] == e;
  PetscCall(ARENA_ALLOC(S->memory, "granular component", ARRAY(k->sample, k->n), ARRAY(number, f->n_stress)));
  for (int64_t i = 0, slot = 0; i < f->n_stress; ++i) {
    const bool is_here = e < 0 || f->component[i] == e;
    number[i]          = is_here ? (int32_t)slot : -1;
    if (is_here) k->sample[slot++] = (int32_t)i;
  }
  PetscCall(extract_rows(k));
  PetscCall(extract_coupling(k, number));
  if (e >= 0) PetscCall(create_cell_interpolation(k));
  double **const vectors[] = {&k->x, &k->b, &k->lo, &k->hi, &k->diagonal, &k->own};
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; ++i)
    PetscCall(arena_alloc(S->memory, "component vector", k->n, sizeof(double), vectors[i]));
  PetscCall(arena_alloc(S->memory, "component cells", f->n_cells, sizeof(double), &k->cells));
  fill_diagonal(k);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode granular_component_create(granular_solver *S, int e, granular_component *out)
{
  PetscFunctionBegin;
  *out                      = (granular_component){.S = S};
  const PetscErrorCode code = fill_component(S, e, out);
  if (code) granular_component_destroy(out);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void granular_component_destroy(granular_component *k)
{
  sparse_rows_destroy(&k->DT), sparse_rows_destroy(&k->T), sparse_rows_destroy(&k->TT);
  *k = (granular_component){0};
}

void granular_component_to_cells(const granular_component *k, const double *restrict x, double *restrict y)
{
  if (k->T.start) sparse_rows_apply(&k->T, x, y);
  else granular_copy(y, x, k->n);
}
void granular_component_from_cells(const granular_component *k, const double *restrict y, double *restrict x)
{
  if (!k->TT.start) {
    GRANULAR_FOR(i, k->n) x[i] += y[i];
    return;
  }
  GRANULAR_FOR(i, k->n) x[i] += granular_row(&k->TT, i, y);
}

void granular_component_apply(void *context, const double *restrict x, double *restrict y)
{
  granular_component *k                  = context;
  granular_solver    *S                  = k->S;
  double *restrict face                  = S->face;
  const double *restrict weight          = S->face_weight;
  GRANULAR_FOR(i, S->f->n_faces) face[i] = weight[i] * granular_row(&k->DT, i, x);
  GRANULAR_FOR(i, k->n) y[i]             = granular_row(&k->D, i, face);
  if (k->coupled.n_rows > 0) {
    granular_clear_bodies(S);
    granular_coupled_force(&k->coupled, x, S->wrench);
    granular_apply_wrench(S->f, 1.0, S->wrench, S->rate);
    granular_coupled_rate(&k->coupled, S->rate, y);
  }
  if (!k->hessian) return;
  granular_component_to_cells(k, x, k->cells);
  GRANULAR_FOR(c, S->f->n_cells) k->cells[c] *= k->hessian[c];
  granular_component_from_cells(k, k->cells, y);
}

PetscErrorCode granular_component_solve(granular_component *k, void (*apply)(void *context, const double *restrict x, double *restrict y))
{
  const bounds_qp q      = {.n        = k->n,
                            .apply    = apply,
                            .context  = k,
                            .diagonal = k->diagonal,
                            .b        = k->b,
                            .lo       = k->lo,
                            .hi       = k->hi,
                            .solver   = k->S->solvers.stress};
  bounds_result   result = {.alpha_bar = k->alpha_bar};
  PetscFunctionBegin;
  if (k->n == 0) PetscFunctionReturn(PETSC_SUCCESS); /* possible for staggered samples: a shaft has no edges along its axis */
  memset(k->x, 0, (size_t)k->n * sizeof *k->x);
  PetscCall(bounds_solve(&q, k->S->o->boxes, k->x, &result));
  k->alpha_bar = result.alpha_bar;
  k->S->r->s_iterations += result.iterations;
  k->S->r->products += result.products;
  if (result.status == BOUNDS_NOT_FINITE) k->S->r->is_finite = false;
  PetscFunctionReturn(PETSC_SUCCESS);
}

void granular_component_bounds(granular_component *k, double width)
{
  const granular_problem *f = k->S->f;
  GRANULAR_FOR(i, k->n)
  {
    const int64_t sample = k->sample[i];
    double        radius = 0.0;
    int           n      = 0;
    if (!f->is_staggered) radius = k->S->radius[sample / GRANULAR_COMPONENTS], n = 1;
    else
      for (int q = 0; q < 4; ++q)
        if (f->sample_cells[sample][q] >= 0) radius += k->S->radius[f->sample_cells[sample][q]], ++n;
    const double bound = radius > 0.0 ? width * radius / n * (f->is_orthonormal ? 1.0 : sqrt(0.5)) : 0.0;
    k->lo[i] = -bound - k->S->x->s[sample], k->hi[i] = bound - k->S->x->s[sample];
  }
}

/* Stress bounded by a pyramid: each component is within +-width alpha p/sqrt(2), with the p of its cell or the mean p around its edge. `pyramid`
 * (JCSP): one solve per component, all from the same stress, without multipliers. `sp` (SP): one solve for all components with an enlarged
 * diagonal. That term regularises the stress itself; the published comparison shows that heaps then melt [TakahashiBatty2021]. */
#define PYRAMID_DAMPING 0.5 /* step length of JCSP, as published */
typedef struct {
  int                n;
  granular_component part[GRANULAR_COMPONENTS];
  double            *step; /* [n_stress] */
  double             damping;
} boxes;

static PetscErrorCode create_boxes(granular_solver *S, bool is_together)
{
  boxes *w;
  PetscFunctionBegin;
  PetscCall(arena_alloc(S->memory, "granular component solver", 1, sizeof *w, &w));
  S->stress  = w;
  w->damping = is_together ? 1.0 : PYRAMID_DAMPING;
  PetscCall(arena_alloc(S->memory, "flow stress step", S->f->n_stress, sizeof(double), &w->step));
  for (int e = 0; e < (is_together ? 1 : GRANULAR_COMPONENTS); ++e, ++w->n) {
    granular_component *k = &w->part[e];
    PetscCall(granular_component_create(S, is_together ? -1 : e, k));
    for (int64_t i = 0; i < k->n; ++i) k->diagonal[i] = (1.0 + (is_together ? GRANULAR_SP_SHIFT : 0.0)) * k->own[i];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
static PetscErrorCode create_pyramid(granular_solver *S) { return create_boxes(S, false); }
static PetscErrorCode create_sp(granular_solver *S) { return create_boxes(S, true); }

static void destroy_boxes(granular_solver *S)
{
  boxes *w = S->stress;
  if (w)
    for (int e = 0; e < GRANULAR_COMPONENTS; ++e) granular_component_destroy(&w->part[e]);
}

/* y = (A + shift) x: the enlarged diagonal is part of the operator. The shift is 0 except for `sp`. */
static void apply_shifted(void *context, const double *restrict x, double *restrict y)
{
  const granular_component *k = context;
  granular_component_apply(context, x, y);
  GRANULAR_FOR(i, k->n) y[i] += (k->diagonal[i] - k->own[i]) * x[i];
}

static PetscErrorCode solve_component_step(granular_solver *S, boxes *w, granular_component *k)
{
  PetscFunctionBegin;
  granular_component_bounds(k, S->o->pyramid_width);
  for (int64_t i = 0; i < k->n; ++i) k->b[i] = -S->g_s[k->sample[i]] - (k->diagonal[i] - k->own[i]) * S->x->s[k->sample[i]];
  PetscCall(granular_component_solve(k, apply_shifted));
  for (int64_t i = 0; i < k->n; ++i) w->step[k->sample[i]] = k->x[i];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode solve_stress_in_boxes(granular_solver *S, double *undamped)
{
  boxes *w = S->stress;
  PetscFunctionBegin;
  granular_gradient_s(S, S->g_s);
  for (int e = 0; e < w->n; ++e) PetscCall(solve_component_step(S, w, &w->part[e]));
  *undamped = team_max_abs(S->f->n_stress, w->step);
  for (int64_t i = 0; i < S->f->n_stress; ++i) S->x->s[i] += w->damping * w->step[i];
  granular_change_s(S, w->damping, w->step);
  PetscFunctionReturn(PETSC_SUCCESS);
}

const granular_stress_solver granular_stress_pyramid = {create_pyramid, solve_stress_in_boxes, destroy_boxes, false},
                             granular_stress_sp      = {create_sp, solve_stress_in_boxes, destroy_boxes, false};
