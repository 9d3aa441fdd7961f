#include "optim/friction/newton_prox.h"
#include "core/math3.h"
#include "core/memory.h"
#include "core/stop.h"
#include "core/timer.h"
#include "optim/friction/splitting.h"
#include <stddef.h>
#include <string.h>

enum {
  MOST_STEPS       = 1000,
  INNER_STEPS      = 20, /* of one proximal problem */
  MOST_IDLE        = 20,
  FIRST_HOLD       = 4,
  LONGEST_HOLD     = 32,
  PATIENCE         = 5,
  MOST_SWEEPS      = 300000,
  FIRST_SWEEPS     = 25,
  ATTEMPT_STEPS    = 20,
  ATTEMPT_PATIENCE = 4
};
static const double ALPHA = 1e-2, SHRINK = 0.1; /* first shift; factor on alpha after a solved proximal problem */
static const double INNER   = 0.1;              /* tolerance of a proximal problem over the error of the whole problem */
static const double CAREFUL = 0.3, LEAST_ALPHA = 1e-10, MOST_ALPHA = 1e3; /* CAREFUL: factor on alpha near a shift that failed */
static const double ATTEMPT_ALPHA[] = {1e-6, 1e-4, 1e-8, 1e-2};

PetscErrorCode newton_run_create(const friction_problem *p, const friction_options *o, double end, friction_result *out, newton_run *run)
{
  double trace = 0.0;
  PetscFunctionBegin;
  *run                = (newton_run){.p = p, .o = o, .out = out, .end = end};
  PetscErrorCode code = newton_work_create(p, &run->work);
  if (!code) code = newton_matrix_create(p, &run->matrix);
  if (!code) code = memory_alloc("proximal centre", 3 * p->n, sizeof *run->centre, &run->centre);
  if (code) newton_run_destroy(run);
  PetscCall(code);
  for (int64_t a = 0; a < p->n; ++a) trace += m3_trace(delassus_diagonal(p->W) + 9 * a);
  run->mean_diagonal = trace / (3.0 * (double)p->n);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void newton_run_destroy(newton_run *run)
{
  memory_free(&run->centre);
  newton_matrix_destroy(&run->matrix);
  newton_work_destroy(&run->work);
}

static friction_status must_stop(const newton_run *run)
{
  return timer_now() > run->end ? FRICTION_TIME : stop_is_urgent() ? FRICTION_STOPPED : FRICTION_OK;
}

/* Newton steps on the function with u = W r + q + alpha (r - centre). With centre NULL the centre is always r, so only the matrix is
 * shifted. Stops when the inner error is `requested` of the whole one (`from` at the centre), when the whole problem is solved, or when
 * the inner error has not fallen for `patience` steps. */
static PetscErrorCode inner_newton(newton_run *run, double alpha, const double *centre, double from, double requested, int64_t n_steps,
                                   int64_t patience, double *r, bool *is_accepted)
{
  const friction_problem *p     = run->p;
  newton_work            *k     = run->work;
  double                  least = INFINITY;
  int64_t                 since = 0;
  PetscFunctionBegin;
  *is_accepted = false;
  for (int64_t step = 0;; ++step) {
    bool is_solved;
    friction_velocity(p, r, k->u);
    newton_work_store_best(k, p, run->o, r);
    const double whole = friction_error(p, run->o->error, r, k->u);
    run->status        = must_stop(run);
    if (k->best_error <= run->o->tolerance || run->status != FRICTION_OK || !isfinite(whole)) break;
    for (int64_t i = 0; i < 3 * p->n && centre; ++i) k->u[i] += alpha * (r[i] - centre[i]);
    const double inner = centre ? friction_error(p, run->o->error, r, k->u) : whole;
    *is_accepted       = inner <= requested * fmin(from, whole);
    if (*is_accepted || step == n_steps) break;
    if (inner < 0.9 * least) least = inner, since = 0;
    else if (++since > patience) break;
    alart_curnier(ALART_CURNIER_AUGMENTED, p, k->rho, k->u, r, k->f, k->A, k->B, k->is_active);
    PetscCall(newton_matrix_factor(run->matrix, alpha, k->A, k->B, k->is_active, &is_solved));
    ++run->out->linear_solves, ++run->out->inner_iterations;
    if (is_solved) PetscCall(newton_matrix_solve(run->matrix, k->f, k->d, &is_solved));
    if (!is_solved) break;
    for (int64_t i = 0; i < 3 * p->n; ++i) r[i] += k->d[i];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The shift of the next proximal problem. After a failure at `bad` it stays slightly larger for a number of problems that doubles with
 * every failure, then it decreases in smaller steps. On walls of bricks with gaps of 1e-5, each proximal problem at a safe shift
 * identifies more of the contacts that carry force. A wall that failed with any number of sweeps then takes a hundred steps. */
typedef struct {
  double alpha, bad;
  int    hold, next_hold;
} shift;

static void shift_after(shift *s, bool is_accepted)
{
  if (!is_accepted) {
    s->bad       = s->alpha;
    s->alpha     = fmin(MOST_ALPHA, s->alpha / CAREFUL);
    s->hold      = s->next_hold;
    s->next_hold = s->next_hold < LONGEST_HOLD ? 2 * s->next_hold : LONGEST_HOLD;
  } else if (s->hold > 1) --s->hold;
  else if (s->hold == 1 || s->alpha * SHRINK <= 1.01 * s->bad) {
    s->hold = 0, s->bad = 0.0;
    s->alpha = fmax(LEAST_ALPHA, CAREFUL * s->alpha);
  } else s->alpha = fmax(LEAST_ALPHA, SHRINK * s->alpha);
}

PetscErrorCode newton_prox_sequence(newton_run *run, double alpha, int64_t n_steps, double *r)
{
  const size_t  bytes = (size_t)run->p->n * 3 * sizeof *r;
  const int64_t first = run->out->inner_iterations;
  shift         s     = {.alpha = alpha * ALPHA, .next_hold = FIRST_HOLD};
  newton_work  *k     = run->work;
  PetscFunctionBegin;
  for (int64_t idle = 0; idle < MOST_IDLE;) {
    const int64_t left = first + n_steps - run->out->inner_iterations, before = run->out->inner_iterations;
    bool          is_accepted;
    run->status = FRICTION_ITERATIONS;
    if (left <= 0 || (run->o->max_iterations > 0 && run->out->iterations >= run->o->max_iterations)) PetscFunctionReturn(PETSC_SUCCESS);
    memcpy(run->centre, r, bytes);
    friction_velocity(run->p, r, k->u);
    const double from = friction_error(run->p, run->o->error, r, k->u);
    PetscCall(inner_newton(run, s.alpha * run->mean_diagonal, run->centre, from, INNER, left < INNER_STEPS ? left : INNER_STEPS, PATIENCE,
                           r, &is_accepted));
    ++run->out->iterations;
    if (run->status != FRICTION_OK || k->best_error <= run->o->tolerance) PetscFunctionReturn(PETSC_SUCCESS);
    shift_after(&s, is_accepted);
    idle = run->out->inner_iterations > before ? 0 : idle + 1;
    if (!is_accepted)
      memcpy(r, run->centre, bytes); /* not the best so far, which another method may have found: this one makes its own way */
  }
  run->status = FRICTION_STALLED;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode newton_prox_attempts(newton_run *run, const double *r)
{
  newton_work *k = run->work;
  bool         is_accepted;
  PetscFunctionBegin;
  for (size_t i = 0; i < sizeof ATTEMPT_ALPHA / sizeof *ATTEMPT_ALPHA; ++i) {
    memcpy(run->centre, r, (size_t)run->p->n * 3 * sizeof *r);
    PetscCall(inner_newton(run, ATTEMPT_ALPHA[i] * run->mean_diagonal, NULL, INFINITY, 0.0, ATTEMPT_STEPS, ATTEMPT_PATIENCE, run->centre,
                           &is_accepted));
    if (run->status != FRICTION_OK || k->best_error <= run->o->tolerance) break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode newton_prox_with_splitting(newton_run *run, int64_t most_sweeps, double *r)
{
  newton_work     *k      = run->work;
  const size_t     bytes  = (size_t)run->p->n * 3 * sizeof *r;
  friction_options sweeps = *run->o;
  PetscFunctionBegin;
  if (isfinite(k->best_error)) memcpy(r, k->best_r, bytes);
  for (int64_t swept = 0; swept < most_sweeps;) {
    friction_result part      = {0};
    double          before    = k->best_error;
    const int64_t   requested = swept / 2 + FIRST_SWEEPS;
    sweeps.max_iterations     = requested < most_sweeps - swept ? requested : most_sweeps - swept;
    sweeps.time_limit         = run->end < INFINITY ? fmax(1e-9, run->end - timer_now()) : 0.0;
    /* plain sweeps: acceleration needs long runs, and finds the wrong contacts sliding for the longest time */
    PetscCall(splitting_run(run->p, &sweeps, false, NULL, NULL, r, k->trial_u, &part));
    swept += part.iterations, run->out->iterations += part.iterations;
    friction_velocity(run->p, r, k->u);
    if (newton_work_store_best(k, run->p, run->o, r)) before = k->best_error;
    run->status = part.status;
    if (part.status != FRICTION_ITERATIONS && part.status != FRICTION_STALLED) break;
    PetscCall(newton_prox_attempts(run, r));
    if (run->status != FRICTION_OK || k->best_error <= run->o->tolerance) break;
    if (k->best_error < INNER * before) memcpy(r, k->best_r, bytes);
    run->status = FRICTION_ITERATIONS;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode friction_solve_newton_prox(const friction_problem *p, const friction_options *o, double *r, double *u, friction_result *out)
{
  const double end = o->time_limit > 0.0 ? timer_now() + o->time_limit : INFINITY;
  newton_run   run;
  PetscFunctionBegin;
  PetscCall(newton_run_create(p, o, end, out, &run));
  PetscErrorCode code = newton_prox_sequence(&run, 1.0, MOST_STEPS, r);
  const int64_t  left = o->max_iterations > 0 ? o->max_iterations - out->iterations : friction_most_iterations(o, MOST_SWEEPS);
  if (!code && (run.status == FRICTION_STALLED || run.status == FRICTION_ITERATIONS) && left > 0) {
    out->method = "newton_prox, splitting";
    code        = newton_prox_with_splitting(&run, left, r);
  }
  if (!code) newton_work_load_best(run.work, p, o, r, u);
  out->status = run.work->best_error <= o->tolerance ? FRICTION_OK : run.status == FRICTION_OK ? FRICTION_STALLED : run.status;
  newton_run_destroy(&run);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
