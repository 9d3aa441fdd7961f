/* Stress in pyramids: each component between +-width alpha p/sqrt(2), with the p of its cell or the mean p around its edge.
 * Component by component, all from the same stress and without multipliers (JCSP), or all components in one solve with a larger
 * diagonal (SP), whose term regularises the stress itself: that is what the published comparison shows to melt heaps. */
#include "optim/granular/granular_component.h"

typedef struct {
  int            n;
  flow_component part[FLOW_COMPONENTS];
  double        *step; /* [n_stress] */
  double         shift, damping;
} boxes;

static PetscErrorCode create(flow_solver *S, bool is_together)
{
  boxes *w;
  PetscFunctionBegin;
  PetscCall(flow_array(S, "flow boxes", 1, sizeof *w, &w));
  S->stress  = w;
  w->damping = is_together ? 1.0 : S->o->pyramid->damping;
  w->shift   = is_together ? S->o->pyramid->shift : 0.0;
  PetscCall(flow_array(S, "flow stress step", S->f->n_stress, sizeof(double), &w->step));
  for (int e = 0; e < (is_together ? 1 : FLOW_COMPONENTS); ++e, ++w->n) {
    flow_component *k = &w->part[e];
    PetscCall(flow_component_create(S, is_together ? -1 : e, k));
    for (int64_t i = 0; i < k->n; ++i) k->diagonal[i] = (1.0 + w->shift) * k->own[i];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
static PetscErrorCode create_apart(flow_solver *S) { return create(S, false); }
static PetscErrorCode create_together(flow_solver *S) { return create(S, true); }

static void destroy(flow_solver *S)
{
  boxes *w = S->stress;
  if (w)
    for (int e = 0; e < FLOW_COMPONENTS; ++e) flow_component_destroy(&w->part[e]);
}

/* The shift acts through the operator too: SP alone. */
static void apply_shifted(void *context, const double *restrict x, double *restrict y)
{
  const flow_component *k = context;
  flow_component_apply(context, x, y);
  FLOW_FOR(i, k->n) y[i] += (k->diagonal[i] - k->own[i]) * x[i];
}

static PetscErrorCode solve_part(flow_solver *S, boxes *w, flow_component *k)
{
  PetscFunctionBegin;
  flow_component_bounds(k, S->o->pyramid->width);
  for (int64_t i = 0; i < k->n; ++i) k->b[i] = -S->g_s[k->sample[i]] - (k->diagonal[i] - k->own[i]) * S->x->s[k->sample[i]];
  PetscCall(flow_component_solve(k, apply_shifted));
  for (int64_t i = 0; i < k->n; ++i) w->step[k->sample[i]] = k->x[i];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode solve(flow_solver *S, double *undamped)
{
  boxes *w = S->stress;
  PetscFunctionBegin;
  flow_gradient_s(S, S->g_s);
  for (int e = 0; e < w->n; ++e) PetscCall(solve_part(S, w, &w->part[e]));
  *undamped = team_max_abs(S->f->n_stress, w->step);
  for (int64_t i = 0; i < S->f->n_stress; ++i) S->x->s[i] += w->damping * w->step[i];
  flow_change_s(S, w->damping, w->step);
  PetscFunctionReturn(PETSC_SUCCESS);
}

const flow_stress_solver flow_stress_pyramid = {create_apart, solve, destroy, false},
                         flow_stress_sp      = {create_together, solve, destroy, false};
