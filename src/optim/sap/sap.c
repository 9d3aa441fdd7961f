/* Along one direction: everything that costs more than the terms is known before. */
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
  const double    *u, *du;  /* [n][3] at the start, and their change at share 1 */
  double           slope, curve; /* of 1/2 |v - v_free|_A^2: dv . A (v - v_free), dv . A dv */
  double          *trial, *r, *G, *cost; /* [n][3], [n][3], [n][9], [n] work */
  int64_t          n_evaluations;
} sap_ray;

static const double LONGEST = 1.5, EXACT = 1e-8, SHRINK = 0.8, ARMIJO = 1e-4;
enum { EXACT_STEPS = 100, BACKTRACKS = 40, PARALLEL_CONTACTS = 512 };

/* l at share a of the way without the part that does not change, its first and second derivative; the latter two may be NULL. */
static double sap_ray_evaluate(sap_ray *ray, double a, double *slope, double *curve)
{
  const int64_t n = sap_terms_size(ray->terms);
  ++ray->n_evaluations;
  #pragma omp parallel for simd schedule(static) if (n >= PARALLEL_CONTACTS)
  for (int64_t i = 0; i < 3 * n; ++i) ray->trial[i] = ray->u[i] + a * ray->du[i];
  sap_laws(ray->terms, ray->trial, ray->cost, ray->r, curve ? ray->G : NULL);
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

/* Newton's method on the slope, which rises, kept between two places of different sign. */
/* The share of the least cost, to 1e-8 of the slope at the start, at most 1.5. `slope`: at the start, < 0. */
static double sap_search_exact(sap_ray *ray, double start)
{
  double low = 0.0, high = LONGEST, slope, curve;
  sap_ray_evaluate(ray, high, &slope, &curve);
  if (slope <= 0.0) return high;
  double a = fmin(-start / curve, high);
  for (int k = 0; k < EXACT_STEPS; ++k) {
    sap_ray_evaluate(ray, a, &slope, &curve);
    if (fabs(slope) <= -EXACT * start) break;
    if (slope < 0.0) low = a;
    else high = a;
    if (high - low <= EXACT * high) break;
    a -= slope / curve;
    if (!(a > low && a < high)) a = low + 0.5 * (high - low);
  }
  return a;
}

/* The first of 1/0.8, 1, 0.8, 0.64 ... that goes down enough and behind which none is lower. */
static double sap_search_backtracking(sap_ray *ray, double start)
{
  const double at_start = sap_ray_evaluate(ray, 0.0, NULL, NULL);
  double       a = 1.0 / SHRINK, cost = sap_ray_evaluate(ray, a, NULL, NULL);
  for (int k = 0; k < BACKTRACKS; ++k) {
    const double next = a * SHRINK, lower = sap_ray_evaluate(ray, next, NULL, NULL);
    if (cost < at_start + ARMIJO * a * start && lower >= cost) break;
    a = next, cost = lower;
  }
  return a;
}

const char *const sap_searches[]    = {[SAP_SEARCH_EXACT] = "exact", [SAP_SEARCH_BACKTRACKING] = "backtracking", NULL};
const char *const sap_search_help[] = {"to the minimum of the cost",
                                       "the first step length of 1.25, 1, 0.8 ... after which the cost increases"};

const char *sap_verdict_text(sap_verdict v)
{
  static const char *const text[] = {
#define X(name, words) words,
      SAP_VERDICT_TABLE(X)
#undef X
  };
  return text[v];
}

static const double LEAST_ERROR = 1e-14;    /* sqrt(J): nothing moves */
static const double LEAST_GAIN = 1e-12;     /* of the cost, relative: the error, its square root, may go on falling, */
static const double LOOSE = 0.1;            /* residual of the first directions that conjugate gradients find */
enum { MOST_INNER = 2000 };
enum { IDLE = 3 };                          /* or not be halved in so many iterations: rounding is all that is left */

/* Everything of one solve, in the unknowns that take part. */
typedef struct {
  const sap_problem *p;
  const sap_options *o;
  sap_system         s;
  sap_hessian        h;
  double            *v, *dv, *gradient, *work;    /* [n] */
  double            *product, *along, *rest;      /* [n] S (v - v_free), S dv, S v_free */
  double            *u, *du;                      /* [m][3] */
  double            *r, *G, *cost;                /* [m][3], [m][9], [m] */
  double            *trial, *trial_r;             /* [m][3] */
  double             momentum, least;             /* |D S v| or |D J^T r|; the cost */
  bool               is_anew;                     /* the product that was carried along has been made anew: the error is true */
} sap_work;

static void work_destroy(sap_work *w)
{
  void *arrays[] = {&w->v, &w->dv, &w->gradient, &w->work, &w->product, &w->along, &w->rest, &w->u, &w->du, &w->r, &w->G, &w->cost, &w->trial, &w->trial_r};
  for (size_t k = 0; k < sizeof arrays / sizeof *arrays; ++k) memory_free(arrays[k]);
  sap_hessian_destroy(&w->h);
  sap_system_destroy(&w->s);
}

static PetscErrorCode work_create(sap_work *w, const double *v)
{
  PetscFunctionBegin;
  PetscCall(sap_system_create(w->p, &w->s));
  const int64_t n = w->s.n, m = w->s.J.n;
  double **of_unknowns[] = {&w->v, &w->dv, &w->gradient, &w->work, &w->product, &w->along, &w->rest},
         **of_contacts[] = {&w->u, &w->du, &w->r, &w->trial, &w->trial_r};
  for (int k = 0; k < 7; ++k) PetscCall(memory_alloc("velocities in contact", n, sizeof(double), of_unknowns[k]));
  for (int k = 0; k < 5; ++k) PetscCall(memory_alloc("velocities of contacts", 3 * m, sizeof(double), of_contacts[k]));
  PetscCall(memory_alloc("derivatives of contacts", 9 * m, sizeof *w->G, &w->G));
  PetscCall(memory_alloc("costs of contacts", m, sizeof *w->cost, &w->cost));
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

/* Gradient, impulses and their derivatives at w->v, where w->product is right; the error that the tolerance is asked of. */
static double evaluate(sap_work *w)
{
  const int64_t n = w->s.n, m = w->s.J.n;
  sap_system_velocity(&w->s, w->v, w->u);
  for (int64_t i = 0; i < 3 * m; ++i) w->u[i] += w->p->known[i];
  sap_laws(&w->p->terms, w->u, w->cost, w->r, w->G);
  for (int64_t i = 0; i < n; ++i) w->gradient[i] = w->product[i] + w->rest[i];
  const double momentum = scaled_norm(w, w->gradient, w->work);
  sap_system_impulse(&w->s, w->r, w->gradient);
  const double impulse = scaled_norm(w, w->gradient, w->work);
  for (int64_t i = 0; i < n; ++i) w->work[i] = w->v[i] - w->s.v_free[i];
  w->least = 0.5 * team_dot(n, w->work, w->product) + team_sum(m, w->cost);
  for (int64_t i = 0; i < n; ++i) w->gradient[i] = w->product[i] - w->gradient[i];
  w->momentum = fmax(momentum, impulse);
  const double norm = scaled_norm(w, w->gradient, w->work);
  return norm <= LEAST_ERROR ? 0.0 : norm / w->momentum;
}

/* The same, with the product anew. */
static double evaluate_anew(sap_work *w)
{
  for (int64_t i = 0; i < w->s.n; ++i) w->work[i] = w->v[i] - w->s.v_free[i];
  sap_system_product(&w->s, w->work, w->product);
  return evaluate(w);
}

/* Go share a of the way along dv. Where products are dear they are carried along, as a solution of H dv = -g says what S dv is; what
 * rounding makes of that is looked at where the tolerance seems met. */
static double advance(sap_work *w, double a)
{
  const int64_t n = w->s.n;
  for (int64_t i = 0; i < n; ++i) w->v[i] += a * w->dv[i];
  if (!w->p->front && !w->p->operator) return evaluate_anew(w);
  for (int64_t i = 0; i < n; ++i) w->product[i] += a * w->along[i];
  const double error = evaluate(w);
  w->is_anew = error <= w->o->tolerance;
  return w->is_anew ? evaluate_anew(w) : error;
}

/* w->along = S dv. */
static void find_along(sap_work *w)
{
  const int64_t n = w->s.n;
  if (w->p->operator) return; /* conjugate gradients know it */
  if (!w->p->front) {
    sap_system_product(&w->s, w->dv, w->along);
    return;
  }
  for (int64_t a = 0; a < w->s.J.n; ++a)
    for (int i = 0; i < 3; ++i)
      w->trial[3 * a + i] = w->G[9 * a + 3 * i] * w->du[3 * a] + w->G[9 * a + 3 * i + 1] * w->du[3 * a + 1] + w->G[9 * a + 3 * i + 2] * w->du[3 * a + 2];
  sap_system_impulse(&w->s, w->trial, w->along);
  for (int64_t i = 0; i < n; ++i) w->along[i] = -w->gradient[i] - w->along[i];
}

/* H dv = -gradient by conjugate gradients, the more exactly the nearer the end is [EisenstatWalker1996]: to a part of the error that
 * falls with its root, and no farther than the tolerance asks for. */
static PetscErrorCode solve_loosely(sap_work *w, double error, int64_t *inner)
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

/* Newton's direction to w->dv and du; *slope of the cost along it. */
static PetscErrorCode direction(sap_work *w, sap_ray *ray, double error, double *slope, int64_t *inner, bool *is_definite)
{
  const int64_t n = w->s.n;
  PetscFunctionBegin;
  PetscCall(sap_hessian_factor(&w->h, w->G, is_definite));
  if (!*is_definite) PetscFunctionReturn(PETSC_SUCCESS);
  if (w->p->operator) PetscCall(solve_loosely(w, error, inner));
  else {
    sap_hessian_solve(&w->h, w->gradient, w->dv);
    for (int64_t i = 0; i < n; ++i) w->dv[i] = -w->dv[i];
  }
  *slope = team_dot(n, w->gradient, w->dv);
  sap_system_velocity(&w->s, w->dv, w->du);
  ray->slope = team_dot(n, w->dv, w->product);
  find_along(w);
  ray->curve = team_dot(n, w->dv, w->along);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Is there a contact that is thought to push, stick or slide and does something else at the guess? */
static bool is_news(const sap_work *w)
{
  const sap_terms *t = &w->p->terms;
  for (int64_t a = 0; a < t->n_contacts; ++a) {
    const double *const r = w->p->pushes + 3 * a, *const now = w->r + 3 * a;
    if (r[0] > 0.0 && (!(now[0] > 0.0) || sap_law_slides(t->contact + a, r) != sap_law_slides(t->contact + a, now))) return true;
  }
  return false;
}

/* The law of every term, linearised where it is thought to be in w->u: r and G there, r carried on to w->u. */
static void predict(sap_work *w)
{
  const sap_terms *t = &w->p->terms;
  memcpy(w->trial, w->u, (size_t)(3 * w->s.J.n) * sizeof *w->u);
  for (int64_t a = 0; a < t->n_contacts; ++a) {
    const double *const r = w->p->pushes + 3 * a;
    if (r[0] > 0.0) sap_law_velocity(t->contact + a, r, hypot(w->u[3 * a + 1], w->u[3 * a + 2]), w->trial + 3 * a);
  }
  sap_laws(t, w->trial, w->cost, w->r, w->G);
  for (int64_t a = 0; a < t->n_contacts; ++a)
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) w->r[3 * a + i] -= w->G[9 * a + 3 * i + j] * (w->u[3 * a + j] - w->trial[3 * a + j]);
}

/* What sticks moves so little that next to no guess of velocities shows it. One step of Newton's method with the laws linearised where
 * they say what contacts are thought to push with, in place of where the guess is; taken if the cost is lower there. */
static PetscErrorCode start(sap_work *w, sap_result *out)
{
  const int64_t n     = w->s.n;
  const double  least = w->least;
  sap_ray       ray;
  double        slope;
  bool          is_definite;
  PetscFunctionBegin;
  predict(w);
  sap_system_impulse(&w->s, w->r, w->gradient);
  for (int64_t i = 0; i < n; ++i) w->gradient[i] = w->product[i] - w->gradient[i];
  PetscCall(direction(w, &ray, out->error, &slope, &out->inner, &is_definite));
  ++out->iterations;
  for (int64_t i = 0; i < n && is_definite; ++i) w->v[i] += w->dv[i];
  out->error = evaluate_anew(w);
  if (w->least < least || !is_definite) PetscFunctionReturn(PETSC_SUCCESS);
  for (int64_t i = 0; i < n; ++i) w->v[i] -= w->dv[i];
  out->error = evaluate_anew(w);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode minimise(sap_work *w, sap_result *out)
{
  sap_ray ray = {.terms = &w->p->terms, .u = w->u, .du = w->du, .trial = w->trial, .r = w->trial_r, .G = w->G, .cost = w->cost};
  double  slope = 0.0, best, truth = INFINITY;
  int     n_idle = 0;
  bool    is_definite;
  PetscFunctionBegin;
  out->error = evaluate_anew(w);
  if (w->p->pushes && w->p->terms.model == SAP_REGULARISED && out->error > w->o->tolerance && is_news(w)) PetscCall(start(w, out));
  best = out->error;
  for (out->verdict = SAP_ITERATIONS; out->error <= w->o->tolerance || out->iterations < w->o->max_iterations; ++out->iterations) {
    if (out->error <= w->o->tolerance) {
      out->verdict = SAP_OK;
      break;
    }
    if (stop_is_urgent()) {
      out->verdict = SAP_STOPPED;
      break;
    }
    PetscCall(direction(w, &ray, out->error, &slope, &out->inner, &is_definite));
    if (!is_definite || !(slope < 0.0)) {
      out->verdict = SAP_ILL_CONDITIONED;
      break;
    }
    const double a = w->o->search == SAP_SEARCH_EXACT ? sap_search_exact(&ray, slope) : sap_search_backtracking(&ray, slope);
    out->error = advance(w, a);
    if (w->is_anew) { /* a new start, if it came nearer than the last one did */
      n_idle = out->error < 0.5 * truth ? 0 : IDLE;
      best = truth = fmin(truth, out->error);
    } else {
      n_idle = -slope <= LEAST_GAIN * fabs(w->least) && !(out->error < 0.5 * best) ? n_idle + 1 : 0;
      best   = fmin(best, out->error);
    }
    if (n_idle == IDLE && out->error > w->o->tolerance) {
      out->verdict = SAP_ROUND_OFF;
      ++out->iterations;
      break;
    }
  }
  out->searches = ray.n_evaluations;
  out->cost     = w->least;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* v = v_free + A^-1 J^T r for all unknowns. */
static PetscErrorCode put_back(const sap_work *w, double *v)
{
  const sap_problem *p = w->p;
  double            *x;
  PetscFunctionBegin;
  PetscCall(memory_alloc("impulses of unknowns", p->A->n_rows, sizeof *x, &x));
  sap_system_impulse(&w->s, w->r, w->dv);
  if (p->operator) { /* gradient: what is left of A (v - v_free) = J^T r */
    memcpy(v, w->v, (size_t)w->s.n * sizeof *v);
    memory_free(&x);
    if (p->operator->balance) PetscCall(p->operator->balance(p->operator->context, w->gradient, v));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (p->front) {
    for (int64_t i = 0; i < w->s.n; ++i) x[w->s.own[i]] = w->dv[i];
    front_solve(p->front, x);
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
  *out                = (sap_result){.verdict = SAP_OK};
  PetscErrorCode code = work_create(&w, v);
  out->n_unknowns     = w.s.n;
  if (!code) code = minimise(&w, out);
  if (!code) code = put_back(&w, v);
  if (!code) {
    sparse_rows_apply(p->J, v, u);
    for (int64_t i = 0; i < 3 * w.s.J.n; ++i) r[i] = w.r[i], u[i] += p->known[i];
  }
  work_destroy(&w);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- judged apart ---- */

/* What term a says at u, and its compliance; false: it has none. */
static bool law_of(const sap_terms *t, int64_t a, const double u[3], double says[3], double R[3])
{
  if (a >= t->n_contacts) {
    constraint_law(t->constraint + a - t->n_contacts, u, says, NULL);
    for (int i = 0; i < 3; ++i) R[i] = t->constraint[a - t->n_contacts].R[i];
  } else if (t->model == SAP_REGULARISED) {
    sap_law_regularised(t->contact + a, u, says, NULL);
    R[0] = t->contact[a].R_n, R[1] = R[2] = t->contact[a].R_t;
  } else return false;
  return true;
}

PetscErrorCode sap_error(const sap_problem *p, const double *v, const double *r, double *error)
{
  const sparse_rows *A = p->A, *J = p->J;
  double            *push, miss = 0.0, momentum = 0.0, impulse = 0.0, law = 0.0, size = 0.0;
  PetscFunctionBegin;
  PetscCall(memory_alloc("impulses of unknowns", A->n_rows, sizeof *push, &push));
  for (int64_t i = 0; i < J->n_rows; ++i)
    for (int64_t k = J->start[i]; k < J->start[i + 1]; ++k) push[J->col[k]] += J->value[k] * r[i];
  for (int64_t i = 0; i < A->n_rows; ++i) {
    double change = 0.0, all = 0.0, diagonal = 0.0;
    for (int64_t k = A->start[i]; k < A->start[i + 1]; ++k) {
      change += A->value[k] * (v[A->col[k]] - p->v_free[A->col[k]]);
      all += A->value[k] * v[A->col[k]];
      if (A->col[k] == i) diagonal = A->value[k];
    }
    miss += (change - push[i]) * (change - push[i]) / diagonal;
    momentum += all * all / diagonal, impulse += push[i] * push[i] / diagonal;
  }
  memory_free(&push);
  for (int64_t a = 0; a < sap_terms_size(&p->terms); ++a) {
    double u[3], says[3], R[3];
    for (int i = 0; i < 3; ++i) {
      u[i] = p->known[3 * a + i];
      for (int64_t k = J->start[3 * a + i]; k < J->start[3 * a + i + 1]; ++k) u[i] += J->value[k] * v[J->col[k]];
    }
    if (!law_of(&p->terms, a, u, says, R)) continue;
    for (int i = 0; i < 3; ++i) {
      const double d = says[i] - r[3 * a + i];
      law += R[i] * d * d, size += R[i] * r[3 * a + i] * r[3 * a + i];
    }
  }
  *error = sqrt(miss) <= LEAST_ERROR ? 0.0 : sqrt(miss / fmax(momentum, impulse));
  if (law > 0.0) *error = fmax(*error, sqrt(law / fmax(size, DBL_MIN)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
