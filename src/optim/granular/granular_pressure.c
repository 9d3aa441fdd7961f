/* Implementation. Right-hand sides are computed from the current velocities minus the contribution of the unknowns of the program. */
#include "optim/granular/granular_pressure.h"

/* y = A_pp x: the seven-point matrix of the continuum, plus the bodies as F (inverse_mass (F^T x)), whose matrix is never formed. */
static void apply_pressure_matrix(void *context, const double *restrict x, double *restrict y)
{
  granular_solver *S = context;
  grid_matrix_apply(&S->A_pp, x, y);
  if (S->F_p.n_rows == 0) return;
  granular_clear_bodies(S);
  granular_coupled_force(&S->F_p, x, S->wrench);
  granular_apply_wrench(S->f, 1.0, S->wrench, S->rate);
  granular_coupled_rate(&S->F_p, S->rate, y);
}

static void record_failure(granular_solver *S, const bounds_result *result)
{
  if (result->status == BOUNDS_NOT_FINITE) S->r->is_finite = false;
}

PetscErrorCode granular_solve_p(granular_solver *S)
{
  double *p = S->x->p;
  PetscFunctionBegin;
  if (S->f->n_cells == 0) PetscFunctionReturn(PETSC_SUCCESS);
  granular_change_p(S, -1.0, p); /* b = minus the gradient at p = 0 */
  granular_gradient_p(S, S->b_p);
  GRANULAR_FOR(i, S->f->n_cells) S->b_p[i] = -S->b_p[i];
  const bounds_qp q                        = {.n        = S->f->n_cells,
                                              .apply    = apply_pressure_matrix,
                                              .context  = S,
                                              .diagonal = S->diagonal_p,
                                              .b        = S->b_p,
                                              .lo       = S->lo_p,
                                              .grid     = &S->A_pp,
                                              .solver   = S->solvers.pressure};
  bounds_result   result                   = {.alpha_bar = S->alpha_bar[0]};
  PetscCall(bounds_solve(&q, S->o->pressure, p, &result));
  S->alpha_bar[0] = result.alpha_bar;
  S->r->p_iterations += result.iterations;
  record_failure(S, &result);
  granular_change_p(S, 1.0, p);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = (A_ll + proximal term) x. */
static void apply_lambda_matrix(granular_solver *S, const double *restrict x, double *restrict y)
{
  granular_clear_bodies(S);
  granular_contact_force(S->f, x, NULL, S->wrench);
  granular_apply_wrench(S->f, 1.0, S->wrench, S->rate);
  granular_gradient_contacts(S->f, S->rate, y, NULL);
  for (int64_t j = 0; j < S->f->n_contacts; ++j) y[j] += GRANULAR_REDUNDANT * S->diagonal_n[j] * x[j] - S->f->contact[j].known[0];
}
static void apply_lambda_callback(void *context, const double *restrict x, double *restrict y) { apply_lambda_matrix(context, x, y); }

/* The proximal term is centred at the current forces. It makes the problem strictly convex and does not change the fixed point. */
PetscErrorCode granular_solve_lambda(granular_solver *S)
{
  const int64_t n      = S->f->n_contacts;
  double       *lambda = S->x->lambda;
  PetscFunctionBegin;
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  granular_change_contacts(S, -1.0, lambda, NULL);
  granular_gradient_contacts(S->f, S->v, S->b_n, NULL);
  for (int64_t j = 0; j < n; ++j) S->b_n[j] = GRANULAR_REDUNDANT * S->diagonal_n[j] * lambda[j] - S->b_n[j];
  const bounds_qp q      = {.n        = n,
                            .apply    = apply_lambda_callback,
                            .context  = S,
                            .diagonal = S->shifted_n,
                            .b        = S->b_n,
                            .lo       = S->lo_n,
                            .solver   = S->solvers.contact};
  bounds_result   result = {.alpha_bar = S->alpha_bar[1]};
  PetscCall(bounds_solve(&q, S->o->pressure, lambda, &result));
  S->alpha_bar[1] = result.alpha_bar;
  S->r->n_iterations += result.iterations;
  record_failure(S, &result);
  granular_change_contacts(S, 1.0, lambda, NULL);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Data of one solve for (p, lambda). MPRGP has one step length for all unknowns, so both blocks are scaled by their diagonals. */
typedef struct granular_unified {
  granular_solver *S;
  double          *scale, *x, *b, *lo, *diagonal; /* [n_cells + n_contacts]; unknowns are x/scale */
  double          *unscaled;
} unified;

static void apply_unified_matrix(void *context, const double *restrict x, double *restrict y)
{
  unified                *w = context;
  granular_solver        *S = w->S;
  const granular_problem *f = S->f;
  const int64_t           n = f->n_cells + f->n_contacts;
  double *restrict t        = w->unscaled;
  GRANULAR_FOR(i, n) t[i]   = w->scale[i] * x[i];
  grid_matrix_apply(&S->A_pp, t, y);
  granular_clear_bodies(S);
  granular_coupled_force(&S->F_p, t, S->wrench);
  granular_contact_force(f, t + f->n_cells, NULL, S->wrench);
  granular_apply_wrench(f, 1.0, S->wrench, S->rate);
  granular_coupled_rate(&S->F_p, S->rate, y);
  granular_gradient_contacts(f, S->rate, y + f->n_cells, NULL);
  for (int64_t j = 0; j < f->n_contacts; ++j)
    y[f->n_cells + j] += GRANULAR_REDUNDANT * S->diagonal_n[j] * t[f->n_cells + j] - f->contact[j].known[0];
  GRANULAR_FOR(i, n) y[i] *= w->scale[i];
}

static PetscErrorCode create_unified(granular_solver *S)
{
  const int64_t n_p = S->f->n_cells, n = n_p + S->f->n_contacts;
  PetscFunctionBegin;
  if (S->unified) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(arena_alloc(S->memory, "granular unified", 1, sizeof *S->unified, &S->unified));
  unified       *w        = S->unified;
  double **const arrays[] = {&w->scale, &w->x, &w->b, &w->lo, &w->diagonal, &w->unscaled};
  w->S                    = S;
  for (size_t k = 0; k < sizeof arrays / sizeof *arrays; ++k)
    PetscCall(arena_alloc(S->memory, "granular unified", n, sizeof(double), arrays[k]));
  for (int64_t i = 0; i < n; ++i) {
    const double diagonal = i < n_p ? S->diagonal_p[i] : (1.0 + GRANULAR_REDUNDANT) * S->diagonal_n[i - n_p];
    w->scale[i]           = 1.0 / sqrt(diagonal);
    w->diagonal[i]        = 1.0;
    w->lo[i]              = i < n_p ? S->lo_p[i] / w->scale[i] : 0.0;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode granular_solve_unified(granular_solver *S)
{
  const int64_t n_p = S->f->n_cells, n = n_p + S->f->n_contacts;
  PetscFunctionBegin;
  PetscCall(create_unified(S));
  unified *w = S->unified;
  granular_change_p(S, -1.0, S->x->p);
  granular_change_contacts(S, -1.0, S->x->lambda, NULL);
  granular_gradient_p(S, w->b);
  granular_gradient_contacts(S->f, S->v, w->b + n_p, NULL);
  for (int64_t i = 0; i < n; ++i) {
    const double x        = i < n_p ? S->x->p[i] : S->x->lambda[i - n_p],
                 proximal = i < n_p ? 0.0 : GRANULAR_REDUNDANT * S->diagonal_n[i - n_p] * x;
    w->b[i]               = w->scale[i] * (proximal - w->b[i]);
    w->x[i]               = x / w->scale[i];
  }
  const bounds_qp q = {
      .n = n, .apply = apply_unified_matrix, .context = w, .diagonal = w->diagonal, .b = w->b, .lo = w->lo, .solver = S->solvers.pressure};
  bounds_result result = {0};
  PetscCall(bounds_solve(&q, S->o->pressure, w->x, &result));
  S->r->pn_iterations += result.iterations;
  record_failure(S, &result);
  for (int64_t i = 0; i < n; ++i) {
    if (i < n_p) S->x->p[i] = fmax(S->lo_p[i], w->scale[i] * w->x[i]);
    else S->x->lambda[i - n_p] = fmax(0.0, w->scale[i] * w->x[i]);
  }
  granular_change_p(S, 1.0, S->x->p);
  granular_change_contacts(S, 1.0, S->x->lambda, NULL);
  PetscFunctionReturn(PETSC_SUCCESS);
}
