/* Implementation: line searches, Newton's method, and the error of given velocities. A line search evaluates only the terms; products
 * with A are computed once per search direction. */
#include "optim/sap/sap.h"
#include "core/memory.h"
#include "core/stop.h"
#include "core/team.h"
#include "optim/sap/sap_hessian.h"
#include "optim/sap/sap_law.h"
#include <float.h>
#include <math.h>
#include <string.h>

typedef struct {
  const sap_terms *terms;
  const double    *u, *du;               /* [n][3] relative velocities at step length 0, and their change at step length 1 */
  double           slope, curve;         /* derivatives of 1/2 |v - v_free|_A^2: dv . A (v - v_free), dv . A dv */
  double          *trial, *r, *G, *cost; /* [n][3], [n][3], [n][9], [n] work */
  int64_t          n_evaluations;
} sap_ray;

static const double LONGEST = 1.5, EXACT = 1e-8, SHRINK = 0.8, ARMIJO = 1e-4;
enum { EXACT_STEPS = 100, BACKTRACKS = 40, PARALLEL_CONTACTS = 512 };

/* Returns l at step length a, up to a constant. Sets its first and second derivative; both pointers may be NULL. */
static double sap_ray_evaluate(sap_ray *ray, double a, double *slope, double *curve)
{
  const int64_t n = sap_terms_size(ray->terms);
  ++ray->n_evaluations;
#pragma omp parallel for simd schedule(static) if (n >= PARALLEL_CONTACTS)
  for (int64_t i = 0; i < 3 * n; ++i) ray->trial[i] = ray->u[i] + a * ray->du[i];
  sap_evaluate_terms(ray->terms, ray->trial, ray->cost, ray->r, curve ? ray->G : NULL);
  const double cost = a * ray->slope + 0.5 * a * a * ray->curve + team_sum(n, ray->cost);
  if (slope) *slope = ray->slope + a * ray->curve - team_dot(3 * n, ray->du, ray->r);
  if (curve) {
#pragma omp parallel for schedule(static) if (n >= PARALLEL_CONTACTS)
    for (int64_t c = 0; c < n; ++c) {
      const double *d = ray->du + 3 * c, *G = ray->G + 9 * c;
      ray->cost[c] = d[0] * (G[0] * d[0] + G[1] * d[1] + G[2] * d[2]) + d[1] * (G[3] * d[0] + G[4] * d[1] + G[5] * d[2]) +
                     d[2] * (G[6] * d[0] + G[7] * d[1] + G[8] * d[2]);
    }
    *curve = ray->curve + team_sum(n, ray->cost);
  }
  return cost;
}

/* Exact line search: the step length of minimum cost, at most 1.5, to 1e-8 of the initial slope `start` < 0. Newton's method on the
 * slope, which increases monotonically, safeguarded by a bracket of its zero. */
static double sap_search_exact(sap_ray *ray, double take_predicted_step)
{
  double low = 0.0, high = LONGEST, slope, curve;
  sap_ray_evaluate(ray, high, &slope, &curve);
  if (slope <= 0.0) return high;
  double a = fmin(-take_predicted_step / curve, high);
  for (int k = 0; k < EXACT_STEPS; ++k) {
    sap_ray_evaluate(ray, a, &slope, &curve);
    if (fabs(slope) <= -EXACT * take_predicted_step) break;
    if (slope < 0.0) low = a;
    else high = a;
    if (high - low <= EXACT * high) break;
    a -= slope / curve;
    if (!(a > low && a < high)) a = low + 0.5 * (high - low);
  }
  return a;
}

/* Backtracking line search: the first step length of 1/0.8, 1, 0.8, 0.64, ... that satisfies the Armijo condition and whose successor
 * has no lower cost. */
static double sap_search_backtracking(sap_ray *ray, double take_predicted_step)
{
  const double at_start = sap_ray_evaluate(ray, 0.0, NULL, NULL);
  double       a = 1.0 / SHRINK, cost = sap_ray_evaluate(ray, a, NULL, NULL);
  for (int k = 0; k < BACKTRACKS; ++k) {
    const double next = a * SHRINK, lower = sap_ray_evaluate(ray, next, NULL, NULL);
    if (cost < at_start + ARMIJO * a * take_predicted_step && lower >= cost) break;
    a = next, cost = lower;
  }
  return a;
}

const char *const sap_searches[]    = {[SAP_SEARCH_EXACT] = "exact", [SAP_SEARCH_BACKTRACKING] = "backtracking", NULL};
const char *const sap_search_help[] = {"to the minimum of the cost",
                                       "the first step length of 1.25, 1, 0.8 ... after which the cost increases"};

static const double LEAST_ERROR = 1e-14; /* sqrt(J): a smaller absolute error counts as 0 (everything is at rest) */
static const double LEAST_GAIN  = 1e-12; /* relative decrease of the cost below which an iteration counts as stagnating */
static const double LOOSE       = 0.1;   /* largest relative tolerance of the conjugate gradients (inexact Newton) */
enum { MOST_INNER = 2000 };
enum { IDLE = 3 }; /* stagnating iterations, without halving of the error, after which only rounding remains */

/* Data of one solve, in the unknowns of the reduced system. */
typedef struct {
  const sap_problem *p;
  const sap_options *o;
  sap_system         s;
  sap_hessian        h;
  double            *v, *dv, *gradient, *work; /* [n] */
  double            *product, *along, *rest;   /* [n] S (v - v_free), S dv, S v_free */
  double            *u, *du;                   /* [m][3] */
  double            *r, *G, *cost;             /* [m][3], [m][9], [m] */
  double            *trial, *trial_r;          /* [m][3] */
  double             momentum, least;          /* max(|D S v|, |D J^T r|); the cost */
  bool               is_recomputed;            /* the updated product has been recomputed: the error has no accumulated rounding */
} sap_work;

static void destroy_work(sap_work *w)
{
  MEMORY_FREE(&w->v, &w->dv, &w->gradient, &w->work, &w->product, &w->along, &w->rest, &w->u, &w->du, &w->r, &w->G, &w->cost, &w->trial,
              &w->trial_r);
  sap_hessian_destroy(&w->h);
  sap_system_destroy(&w->s);
}

static PetscErrorCode create_work(sap_work *w, const double *v)
{
  PetscFunctionBegin;
  PetscCall(sap_system_create(w->p, &w->s));
  const int64_t n = w->s.n, m = w->s.J.n;
  double      **of_unknowns[] = {&w->v, &w->dv, &w->gradient, &w->work, &w->product, &w->along, &w->rest},
         **of_contacts[]      = {&w->u, &w->du, &w->r, &w->trial, &w->trial_r};
  for (int k = 0; k < 7; ++k) PetscCall(memory_alloc("velocities in contact", n, sizeof(double), of_unknowns[k]));
  for (int k = 0; k < 5; ++k) PetscCall(memory_alloc("velocities of contacts", 3 * m, sizeof(double), of_contacts[k]));
  PetscCall(MEMORY_ALLOC("sap", ARRAY(w->G, 9 * m), ARRAY(w->cost, m)));
  PetscCall(sap_hessian_create(&w->s, &w->h));
  for (int64_t i = 0; i < n; ++i) w->v[i] = v[w->s.own[i]];
  sap_system_product(&w->s, w->s.v_free, w->rest);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static double scaled_norm(const sap_work *w, const double *x, double *scaled)
{
  for (int64_t i = 0; i < w->s.n; ++i) scaled[i] = w->s.inverse[i] * x[i];
  return sqrt(team_dot(w->s.n, scaled, scaled));
}

/* Set gradient, impulses and their derivatives at w->v; w->product must be valid. Returns the relative error. */
static double evaluate_gradient(sap_work *w)
{
  const int64_t n = w->s.n, m = w->s.J.n;
  sap_system_velocity(&w->s, w->v, w->u);
  for (int64_t i = 0; i < 3 * m; ++i) w->u[i] += w->p->known[i];
  sap_evaluate_terms(&w->p->terms, w->u, w->cost, w->r, w->G);
  for (int64_t i = 0; i < n; ++i) w->gradient[i] = w->product[i] + w->rest[i];
  const double momentum = scaled_norm(w, w->gradient, w->work);
  sap_system_impulse(&w->s, w->r, w->gradient);
  const double impulse = scaled_norm(w, w->gradient, w->work);
  for (int64_t i = 0; i < n; ++i) w->work[i] = w->v[i] - w->s.v_free[i];
  w->least = 0.5 * team_dot(n, w->work, w->product) + team_sum(m, w->cost);
  for (int64_t i = 0; i < n; ++i) w->gradient[i] = w->product[i] - w->gradient[i];
  w->momentum       = fmax(momentum, impulse);
  const double norm = scaled_norm(w, w->gradient, w->work);
  return norm <= LEAST_ERROR ? 0.0 : norm / w->momentum;
}

/* The same, after recomputing the product. */
static double evaluate_with_new_product(sap_work *w)
{
  for (int64_t i = 0; i < w->s.n; ++i) w->work[i] = w->v[i] - w->s.v_free[i];
  sap_system_product(&w->s, w->work, w->product);
  return evaluate_gradient(w);
}

/* Advance by step length a along dv; returns the error there. With a multifrontal factor or an operator, products are expensive. Then the product
 * is updated with S dv, which follows from H dv = -g. When the tolerance seems reached, it is recomputed to remove accumulated rounding errors. */
static double advance_along_direction(sap_work *w, double a)
{
  const int64_t n = w->s.n;
  for (int64_t i = 0; i < n; ++i) w->v[i] += a * w->dv[i];
  if (!w->p->front && !w->p->operator) return evaluate_with_new_product(w);
  for (int64_t i = 0; i < n; ++i) w->product[i] += a * w->along[i];
  const double error = evaluate_gradient(w);
  w->is_recomputed   = error <= w->o->tolerance;
  return w->is_recomputed ? evaluate_with_new_product(w) : error;
}

/* Set w->along = S dv. */
static void compute_direction_product(sap_work *w)
{
  const int64_t n = w->s.n;
  if (w->p->operator) return; /* already computed by the conjugate gradients */
  if (!w->p->front) {
    sap_system_product(&w->s, w->dv, w->along);
    return;
  }
  for (int64_t a = 0; a < w->s.J.n; ++a)
    for (int i = 0; i < 3; ++i)
      w->trial[3 * a + i] =
          w->G[9 * a + 3 * i] * w->du[3 * a] + w->G[9 * a + 3 * i + 1] * w->du[3 * a + 1] + w->G[9 * a + 3 * i + 2] * w->du[3 * a + 2];
  sap_system_impulse(&w->s, w->trial, w->along);
  for (int64_t i = 0; i < n; ++i) w->along[i] = -w->gradient[i] - w->along[i];
}

/* Solve H dv = -gradient by conjugate gradients with an inexact-Newton tolerance [EisenstatWalker1996]: relative to the error it is
 * min(LOOSE, sqrt(error)), but not below 0.3 of the final tolerance. */
static PetscErrorCode solve_inexactly(sap_work *w, double error, int64_t *inner)
{
  const int64_t n    = w->s.n;
  const double  part = fmax(fmin(LOOSE, sqrt(error)), 0.3 * w->o->tolerance / error);
  int64_t       iterations;
  PetscFunctionBegin;
  for (int64_t i = 0; i < n; ++i) w->work[i] = -w->gradient[i];
  PetscCall(sap_cg_solve(w->h.cg, w->work, part * error * w->momentum, MOST_INNER, w->dv, w->along, &iterations));
  *inner += iterations;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Set w->dv and w->du to the Newton direction, and *slope to the slope of the cost along it. */
static PetscErrorCode compute_newton_direction(sap_work *w, sap_ray *ray, double error, double *slope, int64_t *inner, bool *is_definite)
{
  const int64_t n = w->s.n;
  PetscFunctionBegin;
  PetscCall(sap_hessian_factor(&w->h, w->G, is_definite));
  if (!*is_definite) PetscFunctionReturn(PETSC_SUCCESS);
  if (w->p->operator) PetscCall(solve_inexactly(w, error, inner));
  else {
    PetscCall(sap_hessian_solve(&w->h, w->gradient, w->dv));
    for (int64_t i = 0; i < n; ++i) w->dv[i] = -w->dv[i];
  }
  *slope = team_dot(n, w->gradient, w->dv);
  sap_system_velocity(&w->s, w->dv, w->du);
  ray->slope = team_dot(n, w->dv, w->product);
  compute_direction_product(w);
  ray->curve = team_dot(n, w->dv, w->along);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* True if the state (separated, sticking, sliding) of some contact with a predicted impulse differs at the initial guess. */
static bool predicts_other_states(const sap_work *w)
{
  const sap_terms *t = &w->p->terms;
  for (int64_t a = 0; a < t->n_contacts; ++a) {
    const double *const r = w->p->predicted + 3 * a, *const now = w->r + 3 * a;
    if (r[0] > 0.0 && (!(now[0] > 0.0) || sap_law_slides(t->contact + a, r) != sap_law_slides(t->contact + a, now))) return true;
  }
  return false;
}

/* Linearise the law of every term at its predicted impulse: G there, and r extrapolated linearly to w->u. */
static void linearise_at_prediction(sap_work *w)
{
  const sap_terms *t = &w->p->terms;
  memcpy(w->trial, w->u, (size_t)(3 * w->s.J.n) * sizeof *w->u);
  for (int64_t a = 0; a < t->n_contacts; ++a) {
    const double *const r = w->p->predicted + 3 * a;
    if (r[0] > 0.0) sap_law_velocity(t->contact + a, r, hypot(w->u[3 * a + 1], w->u[3 * a + 2]), w->trial + 3 * a);
  }
  sap_evaluate_terms(t, w->trial, w->cost, w->r, w->G);
  for (int64_t a = 0; a < t->n_contacts; ++a)
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) w->r[3 * a + i] -= w->G[9 * a + 3 * i + j] * (w->u[3 * a + j] - w->trial[3 * a + j]);
}

/* First Newton step with the contact laws linearised at the predicted impulses, not at the initial velocities. Sticking contacts move
 * so little that an initial guess of velocities hardly ever identifies them. The step is kept only if it lowers the cost. */
static PetscErrorCode take_predicted_step(sap_work *w, sap_result *out)
{
  const int64_t n     = w->s.n;
  const double  least = w->least;
  sap_ray       ray;
  double        slope;
  bool          is_definite;
  PetscFunctionBegin;
  linearise_at_prediction(w);
  sap_system_impulse(&w->s, w->r, w->gradient);
  for (int64_t i = 0; i < n; ++i) w->gradient[i] = w->product[i] - w->gradient[i];
  PetscCall(compute_newton_direction(w, &ray, out->error, &slope, &out->inner, &is_definite));
  ++out->iterations;
  for (int64_t i = 0; i < n && is_definite; ++i) w->v[i] += w->dv[i];
  out->error = evaluate_with_new_product(w);
  if (w->least < least || !is_definite) PetscFunctionReturn(PETSC_SUCCESS);
  for (int64_t i = 0; i < n; ++i) w->v[i] -= w->dv[i];
  out->error = evaluate_with_new_product(w);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode minimise_cost(sap_work *w, sap_result *out)
{
  sap_ray ray   = {.terms = &w->p->terms, .u = w->u, .du = w->du, .trial = w->trial, .r = w->trial_r, .G = w->G, .cost = w->cost};
  double  slope = 0.0, best, truth = INFINITY;
  int     n_idle = 0;
  bool    is_definite;
  PetscFunctionBegin;
  out->error = evaluate_with_new_product(w);
  if (w->p->predicted && w->p->terms.model == SAP_REGULARISED && out->error > w->o->tolerance && predicts_other_states(w))
    PetscCall(take_predicted_step(w, out));
  best = out->error;
  for (out->status = SAP_ITERATIONS; out->error <= w->o->tolerance || out->iterations < w->o->max_iterations; ++out->iterations) {
    if (out->error <= w->o->tolerance) {
      out->status = SAP_OK;
      break;
    }
    if (stop_is_urgent()) {
      out->status = SAP_STOPPED;
      break;
    }
    PetscCall(compute_newton_direction(w, &ray, out->error, &slope, &out->inner, &is_definite));
    if (!is_definite || !(slope < 0.0)) {
      out->status = SAP_ILL_CONDITIONED;
      break;
    }
    const double a = w->o->search == SAP_SEARCH_EXACT ? sap_search_exact(&ray, slope) : sap_search_backtracking(&ray, slope);
    out->error     = advance_along_direction(w, a);
    if (w->is_recomputed) { /* restart the stagnation test if the error has halved since the last recomputed product */
      n_idle = out->error < 0.5 * truth ? 0 : IDLE;
      best = truth = fmin(truth, out->error);
    } else {
      n_idle = -slope <= LEAST_GAIN * fabs(w->least) && !(out->error < 0.5 * best) ? n_idle + 1 : 0;
      best   = fmin(best, out->error);
    }
    if (n_idle == IDLE && out->error > w->o->tolerance) {
      out->status = SAP_ROUND_OFF;
      ++out->iterations;
      break;
    }
  }
  out->searches = ray.n_evaluations;
  out->cost     = w->least;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* v = v_free + A^-1 J^T r for all unknowns. */
static PetscErrorCode recover_all_velocities(const sap_work *w, double *v)
{
  const sap_problem *p = w->p;
  double            *x;
  PetscFunctionBegin;
  PetscCall(memory_alloc("impulses of unknowns", p->A->n_rows, sizeof *x, &x));
  sap_system_impulse(&w->s, w->r, w->dv);
  if (p->operator) { /* gradient: residual of A (v - v_free) = J^T r */
    memcpy(v, w->v, (size_t)w->s.n * sizeof *v);
    memory_free(&x);
    if (p->operator->balance) PetscCall(p->operator->balance(p->operator->context, w->gradient, v));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (p->front) {
    for (int64_t i = 0; i < w->s.n; ++i) x[w->s.own[i]] = w->dv[i];
    multifrontal_solve(p->front, x);
    for (int64_t i = 0; i < p->A->n_rows; ++i) v[i] = p->v_free[i] + x[i];
    memory_free(&x);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  const int32_t *dof = mass_factor_dof(p->factor);
  for (int64_t i = 0; i < w->s.n; ++i) x[mass_factor_place(p->factor)[w->s.own[i]]] = w->dv[i];
  mass_factor_solve_places(p->factor, x);
  for (int64_t at = 0; at < p->A->n_rows; ++at) v[dof[at]] = p->v_free[dof[at]] + x[at];
  memory_free(&x);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode sap_solve(const sap_problem *p, const sap_options *o, double *v, double *r, double *u, sap_result *out)
{
  sap_work w = {.p = p, .o = o};
  PetscFunctionBegin;
  *out                = (sap_result){.status = SAP_OK};
  PetscErrorCode code = create_work(&w, v);
  out->n_unknowns     = w.s.n;
  if (!code) code = minimise_cost(&w, out);
  if (!code) code = recover_all_velocities(&w, v);
  if (!code) {
    sparse_rows_apply(p->J, v, u);
    for (int64_t i = 0; i < 3 * w.s.J.n; ++i) r[i] = w.r[i], u[i] += p->known[i];
  }
  destroy_work(&w);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- independent error ---- */

/* Set the impulse of term a at u by its law, and its compliance R; false: the law has no compliance (lagged contacts). */
static bool evaluate_law(const sap_terms *t, int64_t a, const double u[3], double expected[3], double R[3])
{
  if (a >= t->n_contacts) {
    constraint_law(t->constraint + a - t->n_contacts, u, expected, NULL);
    for (int i = 0; i < 3; ++i) R[i] = t->constraint[a - t->n_contacts].R[i];
  } else if (t->model == SAP_REGULARISED) {
    sap_law_regularised(t->contact + a, u, expected, NULL);
    R[0] = t->contact[a].R_n, R[1] = R[2] = t->contact[a].R_t;
  } else return false;
  return true;
}

PetscErrorCode sap_error(const sap_problem *p, const double *v, const double *r, double *error)
{
  const sparse_rows *A = p->A, *J       = p->J;
  double            *impulses, residual = 0.0, momentum = 0.0, impulse = 0.0, law = 0.0, size = 0.0;
  PetscFunctionBegin;
  PetscCall(memory_alloc("impulses of unknowns", A->n_rows, sizeof *impulses, &impulses));
  for (int64_t i = 0; i < J->n_rows; ++i)
    for (int64_t k = J->start[i]; k < J->start[i + 1]; ++k) impulses[J->col[k]] += J->value[k] * r[i];
  for (int64_t i = 0; i < A->n_rows; ++i) {
    double change = 0.0, all = 0.0, diagonal = 0.0;
    for (int64_t k = A->start[i]; k < A->start[i + 1]; ++k) {
      change += A->value[k] * (v[A->col[k]] - p->v_free[A->col[k]]);
      all += A->value[k] * v[A->col[k]];
      if (A->col[k] == i) diagonal = A->value[k];
    }
    residual += (change - impulses[i]) * (change - impulses[i]) / diagonal;
    momentum += all * all / diagonal, impulse += impulses[i] * impulses[i] / diagonal;
  }
  memory_free(&impulses);
  for (int64_t a = 0; a < sap_terms_size(&p->terms); ++a) {
    double u[3], expected[3], R[3];
    for (int i = 0; i < 3; ++i) {
      u[i] = p->known[3 * a + i];
      for (int64_t k = J->start[3 * a + i]; k < J->start[3 * a + i + 1]; ++k) u[i] += J->value[k] * v[J->col[k]];
    }
    if (!evaluate_law(&p->terms, a, u, expected, R)) continue;
    for (int i = 0; i < 3; ++i) {
      const double d = expected[i] - r[3 * a + i];
      law += R[i] * d * d, size += R[i] * r[3 * a + i] * r[3 * a + i];
    }
  }
  *error = sqrt(residual) <= LEAST_ERROR ? 0.0 : sqrt(residual / fmax(momentum, impulse));
  if (law > 0.0) *error = fmax(*error, sqrt(law / fmax(size, DBL_MIN)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
