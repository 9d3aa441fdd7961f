#include "optim/friction/interior_point.h"
#include "core/math3.h"
#include "core/memory.h"
#include "core/stop.h"
#include "core/timer.h"
#include "optim/friction/jordan.h"
#include "optim/friction/newton_prox.h"
#include <string.h>

enum { MOST_STEPS = 400, IDLE = 12, PATIENCE = 30, MOST_ROUNDS = 20, IDLE_ROUNDS = 3 };
static const double SHORT = 0.3, DAMPED = 0.5; /* of the derivative of mu |u_T| after a step shorter than SHORT */
static const double NEAR     = 1e-5;           /* error below which Newton's method is tried for the last iterations */
static const double PROGRESS = 0.7;            /* factor on the error that IDLE steps must achieve, else the solver has stalled */
static const double DONE     = 100.0;          /* a round ends at this times the squared tolerance, relative to the initial gap */
static const double WARM     = 1e-4;           /* initial gap of later rounds, relative to the first initial gap */

/* Data of one contact; s = sqrt(rho_a) gives x = X r and y the same scale at all contacts. */
typedef struct {
  double x[3], y[3], lambda[3], gap_y[3], target[3];
  double scale[9], unscale[9]; /* Q_{w^1/2}, Q_{w^-1/2}, w the scaling point: lambda = Q_{w^1/2} y = Q_{w^-1/2} x */
  double X[3], s;              /* x = diag(X) r */
} cone_pair;

typedef struct {
  const friction_problem *p;
  newton_matrix          *matrix;
  cone_pair              *pair;                         /* [n] */
  double                 *u, *f, *d, *dx, *dy, *best_r; /* [n][3] */
  double                 *A, *B;                        /* [n][9] */
  bool                   *is_active;
  double                  gap, first_gap, best_error;
  /* rounds: see follow() */
  double    *held;        /* [n] mu |u_T| of a round, where it is fixed */
  cone_pair *warm, *left; /* [n] where rounds set out; where the path was left */
  bool       is_held, is_warm, is_resumed;
  int64_t    n_rounds, n_idle, n_idle_rounds;
  double     ahead, round_best, last_round;
} path;

static void path_destroy(path *k)
{
  newton_matrix_destroy(&k->matrix);
  MEMORY_FREE(&k->pair, &k->u, &k->A, &k->is_active, &k->held, &k->warm, &k->left);
}

static PetscErrorCode path_create(const friction_problem *p, path *k)
{
  const int64_t m = 3 * p->n;
  PetscFunctionBegin;
  *k = (path){.p = p, .best_error = INFINITY, .ahead = INFINITY, .round_best = INFINITY, .last_round = INFINITY};
  PetscCall(MEMORY_ALLOC("interior point", ARRAY(k->pair, p->n), ARRAY(k->u, 6 * m), ARRAY(k->A, 6 * m), ARRAY(k->is_active, p->n)));
  k->f = k->u + m, k->d = k->f + m, k->dx = k->d + m, k->dy = k->dx + m, k->best_r = k->dy + m;
  k->B = k->A + 3 * m;
  for (int64_t a = 0; a < p->n; ++a) k->is_active[a] = true;
  PetscCall(newton_matrix_create(p, &k->matrix));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On the axes of the cones, at the size of the data. */
static void start(path *k)
{
  const friction_problem *p    = k->p;
  double                  size = 0.0;
  for (int64_t a = 0; a < p->n; ++a) size += v3_dot(p->q + 3 * a, p->q + 3 * a) * 3.0 / m3_trace(delassus_diagonal(p->W) + 9 * a);
  size = sqrt(size / (double)p->n);
  for (int64_t a = 0; a < p->n; ++a) {
    cone_pair   *c  = k->pair + a;
    const double mu = p->mu[a], slope = mu > 0.0 ? mu : 1.0;
    c->s = sqrt(3.0 / m3_trace(delassus_diagonal(p->W) + 9 * a));
    v3_set(c->X, slope / c->s, 1.0 / c->s, 1.0 / c->s);
    v3_set(c->x, slope * size, 0.0, 0.0);
    v3_set(c->y, size, 0.0, 0.0);
  }
}

/* y - Y(u), Y(u) = s (u_N + mu |u_T|, mu u_T), and A = dY/du; without friction the pair is (r_N, u_N) alone. Where mu |u_T| is
 * held, what is solved is convex. */
static void linearise(path *k, int64_t a, double damping)
{
  cone_pair    *c = k->pair + a;
  const double *u = k->u + 3 * a, mu = k->p->mu[a], t = sqrt(u[1] * u[1] + u[2] * u[2]);
  const double  opening = k->is_held ? k->held[a] : mu * t;
  double       *A       = k->A + 9 * a;
  m3_zero(A);
  A[0] = c->s;
  A[4] = A[8] = c->s * mu;
  for (int i = 1; i < 3; ++i) {
    c->gap_y[i] = c->y[i] - c->s * mu * u[i];
    if (t > 0.0 && !k->is_held) A[i] = damping * c->s * mu * u[i] / t;
  }
  c->gap_y[0] = c->y[0] - c->s * (u[0] + opening);
}

/* w = Q_{x^1/2} (Q_{x^1/2} y)^{-1/2}; B = Q_{w^-1} X. */
static void scaling(path *k, int64_t a)
{
  cone_pair *c = k->pair + a;
  double     half[3], Q[9], v[3], w[3], inverse[9];
  jordan_sqrt(c->x, half);
  jordan_quadratic(half, Q);
  m3_mulv(v, Q, c->y);
  jordan_inverse(v, w);
  jordan_sqrt(w, half);
  m3_mulv(w, Q, half);
  jordan_sqrt(w, half);
  jordan_quadratic(half, c->scale);
  jordan_inverse(half, v);
  jordan_quadratic(v, c->unscale);
  m3_mulv(c->lambda, c->scale, c->y);
  m3_mul(inverse, c->unscale, c->unscale);
  for (int e = 0; e < 9; ++e) k->B[9 * a + e] = inverse[e] * c->X[e % 3];
}

/* Right-hand side of lambda o (Q_{w^-1/2} dx + Q_{w^1/2} dy) = centre e - lambda o lambda [- the product of the predictor's parts]. */
static void right_side(path *k, double centre, bool is_corrector)
{
  for (int64_t a = 0; a < k->p->n; ++a) {
    cone_pair *c = k->pair + a;
    double     h[3], z[3], dx[3], dy[3];
    jordan_product(c->lambda, c->lambda, h);
    if (is_corrector) {
      m3_mulv(dx, c->unscale, k->dx + 3 * a);
      m3_mulv(dy, c->scale, k->dy + 3 * a);
      jordan_product(dx, dy, z);
      v3_add(h, h, z);
    }
    for (int i = 0; i < 3; ++i) h[i] = (i == 0 ? centre : 0.0) - h[i];
    jordan_divide(c->lambda, h, z);
    m3_mulv(c->target, c->unscale, z);
    for (int i = 0; i < 3; ++i) k->f[3 * a + i] = -(c->target[i] + c->gap_y[i]);
  }
}

/* dx, dy of the last right-hand side, and the longest step inside the cones. */
static PetscErrorCode direction(path *k, double *longest, bool *is_solved)
{
  double t = INFINITY;
  PetscFunctionBegin;
  PetscCall(newton_matrix_solve(k->matrix, k->f, k->d, is_solved));
  for (int64_t a = 0; a < k->p->n && *is_solved; ++a) {
    cone_pair *c  = k->pair + a;
    double    *dx = k->dx + 3 * a, *dy = k->dy + 3 * a;
    m3_mulv(dy, k->B + 9 * a, k->d + 3 * a);
    for (int i = 0; i < 3; ++i) dx[i] = c->X[i] * k->d[3 * a + i], dy[i] = c->target[i] - dy[i];
    t = fmin(t, fmin(jordan_step(c->x, dx), jordan_step(c->y, dy)));
  }
  *longest = t;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Mean x.y at a step t. */
static double gap_at(const path *k, double t)
{
  double sum = 0.0;
  for (int64_t a = 0; a < k->p->n; ++a)
    for (int i = 0; i < 3; ++i) sum += (k->pair[a].x[i] + t * k->dx[3 * a + i]) * (k->pair[a].y[i] + t * k->dy[3 * a + i]);
  return sum / (double)k->p->n;
}

/* One predictor and corrector; the length of the step, 0 if there is none. */
static PetscErrorCode advance(path *k, double damping, double *length)
{
  double longest;
  bool   is_solved;
  PetscFunctionBegin;
  *length = 0.0;
  for (int64_t a = 0; a < k->p->n; ++a) linearise(k, a, damping), scaling(k, a);
  PetscCall(newton_matrix_factor(k->matrix, 0.0, k->A, k->B, k->is_active, &is_solved));
  if (!is_solved) PetscFunctionReturn(PETSC_SUCCESS);
  right_side(k, 0.0, false);
  PetscCall(direction(k, &longest, &is_solved));
  if (!is_solved) PetscFunctionReturn(PETSC_SUCCESS);
  const double t = fmin(1.0, longest), power = t > 1.0 / sqrt(3.0) ? fmax(1.0, 3.0 * t * t) : 1.0,
               sigma = fmin(1.0, pow(fmax(0.0, gap_at(k, t) / k->gap), power));
  right_side(k, sigma * k->gap, true);
  PetscCall(direction(k, &longest, &is_solved));
  if (!is_solved) PetscFunctionReturn(PETSC_SUCCESS);
  longest = fmin(1.0, longest);
  *length = fmin(1.0, (0.9 + 0.09 * longest) * longest);
  for (int64_t a = 0; a < k->p->n; ++a) v3_axpy(k->pair[a].x, *length, k->dx + 3 * a), v3_axpy(k->pair[a].y, *length, k->dy + 3 * a);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void impulses(const path *k, double *r)
{
  for (int64_t a = 0; a < k->p->n; ++a)
    for (int i = 0; i < 3; ++i) r[3 * a + i] = k->pair[a].x[i] / k->pair[a].X[i];
}

/* Newton's method from the path on: it squares the error, and contacts that open get no impulse at all. */
static PetscErrorCode finish(newton_run *run, const path *k)
{
  PetscFunctionBegin;
  friction_velocity(k->p, k->best_r, run->work->u);
  PetscCall(newton_prox_attempts(run, k->best_r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The central path with variable mu |u_T| ends early where many contacts are at rest, because the derivative of |u_T| is undefined
 * there. Then mu |u_T| is fixed at its value for the best impulses, and the resulting convex problem is solved from the start. This is
 * repeated with the new mu |u_T| until it no longer changes [Cadoux2009]. A wall of 144 bricks at rest (839 contacts) stalled at 1.4e-6
 * in 100 steps; with these rounds it is solved to 1e-8 in the second round. */
static PetscErrorCode start_round(path *k, const double *r)
{
  const friction_problem *p = k->p;
  PetscFunctionBegin;
  if (!k->held) {
    PetscCall(MEMORY_ALLOC("interior point", ARRAY(k->held, p->n), ARRAY(k->warm, p->n), ARRAY(k->left, p->n)));
    memcpy(k->left, k->pair, (size_t)p->n * sizeof *k->pair);
  }
  delassus_apply(p->W, r, k->u);
  for (int64_t a = 0; a < p->n; ++a) k->held[a] = p->mu[a] * hypot(k->u[3 * a + 1] + p->q[3 * a + 1], k->u[3 * a + 2] + p->q[3 * a + 2]);
  if (k->is_warm) memcpy(k->pair, k->warm, (size_t)p->n * sizeof *k->pair);
  else start(k);
  k->is_held = true, ++k->n_rounds;
  k->n_idle = 0, k->ahead = k->round_best = INFINITY;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Has the path as it is now given what it can? Its first time it is soon left for the rounds; where these fail, it gets its time. */
static bool is_round_over(path *k, double error, double length, double tolerance)
{
  const double wanted = k->is_resumed ? 1.0 : PROGRESS;
  k->round_best       = fmin(k->round_best, error);
  if (k->is_held) return length == 0.0 || k->gap <= DONE * tolerance * tolerance * k->first_gap;
  k->n_idle = error < wanted * k->ahead ? 0 : k->n_idle + 1;
  if (k->n_idle == 0) k->ahead = error;
  return length == 0.0 || k->n_idle > (k->is_resumed ? PATIENCE : IDLE);
}

/* A round, or the path itself, is over: go on with the next round, or where the path was left; *is_over: there is nothing left to try. */
static PetscErrorCode go_on(path *k, const double *r, bool *is_over)
{
  PetscFunctionBegin;
  if (k->is_held) k->n_idle_rounds = k->round_best <= PROGRESS * k->last_round ? 0 : k->n_idle_rounds + 1;
  k->last_round = fmin(k->last_round, k->round_best);
  *is_over      = false;
  if (!k->is_resumed && k->n_rounds < MOST_ROUNDS && k->n_idle_rounds < IDLE_ROUNDS) {
    PetscCall(start_round(k, k->is_held ? r : k->best_r));
  } else if (!k->is_resumed) {
    memcpy(k->pair, k->left, (size_t)k->p->n * sizeof *k->pair);
    k->is_held = false, k->is_resumed = true;
    k->n_idle = 0, k->ahead = INFINITY;
  } else *is_over = true;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The error where the path is; keeps the best, and where later rounds may set out. */
static double look(path *k, int kind, double *r)
{
  const friction_problem *p = k->p;
  impulses(k, r);
  friction_velocity(p, r, k->u);
  const double error = friction_error(p, kind, r, k->u);
  k->gap             = gap_at(k, 0.0);
  if (error < k->best_error) k->best_error = error, memcpy(k->best_r, r, (size_t)p->n * 3 * sizeof *r);
  if (k->is_held && !k->is_warm && k->gap <= WARM * k->first_gap)
    memcpy(k->warm, k->pair, (size_t)p->n * sizeof *k->pair), k->is_warm = true;
  return error;
}

static friction_status status_of(const newton_run *run, double error, int64_t n_steps, bool is_over)
{
  return !isfinite(error)                        ? FRICTION_NOT_FINITE
         : is_over || error <= run->o->tolerance ? FRICTION_STALLED
         : run->out->iterations >= n_steps       ? FRICTION_ITERATIONS
         : timer_now() > run->end                ? FRICTION_TIME
         : stop_is_urgent()                      ? FRICTION_STOPPED
                                                 : FRICTION_OK;
}

static PetscErrorCode follow(path *k, newton_run *run, const friction_options *o, double *r, friction_result *out)
{
  const int64_t n_steps  = friction_most_iterations(o, MOST_STEPS);
  const double *answer   = &run->work->best_error;
  double        length   = 1.0;
  bool          is_tried = false;
  PetscFunctionBegin;
  start(k);
  k->first_gap = gap_at(k, 0.0);
  for (;; ++out->iterations) {
    const double error   = look(k, o->error, r);
    bool         is_over = is_round_over(k, error, length, o->tolerance);
    if (is_over && isfinite(error) && error > o->tolerance) {
      PetscCall(go_on(k, r, &is_over));
      length = 1.0;
    }
    const bool is_near = !is_tried && k->best_error <= fmax(NEAR, o->tolerance);
    out->status        = status_of(run, error, n_steps, is_over);
    if (is_near || (out->status != FRICTION_OK && isfinite(k->best_error))) PetscCall(finish(run, k));
    is_tried = is_tried || is_near;
    if (*answer <= o->tolerance) out->status = FRICTION_OK;
    if (out->status != FRICTION_OK || *answer <= o->tolerance) break;
    PetscCall(advance(k, length < SHORT ? DAMPED : 1.0, &length));
    ++out->linear_solves;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode friction_solve_interior_point(const friction_problem *p, const friction_options *o, double *r, double *u,
                                             friction_result *out)
{
  const double end = o->time_limit > 0.0 ? timer_now() + o->time_limit : INFINITY;
  newton_run   run;
  path         k = {0};
  PetscFunctionBegin;
  PetscCall(newton_run_create(p, o, end, out, &run));
  friction_velocity(p, r, run.work->u);
  newton_work_store_best(run.work, p, o, r); /* the initial guess is used only if it is the solution */
  PetscErrorCode code = 0;
  out->status         = FRICTION_OK;
  if (run.work->best_error > o->tolerance) {
    code = path_create(p, &k);
    if (!code) code = follow(&k, &run, o, r, out);
  }
  if (!code) newton_work_load_best(run.work, p, o, r, u);
  path_destroy(&k);
  newton_run_destroy(&run);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
