/* Stress in the cone as published [TakahashiBatty2021, sec. 4.3.3-4.3.5]. For each stress component e, one damped Newton step on J + E_c
 * is computed within an auxiliary pyramid, from the same stress s. Each cell has one multiplier g and one penalty parameter mu.
 *
 *   c = 1/2 (1 - |s|^2/r^2), r = alpha (p + cohesion)     c~ = min(c - g/mu, 0)     E_c = 1/2 mu c~^2 - g^2/(2 mu)     g <- -mu c~
 *
 * With |s|^2 = s^T N s: dc = -N s/r^2, ddc = -N_ee/r^2, gradient mu c~ dc, Hessian mu (dc^2 + c~ ddc). Both terms of the Hessian are
 * >= 0; the clamp only guards against rounding. If stress is staggered, the mean of the samples around a cell is its stress.
 *
 * Difference from the paper: mu is A r^2 in each cell, where A is the mean of A_ee/N_ee, instead of one number with a unit (key mu). The
 * Hessian of the penalty on the cone then equals A_ee, the Hessian of J. With 2 A r^2 the published column collapse does not converge at
 * the published damping of 0.5. */
#include "optim/granular/granular_stress_lagrangian.h"

static PetscErrorCode create_lagrangian(granular_solver *S)
{
  const int64_t        n_cells = S->f->n_cells;
  granular_lagrangian *w;
  PetscFunctionBegin;
  PetscCall(arena_alloc(S->memory, "granular lagrangian", 1, sizeof *w, &w));
  S->stress = w;
  PetscCall(ARENA_ALLOC(S->memory, "granular stress lagrangian", ARRAY(w->step, S->f->n_stress),
                        ARRAY(w->at_cells, GRANULAR_COMPONENTS * n_cells), ARRAY(w->multiplier, n_cells), ARRAY(w->stiffness, n_cells)));
  if (S->x->multiplier) memcpy(w->multiplier, S->x->multiplier, (size_t)n_cells * sizeof(double));
  for (int e = 0; e < GRANULAR_COMPONENTS; ++e) {
    granular_component *k = &w->part[e];
    PetscCall(granular_component_create(S, e, k));
    PetscCall(ARENA_ALLOC(S->memory, "granular stress lagrangian", ARRAY(w->gradient[e], n_cells), ARRAY(k->hessian, n_cells)));
    granular_component_to_cells(k, k->own, k->cells);
    for (int64_t c = 0; c < n_cells; ++c)
      w->stiffness[c] += k->cells[c] / (GRANULAR_COMPONENTS * (S->f->is_orthonormal ? 1.0 : 2.0)); /* over N_ee */
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void destroy_lagrangian(granular_solver *S)
{
  granular_lagrangian *w = S->stress;
  if (!w) return;
  if (S->x->multiplier && w->multiplier) memcpy(S->x->multiplier, w->multiplier, (size_t)S->f->n_cells * sizeof(double));
  for (int e = 0; e < GRANULAR_COMPONENTS; ++e) granular_component_destroy(&w->part[e]);
}

void granular_lagrangian_gather(granular_solver *S, const double *s)
{
  granular_lagrangian *w = S->stress;
  for (int e = 0; e < GRANULAR_COMPONENTS; ++e) {
    granular_component *k = &w->part[e];
    for (int64_t i = 0; i < k->n; ++i) k->x[i] = s[k->sample[i]];
    granular_component_to_cells(k, k->x, k->cells);
    for (int64_t c = 0; c < S->f->n_cells; ++c) w->at_cells[GRANULAR_COMPONENTS * c + e] = k->cells[c];
  }
}

static inline double penalty_weight(const granular_solver *S, const granular_lagrangian *w, int64_t c)
{
  const double published = S->o->lagrangian->mu;
  return isnan(published) ? w->stiffness[c] * S->radius[c] * S->radius[c] : published;
}
static inline double cone_constraint(const granular_solver *S, const granular_lagrangian *w, int64_t c)
{
  return 0.5 * (1.0 - granular_norm2(S->f->is_orthonormal, w->at_cells + GRANULAR_COMPONENTS * c) / (S->radius[c] * S->radius[c]));
}

void granular_lagrangian_derivatives(granular_solver *S)
{
  granular_lagrangian *w = S->stress;
  GRANULAR_FOR(c, S->f->n_cells)
  {
    const double *s = w->at_cells + GRANULAR_COMPONENTS * c, r2 = S->radius[c] * S->radius[c];
    double        lowered[GRANULAR_COMPONENTS] = {s[0], s[1], s[2], s[3], s[4]};
    if (!S->f->is_orthonormal) {
      lowered[0] = 2.0 * s[0] + s[1], lowered[1] = 2.0 * s[1] + s[0];
      for (int e = 2; e < GRANULAR_COMPONENTS; ++e) lowered[e] = 2.0 * s[e];
    }
    const double mu = r2 > 0.0 ? penalty_weight(S, w, c) : 0.0, over = r2 > 0.0 ? 1.0 / r2 : 0.0,
                 excess    = mu > 0.0 ? fmin(cone_constraint(S, w, c) - w->multiplier[c] / mu, 0.0) : 0.0,
                 curvature = -(S->f->is_orthonormal ? 1.0 : 2.0) * over;
    for (int e = 0; e < GRANULAR_COMPONENTS; ++e) {
      const double slope    = -lowered[e] * over;
      w->gradient[e][c]     = mu * excess * slope;
      w->part[e].hessian[c] = excess < 0.0 ? fmax(0.0, mu * (slope * slope + excess * curvature)) : 0.0;
    }
  }
}

double granular_lagrangian_energy(granular_solver *S)
{
  granular_lagrangian *w   = S->stress;
  double               sum = 0.0;
  for (int64_t c = 0; c < S->f->n_cells; ++c) {
    const double mu = S->radius[c] > 0.0 ? penalty_weight(S, w, c) : 0.0;
    if (!(mu > 0.0)) continue;
    const double excess = fmin(cone_constraint(S, w, c) - w->multiplier[c] / mu, 0.0);
    sum += 0.5 * (mu * excess * excess - w->multiplier[c] * w->multiplier[c] / mu);
  }
  return sum;
}

static void update_multipliers(granular_solver *S, granular_lagrangian *w)
{
  GRANULAR_FOR(c, S->f->n_cells)
  {
    const double mu  = S->radius[c] > 0.0 ? penalty_weight(S, w, c) : 0.0;
    w->multiplier[c] = mu > 0.0 ? -mu * fmin(cone_constraint(S, w, c) - w->multiplier[c] / mu, 0.0) : 0.0;
  }
}

/* diagonal of A_ee + T^T hessian T */
static void fill_diagonal(granular_component *k)
{
  if (!k->TT.start) {
    for (int64_t i = 0; i < k->n; ++i) k->diagonal[i] = k->own[i] + k->hessian[i];
    return;
  }
  for (int64_t i = 0; i < k->n; ++i) {
    double sum = k->own[i];
    for (int64_t l = k->TT.start[i]; l < k->TT.start[i + 1]; ++l) sum += k->TT.value[l] * k->TT.value[l] * k->hessian[k->TT.col[l]];
    k->diagonal[i] = sum;
  }
}

static PetscErrorCode compute_newton_direction(granular_solver *S, granular_lagrangian *w)
{
  PetscFunctionBegin;
  granular_gradient_s(S, S->g_s);
  granular_lagrangian_gather(S, S->x->s);
  granular_lagrangian_derivatives(S);
  for (int e = 0; e < GRANULAR_COMPONENTS; ++e) {
    granular_component *k = &w->part[e];
    if (k->n > 0) memset(k->b, 0, (size_t)k->n * sizeof *k->b);
    granular_component_from_cells(k, w->gradient[e], k->b);
    for (int64_t i = 0; i < k->n; ++i) k->b[i] = -k->b[i] - S->g_s[k->sample[i]];
    fill_diagonal(k);
    granular_component_bounds(k, S->o->lagrangian->has_pyramid ? S->o->lagrangian->kappa : INFINITY);
    PetscCall(granular_component_solve(k, granular_component_apply));
    for (int64_t i = 0; i < k->n; ++i) w->step[k->sample[i]] = k->x[i];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* J + E_c at s + gamma step minus its value at s. J is quadratic: `slope` is its derivative along the step, `curvature` the second
 * derivative; `before` is E_c at s. */
static double evaluate_energy_change(granular_solver *S, granular_lagrangian *w, double gamma, double slope, double curvature,
                                     double before, double *scratch)
{
  for (int64_t i = 0; i < S->f->n_stress; ++i) scratch[i] = S->x->s[i] + gamma * w->step[i];
  granular_lagrangian_gather(S, scratch);
  return gamma * slope + 0.5 * gamma * gamma * curvature + granular_lagrangian_energy(S) - before;
}

/* The published variant with line search: gamma is halved from 1 until the energy decreases; 0 if it never does. */
static PetscErrorCode search_step_length(granular_solver *S, granular_lagrangian *w, double *gamma)
{
  enum { TRIALS = 8 };
  const int64_t n = S->f->n_stress;
  PetscFunctionBegin;
  if (!w->trial) PetscCall(arena_alloc(S->memory, "granular trial stress", n, sizeof(double), &w->trial));
  const double slope = team_dot(n, S->g_s, w->step), before = (granular_lagrangian_gather(S, S->x->s), granular_lagrangian_energy(S));
  granular_change_s(S, 1.0, w->step); /* curvature of the step, from the change of the gradient along it */
  granular_gradient_s(S, S->g_s);
  granular_change_s(S, -1.0, w->step);
  const double curvature = team_dot(n, S->g_s, w->step) - slope;
  *gamma                 = 1.0;
  for (int trial = 0; trial < TRIALS; ++trial, *gamma *= 0.5)
    if (evaluate_energy_change(S, w, *gamma, slope, curvature, before, w->trial) < 0.0) PetscFunctionReturn(PETSC_SUCCESS);
  *gamma = 0.0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode solve_stress_by_lagrangian(granular_solver *S, double *undamped)
{
  granular_lagrangian *w = S->stress;
  PetscFunctionBegin;
  for (int64_t l = 0; l < S->o->lagrangian->iterations && S->r->is_finite; ++l) {
    double gamma = S->o->lagrangian->damping;
    PetscCall(compute_newton_direction(S, w));
    if (S->o->lagrangian->has_line_search) PetscCall(search_step_length(S, w, &gamma));
    for (int64_t i = 0; i < S->f->n_stress; ++i) S->x->s[i] += gamma * w->step[i];
    granular_change_s(S, gamma, w->step);
    granular_lagrangian_gather(S, S->x->s);
    update_multipliers(S, w);
  }
  *undamped = team_max_abs(S->f->n_stress, w->step);
  PetscFunctionReturn(PETSC_SUCCESS);
}

const granular_stress_solver granular_stress_lagrangian = {create_lagrangian, solve_stress_by_lagrangian, destroy_lagrangian, false};
