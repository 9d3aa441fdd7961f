/* Implementation: method `newton`, then `projected_gradient`. Each constraint is the disc |z_j| <= mu_j lambda_j. */
#include "optim/granular/granular_friction.h"
#include <stddef.h>

/* Tangential forces as published [TakahashiBatty2021, sec. 4.3.4-4.3.5]: an augmented Lagrangian for the discs, Newton steps in a
 * box around them, backtracking on J + E_d.
 *
 *   d = 1/2 (1 - |z|^2/r^2), r = mu lambda     d~ = min(d - h/m, 0)     E_d = 1/2 m d~^2 - h^2/(2 m)     h <- -m d~
 *
 * The gradient is -m d~ z/r^2 and the Hessian m (z z^T/r^4 - d~ I/r^2). Both terms of the Hessian are positive semidefinite, so it
 * needs no projection. m = A_jj r^2. The diagonal of A_zz is enlarged by the fraction GRANULAR_REDUNDANT because contacts may be
 * redundant. The unknown of each quadratic program is a step, so this does not change the solution. */
static inline double penalty_weight(const granular_friction *t, int64_t j) { return t->S->diagonal_t[j] * t->radius[j] * t->radius[j]; }
static inline double constraint_excess(const granular_friction *t, int64_t j, const double z[2])
{
  const double r2 = t->radius[j] * t->radius[j];
  return fmin(0.5 * (1.0 - (z[0] * z[0] + z[1] * z[1]) / r2) - t->multiplier[j] / penalty_weight(t, j), 0.0);
}

static double penalty_energy(const granular_friction *t, const double *z)
{
  double sum = 0.0;
  for (int64_t j = 0; j < t->n; ++j) {
    if (!(penalty_weight(t, j) > 0.0)) continue;
    const double d = constraint_excess(t, j, z + 2 * j);
    sum += 0.5 * (penalty_weight(t, j) * d * d - t->multiplier[j] * t->multiplier[j] / penalty_weight(t, j));
  }
  return sum;
}

/* g += gradient of E_d at t->z; sets t->hessian. */
static void add_penalty_derivatives(granular_friction *t, double *g)
{
  for (int64_t j = 0; j < t->n; ++j) {
    const double *z = t->z + 2 * j, r2 = t->radius[j] * t->radius[j], m = penalty_weight(t, j);
    double       *H = t->hessian + 3 * j;
    H[0] = H[1] = H[2] = 0.0;
    if (!(m > 0.0)) continue;
    const double d = constraint_excess(t, j, z), round = -m * d / r2, along = d < 0.0 ? m / (r2 * r2) : 0.0;
    for (int k = 0; k < 2; ++k) g[2 * j + k] += round * z[k];
    H[0] = round + along * z[0] * z[0], H[1] = along * z[0] * z[1], H[2] = round + along * z[1] * z[1];
  }
}

static void apply_penalised_hessian(void *context, const double *restrict x, double *restrict y)
{
  granular_friction *t = context;
  granular_friction_product(t, x, y);
  for (int64_t j = 0; j < t->n; ++j) {
    const double *H = t->hessian + 3 * j, shift = GRANULAR_REDUNDANT * t->S->diagonal_t[j];
    y[2 * j] += (shift + H[0]) * x[2 * j] + H[1] * x[2 * j + 1];
    y[2 * j + 1] += H[1] * x[2 * j] + (shift + H[2]) * x[2 * j + 1];
  }
}

/* Width of the bounding box of a disc over its diameter. Wider than 1: a step may leave the disc, whose penalty brings it back. */
#define DISC_BOX 3.0

/* Set t->step to the minimiser of the quadratic model in the box |z| <= DISC_BOX r. The right-hand side, bounds and diagonal use arrays
 * that only the gradient method needs otherwise. */
static PetscErrorCode compute_newton_direction(granular_friction *t)
{
  granular_solver *S = t->S;
  double          *b = t->gy, *lo = t->g_old, *hi = t->y, *diagonal = t->next;
  PetscFunctionBegin;
  granular_friction_product(t, t->z, t->g);
  for (int64_t i = 0; i < 2 * t->n; ++i) t->g[i] += t->base[i]; /* of J */
  memcpy(b, t->g, (size_t)(2 * t->n) * sizeof *b);
  add_penalty_derivatives(t, b);
  for (int64_t i = 0; i < 2 * t->n; ++i) {
    const int64_t j     = i / 2;
    const double  bound = DISC_BOX * t->radius[j];
    b[i]                = -b[i];
    lo[i] = -bound - t->z[i], hi[i] = bound - t->z[i];
    diagonal[i] = (1.0 + GRANULAR_REDUNDANT) * S->diagonal_t[j] + t->hessian[3 * j + 2 * (i % 2)];
    if (!(diagonal[i] > 0.0)) diagonal[i] = 1.0;
    t->step[i] = 0.0;
  }
  const bounds_qp q      = {.n        = 2 * t->n,
                            .apply    = apply_penalised_hessian,
                            .context  = t,
                            .diagonal = diagonal,
                            .b        = b,
                            .lo       = lo,
                            .hi       = hi,
                            .solver   = S->solvers.stress};
  bounds_result   result = {0};
  PetscCall(bounds_solve(&q, S->o->boxes, t->step, &result));
  S->r->t_iterations += result.iterations;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Backtracking line search: the largest gamma of 1, 1/2, 1/4, ... for which J + E_d at z + gamma step decreases; 0 if none does. */
static double search_step_length(granular_friction *t)
{
  enum { TRIALS = 12 };
  double       slope = 0.0, curvature = 0.0, gamma = 1.0;
  const double before = penalty_energy(t, t->z);
  granular_friction_product(t, t->step, t->y);
  for (int64_t i = 0; i < 2 * t->n; ++i) slope += t->g[i] * t->step[i], curvature += t->y[i] * t->step[i];
  for (int trial = 0; trial < TRIALS; ++trial, gamma *= 0.5) {
    for (int64_t i = 0; i < 2 * t->n; ++i) t->next[i] = t->z[i] + gamma * t->step[i];
    if (gamma * slope + 0.5 * gamma * gamma * curvature + penalty_energy(t, t->next) - before < 0.0) return gamma;
  }
  return 0.0;
}

static PetscErrorCode granular_friction_newton(granular_friction *t)
{
  PetscFunctionBegin;
  for (int64_t it = 0; it < t->S->o->friction->max_iterations; ++it) {
    PetscCall(compute_newton_direction(t));
    const double gamma = search_step_length(t);
    double       most  = 0.0;
    for (int64_t i = 0; i < 2 * t->n; ++i) {
      t->z[i] += gamma * t->step[i];
      most = fmax(most, fabs(t->step[i]));
    }
    for (int64_t j = 0; j < t->n; ++j)
      t->multiplier[j] = penalty_weight(t, j) > 0.0 ? -penalty_weight(t, j) * constraint_excess(t, j, t->z + 2 * j) : 0.0;
    if (most <= GRANULAR_INNER * t->S->o->tolerance * t->scale) break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode granular_friction_create(granular_solver *S, granular_friction *t)
{
  const int64_t  n         = S->f->n_contacts;
  double **const vectors[] = {&t->base, &t->z, &t->y, &t->next, &t->g, &t->gy, &t->g_old, &t->step};
  PetscFunctionBegin;
  *t = (granular_friction){.S = S, .n = n};
  for (size_t k = 0; k < sizeof vectors / sizeof *vectors; ++k)
    PetscCall(arena_alloc(S->memory, "granular contact friction", 2 * n, sizeof(double), vectors[k]));
  PetscCall(ARENA_ALLOC(S->memory, "granular friction", ARRAY(t->radius, n), ARRAY(t->multiplier, n), ARRAY(t->hessian, 3 * n)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void granular_friction_product(granular_friction *t, const double *restrict x, double *restrict y)
{
  granular_solver *S = t->S;
  granular_clear_bodies(S);
  granular_contact_force(S->f, NULL, x, S->wrench);
  granular_apply_wrench(S->f, 1.0, S->wrench, S->rate);
  granular_gradient_contacts(S->f, S->rate, NULL, y);
  for (int64_t j = 0; j < t->n; ++j)
    for (int k = 0; k < 2; ++k) y[2 * j + k] -= S->f->contact[j].known[1 + k];
}

static inline void disc_project(double radius, double z[2])
{
  const double size = hypot(z[0], z[1]);
  if (size > radius) z[0] *= radius / size, z[1] *= radius / size;
}

/* Set next = P(y - g(y)/(L d)), step = next - y, and g at next. L is increased until it bounds the curvature along the step. */
static void take_projected_gradient_step(granular_friction *t, double *L)
{
  enum { BACKTRACKS = 60 };
  const double *d = t->S->diagonal_t;
  for (int back = 0; back < BACKTRACKS; ++back) {
    double size = 0.0, curvature = 0.0;
    for (int64_t j = 0; j < t->n; ++j) {
      const double scale = d[j] > 0.0 ? 1.0 / (*L * d[j]) : 0.0;
      double       z[2]  = {t->y[2 * j] - scale * t->gy[2 * j], t->y[2 * j + 1] - scale * t->gy[2 * j + 1]};
      disc_project(t->radius[j], z);
      for (int k = 0; k < 2; ++k) {
        t->next[2 * j + k] = z[k];
        t->step[2 * j + k] = z[k] - t->y[2 * j + k];
        size += d[j] * t->step[2 * j + k] * t->step[2 * j + k];
      }
    }
    granular_friction_product(t, t->step, t->g); /* change of the gradient, exactly */
    for (int64_t i = 0; i < 2 * t->n; ++i) curvature += t->step[i] * t->g[i];
    if (!(curvature > *L * size * (1.0 + 1e-12))) break;
    *L = fmax(1.5 * *L, 1.01 * curvature / size);
  }
  for (int64_t i = 0; i < 2 * t->n; ++i) t->g[i] += t->gy[i];
}

/* Accelerated projected gradient; the momentum is reset when it points uphill [ODonoghueCandes2015]. */
static void minimise_by_projected_gradient(granular_friction *t)
{
  granular_solver *S = t->S;
  const int64_t    n = t->n;
  double           L = 1.0, momentum = 1.0;
  for (int64_t j = 0; j < n; ++j) disc_project(t->radius[j], t->z + 2 * j);
  granular_friction_product(t, t->z, t->gy);
  for (int64_t i = 0; i < 2 * n; ++i) t->gy[i] += t->base[i];
  memcpy(t->g_old, t->gy, (size_t)(2 * n) * sizeof *t->gy);
  memcpy(t->y, t->z, (size_t)(2 * n) * sizeof *t->y);
  for (int64_t it = 0; it < S->o->friction->max_iterations; ++it) {
    double along = 0.0, largest = 0.0;
    take_projected_gradient_step(t, &L);
    ++S->r->t_iterations;
    for (int64_t j = 0; j < n; ++j)
      for (int k = 0; k < 2; ++k) {
        along -= S->diagonal_t[j] * t->step[2 * j + k] * (t->next[2 * j + k] - t->z[2 * j + k]);
        largest = fmax(largest, fabs(t->step[2 * j + k]));
      }
    const double next_momentum = 0.5 * (1.0 + sqrt(1.0 + 4.0 * momentum * momentum));
    double       beta          = (momentum - 1.0) / next_momentum;
    momentum                   = next_momentum;
    if (along > 0.0) beta = 0.0, momentum = 1.0;
    for (int64_t i = 0; i < 2 * n; ++i) {
      t->y[i]  = t->next[i] + beta * (t->next[i] - t->z[i]);
      t->gy[i] = t->g[i] + beta * (t->g[i] - t->g_old[i]);
      t->z[i] = t->next[i], t->g_old[i] = t->g[i];
    }
    if (largest <= GRANULAR_INNER * S->o->tolerance * t->scale) break;
    L *= 0.97;
  }
}

PetscErrorCode granular_solve_z(granular_solver *S)
{
  granular_friction *t      = S->friction;
  double             mu_max = 0.0;
  PetscFunctionBegin;
  if (!t) PetscFunctionReturn(PETSC_SUCCESS);
  for (int64_t j = 0; j < t->n; ++j) {
    t->radius[j] = S->f->contact[j].mu * fmax(S->x->lambda[j], 0.0);
    mu_max       = fmax(mu_max, S->f->contact[j].mu);
  }
  t->scale = mu_max * S->lambda_ref;
  granular_change_contacts(S, -1.0, NULL, S->x->z);
  granular_gradient_contacts(S->f, S->v, NULL, t->base);
  memcpy(t->z, S->x->z, (size_t)(2 * t->n) * sizeof *t->z);
  if (S->o->friction->method == GRANULAR_FRICTION_NEWTON) PetscCall(granular_friction_newton(t));
  else minimise_by_projected_gradient(t);
  memcpy(S->x->z, t->z, (size_t)(2 * t->n) * sizeof *t->z);
  granular_change_contacts(S, 1.0, NULL, S->x->z);
  PetscFunctionReturn(PETSC_SUCCESS);
}
