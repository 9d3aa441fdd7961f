/* The choice of a method: sweeps while they promise to end soon, then Newton on proximal problems, then an interior-point method, and
 * where all these stall, growing batches of sweeps with Newton steps in between. What decides are errors and counts, never the clock. */
#include "core/timer.h"
#include "optim/friction/newton_prox.h"
#include "optim/friction/splitting.h"
#include <string.h>

enum { FIRST_LOOK = 24, SWEEPS_WORTH = 500, NEWTON_STEPS = 60, INTERIOR_STEPS = 40, MOST_SWEEPS = 300000 };

static const char *const trail[] = {"splitting", "splitting, newton_prox", "splitting, newton_prox, interior_point",
                                    "splitting, newton_prox, interior_point, splitting"};

typedef struct {
  double  tolerance, first, least; /* errors: of the first look, the smallest */
  int64_t first_sweeps;
} outlook;

/* Sweeps are worth going on with while the rate so far leads to the tolerance within SWEEPS_WORTH of them. */
static bool sweeps_are_hopeless(void *ctx, int64_t sweeps, double error)
{
  outlook *k = ctx;
  if (sweeps < 8) return false;
  if (k->first_sweeps == 0) k->first_sweeps = sweeps, k->first = k->least = error;
  k->least = error < k->least ? error : k->least;
  if (sweeps < FIRST_LOOK) return false;
  const double fallen = log(k->first / k->least), wanted = log(k->first / k->tolerance);
  return fallen * (double)(SWEEPS_WORTH - k->first_sweeps) < wanted * (double)(sweeps - k->first_sweeps);
}

static double time_left(double end) { return end < INFINITY ? fmax(1e-9, end - timer_now()) : 0.0; }

static bool goes_on(friction_verdict v) { return v == FRICTION_STALLED || v == FRICTION_ITERATIONS || v == FRICTION_NOT_FINITE; }

static PetscErrorCode by_interior_point(newton_run *run, double *r)
{
  friction_options own  = *run->o;
  friction_result  part = {0};
  PetscFunctionBegin;
  own.max_iterations = INTERIOR_STEPS;
  own.time_limit     = time_left(run->end);
  PetscCall(friction_solve_interior_point(run->p, &own, r, run->work->trial_u, &part));
  run->out->inner_iterations += part.iterations + part.inner_iterations, run->out->linear_solves += part.linear_solves;
  newton_work_velocity(run->work, run->p, r);
  newton_work_keep_best(run->work, run->p, run->o, r);
  run->verdict = part.verdict;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* From where the sweeps gave up. */
static PetscErrorCode by_newton(newton_run *run, double *r)
{
  const double *error = &run->work->best_error, tolerance = run->o->tolerance;
  PetscFunctionBegin;
  run->out->method = trail[1];
  PetscCall(newton_prox_sequence(run, run->o->newton_prox, NEWTON_STEPS, r));
  if (*error <= tolerance || !goes_on(run->verdict)) PetscFunctionReturn(PETSC_SUCCESS);
  run->out->method = trail[2];
  PetscCall(by_interior_point(run, r));
  if (*error <= tolerance || (run->verdict != FRICTION_OK && !goes_on(run->verdict))) PetscFunctionReturn(PETSC_SUCCESS);
  run->out->method = trail[3];
  PetscCall(newton_prox_with_splitting(run, MOST_SWEEPS, r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode friction_solve_automatic(const friction_problem *p, const friction_options *o, double *r, double *u, friction_result *out)
{
  const double end = o->time_limit > 0.0 ? timer_now() + o->time_limit : INFINITY;
  outlook      k   = {.tolerance = o->tolerance};
  newton_run   run;
  PetscFunctionBegin;
  out->method = trail[0];
  PetscCall(splitting_run(p, o, sweeps_are_hopeless, &k, r, u, out));
  if (!goes_on(out->verdict) || o->max_iterations > 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(newton_run_create(p, o, end, out, &run));
  PetscErrorCode code = by_newton(&run, r);
  if (!code) newton_work_take_best(run.work, p, o, r, u);
  out->verdict = run.work->best_error <= o->tolerance ? FRICTION_OK : run.verdict == FRICTION_OK ? FRICTION_STALLED : run.verdict;
  newton_run_destroy(&run);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
