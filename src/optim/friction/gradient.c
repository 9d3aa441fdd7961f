/* Projected gradient with Nesterov's momentum on the convex problem with a fixed term s = mu |u_T| e_N (e_N: unit vector of the normal),
 *
 *   r <- P_K( y - D (W y + q + s) / L ),   y <- r + beta (r - r_before),   D = diag(rho_a), rho_a = 3/trace(W_aa)
 *
 * The momentum factor beta is reset if the objective increases along the momentum [ODonoghueCandes2015]. Backtracking determines L, and
 * s is updated in every iteration. An iteration needs one product with W: u at y is a linear combination of u at the last two r. */
#include "optim/friction/gradient.h"
#include "core/math3.h"
#include "core/memory.h"
#include "core/stop.h"
#include "core/timer.h"
#include "optim/friction/cone.h"
#include "optim/friction/friction_problem.h"
#include <string.h>

enum { ITERATIONS = 100000, CHECK_EVERY = 5, BACKTRACKS = 60 };
static const double L_SHRINK = 0.97; /* an iteration: the largest curvature is seldom the one at hand */

typedef struct {
  const friction_problem *p;
  const friction_options *o;
  double                 *rho, *lift;                    /* [n] 1/curvature, mu |u_T| */
  double                 *r, *u, *y, *uy, *next, *unext; /* [3n]; u's without q */
  double                 *best;                          /* [3n] */
  double                 *part;                          /* [2 n_chunks] sums */
  int64_t                 n_chunks;
  double                  best_error, L, t, beta; /* t of Nesterov's sequence, the momentum that it gives */
  friction_stop_test      stop_test;              /* may be NULL */
  void                   *ctx;
} gradient;

/* Contacts go in chunks that threads share; sums of chunks are added in their order. */
enum { CHUNK = 512, PARALLEL_CHUNKS = 4 };
typedef void chunk_work(gradient *g, int64_t first, int64_t end, int64_t chunk);

static void in_chunks(gradient *g, chunk_work *work)
{
  const int64_t n = g->p->n;
  if (g->n_chunks < PARALLEL_CHUNKS) { /* a region calls the kernel, even for one thread */
    for (int64_t k = 0; k < g->n_chunks; ++k) work(g, CHUNK * k, CHUNK * (k + 1) < n ? CHUNK * (k + 1) : n, k);
    return;
  }
#pragma omp parallel for schedule(static)
  for (int64_t k = 0; k < g->n_chunks; ++k) work(g, CHUNK * k, CHUNK * (k + 1) < n ? CHUNK * (k + 1) : n, k);
}

static void gradient_free(gradient *g)
{
  MEMORY_FREE(&g->rho, &g->lift, &g->r, &g->u, &g->y, &g->uy, &g->next, &g->unext, &g->best, &g->part);
}

static PetscErrorCode gradient_create(gradient *g, const double *r)
{
  const int64_t  n         = g->p->n;
  double **const vectors[] = {&g->r, &g->u, &g->y, &g->uy, &g->next, &g->unext, &g->best};
  PetscFunctionBegin;
  PetscCall(MEMORY_ALLOC("gradient", ARRAY(g->rho, n), ARRAY(g->lift, n)));
  for (size_t k = 0; k < sizeof vectors / sizeof *vectors; ++k)
    PetscCall(memory_alloc("gradient vector", 3 * n, sizeof(double), vectors[k]));
  g->n_chunks = (n + CHUNK - 1) / CHUNK;
  PetscCall(memory_alloc("gradient sums", 2 * g->n_chunks, sizeof *g->part, &g->part));
  for (int64_t a = 0; a < n; ++a) g->rho[a] = 3.0 / m3_trace(delassus_diagonal(g->p->W) + 9 * a);
  for (int64_t a = 0; a < n; ++a) cone_project(g->p->mu[a], r + 3 * a, g->r + 3 * a);
  memcpy(g->best, g->r, (size_t)(3 * n) * sizeof *r);
  memcpy(g->y, g->r, (size_t)(3 * n) * sizeof *r);
  delassus_apply(g->p->W, g->r, g->u);
  memcpy(g->uy, g->u, (size_t)(3 * n) * sizeof *r);
  g->L = 1.0, g->t = 1.0, g->best_error = INFINITY;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void lift_of(gradient *g, int64_t first, int64_t end, int64_t chunk)
{
  (void)chunk;
  for (int64_t a = first; a < end; ++a) {
    const double *q = g->p->q + 3 * a, *v = g->u + 3 * a, t[2] = {v[1] + q[1], v[2] + q[2]};
    g->lift[a] = g->p->mu[a] * sqrt(t[0] * t[0] + t[1] * t[1]);
  }
}

/* next <- P_K(y - D (uy + q + s)/L). */
static void project(gradient *g, int64_t first, int64_t end, int64_t chunk)
{
  (void)chunk;
  for (int64_t a = first; a < end; ++a) {
    const double s = g->rho[a] / g->L, *uy = g->uy + 3 * a, *q = g->p->q + 3 * a, *y = g->y + 3 * a;
    const double z[3] = {y[0] - s * (uy[0] + q[0] + g->lift[a]), y[1] - s * (uy[1] + q[1]), y[2] - s * (uy[2] + q[2])};
    cone_project(g->p->mu[a], z, g->next + 3 * a);
  }
}

/* |next - y|^2 in the metric of D^-1, and in that of W. */
static void measure(gradient *g, int64_t first, int64_t end, int64_t chunk)
{
  double size = 0.0, curvature = 0.0;
#pragma omp simd reduction(+ : size, curvature)
  for (int64_t a = first; a < end; ++a) {
    const double *x = g->next + 3 * a, *y = g->y + 3 * a, *u = g->unext + 3 * a, *v = g->uy + 3 * a;
    const double  d[3] = {x[0] - y[0], x[1] - y[1], x[2] - y[2]};
    size += (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]) / g->rho[a];
    curvature += d[0] * (u[0] - v[0]) + d[1] * (u[1] - v[1]) + d[2] * (u[2] - v[2]);
  }
  g->part[2 * chunk] = size, g->part[2 * chunk + 1] = curvature;
}

/* How far momentum points where the last step does not. */
static void measure_turn(gradient *g, int64_t first, int64_t end, int64_t chunk)
{
  double turn = 0.0;
#pragma omp simd reduction(+ : turn)
  for (int64_t a = first; a < end; ++a) {
    const double *x = g->next + 3 * a, *y = g->y + 3 * a, *r = g->r + 3 * a;
    turn += ((y[0] - x[0]) * (x[0] - r[0]) + (y[1] - x[1]) * (x[1] - r[1]) + (y[2] - x[2]) * (x[2] - r[2])) / g->rho[a];
  }
  g->part[2 * chunk] = turn;
}

static void move_on(gradient *g, int64_t first, int64_t end, int64_t chunk)
{
  (void)chunk;
  for (int64_t i = 3 * first; i < 3 * end; ++i) {
    g->y[i]  = g->next[i] + g->beta * (g->next[i] - g->r[i]);
    g->uy[i] = g->unext[i] + g->beta * (g->unext[i] - g->u[i]);
    g->r[i] = g->next[i], g->u[i] = g->unext[i];
  }
}

static double sum_of(const gradient *g, int which)
{
  double sum = 0.0;
  for (int64_t k = 0; k < g->n_chunks; ++k) sum += g->part[2 * k + which];
  return sum;
}

/* next, and unext = W next, with L large enough for it to be a descent step. */
static void step(gradient *g)
{
  for (int back = 0; back < BACKTRACKS; ++back) {
    in_chunks(g, project);
    delassus_apply(g->p->W, g->next, g->unext);
    in_chunks(g, measure);
    const double size = sum_of(g, 0), curvature = sum_of(g, 1);
    if (!(curvature > g->L * size * (1.0 + 1e-12))) return;
    g->L = fmax(2.0 * g->L, 1.01 * curvature / size);
  }
}

/* y beyond next, unless the last step and the momentum disagree. */
static void extrapolate(gradient *g)
{
  const double t = 0.5 * (1.0 + sqrt(1.0 + 4.0 * g->t * g->t));
  in_chunks(g, measure_turn);
  g->beta = (g->t - 1.0) / t, g->t = t;
  if (sum_of(g, 0) > 0.0) g->beta = 0.0, g->t = 1.0;
  in_chunks(g, move_on);
}

/* Return the error norm of r. Store r in g->best if its error is the lowest so far. u [3n] out: W r + q. */
static double evaluate_error(gradient *g, double *u)
{
  const int64_t n = g->p->n;
  for (int64_t i = 0; i < 3 * n; ++i) u[i] = g->u[i] + g->p->q[i];
  const double e = friction_error(g->p, g->o->error, g->r, u);
  if (e < g->best_error) {
    g->best_error = e;
    memcpy(g->best, g->r, (size_t)(3 * n) * sizeof *u);
  }
  return e;
}

static void run(gradient *g, double *u, friction_result *out)
{
  const int64_t most = friction_most_iterations(g->o, ITERATIONS);
  const double  end  = g->o->time_limit > 0.0 ? timer_now() + g->o->time_limit : INFINITY;
  out->status        = FRICTION_ITERATIONS;
  in_chunks(g, lift_of);
  for (;; ++out->iterations) {
    if (out->iterations % CHECK_EVERY == 0 || out->iterations >= most) {
      const double e = evaluate_error(g, u);
      if (e <= g->o->tolerance) out->status = FRICTION_OK;
      else if (!isfinite(e)) out->status = FRICTION_NOT_FINITE;
      else if (timer_now() > end) out->status = FRICTION_TIME;
      else if (stop_is_urgent()) out->status = FRICTION_STOPPED;
      else if (g->stop_test && g->stop_test(g->ctx, out->iterations, e)) out->status = FRICTION_STALLED;
      else if (out->iterations < most) goto go_on;
      return;
    }
  go_on:
    step(g);
    extrapolate(g);
    g->L *= L_SHRINK;
    in_chunks(g, lift_of);
  }
}

PetscErrorCode gradient_run(const friction_problem *p, const friction_options *o, friction_stop_test stop_test, void *ctx, double *r,
                            double *u, friction_result *out)
{
  gradient g = {.p = p, .o = o, .stop_test = stop_test, .ctx = ctx};
  PetscFunctionBegin;
  const PetscErrorCode code = gradient_create(&g, r);
  if (!code) {
    run(&g, u, out);
    memcpy(r, g.best, (size_t)(3 * p->n) * sizeof *r);
    friction_velocity(p, r, u);
  }
  gradient_free(&g);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode friction_solve_gradient(const friction_problem *p, const friction_options *o, double *r, double *u, friction_result *out)
{
  PetscFunctionBegin;
  PetscCall(gradient_run(p, o, NULL, NULL, r, u, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}
