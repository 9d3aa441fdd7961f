/* Each decision compares the number of sweeps predicted from the convergence rate with the estimated cost of a Newton run in sweeps. */
#include "optim/friction/automatic.h"
#include "core/timer.h"
#include "optim/friction/body_sweeps.h"
#include "optim/friction/gradient.h"
#include "optim/friction/interior_point.h"
#include "optim/friction/newton_prox.h"
#include "optim/friction/splitting.h"
#include <string.h>

enum {
  FIRST_CHECK          = 16,
  NEWTON_STEPS         = 60, /* problems that need more are usually solved faster by the interior point method; */
  SMALL_STEPS          = 150,
  SMALL                = 64, /* with few contacts a step is cheap, and a tolerance of 1e-12 takes many */
  INTERIOR_STEPS       = 300,
  SHORT_INTERIOR_STEPS = 60, /* if the error is at most o->enough */
  LONG_NEWTON_STEPS    = 1000,
  MANY_SWEEPS          = 20000,
  MOST_SWEEPS          = 300000,
  CHECKS_MAX           = 64,
  LATE_CHECK           = 64,
  /* for gradient iterations: their momentum builds up slowly and is lost at restarts */
  FIRST_GRADIENT_CHECK = 200,
  LATE_GRADIENT_CHECK  = 800,
  FIRST_CHEAP_CHECK    = 100,
  LATE_CHEAP_CHECK     = 300,
  ENOUGH_STEPS         = 2000 /* predicted number of iterations that is accepted if the error is at most `enough` */
};
/* A Newton run costs about this many sweeps times the mean number of contacts that share a body with a contact: between 60
 * sweeps for rigid bodies and 250 for fibres in weak contact (Zen 3, November 2026). */
static const double SWEEPS_PER_COUPLING = 12.0;
/* Above this number of contacts the estimate grows in proportion: factors fill in, sweeps do not. */
static const double FEW_CONTACTS = 400.0;
/* First shift after sweeps relative to the shift for a start from zero: on 14 problems of FCLIB 74 steps instead of 115 to 1e-8. */
static const double AFTER_SWEEPS = 0.1;

/* Weakly coupled: at least this many contacts, constraint ratio nu at most WEAK_NU, and each contact coupled with at most this
 * share of the others. Measured on wisps of fibres with 2,700 to 8,000 contacts (nu 0.3 to 1), scaled error 3e-5 from zero: 0.5
 * to 1.7 s with the gradient method, 2.5 to 6 s with sweeps and Newton, whose factors fill in as those of meshes do and took 48
 * to 200 s in single steps (Zen 5, November 2026). The gradient method is unsuitable for stacks at tight tolerances. */
static const int64_t MANY_CONTACTS = 1000;
static const double  WEAK_NU = 1.5, WEAK_COUPLING = 0.1;
/* and a product with W costs at most this many sweeps */
static const double PRODUCT_COST_MAX = 2.0;
/* Other problems with such cheap products: a Newton run costs about this many gradient iterations, and in proportion to n^3 above this number of contacts,
 * because factors fill in. Measured on 23 of 50 problems (FCLIB; strands, brush and knot of jobs/exact; 3 to 600 contacts; each solver alone, loaded machine, Zen 5, November 2026):
 * 80 to 400 iterations below 300 contacts, 1,800 to 5,000 at 300 to 600. The gradient method needs no assembly of W, which takes as long as 20 sweeps.
 * With splitting first, 18 of 23 problems took more than 1.5 times the time of the fastest method at 1e-4 (5.8 times for 597 contacts of strands), now 4 (5.1 times for
 * spheres in a box, which only Newton's method from zero solves quickly). At 1e-8: 10 before, 9 now. */
static const double CHEAP_ITERATIONS = 300.0, CHEAP_CONTACTS = 250.0;

#define METHOD_NAMES(first)                                                                                                                \
  {                                                                                                                                        \
    first "splitting", first "splitting, newton_prox", first "splitting, newton_prox, interior_point",                                     \
        first "splitting, newton_prox, interior_point, newton_prox",                                                                       \
        first "splitting, newton_prox, interior_point, newton_prox, splitting"                                                             \
  }
static const char *const method_names[][5] = {METHOD_NAMES(""), METHOD_NAMES("gradient, ")};
/* Gradient without sweeps after it. */
static const char *const names_without_sweeps[5] = {"gradient", "gradient, newton_prox", "gradient, newton_prox, interior_point",
                                                    "gradient, newton_prox, interior_point, newton_prox",
                                                    "gradient, newton_prox, interior_point, newton_prox, splitting"};

/* Contacts of a pile up to which Newton's method follows sweeps that do not converge: a factorisation in contact space takes minutes beyond. */
enum { NEWTON_CONTACTS = 5000 };

typedef struct {
  double  tolerance, worth; /* worth: predicted cost of a Newton run in sweeps */
  double  enough;
  int64_t first_look, late_look;
  double  least[CHECKS_MAX]; /* smallest error so far, at each check */
  int64_t sweeps[CHECKS_MAX];
  int     n_looks;
} convergence_record;

/* Does the convergence rate since about `since` sweeps predict convergence at a lower cost than a Newton run? */
static bool is_predicted_to_converge(const convergence_record *k, int64_t since)
{
  int       from = k->n_looks - 1;
  const int last = from;
  while (from > 0 && k->sweeps[from] > since) --from;
  const double fallen = log(k->least[from] / k->least[last]), wanted = log(k->least[last] / k->tolerance),
               worth = k->least[last] <= k->enough ? fmin(k->worth, ENOUGH_STEPS) : k->worth;
  return fallen * worth >= wanted * (double)(k->sweeps[last] - k->sweeps[from]);
}

/* Stop test of the sweeps. They continue while the rate over their second half predicts an early end, and from late_look on also
 * the rate over the last quarter: fast initial convergence may have stalled. */
static bool has_stalled(void *ctx, int64_t sweeps, double error)
{
  convergence_record *k     = ctx;
  const double        least = k->n_looks > 0 ? fmin(error, k->least[k->n_looks - 1]) : error;
  if (k->n_looks == CHECKS_MAX) { /* keep every other record */
    for (int i = 0; i < CHECKS_MAX / 2; ++i) k->least[i] = k->least[2 * i + 1], k->sweeps[i] = k->sweeps[2 * i + 1];
    k->n_looks = CHECKS_MAX / 2;
  }
  k->least[k->n_looks] = least, k->sweeps[k->n_looks++] = sweeps;
  if (sweeps < k->first_look) return false;
  return !is_predicted_to_converge(k, sweeps / 2) || (sweeps >= k->late_look && !is_predicted_to_converge(k, sweeps - sweeps / 4));
}

static double remaining_time(double end) { return end < INFINITY ? fmax(1e-9, end - timer_now()) : 0.0; }

static bool is_to_be_continued(friction_status v) { return v == FRICTION_STALLED || v == FRICTION_ITERATIONS || v == FRICTION_NOT_FINITE; }

static PetscErrorCode run_interior_point(newton_run *run, double *r)
{
  friction_options own  = *run->o;
  friction_result  part = {0};
  PetscFunctionBegin;
  own.max_iterations = run->work->best_error <= run->o->enough ? SHORT_INTERIOR_STEPS : INTERIOR_STEPS;
  own.time_limit     = remaining_time(run->end);
  PetscCall(friction_solve_interior_point(run->p, &own, r, run->work->trial_u, &part));
  run->out->inner_iterations += part.iterations + part.inner_iterations, run->out->linear_solves += part.linear_solves;
  friction_velocity(run->p, r, run->work->u);
  newton_work_store_best(run->work, run->p, run->o, r);
  run->status = part.status;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Splitting with acceleration, from the best impulses so far. */
static PetscErrorCode run_accelerated_sweeps(newton_run *run, double *r)
{
  friction_options own  = *run->o;
  friction_result  part = {0};
  PetscFunctionBegin;
  own.max_iterations = MANY_SWEEPS;
  own.time_limit     = remaining_time(run->end);
  if (isfinite(run->work->best_error)) memcpy(r, run->work->best_r, (size_t)run->p->n * 3 * sizeof *r);
  PetscCall(friction_solve_splitting(run->p, &own, r, run->work->trial_u, &part));
  run->out->iterations += part.iterations;
  friction_velocity(run->p, r, run->work->u);
  newton_work_store_best(run->work, run->p, run->o, r);
  run->status = part.status;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static bool is_finished(const newton_run *run)
{
  return run->work->best_error <= run->o->tolerance || !(run->status == FRICTION_OK || is_to_be_continued(run->status));
}

/* Newton and interior point methods in turn, from the result of the sweeps. */
static PetscErrorCode run_second_order_methods(newton_run *run, const char *const *names, double *r)
{
  PetscFunctionBegin;
  run->out->method = names[1];
  PetscCall(newton_prox_sequence(run, AFTER_SWEEPS, run->p->n <= SMALL ? SMALL_STEPS : NEWTON_STEPS, r));
  if (is_finished(run)) PetscFunctionReturn(PETSC_SUCCESS);
  run->out->method = names[2];
  PetscCall(run_interior_point(run, r));
  if (is_finished(run) || run->work->best_error <= run->o->enough) PetscFunctionReturn(PETSC_SUCCESS);
  run->out->method = names[3];
  if (isfinite(run->work->best_error)) memcpy(r, run->work->best_r, (size_t)run->p->n * 3 * sizeof *r);
  PetscCall(newton_prox_sequence(run, 1.0, LONG_NEWTON_STEPS, r));
  if (is_finished(run) || run->work->best_error <= run->o->enough) PetscFunctionReturn(PETSC_SUCCESS);
  run->out->method = names[4];
  PetscCall(run_accelerated_sweeps(run, r));
  if (is_finished(run) || run->work->best_error <= run->o->enough) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(newton_prox_with_splitting(run, run->o->enough > 0.0 ? MANY_SWEEPS : friction_most_iterations(run->o, MOST_SWEEPS), r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static bool is_weakly_coupled(const friction_problem *p)
{
  const double n = (double)p->n;
  if (p->n < MANY_CONTACTS || 3.0 * n > WEAK_NU * (double)delassus_n_dof(p->W)) return false;
  const double coupling = delassus_coupling(p->W);
  return coupling <= WEAK_COUPLING * n && delassus_work(p->W) <= PRODUCT_COST_MAX * 9.0 * coupling * n;
}

/* A product with W takes little more time than a sweep. False for deformable bodies with few contacts, whose products solve large systems. */
static bool has_cheap_product(const friction_problem *p)
{
  return delassus_work(p->W) <= PRODUCT_COST_MAX * 9.0 * delassus_coupling(p->W) * (double)p->n;
}

/* Methods without factorisation: gradient if products with W are cheap; splitting if not, or after gradient if the bodies are weakly coupled. With a limit on
 * iterations no other method follows. *names: names of the sequence of methods. */
static PetscErrorCode run_first_order_methods(const friction_problem *p, const friction_options *o, double end, convergence_record *k,
                                              double *r, double *u, friction_result *out, const char *const **names, bool *is_over)
{
  const friction_stop_test stop_test      = o->max_iterations > 0 ? NULL : has_stalled;
  const bool               weakly_coupled = is_weakly_coupled(p), is_cheap = has_cheap_product(p);
  friction_options         own  = *o;
  friction_result          part = {0};
  PetscFunctionBegin;
  *names = weakly_coupled ? method_names[1] : is_cheap ? names_without_sweeps : method_names[0];
  if (weakly_coupled || is_cheap) {
    const double worth = k->worth, size = fmax(1.0, (double)p->n / CHEAP_CONTACTS);
    out->method   = "gradient";
    k->first_look = FIRST_GRADIENT_CHECK, k->late_look = LATE_GRADIENT_CHECK, k->enough = o->enough, k->n_looks = 0;
    if (!weakly_coupled) {
      k->first_look = FIRST_CHEAP_CHECK, k->late_look = LATE_CHEAP_CHECK;
      k->worth  = CHEAP_ITERATIONS * size * size * size;
      k->enough = 0.0; /* Newton's method follows at little cost */
    }
    PetscCall(gradient_run(p, o, stop_test, k, r, u, out));
    k->worth = worth;
    *is_over = !stop_test || !is_to_be_continued(out->status) || (weakly_coupled && friction_error(p, o->error, r, u) <= o->enough);
    if (*is_over || !weakly_coupled) PetscFunctionReturn(PETSC_SUCCESS);
    own.time_limit = remaining_time(end);
  }
  out->method   = (*names)[0];
  k->first_look = FIRST_CHECK, k->late_look = LATE_CHECK, k->enough = 0.0, k->n_looks = 0;
  PetscCall(splitting_run(p, &own, true, stop_test, k, r, u, &part));
  out->iterations += part.iterations, out->status = part.status;
  *is_over = !stop_test || !is_to_be_continued(out->status);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode friction_solve_automatic(const friction_problem *p, const friction_options *o, double *r, double *u, friction_result *out)
{
  const double       end = o->time_limit > 0.0 ? timer_now() + o->time_limit : INFINITY;
  convergence_record k   = {.tolerance = o->tolerance,
                            .worth     = SWEEPS_PER_COUPLING * delassus_coupling(p->W) * fmax(1.0, (double)p->n / FEW_CONTACTS)};
  newton_run         run;
  bool               is_over = false;
  const char *const *names;
  PetscFunctionBegin;
  out->method = method_names[0][0];
  if (o->error == FRICTION_ERROR_SPEED && body_sweeps_apply(p->W)) {
    names = method_names[0];
    PetscCall(body_sweeps_solve(p, o, r, u, out));
    is_over = o->max_iterations > 0 || !is_to_be_continued(out->status) || p->n > NEWTON_CONTACTS;
  } else {
    friction_velocity(p, r, u);
    /* A converged initial guess: return before any set-up. */
    if (friction_error(p, o->error, r, u) <= o->tolerance) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(run_first_order_methods(p, o, end, &k, r, u, out, &names, &is_over));
  }
  if (is_over) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(newton_run_create(p, o, end, out, &run));
  PetscErrorCode code = run_second_order_methods(&run, names, r);
  if (!code) newton_work_load_best(run.work, p, o, r, u);
  out->status = run.work->best_error <= o->tolerance ? FRICTION_OK : run.status == FRICTION_OK ? FRICTION_STALLED : run.status;
  newton_run_destroy(&run);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
