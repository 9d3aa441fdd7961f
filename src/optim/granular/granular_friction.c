/* Tangential contact forces z: discs |z_j| <= mu_j lambda_j, given everything else. */
#include "optim/granular/granular_friction.h"
#include <stddef.h>

PetscErrorCode flow_friction_create(flow_solver *S, flow_friction *t)
{
  const int64_t   n = S->f->n_contacts;
  double **const vectors[] = {&t->base, &t->z, &t->y, &t->next, &t->g, &t->gy, &t->g_old, &t->step};
  PetscFunctionBegin;
  *t = (flow_friction){.S = S, .n = n};
  for (size_t k = 0; k < sizeof vectors / sizeof *vectors; ++k)
    PetscCall(flow_array(S, "flow contact friction", 2 * n, sizeof(double), vectors[k]));
  PetscCall(flow_array(S, "flow discs", n, sizeof(double), &t->radius));
  PetscCall(flow_array(S, "flow disc multipliers", n, sizeof(double), &t->multiplier));
  PetscCall(flow_array(S, "flow disc hessians", 3 * n, sizeof(double), &t->hessian));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void flow_friction_product(flow_friction *t, const double *restrict x, double *restrict y)
{
  flow_solver *S = t->S;
  flow_clear_bodies(S);
  flow_contact_force(S->f, NULL, x, S->wrench);
  flow_push(S->f, 1.0, S->wrench, S->rate);
  flow_gradient_contacts(S->f, S->rate, NULL, y);
  for (int64_t j = 0; j < t->n; ++j)
    for (int k = 0; k < 2; ++k) y[2 * j + k] -= S->f->contact[j].known[1 + k];
}

static inline void disc_project(double radius, double z[2])
{
  const double size = hypot(z[0], z[1]);
  if (size > radius) z[0] *= radius / size, z[1] *= radius / size;
}

/* next = P(y - g(y)/(L d)) with L raised until that is a descent step; `step` = next - y, and g at next. */
static void descend(flow_friction *t, double *L)
{
  enum { BACKTRACKS = 60 };
  const double *d = t->S->diagonal_t;
  for (int back = 0; back < BACKTRACKS; ++back) {
    double size = 0.0, curvature = 0.0;
    for (int64_t j = 0; j < t->n; ++j) {
      const double scale = d[j] > 0.0 ? 1.0 / (*L * d[j]) : 0.0;
      double z[2] = {t->y[2 * j] - scale * t->gy[2 * j], t->y[2 * j + 1] - scale * t->gy[2 * j + 1]};
      disc_project(t->radius[j], z);
      for (int k = 0; k < 2; ++k) {
        t->next[2 * j + k] = z[k];
        t->step[2 * j + k] = z[k] - t->y[2 * j + k];
        size += d[j] * t->step[2 * j + k] * t->step[2 * j + k];
      }
    }
    flow_friction_product(t, t->step, t->g); /* change of the gradient, exactly */
    for (int64_t i = 0; i < 2 * t->n; ++i) curvature += t->step[i] * t->g[i];
    if (!(curvature > *L * size * (1.0 + 1e-12))) break;
    *L = fmax(1.5 * *L, 1.01 * curvature / size);
  }
  for (int64_t i = 0; i < 2 * t->n; ++i) t->g[i] += t->gy[i];
}

/* Accelerated projected gradient, momentum dropped where it points uphill [ODonoghueCandes2015]. */
static void solve_gradient(flow_friction *t)
{
  flow_solver  *S = t->S;
  const int64_t n = t->n;
  double        L = 1.0, momentum = 1.0;
  for (int64_t j = 0; j < n; ++j) disc_project(t->radius[j], t->z + 2 * j);
  flow_friction_product(t, t->z, t->gy);
  for (int64_t i = 0; i < 2 * n; ++i) t->gy[i] += t->base[i];
  memcpy(t->g_old, t->gy, (size_t)(2 * n) * sizeof *t->gy);
  memcpy(t->y, t->z, (size_t)(2 * n) * sizeof *t->y);
  for (int64_t it = 0; it < S->o->friction->max_iterations; ++it) {
    double along = 0.0, largest = 0.0;
    descend(t, &L);
    ++S->r->t_iterations;
    for (int64_t j = 0; j < n; ++j)
      for (int k = 0; k < 2; ++k) {
        along -= S->diagonal_t[j] * t->step[2 * j + k] * (t->next[2 * j + k] - t->z[2 * j + k]);
        largest = fmax(largest, fabs(t->step[2 * j + k]));
      }
    const double next_momentum = 0.5 * (1.0 + sqrt(1.0 + 4.0 * momentum * momentum));
    double       beta          = (momentum - 1.0) / next_momentum;
    momentum = next_momentum;
    if (along > 0.0) beta = 0.0, momentum = 1.0;
    for (int64_t i = 0; i < 2 * n; ++i) {
      t->y[i]  = t->next[i] + beta * (t->next[i] - t->z[i]);
      t->gy[i] = t->g[i] + beta * (t->g[i] - t->g_old[i]);
      t->z[i] = t->next[i], t->g_old[i] = t->g[i];
    }
    if (largest <= FLOW_INNER * S->o->tolerance * t->scale) break;
    L *= 0.97;
  }
}

PetscErrorCode flow_solve_z(flow_solver *S)
{
  flow_friction *t      = S->friction;
  double         mu_max = 0.0;
  PetscFunctionBegin;
  if (!t) PetscFunctionReturn(PETSC_SUCCESS);
  for (int64_t j = 0; j < t->n; ++j) {
    t->radius[j] = S->f->contact[j].mu * fmax(S->x->lambda[j], 0.0);
    mu_max       = fmax(mu_max, S->f->contact[j].mu);
  }
  t->scale = mu_max * S->lambda_ref;
  flow_change_contacts(S, -1.0, NULL, S->x->z);
  flow_gradient_contacts(S->f, S->v, NULL, t->base);
  memcpy(t->z, S->x->z, (size_t)(2 * t->n) * sizeof *t->z);
  if (S->o->friction->method == FLOW_FRICTION_NEWTON) PetscCall(flow_friction_newton(t));
  else solve_gradient(t);
  memcpy(S->x->z, t->z, (size_t)(2 * t->n) * sizeof *t->z);
  flow_change_contacts(S, 1.0, NULL, S->x->z);
  PetscFunctionReturn(PETSC_SUCCESS);
}
