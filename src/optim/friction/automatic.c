#include "optim/friction/automatic.h"
#include "core/timer.h"
#include "optim/friction/gradient.h"
#include "optim/friction/interior_point.h"
#include "optim/friction/newton_prox.h"
#include "optim/friction/splitting.h"
#include <string.h>

enum {
  FIRST_LOOK     = 16,
  NEWTON_STEPS   = 60, /* those that need more are mostly solved sooner by the interior point; */
  SMALL_STEPS    = 150,
  SMALL          = 64, /* but with few contacts steps cost next to nothing, and 1e-12 takes many */
  INTERIOR_STEPS = 300,
  FEWER_STEPS    = 60, /* where what there is would do */
  PATIENT_STEPS  = 1000,
  MANY_SWEEPS    = 20000,
  MOST_SWEEPS    = 300000,
  MOST_LOOKS     = 64,
  LATE_LOOK      = 64,
  /* of gradient steps, whose momentum takes long to build up and is lost now and then */
  FIRST_GRADIENT_LOOK = 200,
  LATE_GRADIENT_LOOK  = 800,
  ENOUGH_STEPS        = 2000 /* what they may promise where the error is enough already */
};
/* A Newton run costs about as much as this many sweeps times the contacts that a contact shares bodies with: between 60 sweeps on
 * rigid bodies and 250 on loose fibres (Zen 3, November 2026). */
static const double SWEEPS_PER_COUPLING = 12.0;
/* With more contacts than this it costs as many times more as they are more: factors fill, sweeps do not. */
static const double FEW_CONTACTS = 400.0;
/* The first shift after sweeps, over the one for a start from zero: on 14 problems of FCLIB 74 steps instead of 115 to 1e-8. */
static const double AFTER_SWEEPS = 0.1;

/* Loose: of this many contacts at least, no more over-constrained, and each meeting at most this share of the others. Wisps of
 * fibres with 2,700 to 8,000 contacts (nu 0.3 to 1) to a scaled error of 3e-5 from zero: 0.5 to 1.7 s by the gradient, 2.5 to
 * 6 s by sweeps and Newton, whose factors fill as those of meshes do and took 48 to 200 s in single steps (Zen 5, November
 * 2026). Stacks at tight tolerances are not its strength. */
static const int64_t MANY_CONTACTS = 1000;
static const double  LOOSE_NU = 1.5, LOOSE_COUPLING = 0.1;
/* and a product with W costs at most this many sweeps. */
static const double CHEAP = 2.0;

#define TRAIL(first)                                                               \
  {first "splitting", first "splitting, newton_prox",                              \
   first "splitting, newton_prox, interior_point",                                 \
   first "splitting, newton_prox, interior_point, newton_prox",                    \
   first "splitting, newton_prox, interior_point, newton_prox, splitting"}
static const char *const trails[][5] = {TRAIL(""), TRAIL("gradient, ")};

typedef struct {
  double  tolerance, worth;  /* worth: sweeps that a Newton run costs */
  double  enough;
  int64_t first_look, late_look;
  double  least[MOST_LOOKS]; /* smallest error so far, at each look */
  int64_t sweeps[MOST_LOOKS];
  int     n_looks;
} outlook;

/* Does the rate since the look nearest to `since` sweeps lead to the tolerance within what Newton would cost? */
static bool leads_there(const outlook *k, int64_t since)
{
  int       from  = k->n_looks - 1;
  const int last  = from;
  while (from > 0 && k->sweeps[from] > since) --from;
  const double fallen = log(k->least[from] / k->least[last]), wanted = log(k->least[last] / k->tolerance),
               worth  = k->least[last] <= k->enough ? fmin(k->worth, ENOUGH_STEPS) : k->worth;
  return fallen * worth >= wanted * (double)(k->sweeps[last] - k->sweeps[from]);
}

/* Sweeps are worth going on with while the rate over the later half of them promises a soon end, and from late_look on that over
 * the last quarter, too: what fell fast at first may have come to a halt. */
static bool is_hopeless(void *ctx, int64_t sweeps, double error)
{
  outlook     *k     = ctx;
  const double least = k->n_looks > 0 ? fmin(error, k->least[k->n_looks - 1]) : error;
  if (k->n_looks == MOST_LOOKS) { /* every other one is enough */
    for (int i = 0; i < MOST_LOOKS / 2; ++i) k->least[i] = k->least[2 * i + 1], k->sweeps[i] = k->sweeps[2 * i + 1];
    k->n_looks = MOST_LOOKS / 2;
  }
  k->least[k->n_looks] = least, k->sweeps[k->n_looks++] = sweeps;
  if (sweeps < k->first_look) return false;
  return !leads_there(k, sweeps / 2) || (sweeps >= k->late_look && !leads_there(k, sweeps - sweeps / 4));
}

static double time_left(double end) { return end < INFINITY ? fmax(1e-9, end - timer_now()) : 0.0; }

static bool goes_on(friction_verdict v) { return v == FRICTION_STALLED || v == FRICTION_ITERATIONS || v == FRICTION_NOT_FINITE; }

static PetscErrorCode by_interior_point(newton_run *run, double *r)
{
  friction_options own  = *run->o;
  friction_result  part = {0};
  PetscFunctionBegin;
  own.max_iterations = run->work->best_error <= run->o->enough ? FEWER_STEPS : INTERIOR_STEPS;
  own.time_limit     = time_left(run->end);
  PetscCall(friction_solve_interior_point(run->p, &own, r, run->work->trial_u, &part));
  run->out->inner_iterations += part.iterations + part.inner_iterations, run->out->linear_solves += part.linear_solves;
  newton_work_velocity(run->work, run->p, r);
  newton_work_keep_best(run->work, run->p, run->o, r);
  run->verdict = part.verdict;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Accelerated ones, from the best so far. */
static PetscErrorCode by_sweeps(newton_run *run, double *r)
{
  friction_options own  = *run->o;
  friction_result  part = {0};
  PetscFunctionBegin;
  own.max_iterations = MANY_SWEEPS;
  own.time_limit     = time_left(run->end);
  if (isfinite(run->work->best_error)) memcpy(r, run->work->best_r, (size_t)run->p->n * 3 * sizeof *r);
  PetscCall(friction_solve_splitting(run->p, &own, r, run->work->trial_u, &part));
  run->out->iterations += part.iterations;
  newton_work_velocity(run->work, run->p, r);
  newton_work_keep_best(run->work, run->p, run->o, r);
  run->verdict = part.verdict;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static bool newton_is_over(const newton_run *run)
{
  return run->work->best_error <= run->o->tolerance || !(run->verdict == FRICTION_OK || goes_on(run->verdict));
}

/* From where the sweeps gave up. */
static PetscErrorCode by_newton(newton_run *run, const char *const *trail, double *r)
{
  friction_newton_prox_options near = *run->o->newton_prox;
  PetscFunctionBegin;
  near.alpha *= AFTER_SWEEPS;
  run->out->method = trail[1];
  PetscCall(newton_prox_sequence(run, &near, run->p->n <= SMALL ? SMALL_STEPS : NEWTON_STEPS, r));
  if (newton_is_over(run)) PetscFunctionReturn(PETSC_SUCCESS);
  run->out->method = trail[2];
  PetscCall(by_interior_point(run, r));
  if (newton_is_over(run) || run->work->best_error <= run->o->enough) PetscFunctionReturn(PETSC_SUCCESS);
  run->out->method = trail[3];
  if (isfinite(run->work->best_error)) memcpy(r, run->work->best_r, (size_t)run->p->n * 3 * sizeof *r);
  PetscCall(newton_prox_sequence(run, run->o->newton_prox, PATIENT_STEPS, r));
  if (newton_is_over(run) || run->work->best_error <= run->o->enough) PetscFunctionReturn(PETSC_SUCCESS);
  run->out->method = trail[4];
  PetscCall(by_sweeps(run, r));
  if (newton_is_over(run) || run->work->best_error <= run->o->enough) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(newton_prox_with_splitting(run, run->o->enough > 0.0 ? MANY_SWEEPS : MOST_SWEEPS, r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static bool is_loose(const friction_problem *p)
{
  const double n = (double)p->n;
  if (p->n < MANY_CONTACTS || 3.0 * n > LOOSE_NU * (double)delassus_n_dof(p->W)) return false;
  const double coupling = delassus_coupling(p->W);
  return coupling <= LOOSE_COUPLING * n && delassus_work(p->W) <= CHEAP * 9.0 * coupling * n;
}

/* What costs no factor: the gradient where that suits, then sweeps. A limit on iterations is one on these, and nothing follows. */
static PetscErrorCode by_first_order(const friction_problem *p, const friction_options *o, double end, outlook *k, double *r,
                                     double *u, friction_result *out, bool *loose, bool *is_over)
{
  const friction_judge judge = o->max_iterations > 0 ? NULL : is_hopeless;
  friction_options     own   = *o;
  friction_result      part  = {0};
  PetscFunctionBegin;
  *loose = is_loose(p);
  if (*loose) {
    out->method   = "gradient";
    k->first_look = FIRST_GRADIENT_LOOK, k->late_look = LATE_GRADIENT_LOOK, k->enough = o->enough, k->n_looks = 0;
    PetscCall(gradient_run(p, o, judge, k, r, u, out));
    *is_over = !judge || !goes_on(out->verdict) || friction_error(p, o->error, r, u) <= o->enough;
    if (*is_over) PetscFunctionReturn(PETSC_SUCCESS);
    own.time_limit = time_left(end);
  }
  out->method   = trails[*loose][0];
  k->first_look = FIRST_LOOK, k->late_look = LATE_LOOK, k->enough = 0.0, k->n_looks = 0;
  PetscCall(splitting_run(p, &own, judge, k, r, u, &part));
  out->iterations += part.iterations, out->verdict = part.verdict;
  *is_over = !judge || !goes_on(out->verdict);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode friction_solve_automatic(const friction_problem *p, const friction_options *o, double *r, double *u,
                                        friction_result *out)
{
  const double end = o->time_limit > 0.0 ? timer_now() + o->time_limit : INFINITY;
  outlook      k   = {.tolerance = o->tolerance,
                      .worth     = SWEEPS_PER_COUPLING * delassus_coupling(p->W) * fmax(1.0, (double)p->n / FEW_CONTACTS)};
  newton_run   run;
  bool         loose, is_over;
  PetscFunctionBegin;
  out->method = trails[0][0];
  delassus_apply(p->W, r, u);
  for (int64_t i = 0; i < 3 * p->n; ++i) u[i] += p->q[i];
  if (friction_error(p, o->error, r, u) <= o->tolerance) PetscFunctionReturn(PETSC_SUCCESS); /* before anything is set up */
  PetscCall(by_first_order(p, o, end, &k, r, u, out, &loose, &is_over));
  if (is_over) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(newton_run_create(p, o, end, out, &run));
  PetscErrorCode code = by_newton(&run, trails[loose], r);
  if (!code) newton_work_take_best(run.work, p, o, r, u);
  out->verdict = run.work->best_error <= o->tolerance ? FRICTION_OK : run.verdict == FRICTION_OK ? FRICTION_STALLED : run.verdict;
  newton_run_destroy(&run);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
