#include "optim/friction/splitting.h"
#include "core/math3.h"
#include "core/memory.h"
#include "core/stop.h"
#include "core/timer.h"
#include "optim/friction/anderson.h"
#include "optim/friction/cone.h"
#include "optim/friction/splitting_sweep.h"
#include <stddef.h>
#include <string.h>

static const char *const locals[]     = {"exact", "hybrid", NULL};
static const char *const local_help[] = {"the cases one by one, sliding by its scalar equation", "Newton on the Fischer-Burmeister function, enumeration of the cases where that fails [Daviet2011]", NULL};
static const char *const sweeps[]     = {"forward", "symmetric", NULL};
static const key_spec keys[] = {
  {.name = "local", .type = KEY_ENUM, .offset = offsetof(friction_splitting_options, local), .choices = locals, .choice_help = local_help, .fallback = "exact",
   .help = "how one contact is solved"},
  {.name = "sweep", .type = KEY_ENUM, .offset = offsetof(friction_splitting_options, sweep), .choices = sweeps, .fallback = "forward",
   .help = "every sweep in the same direction, or forth and back"},
  {.name = "check_every", .type = KEY_INT, .offset = offsetof(friction_splitting_options, check_every), .fallback = "25", .min = 1, .max = 1000000,
   .help = "sweeps between evaluations of the error, at most; fewer once the end is in sight"},
  {.name = "freeze_after", .type = KEY_INT, .offset = offsetof(friction_splitting_options, freeze_after), .fallback = "10", .min = 1, .max = 200,
   .help = "sweeps in a row that hardly change a contact, after which it is left out of ten"},
  {.name = "freeze_change", .type = KEY_REAL, .offset = offsetof(friction_splitting_options, freeze_change), .fallback = "0", .min = 0, .max = 1,
   .help = "relative change of an impulse that counts as hardly, e.g. 1e-6; 0: no contact is left out. For sweeps without acceleration, which needs them all alike"},
  {.name = "memory", .type = KEY_INT, .offset = offsetof(friction_splitting_options, memory), .fallback = "10", .min = 0, .max = ANDERSON_MOST,
   .help = "earlier points that Anderson's acceleration combines; 0: off. Stacks that took 300,000 sweeps take 700"},
  {.name = "period", .type = KEY_INT, .offset = offsetof(friction_splitting_options, period), .fallback = "8", .min = 1, .max = 1000,
   .help = "sweeps between the steps of the acceleration"},
  {.name = "parts", .type = KEY_INT, .offset = offsetof(friction_splitting_options, parts), .fallback = "0", .min = 0, .max = 64,
   .help = "parts of the bodies that are swept at the same time, an even number or 1; 0: chosen by the number of contacts. The result depends on it, but not on the number of threads"},
  {.name = NULL}};
const key_table friction_splitting_table = {.name = "friction.splitting", .help = "Block Gauss-Seidel over contacts.",
                                            .size = sizeof(friction_splitting_options), .keys = keys};

enum { SWEEPS = 100000, FRESH_EVERY = 2000, PARALLEL_CONTACTS = 512 };
static const double WORSE_MAX = 2.0; /* growth of a residual that shows an accelerated step was a mistake */

typedef struct {
  const friction_problem           *p;
  const friction_options           *o;
  const friction_splitting_options *own;
  sweeper                           s;
  double                            end, best_error;
  double                           *best; /* [n][3] */
  friction_judge                    is_hopeless; /* may be NULL */
  void                             *ctx;
  /* acceleration */
  anderson past;
  double  *weight, *from; /* [3n]; from: where the sweeps of this period began */
  double   residual;      /* of the last period */
} solver;

static void solver_free(solver *v)
{
  sweeper_destroy(&v->s);
  anderson_destroy(&v->past);
  memory_free(&v->best), memory_free(&v->weight), memory_free(&v->from);
}

static PetscErrorCode solver_create(solver *v, const double *r)
{
  const int64_t n = v->p->n;
  PetscFunctionBegin;
  PetscCall(sweeper_create(v->p, v->own, &v->s));
  PetscCall(memory_alloc("best impulses", 3 * n, sizeof *v->best, &v->best));
  for (int64_t a = 0; a < n; ++a) cone_project(v->p->mu[a], r + 3 * a, v->best + 3 * a); /* if nothing better comes */
  v->best_error = INFINITY;
  sweeper_put(&v->s, v->best);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the acceleration needs; many problems end before it begins. */
static PetscErrorCode prepare_acceleration(solver *v)
{
  const int64_t n = v->p->n;
  PetscFunctionBegin;
  PetscCall(anderson_create(3 * n, (int)v->own->memory, &v->past));
  PetscCall(memory_alloc("weights of impulses", 3 * n, sizeof *v->weight, &v->weight));
  PetscCall(memory_alloc("accelerated impulses", 3 * n, sizeof *v->from, &v->from));
  for (int64_t i = 0; i < 3 * n; ++i) v->weight[i] = m3_trace(delassus_diagonal(v->p->W) + 9 * (i / 3)) / 3.0; /* energy */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Error of where the sweeps are; keeps the best. */
static double judge(solver *v, double *r, double *u)
{
  sweeper_take(&v->s, r, u);
  const double e = friction_error(v->p, v->o->error, r, u);
  if (e < v->best_error) {
    v->best_error = e;
    memcpy(v->best, r, (size_t)(3 * v->p->n) * sizeof *r);
  }
  return e;
}

/* Sweeps until the error is worth another look: about half of what a straight line through the last two asks for. */
static int64_t next_batch(const solver *v, double before, double now, int64_t swept)
{
  const int64_t most = v->own->check_every;
  if (!(now < before)) return most;
  const double rate = log(before / now) / (double)swept, wanted = log(now / v->o->tolerance) / rate;
  return wanted < 2.0 ? 1 : wanted * 0.6 > (double)most ? most : (int64_t)(wanted * 0.6) + 1;
}

/* A period of sweeps took `from` to r: the next one begins at the point that Anderson makes of the last ones, brought back into
 * the cones. */
static void accelerate(solver *v, const double *r)
{
  const int64_t n  = v->p->n;
  double        f2 = 0.0;
  for (int64_t i = 0; i < 3 * n; ++i) f2 += v->weight[i] * (r[i] - v->from[i]) * (r[i] - v->from[i]);
  const double f = sqrt(f2);
  if (v->past.n_kept > 0 && f > WORSE_MAX * v->residual) anderson_forget(&v->past);
  v->residual = f;
  anderson_step(&v->past, v->from, r, v->weight, v->from);
  if (n < PARALLEL_CONTACTS) { /* a region calls the kernel, even for one thread */
    for (int64_t a = 0; a < n; ++a) cone_project(v->p->mu[a], v->from + 3 * a, v->from + 3 * a);
  } else {
    #pragma omp parallel for schedule(static)
    for (int64_t a = 0; a < n; ++a) cone_project(v->p->mu[a], v->from + 3 * a, v->from + 3 * a);
  }
  sweeper_put(&v->s, v->from);
}

/* The answer, after `swept` sweeps gave the error `now`; or FRICTION_ITERATIONS to go on. */
static friction_verdict verdict_of(const solver *v, int64_t swept, double now)
{
  if (now <= v->o->tolerance) return FRICTION_OK;
  if (!isfinite(now)) return FRICTION_NOT_FINITE;
  if (timer_now() > v->end) return FRICTION_TIME;
  if (v->is_hopeless && v->is_hopeless(v->ctx, swept, now)) return FRICTION_STALLED;
  return stop_is_urgent() ? FRICTION_STOPPED : FRICTION_ITERATIONS;
}

static PetscErrorCode run(solver *v, double *r, double *u, friction_result *out)
{
  const int64_t most = v->o->max_iterations > 0 ? v->o->max_iterations : SWEEPS;
  const bool    is_symmetric = v->own->sweep == SPLITTING_SWEEP_SYMMETRIC;
  int64_t       batch = 1, fresh = 0;
  double        before = judge(v, r, u), now = before;
  PetscFunctionBegin;
  out->verdict = verdict_of(v, out->iterations, now);
  while (out->verdict == FRICTION_ITERATIONS && out->iterations < most) {
    /* one period first, looked at often: easy problems end there */
    const bool is_period = v->own->memory > 0 && out->iterations >= v->own->period;
    if (is_period) batch = v->own->period;
    else if (v->own->memory > 0 && batch > v->own->period - out->iterations) batch = v->own->period - out->iterations;
    if (batch > most - out->iterations) batch = most - out->iterations;
    sweeper_run(&v->s, batch, is_symmetric);
    out->iterations += batch, fresh += batch;
    now = judge(v, r, u);
    if (now <= v->o->tolerance || fresh >= FRESH_EVERY) { /* round-off of many small changes does not count as an answer */
      sweeper_put(&v->s, r);
      now = judge(v, r, u), fresh = 0;
    }
    out->verdict = verdict_of(v, out->iterations, now);
    if (v->own->memory > 0 && out->verdict == FRICTION_ITERATIONS) {
      if (!v->from) PetscCall(prepare_acceleration(v));
      if (is_period) accelerate(v, r), fresh = 0;
      else memcpy(v->from, r, (size_t)(3 * v->p->n) * sizeof *r);
    }
    batch  = next_batch(v, before, now, batch);
    before = now;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode splitting_run(const friction_problem *p, const friction_options *o, friction_judge is_hopeless, void *ctx,
                             double *r, double *u, friction_result *out)
{
  solver v = {.p           = p,
              .o           = o,
              .own         = o->splitting,
              .is_hopeless = is_hopeless,
              .ctx         = ctx,
              .end         = o->time_limit > 0.0 ? timer_now() + o->time_limit : INFINITY};
  PetscFunctionBegin;
  PetscErrorCode code = solver_create(&v, r);
  if (!code) code = run(&v, r, u, out);
  if (!code) {
    memcpy(r, v.best, (size_t)(3 * p->n) * sizeof *r);
    delassus_apply(p->W, r, u);
    for (int64_t i = 0; i < 3 * p->n; ++i) u[i] += p->q[i];
  }
  solver_free(&v);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode friction_solve_splitting(const friction_problem *p, const friction_options *o, double *r, double *u,
                                        friction_result *out)
{
  PetscFunctionBegin;
  PetscCall(splitting_run(p, o, NULL, NULL, r, u, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}
