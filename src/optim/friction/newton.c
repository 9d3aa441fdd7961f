#include "optim/friction/newton.h"
#include "core/math3.h"
#include "core/memory.h"
#include "core/stop.h"
#include "core/timer.h"
#include "optim/friction/cone.h"
#include <stddef.h>
#include <string.h>

void newton_work_destroy(newton_work **k)
{
  if (!*k) return;
  MEMORY_FREE(&(*k)->rho, &(*k)->is_active, &(*k)->u, &(*k)->A, k);
}

PetscErrorCode newton_work_create(const friction_problem *p, newton_work **out)
{
  newton_work   *k;
  const int64_t  m = 3 * p->n;
  PetscErrorCode code;
  PetscFunctionBegin;
  *out = NULL;
  PetscCall(memory_alloc("Newton's method", 1, sizeof *k, &k));
  code = memory_alloc("Newton row scales", 2 * p->n, sizeof *k->rho, &k->rho);
  if (!code) code = MEMORY_ALLOC("newton", ARRAY(k->is_active, p->n), ARRAY(k->u, 8 * m), ARRAY(k->A, 6 * m));
  if (code) newton_work_destroy(&k);
  PetscCall(code);
  double **const part[] = {&k->f, &k->d, &k->Wd, &k->trial_r, &k->trial_u, &k->best_r, &k->best_u};
  for (int i = 0; i < 7; ++i) *part[i] = k->u + (i + 1) * m;
  k->B          = k->A + 3 * m;
  k->best_error = INFINITY;
  for (int64_t a = 0; a < p->n; ++a) alart_curnier_rho(delassus_diagonal(p->W) + 9 * a, k->rho + 2 * a);
  *out = k;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Impulses within their cones, and what they give. */
static double into_cones(newton_work *k, const friction_problem *p, const friction_options *o, const double *r)
{
  for (int64_t a = 0; a < p->n; ++a) cone_project(p->mu[a], r + 3 * a, k->trial_r + 3 * a);
  friction_velocity(p, k->trial_r, k->trial_u);
  return friction_error(p, o->error, k->trial_r, k->trial_u);
}

bool newton_work_store_best(newton_work *k, const friction_problem *p, const friction_options *o, const double *r)
{
  const size_t  bytes  = (size_t)p->n * 3 * sizeof *r;
  const double *from_r = r, *from_u = k->u;
  double        error = friction_error(p, o->error, r, k->u);
  if (!(error < k->best_error)) return false;
  if (error <= o->tolerance) error = into_cones(k, p, o, r), from_r = k->trial_r, from_u = k->trial_u;
  if (!(error < k->best_error)) return false;
  k->best_error = error;
  memcpy(k->best_r, from_r, bytes);
  memcpy(k->best_u, from_u, bytes);
  return true;
}

void newton_work_load_best(newton_work *k, const friction_problem *p, const friction_options *o, double *r, double *u)
{
  const size_t bytes = (size_t)p->n * 3 * sizeof *r;
  if (!isfinite(k->best_error)) memcpy(k->best_u, p->q, bytes); /* best_r is zero still */
  else if (k->best_error > o->tolerance) {
    into_cones(k, p, o, k->best_r);
    memcpy(k->best_r, k->trial_r, bytes);
    memcpy(k->best_u, k->trial_u, bytes);
  }
  memcpy(r, k->best_r, bytes);
  memcpy(u, k->best_u, bytes);
}

enum { PATIENCE = 20, MOST_STEPS = 100, MOST_TRIALS = 21 };
static const double GOLDSTEIN_LOW = 0.1, GOLDSTEIN_HIGH = 0.9;

/* 1/2 |f|^2 at r + t d. Overwrites f, A, B and is_active, which are not used after d has been computed. */
static double merit_at(newton_work *k, const friction_problem *p, const double *r, double t)
{
  for (int64_t i = 0; i < 3 * p->n; ++i) k->trial_r[i] = r[i] + t * k->d[i], k->trial_u[i] = k->u[i] + t * k->Wd[i];
  return alart_curnier(ALART_CURNIER_IMPULSE, p, k->rho, k->trial_u, k->trial_r, k->f, k->A, k->B, k->is_active);
}

/* Step length from r along d; 0: none found. `merit` is 1/2 |f|^2 at r; its slope along d is -2 merit wherever f is smooth. */
static double goldstein_price(newton_work *k, const friction_problem *p, const double *r, double merit)
{
  double low = 0.0, high = INFINITY, t = 1.0;
  delassus_apply(p->W, k->d, k->Wd);
  for (int i = 0; i < MOST_TRIALS; ++i) {
    const double m = merit_at(k, p, r, t);
    if (!(m <= merit - GOLDSTEIN_LOW * t * 2.0 * merit)) high = t;
    else if (m < merit - GOLDSTEIN_HIGH * t * 2.0 * merit || t >= 1.0) return t; /* no longer than the whole step, which would be exact */
    else low = t;
    t = high < INFINITY ? 0.5 * (low + high) : 1.0;
    if (low > 0.0 && high - low < 1e-3 * high) return low;
  }
  return low;
}

static PetscErrorCode iterate(newton_work *k, newton_matrix *m, const friction_problem *p, const friction_options *o, double *r,
                              friction_result *out)
{
  const int64_t n_steps    = friction_most_iterations(o, MOST_STEPS);
  const double  end        = o->time_limit > 0.0 ? timer_now() + o->time_limit : INFINITY;
  int64_t       since_best = 0;
  PetscFunctionBegin;
  for (;; ++out->iterations) {
    bool is_solved;
    friction_velocity(p, r, k->u);
    const double merit = alart_curnier(ALART_CURNIER_IMPULSE, p, k->rho, k->u, r, k->f, k->A, k->B, k->is_active);
    since_best         = newton_work_store_best(k, p, o, r) ? 0 : since_best + 1;
    out->status        = FRICTION_OK;
    if (k->best_error <= o->tolerance || (o->merit > 0.0 && merit < o->merit)) break;
    out->status = !isfinite(merit)             ? FRICTION_NOT_FINITE
                  : out->iterations >= n_steps ? FRICTION_ITERATIONS
                  : timer_now() > end          ? FRICTION_TIME
                  : stop_is_urgent()           ? FRICTION_STOPPED
                  : since_best > PATIENCE      ? FRICTION_STALLED
                                               : FRICTION_OK;
    if (out->status != FRICTION_OK) break;
    PetscCall(newton_matrix_factor(m, 0.0, k->A, k->B, k->is_active, &is_solved));
    ++out->linear_solves;
    if (is_solved) PetscCall(newton_matrix_solve(m, k->f, k->d, &is_solved));
    out->status = FRICTION_STALLED;
    if (!is_solved) break;
    const double t = o->line_search == NEWTON_GOLDSTEIN_PRICE ? goldstein_price(k, p, r, merit) : 1.0;
    if (t == 0.0) break;
    for (int64_t i = 0; i < 3 * p->n; ++i) r[i] += t * k->d[i];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode friction_solve_newton(const friction_problem *p, const friction_options *o, double *r, double *u, friction_result *out)
{
  newton_work   *k = NULL;
  newton_matrix *m = NULL;
  PetscFunctionBegin;
  PetscErrorCode code = newton_work_create(p, &k);
  if (!code) code = newton_matrix_create(p, &m);
  if (!code) code = iterate(k, m, p, o, r, out);
  if (!code) newton_work_load_best(k, p, o, r, u);
  newton_matrix_destroy(&m);
  newton_work_destroy(&k);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
