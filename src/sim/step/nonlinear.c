/* The iteration, its line search, acceleration and termination. Equations and linear solves are callbacks of nonlinear_problem. */
#include "sim/step/nonlinear.h"
#include "core/memory.h"
#include "core/stop.h"
#include "optim/friction/anderson.h"
#include <math.h>
#include <string.h>

nonlinear_options nonlinear_defaults(const newton_options *newton)
{
  return (nonlinear_options){
      .tolerance       = newton->tolerance,
      .stall_tolerance = solver_stall_tolerance(newton->stall_tolerance, newton->tolerance),
      .stall_is_given  = !isnan(newton->stall_tolerance),
      .max_iterations  = newton->max_iterations,
      /* Convergence is not monotone. 8 to 32 are equivalent for wisps, brushes, knots, ropes and plates. idle 4 instead of 16 accepts
       * steps of curled rods (helix, 0.2 s) with residuals of 3e-3 that otherwise converge, at the same number of iterations. progress
       * 0.5 instead of 0.9 accepts steps of the knot with a residual of 0.028 that otherwise converge to 1e-4. */
      .idle     = 16,
      .idle_far = 16,
      .progress = 0.9,
      /* exact, knot: 6816 linearisations without acceleration, 2901 with 0.1, 2892 with 0 (always), which needs up to 15 % more
       * evaluations (brush, wisp). convex, sand: no difference between 0, 0.1 and 0.3. */
      .accelerate = 0.1,
      .memory     = 5, /* knot: 3250 linearisations with 2, 2892 with 5, 2869 with 10 */
      .loosest    = INFINITY,
      .accurate   = 1e-2 * newton->tolerance, /* convex, sand: 1e-1 to 1e-3 are equivalent */
      .trials     = 20,                       /* 8 suffice in the scenes above; with none the jumping strand of test_exact fails */
  };
}

typedef struct {
  const nonlinear_problem *p;
  const nonlinear_options *o;
  nonlinear_state          now;
  int64_t                  n;
  double                  *start, *last_solution, *mass; /* [n] linearisation point and solution of the last problem; masses */
  double                  *inverse_scale;                /* [n] weights of the residual, if the problem has parts */
  anderson                 past;
  step_line_search         whole;
  bool                     is_renewed; /* linearise again at v */
  double                   best;       /* smallest residual norm */
  int64_t                  n_idle;     /* iterations since then */
  double                  *stored;     /* [n_stored] v and arrays of the problem at the smallest norm; NULL: not stored */
  int64_t                  n_stored;
  double                   stored_norm;
} nonlinear_work;

static void free_work(nonlinear_work *w)
{
  MEMORY_FREE(&w->start, &w->last_solution, &w->mass, &w->inverse_scale, &w->stored);
  anderson_destroy(&w->past);
  step_line_search_destroy(&w->whole);
}

/* Evaluate the residual at v; *norm is unchanged if the state is invalid. */
static PetscErrorCode evaluate_at_state(nonlinear_work *w, bool with_tangent, double *norm, step_status *status)
{
  const nonlinear_problem *p = w->p;
  PetscFunctionBegin;
  PetscCall(p->evaluate(p->context, &w->now, with_tangent, status));
  if (status->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
  const double here = step_unknowns_norm(p->unknowns, p->layout, p->residual);
  if (isfinite(here)) *norm = here;
  else *status = (step_status){STEP_NOT_FINITE, NULL, -1};
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Copy v and the arrays of the problem to `stored`, or back. */
static int64_t copy_arrays(nonlinear_work *w, bool is_back)
{
  nonlinear_array array[1 + NONLINEAR_MAX_ARRAYS] = {{w->p->v, w->n}};
  const int       n_arrays                        = 1 + (w->p->list_arrays ? w->p->list_arrays(w->p->context, array + 1) : 0);
  int64_t         at                              = 0;
  for (int k = 0; k < n_arrays; ++k) {
    double *here = array[k].values, *there = w->stored ? w->stored + at : NULL;
    if (there) memcpy(is_back ? here : there, is_back ? there : here, (size_t)array[k].n * sizeof *here);
    at += array[k].n;
  }
  return at;
}

/* Store the current solution if its norm is the smallest so far and unconverged steps are accepted. */
static PetscErrorCode store_best(nonlinear_work *w)
{
  PetscFunctionBegin;
  if (!w->p->layout->accepts_unconverged || !(w->now.norm < w->stored_norm)) PetscFunctionReturn(PETSC_SUCCESS);
  memory_free(&w->stored);
  w->n_stored = copy_arrays(w, false);
  PetscCall(memory_alloc("best state", w->n_stored, sizeof *w->stored, &w->stored));
  (void)copy_arrays(w, false);
  w->stored_norm = w->now.norm;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The iteration did not converge: make the stored state the result. */
static PetscErrorCode restore_best(nonlinear_work *w, step_status *status)
{
  PetscFunctionBegin;
  if (status->code != STEP_NOT_CONVERGED || !w->stored) PetscFunctionReturn(PETSC_SUCCESS);
  *status = (step_status){STEP_OK, NULL, -1};
  (void)copy_arrays(w, true);
  PetscCall(evaluate_at_state(w, true, &w->now.norm, status));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Tolerance of the linearised problem for a residual norm: digits that the next linearisation changes are not computed. */
static double forced_tolerance(const nonlinear_options *o, double norm)
{
  return o->forcing > 0.0 ? fmax(o->least, fmin(o->loosest, o->forcing * norm)) : o->least;
}

/* ==== line search ==== */

/* Trial points until all selected parts are done. The next linearisation point is the last one. */
static PetscErrorCode search_lines(nonlinear_work *w, step_line_search *search, double *norm, step_status *status)
{
  const nonlinear_problem *p = w->p;
  PetscFunctionBegin;
  for (int k = 0; k < w->o->trials && search->n_selected > 0; ++k) {
    step_line_search_next(search, k);
    step_line_search_point(search, w->start, p->direction, p->v);
    *status = (step_status){STEP_OK, NULL, -1};
    PetscCall(evaluate_at_state(w, false, norm, status));
    step_line_search_update(search, p->direction, status->code == STEP_OK ? p->residual : NULL);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Slopes of work at the linearisation point, after solve. */
static void start_line_search(nonlinear_work *w)
{
  const nonlinear_problem *p = w->p;
  if (w->o->trials == 0) return;
  if (p->combine_start) p->combine_start(p->context);
  step_line_search_start(&w->whole, p->direction, p->residual);
  if (p->parts) step_line_search_start(p->parts, p->direction, p->residual);
}

/* The line search that the solution needs; NULL: none. Parts are searched separately if the scene has several. */
static step_line_search *select_line_search(nonlinear_work *w, bool is_valid, bool is_end)
{
  const nonlinear_problem *p = w->p;
  if (w->o->trials == 0 || (!w->o->is_smooth && w->now.k + 1 >= w->o->max_iterations)) return NULL;
  const bool has_parts = p->parts && p->parts->n_parts > 1 && is_valid && !is_end;
  if (has_parts && step_line_search_select(p->parts, p->direction, p->residual, w->inverse_scale) > 0) return p->parts;
  return step_line_search_select(&w->whole, p->direction, is_valid ? p->residual : NULL, NULL) > 0 ? &w->whole : NULL;
}

/* ==== next linearisation point ==== */

/* Anderson's combination of earlier solutions, or the last solution where the residual is not defined at the combination. */
static PetscErrorCode apply_anderson(nonlinear_work *w, step_status *status)
{
  const nonlinear_problem *p       = w->p;
  const size_t             n_bytes = (size_t)w->n * sizeof *p->v;
  double                   norm; /* not used: the law is not solved at this state */
  PetscFunctionBegin;
  if (!w->past.f) {
    PetscCall(anderson_create(w->n, w->o->memory, &w->past));
    PetscCall(MEMORY_ALLOC("velocities", ARRAY(w->last_solution, w->n), ARRAY(w->mass, w->n)));
    step_unknowns_select(p->unknowns, p->layout->scale, w->mass);
  }
  memcpy(w->last_solution, p->v, n_bytes);
  anderson_step(&w->past, w->start, w->last_solution, w->mass, p->v);
  PetscCall(evaluate_at_state(w, w->is_renewed, &norm, status));
  if (status->code == STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
  *status = (step_status){STEP_OK, NULL, -1};
  anderson_reset(&w->past);
  memcpy(p->v, w->last_solution, n_bytes);
  PetscCall(evaluate_at_state(w, w->is_renewed, &norm, status));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode choose_linearisation_point(nonlinear_work *w, step_status *status)
{
  const nonlinear_options *o         = w->o;
  const nonlinear_state   *now       = &w->now;
  bool                     has_moved = false;
  double                   norm; /* not used */
  PetscFunctionBegin;
  w->is_renewed = !(now->norm <= o->renew * now->before);
  if (w->p->improve) {
    PetscCall(w->p->improve(w->p->context, &has_moved, status));
    if (status->code == STEP_OK) PetscCall(evaluate_at_state(w, w->is_renewed, &norm, status));
  }
  if (has_moved || status->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
  if (now->norm > now->before) anderson_reset(&w->past);
  else if (!o->is_smooth && now->k > 0 && !(now->norm <= o->accelerate * now->before)) PetscCall(apply_anderson(w, status));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Continue from the current point with a new matrix and without a history: after a line search, or with added contacts. */
static PetscErrorCode restart(nonlinear_work *w, step_status *status)
{
  double norm; /* not used */
  PetscFunctionBegin;
  anderson_reset(&w->past);
  w->now.tolerance = forced_tolerance(w->o, w->now.norm);
  w->is_renewed    = true;
  w->now.norm = w->best = w->stored_norm = INFINITY, w->n_idle = 0;
  memory_free(&w->stored);
  if (status->code == STEP_OK) PetscCall(evaluate_at_state(w, true, &norm, status));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ==== iteration ==== */

static void set_not_converged(const nonlinear_work *w, step_status *status)
{
  *status = (step_status){STEP_NOT_CONVERGED, step_layout_largest_residual(w->p->layout, w->p->full), -1};
}

/* Linearise at v if required, and solve there. */
static PetscErrorCode solve_linearised(nonlinear_work *w, nonlinear_result *out, step_status *status)
{
  const nonlinear_problem *p = w->p;
  PetscFunctionBegin;
  if (stop_is_urgent()) *status = (step_status){STEP_INTERRUPTED, NULL, -1};
  if (status->code == STEP_OK && w->is_renewed) PetscCall(p->linearise(p->context, &w->now, status));
  if (status->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
  memcpy(w->start, p->v, (size_t)w->n * sizeof *p->v);
  w->now.error = 0.0;
  PetscCall(p->solve(p->context, &w->now, status));
  ++out->n_iterations;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static bool is_within_tolerance(const nonlinear_work *w)
{
  return w->now.norm <= w->o->tolerance || w->now.norm <= w->o->linear * w->now.before;
}

/* One iteration. *is_done: v is the result, or the status is negative. */
static PetscErrorCode iterate(nonlinear_work *w, nonlinear_result *out, bool *is_done, step_status *status)
{
  const nonlinear_problem *p           = w->p;
  const nonlinear_options *o           = w->o;
  nonlinear_state         *now         = &w->now;
  bool                     is_complete = true;
  PetscFunctionBegin;
  *is_done = true;
  PetscCall(solve_linearised(w, out, status));
  if (status->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
  now->before = now->k > 0 || o->is_smooth ? now->norm : INFINITY; /* with a law the initial state is no solution */
  start_line_search(w);
  PetscCall(evaluate_at_state(w, now->expects_tangent, &now->norm, status));
  const bool is_valid = status->code == STEP_OK, is_single = o->accepts_first && o->max_iterations == 1,
             is_last = now->k + 1 >= o->max_iterations, is_accurate = now->tolerance <= o->least || now->error <= o->least,
             is_end = (is_valid && is_accurate && is_within_tolerance(w)) || is_single;
  if (o->is_monotone && !(is_valid && now->norm < now->before)) {
    memcpy(p->v, w->start, (size_t)w->n * sizeof *p->v);
    now->norm = now->before;
    *status   = (step_status){STEP_OK, NULL, -1};
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (p->extend && is_valid) PetscCall(p->extend(p->context, now, is_end, &is_complete, status));
  if ((is_valid && status->code != STEP_OK) || (is_end && is_complete)) PetscFunctionReturn(PETSC_SUCCESS);
  step_line_search *search = select_line_search(w, is_valid, is_end);
  if (search && o->is_smooth) {
    PetscCall(search_lines(w, search, &now->norm, status));
    if (is_within_tolerance(w)) PetscFunctionReturn(PETSC_SUCCESS);
  } else if (search || !is_complete) {
    double norm;                                                        /* not used: the law is not solved at points of the search */
    if (!search && is_last && !is_single) set_not_converged(w, status); /* contacts are added without end: the state diverges */
    else if (search) PetscCall(search_lines(w, search, &norm, status));
    else if (is_single) memcpy(p->v, w->start, (size_t)w->n * sizeof *p->v);
    PetscCall(restart(w, status));
    *is_done = false;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (status->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
  w->n_idle = now->norm < o->progress * w->best ? 0 : w->n_idle + 1;
  w->best   = fmin(w->best, now->norm);
  PetscCall(store_best(w));
  const bool is_idle = w->n_idle >= (now->norm <= o->stall_tolerance ? o->idle : o->idle_far);
  if (is_last || (is_idle && now->norm <= w->best)) { /* no further progress possible */
    if (!(now->norm <= o->stall_tolerance)) set_not_converged(w, status);
    if (status->code != STEP_OK || is_accurate || is_last) PetscFunctionReturn(PETSC_SUCCESS);
  }
  now->tolerance = is_idle ? o->least : forced_tolerance(o, now->norm);
  *is_done       = false;
  PetscCall(choose_linearisation_point(w, status));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode solve_with_work(nonlinear_work *w, nonlinear_result *out, step_status *status)
{
  const nonlinear_options *o   = w->o;
  nonlinear_state         *now = &w->now;
  PetscFunctionBegin;
  PetscCall(memory_alloc("velocities", w->n, sizeof *w->start, &w->start));
  if (o->trials > 0) PetscCall(step_line_search_create(w->n, &w->whole));
  if (w->p->parts) {
    PetscCall(memory_alloc("velocities", w->n, sizeof *w->inverse_scale, &w->inverse_scale));
    step_unknowns_select(w->p->unknowns, w->p->layout->inverse_scale, w->inverse_scale);
  }
  if (!o->is_linearised) PetscCall(evaluate_at_state(w, true, &now->norm, status));
  now->tolerance = forced_tolerance(o, o->is_smooth ? now->norm : INFINITY);
  out->first     = now->norm;
  bool is_done   = o->checks_start && now->norm <= o->tolerance;
  for (; status->code == STEP_OK && !is_done; ++now->k) PetscCall(iterate(w, out, &is_done, status));
  PetscCall(restore_best(w, status));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode nonlinear_solve(const nonlinear_problem *p, const nonlinear_options *options, nonlinear_result *out, step_status *status)
{
  nonlinear_options o = *options;
  o.tolerance         = step_layout_tolerance(p->layout, options->tolerance);
  o.accurate *= o.tolerance / options->tolerance;
  if (options->least == options->accurate) o.least = o.accurate;
  if (p->layout->repeats_stalled && !o.stall_is_given && isfinite(o.stall_tolerance)) o.stall_tolerance = o.tolerance;
  nonlinear_work w = {.p           = p,
                      .o           = &o,
                      .n           = p->unknowns->n,
                      .best        = INFINITY,
                      .stored_norm = INFINITY,
                      .is_renewed  = !o.is_linearised,
                      .now         = {.norm = INFINITY, .before = INFINITY}};
  PetscFunctionBegin;
  *out                      = (nonlinear_result){.first = INFINITY, .norm = INFINITY, .before = INFINITY};
  const PetscErrorCode code = solve_with_work(&w, out, status);
  out->norm = w.now.norm, out->before = w.now.before;
  if (status->code == STEP_OK || status->code == STEP_NOT_CONVERGED) out->body = step_layout_largest_residual(p->layout, p->full);
  free_work(&w);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void nonlinear_record(const nonlinear_result *result, double tolerance, step_report *report)
{
  report->residual      = result->norm;
  report->residual_body = result->body;
  report->unconverged   = !(result->norm <= tolerance);
}

void nonlinear_record_solver(bool is_solved, bool is_stopped, bool is_short, double error, double stall_tolerance, int64_t *n_unfinished,
                             step_status *status)
{
  if (is_solved || is_short) return;
  ++*n_unfinished;
  if (is_stopped || stop_is_urgent()) *status = (step_status){STEP_INTERRUPTED, NULL, -1};
  else if (!isfinite(error)) *status = (step_status){STEP_NOT_FINITE, NULL, -1};
  else if (!(error <= stall_tolerance)) *status = (step_status){STEP_FRICTION_NOT_CONVERGED, NULL, -1};
}
