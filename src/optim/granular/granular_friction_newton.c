/* Tangential forces as published [TakahashiBatty2021, sec. 4.3.4-4.3.5]: an augmented Lagrangian for the discs, Newton steps in a
 * box around them, backtracking on J + E_d.
 *
 *   d = 1/2 (1 - |z|^2/r^2), r = mu lambda     d~ = min(d - h/m, 0)     E_d = 1/2 m d~^2 - h^2/(2 m)     h <- -m d~
 *
 * Gradient -m d~ z/r^2, Hessian m (z z^T/r^4 - d~ I/r^2): both terms positive semidefinite, nothing is left to project. m = beta
 * A_jj r^2. The diagonal of A_zz is larger by a part for the sake of redundant contacts; as unknowns are steps, that moves no
 * solution. */
#include "optim/granular/granular_friction.h"

static inline double penalty(const flow_friction *t, int64_t j)
{
  return t->S->o->friction->beta * t->S->diagonal_t[j] * t->radius[j] * t->radius[j];
}
static inline double excess(const flow_friction *t, int64_t j, const double z[2])
{
  const double r2 = t->radius[j] * t->radius[j];
  return fmin(0.5 * (1.0 - (z[0] * z[0] + z[1] * z[1]) / r2) - t->multiplier[j] / penalty(t, j), 0.0);
}

static double energy_of_discs(const flow_friction *t, const double *z)
{
  double sum = 0.0;
  for (int64_t j = 0; j < t->n; ++j) {
    if (!(penalty(t, j) > 0.0)) continue;
    const double d = excess(t, j, z + 2 * j);
    sum += 0.5 * (penalty(t, j) * d * d - t->multiplier[j] * t->multiplier[j] / penalty(t, j));
  }
  return sum;
}

/* g += gradient of E_d; t->hessian */
static void derivatives(flow_friction *t, double *g)
{
  for (int64_t j = 0; j < t->n; ++j) {
    const double *z = t->z + 2 * j, r2 = t->radius[j] * t->radius[j], m = penalty(t, j);
    double       *H = t->hessian + 3 * j;
    H[0] = H[1] = H[2] = 0.0;
    if (!(m > 0.0)) continue;
    const double d = excess(t, j, z), round = -m * d / r2, along = d < 0.0 ? m / (r2 * r2) : 0.0;
    for (int k = 0; k < 2; ++k) g[2 * j + k] += round * z[k];
    H[0] = round + along * z[0] * z[0], H[1] = along * z[0] * z[1], H[2] = round + along * z[1] * z[1];
  }
}

static void apply(void *context, const double *restrict x, double *restrict y)
{
  flow_friction *t = context;
  flow_friction_product(t, x, y);
  for (int64_t j = 0; j < t->n; ++j) {
    const double *H = t->hessian + 3 * j, shift = FLOW_REDUNDANT * t->S->diagonal_t[j];
    y[2 * j] += (shift + H[0]) * x[2 * j] + H[1] * x[2 * j + 1];
    y[2 * j + 1] += H[1] * x[2 * j] + (shift + H[2]) * x[2 * j + 1];
  }
}

/* t->step: minimiser of the quadratic model in the box; b, bounds and diagonal in arrays that the gradient method uses otherwise.
 * */
static PetscErrorCode direction(flow_friction *t)
{
  flow_solver *S = t->S;
  double      *b = t->gy, *lo = t->g_old, *hi = t->y, *diagonal = t->next;
  PetscFunctionBegin;
  flow_friction_product(t, t->z, t->g);
  for (int64_t i = 0; i < 2 * t->n; ++i) t->g[i] += t->base[i]; /* of J */
  memcpy(b, t->g, (size_t)(2 * t->n) * sizeof *b);
  derivatives(t, b);
  for (int64_t i = 0; i < 2 * t->n; ++i) {
    const int64_t j = i / 2;
    const double  bound = S->o->friction->kappa * t->radius[j];
    b[i]        = -b[i];
    lo[i]       = -bound - t->z[i], hi[i] = bound - t->z[i];
    diagonal[i] = (1.0 + FLOW_REDUNDANT) * S->diagonal_t[j] + t->hessian[3 * j + 2 * (i % 2)];
    if (!(diagonal[i] > 0.0)) diagonal[i] = 1.0;
    t->step[i] = 0.0;
  }
  const box_qp q = {.n = 2 * t->n, .apply = apply, .context = t, .diagonal = diagonal, .b = b, .lo = lo, .hi = hi};
  box_result   result = {0};
  PetscCall(box_solve(&q, S->o->boxes, t->step, &result));
  S->r->t_iterations += result.iterations;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The longest of 1, 1/2, 1/4 ... of the step for which J + E_d falls; 0 if none does. */
static double backtrack(flow_friction *t)
{
  enum { TRIALS = 12 };
  double slope = 0.0, curvature = 0.0, gamma = 1.0;
  const double before = energy_of_discs(t, t->z);
  flow_friction_product(t, t->step, t->y);
  for (int64_t i = 0; i < 2 * t->n; ++i) slope += t->g[i] * t->step[i], curvature += t->y[i] * t->step[i];
  for (int trial = 0; trial < TRIALS; ++trial, gamma *= 0.5) {
    for (int64_t i = 0; i < 2 * t->n; ++i) t->next[i] = t->z[i] + gamma * t->step[i];
    if (gamma * slope + 0.5 * gamma * gamma * curvature + energy_of_discs(t, t->next) - before < 0.0) return gamma;
  }
  return 0.0;
}

PetscErrorCode flow_friction_newton(flow_friction *t)
{
  PetscFunctionBegin;
  for (int64_t it = 0; it < t->S->o->friction->max_iterations; ++it) {
    PetscCall(direction(t));
    const double gamma = backtrack(t);
    double       most  = 0.0;
    for (int64_t i = 0; i < 2 * t->n; ++i) {
      t->z[i] += gamma * t->step[i];
      most = fmax(most, fabs(t->step[i]));
    }
    for (int64_t j = 0; j < t->n; ++j) t->multiplier[j] = penalty(t, j) > 0.0 ? -penalty(t, j) * excess(t, j, t->z + 2 * j) : 0.0;
    if (most <= FLOW_INNER * t->S->o->tolerance * t->scale) break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
