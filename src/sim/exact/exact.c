/* The formulation `exact`: backward Euler with rigid contact and exact Coulomb friction [BertailsEtAl2011].
 *
 * A step solves g(v) = H^T r, where (H v + w, r) satisfies Coulomb's law at every contact and g is the residual of the systems.
 * Contacts, their frames and H are those of the start of the step. Linearised at v_k:
 *
 *    M (v - v_k) + g(v_k) = H^T r,   u = H v + w = W r + q,   W = H M^-1 H^T,   q = H v_k + w - H M^-1 g(v_k)
 *
 * This is the paper's one-step problem with f = g(v_k) - M v_k. M is the symmetric positive definite part of the tangent. The
 * remainder stays in g, so repeated linearisation converges to the same step, until |D^-1 (g - H^T r)| is within the tolerance
 * (step_layout.h). From the third linearisation on, the linearisation point is Anderson's combination of earlier ones; M and W
 * are kept as long as that converges. The friction tolerance follows the outer residual (inexact Newton). Friction is solved for
 * the contacts of a working set (exact_working_set.h).
 *
 * Line search: if the slope of work (v - v_k) . (g - H^T r) is not near 0 at v, the next linearisation point is the place on the
 * line from v_k through v where it is, separately for each strand or mesh if there are several (exact_line_search.h). An
 * accepted step is never such a point but always the solution of a linearised problem. max_iterations: 1 accepts the first
 * linearisation without a check, as the paper does. */
#include "core/math3.h"
#include "core/memory.h"
#include "core/stop.h"
#include "discretize/body/body_stages.h"
#include "sim/step/step_stages.h"
#include "core/timer.h"
#include "io/fclib.h"
#include "optim/friction/anderson.h"
#include "optim/friction/delassus.h"
#include "sim/exact/exact_keys.h"
#include "sim/exact/exact_line_search.h"
#include "sim/exact/exact_working_set.h"
#include "sim/step/solver_options.h"
#include "sim/step/step_contacts.h"
#include "sim/step/step_frame.h"
#include <string.h>

/* ==== export of contact problems ==== */

/* Copy of the last one-step problem, to be written as an FCLIB file: M v + f = H^T r, u = H v + w, with initial guess and
 * solution. */
typedef struct {
  sparse_rows M, H;
  int64_t     n_contacts;       /* 0: no problem stored */
  double     *f, *w, *mu;       /* f with FCLIB's sign, M v = H^T r + f */
  double     *guess, *guess_u, *r, *u, *v;
} exact_export;


static void exact_export_destroy(exact_export *d)
{
  sparse_rows_destroy(&d->M);
  sparse_rows_destroy(&d->H);
  void *arrays[] = {&d->f, &d->w, &d->mu, &d->guess, &d->guess_u, &d->r, &d->u, &d->v};
  for (size_t k = 0; k < sizeof arrays / sizeof *arrays; ++k) memory_free(arrays[k]);
  d->n_contacts = 0;
}

static PetscErrorCode copy_vector(int64_t n, const double *from, double **to)
{
  PetscFunctionBegin;
  PetscCall(memory_alloc("friction problem", n, sizeof **to, to));
  if (from && n > 0) memcpy(*to, from, (size_t)n * sizeof **to);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Copy without stored zeros, as FCLIB requires. */
static PetscErrorCode copy_rows(const sparse_rows *from, sparse_rows *to)
{
  PetscFunctionBegin;
  PetscCall(sparse_rows_create("friction problem", from->n_rows, from->n_cols, from->start, from->col, from->value, to));
  int64_t n = 0, first = 0;
  for (int64_t i = 0; i < to->n_rows; ++i) {
    const int64_t end = to->start[i + 1];
    for (int64_t k = first; k < end; ++k)
      if (to->value[k] != 0.0) to->col[n] = to->col[k], to->value[n++] = to->value[k];
    first            = end;
    to->start[i + 1] = n;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Before the solve: store system, right side and guess. v_free [n]: the solution without impulses, M v_free = f; q
 * [n_contacts][3] = H v_free + w. */
static PetscErrorCode exact_export_problem(exact_export *d, const delassus *W, int64_t n_contacts, const double *v_free, const double *q,
                                  const double *mu, const double *guess)
{
  const sparse_rows *M = delassus_mass(W), *H = delassus_jacobian(W);
  PetscFunctionBegin;
  exact_export_destroy(d);
  PetscCall(copy_rows(M, &d->M));
  PetscCall(copy_rows(H, &d->H));
  PetscCall(copy_vector(M->n_rows, NULL, &d->f));
  PetscCall(copy_vector(M->n_rows, NULL, &d->v));
  PetscCall(copy_vector(3 * n_contacts, NULL, &d->w));
  PetscCall(copy_vector(3 * n_contacts, NULL, &d->r));
  PetscCall(copy_vector(3 * n_contacts, NULL, &d->u));
  PetscCall(copy_vector(3 * n_contacts, guess, &d->guess));
  PetscCall(copy_vector(3 * n_contacts, NULL, &d->guess_u));
  PetscCall(copy_vector(n_contacts, mu, &d->mu));
  delassus_apply(W, guess, d->guess_u);
  for (int64_t i = 0; i < 3 * n_contacts; ++i) d->guess_u[i] += q[i];
  sparse_rows_apply(M, v_free, d->f);
  sparse_rows_apply(H, v_free, d->w);
  for (int64_t i = 0; i < 3 * n_contacts; ++i) d->w[i] = q[i] - d->w[i];
  d->n_contacts = n_contacts;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* After the solve. */
static void exact_export_solution(exact_export *d, const double *r, const double *u, const double *v)
{
  memcpy(d->r, r, (size_t)(3 * d->n_contacts) * sizeof *r);
  memcpy(d->u, u, (size_t)(3 * d->n_contacts) * sizeof *u);
  memcpy(d->v, v, (size_t)d->M.n_rows * sizeof *v);
}

/* Write an FCLIB file with the given title; nothing if no problem is stored. */
static PetscErrorCode exact_export_write(const exact_export *d, const char *title, const char *path)
{
  PetscFunctionBegin;
  if (d->n_contacts == 0) PetscFunctionReturn(PETSC_SUCCESS);
  /* M is symmetric, and FCLIB's H is the transpose of ours: its compressed columns are our compressed rows. */
  const fclib_problem p = {
      .is_global  = true,
      .dimension  = 3,
      .n_contacts = d->n_contacts,
      .n_dof      = d->M.n_rows,
      .M          = {d->M.n_rows, d->M.n_cols, d->M.start, d->M.col, d->M.value},
      .H          = {d->H.n_cols, d->H.n_rows, d->H.start, d->H.col, d->H.value},
      .f          = d->f,
      .w          = d->w,
      .mu         = d->mu,
      .title      = (char *)title,
      .description =
          (char *)"one step of stickslip, formulation exact: v free velocities, u with the terms of gaps and impacts in w"};
  const fclib_state solution = {d->v, d->u, d->r}, guess = {NULL, d->guess_u, d->guess};
  PetscCall(fclib_write(path, &p, &solution, 1, &guess));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ==== formulation ==== */

typedef struct {
  step_frame              frame;
  const newton_options   *newton;
  const friction_options *friction;
  double                  friction_stall_tolerance;
  const char             *name; /* of the run, in files of contact problems */
  bool                    keeps_problem;
  exact_export              last; /* if keeps_problem */
} exact;

/* A larger ratio of successive residuals triggers a new matrix; with Anderson's combination an older matrix suffices up to here. */
#define SLOW 0.3
#define FORCING 0.05 /* friction tolerance over the final one, per residual over the Newton tolerance (inexact Newton), */
#define LOOSEST 1e-2 /* and its upper bound */
#define LONGEST_STEP 16.0 /* of a line search, in full steps */
/* Of the thickest fibre: smaller changes of the trajectory since the last contact detection do not require a new one. */
#define TRAJECTORY_CHANGE 0.1
/* Residual over tolerance below which contacts are detected a second time, before the other impulses are solved accurately. */
#define EARLY_DETECTION 1e2
/* Of the speed that gravity adds in a step: closing speed up to which an excluded contact may be violated. */
#define VIOLATION_SPEED 1e-4
enum {
  IDLE     = 4,  /* iterations without progress after which linearisation has converged as far as possible: near the tolerance, */
  IDLE_FAR = 16, /* and far from it, where convergence is not monotone */
  TRIALS   = 20, /* trial points per line search */
  MOST_DETECTIONS    = 8,  /* contact detections after the start of a step */
  INEXACT_ITERATIONS    = 400 /* friction iterations if another linearisation follows */
};

/* Temporary data of one step. */
typedef struct {
  step_unknowns unknowns;
  delassus      *W;           /* for the current matrix; NULL: none yet */
  int64_t        n;
  double        *g, *full;    /* [n_full] residual of the systems; work */
  double        *y, *dy, *right; /* [n] free velocities, their change, P^T (g - H^T r) */
  double        *inverse_scale; /* [n] weights of `right`, see step_layout.h */
  double        *start, *last_solution, *weight; /* [n] linearisation point and solution of the last problem; masses */
  anderson       past;
  exact_working_set set;
  exact_line_search     search;        /* parts of the current matrix */
  double        *v_detected;        /* [n_full] velocities at the last contact detection */
  int            n_detections;
  double         friction_tolerance, error; /* tolerance of the next friction solve; error of the last */
} exact_problem;

static void problem_destroy(exact_problem *p)
{
  delassus_destroy(&p->W);
  anderson_destroy(&p->past);
  step_unknowns_destroy(&p->unknowns);
  exact_working_set_destroy(&p->set);
  exact_line_search_destroy(&p->search);
  void *arrays[] = {&p->g, &p->full, &p->y, &p->dy, &p->right, &p->start, &p->last_solution, &p->weight, &p->v_detected, &p->inverse_scale};
  for (size_t k = 0; k < sizeof arrays / sizeof *arrays; ++k) memory_free(arrays[k]);
}

/* Initialise a step whose contacts have been detected: velocities of its start, impulses of the last step. */
static PetscErrorCode initialise_problem(exact *e, exact_problem *p)
{
  PetscFunctionBegin;
  step_layout *l = &e->frame.layout;
  p->n           = p->unknowns.n;
  double **full[] = {&p->g, &p->full}, *guess;
  double **free_ones[] = {&p->y, &p->dy, &p->right, &p->start, &p->last_solution, &p->inverse_scale};
  for (int k = 0; k < 2; ++k) PetscCall(memory_alloc("velocities", p->unknowns.n_full, sizeof(double), full[k]));
  for (int k = 0; k < 6; ++k) PetscCall(memory_alloc("velocities", p->n, sizeof(double), free_ones[k]));
  step_unknowns_select(&p->unknowns, l->v0, p->y);
  for (int64_t i = 0; i < p->n; ++i) p->inverse_scale[i] = l->inverse_scale[p->unknowns.is_all ? i : p->unknowns.own[i]];
  step_unknowns_expand(&p->unknowns, p->y, l->v);
  PetscCall(step_layout_update_poses(l));
  PetscCall(memory_alloc("impulses", 3 * step_contacts_size(&e->frame.contacts), sizeof(double), &guess));
  step_impulses_guess(&e->frame.record.known, &e->frame.contacts.rows, step_contacts_spots(&e->frame.contacts), l->dt, guess);
  const PetscErrorCode code = exact_working_set_create(&e->frame.contacts, l->v0, guess, &p->set);
  memory_free(&guess);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* p->right = P^T (g(v) - H^T r), p->full the same before P^T; *norm in units of acceleration_scale. */
static PetscErrorCode evaluate_residual(exact *e, exact_problem *p, bool with_tangent, double *norm, step_status *verdict,
                               step_report *report)
{
  PetscFunctionBegin;
  step_layout *l = &e->frame.layout;
  ++report->evaluations;
  PetscCall(step_layout_residual(l, p->g, with_tangent, verdict));
  if (verdict->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
  memcpy(p->full, p->g, (size_t)p->unknowns.n_full * sizeof *p->full);
  contact_jacobian_scatter(&p->set.rows, -1.0, p->set.r, p->full);
  step_unknowns_fold(&p->unknowns, p->full, p->right);
  double sum = 0.0;
  for (int64_t i = 0; i < p->n; ++i) {
    const double x = p->right[i] * p->inverse_scale[i];
    sum += x * x;
  }
  *norm = sqrt(sum);
  if (!isfinite(sum)) *verdict = (step_status){STEP_NOT_FINITE, NULL, -1};
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Assemble and factorise M and W. The bodies guarantee a definite matrix; if it is not definite, the state is invalid, or, at
 * the start of a step, something has no mass. */
static PetscErrorCode linearise_step(exact *e, exact_problem *p, bool is_start, step_status *verdict)
{
  sparse_rows M, H;
  PetscFunctionBegin;
  timer_begin(TIMER_PRECONDITIONER);
  delassus_destroy(&p->W);
  PetscCall(step_unknowns_mass(&p->unknowns, &e->frame.layout, NULL, &M));
  PetscCall(step_unknowns_jacobian(&p->unknowns, &p->set.rows, &H));
  const PetscErrorCode code = delassus_create_system(&M, &H, &p->W);
  sparse_rows_destroy(&M);
  sparse_rows_destroy(&H);
  exact_line_search_destroy(&p->search);
  if (!code) PetscCall(exact_line_search_create(p->W, &p->search));
  if (code == PETSC_ERR_MAT_CH_ZRPVT && !is_start) {
    error_clear();
    *verdict = (step_status){STEP_NOT_CONVERGED, NULL, -1};
  } else PetscCall(code);
  timer_end(TIMER_PRECONDITIONER);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Record the result of a friction solve. A failure ends the attempt at this step unless another linearisation follows. */
static void record_solver_result(const exact *e, const friction_result *result, bool is_last, step_status *verdict, step_report *report)
{
  friction_report *f = &report->friction;
  f->iterations += result->iterations;
  f->absolute = result->absolute, f->siconos = result->siconos, f->scaled = result->scaled;
  f->method = -1;
  for (int k = 0; k < FRICTION_N_METHODS; ++k)
    if (strcmp(friction_solvers[k].name, result->method) == 0) f->method = k;
  const bool is_short = result->verdict == FRICTION_ITERATIONS || result->verdict == FRICTION_STALLED;
  if (result->verdict == FRICTION_OK || (!is_last && is_short)) return;
  ++report->fallbacks;
  if (stop_is_urgent()) *verdict = (step_status){STEP_INTERRUPTED, NULL, -1};
  else if (!(friction_result_error(result, e->friction->error) <= e->friction_stall_tolerance))
    *verdict = (step_status){STEP_FRICTION_NOT_CONVERGED, NULL, -1};
}

/* Solve the problem linearised at v for impulses and velocities, with the current M and W. */
static PetscErrorCode solve_linearised(exact *e, exact_problem *p, step_status *verdict, step_report *report)
{
  PetscFunctionBegin;
  step_layout          *l = &e->frame.layout;
  exact_working_set    *s = &p->set;
  step_unknowns_fold(&p->unknowns, p->g, p->right);
  delassus_solve(p->W, p->right, p->dy);
  for (int64_t i = 0; i < p->n; ++i) p->dy[i] = -p->dy[i];
  p->error = 0.0;
  if (s->n > 0) {
    friction_result result;
    for (int64_t i = 0; i < p->n; ++i) p->y[i] += p->dy[i]; /* without impulses */
    step_unknowns_expand(&p->unknowns, p->y, p->full);
    contact_jacobian_velocity(&s->rows, p->full, s->q);
    for (int64_t i = 0; i < s->n; ++i) s->q[3 * i] += s->shift[i];
    if (e->keeps_problem) PetscCall(exact_export_problem(&e->last, p->W, s->n, p->y, s->q, s->mu, s->r));
    for (int64_t i = 0; i < p->n; ++i) p->y[i] -= p->dy[i];
    const friction_problem problem = {p->W, s->n, s->q, s->mu};
    friction_options       options = *e->friction;
    options.tolerance              = p->friction_tolerance;
    options.enough                 = e->friction_stall_tolerance;
    const bool is_last             = p->friction_tolerance <= e->friction->tolerance;
    if (!is_last && options.max_iterations == 0) options.max_iterations = INEXACT_ITERATIONS;
    timer_begin(TIMER_FRICTION);
    PetscCall(friction_solve(&problem, &options, s->r, s->u, &result));
    timer_end(TIMER_FRICTION);
    record_solver_result(e, &result, is_last, verdict, report);
    p->error = friction_result_error(&result, options.error);
    memset(p->full, 0, (size_t)p->unknowns.n_full * sizeof *p->full);
    contact_jacobian_scatter(&s->rows, 1.0, s->r, p->full);
    step_unknowns_fold(&p->unknowns, p->full, p->right);
    delassus_solve(p->W, p->right, p->right);
    for (int64_t i = 0; i < p->n; ++i) p->dy[i] += p->right[i];
  }
  for (int64_t i = 0; i < p->n; ++i) p->y[i] += p->dy[i];
  if (e->keeps_problem && s->n > 0) exact_export_solution(&e->last, s->r, s->u, p->y);
  step_unknowns_expand(&p->unknowns, p->y, l->v);
  PetscCall(step_layout_update_poses(l));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The state of Anderson's combination is invalid: continue from the solution of the last problem. */
static PetscErrorCode discard_acceleration(exact *e, exact_problem *p, bool with_tangent, step_status *verdict, step_report *report)
{
  PetscFunctionBegin;
  double norm;
  *verdict = (step_status){STEP_OK, NULL, -1};
  anderson_reset(&p->past);
  memcpy(p->y, p->last_solution, (size_t)p->n * sizeof *p->y);
  step_unknowns_expand(&p->unknowns, p->y, e->frame.layout.v);
  PetscCall(step_layout_update_poses(&e->frame.layout));
  PetscCall(evaluate_residual(e, p, with_tangent, &norm, verdict, report));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Choose the next linearisation point by Anderson's combination in the norm of kinetic energy, from the last linearisation point
 * x [n] and its solution p->y. */
static PetscErrorCode apply_anderson(exact *e, exact_problem *p, const double *x)
{
  PetscFunctionBegin;
  step_layout *l = &e->frame.layout;
  if (!p->past.f) {
    PetscCall(anderson_create(p->n, 5, &p->past));
    PetscCall(memory_alloc("velocities", p->n, sizeof(double), &p->weight));
    for (int64_t i = 0; i < p->n; ++i) p->weight[i] = l->scale[p->unknowns.is_all ? i : p->unknowns.own[i]];
  }
  memcpy(p->last_solution, p->y, (size_t)p->n * sizeof *p->y);
  anderson_step(&p->past, x, p->last_solution, p->weight, p->y);
  step_unknowns_expand(&p->unknowns, p->y, l->v);
  PetscCall(step_layout_update_poses(l));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* dy . (g - H^T r), with p->right = g - H^T r. */
static double slope_along(const exact_problem *p)
{
  double sum = 0.0;
  for (int64_t i = 0; i < p->n; ++i) sum += p->dy[i] * p->right[i];
  return sum;
}

/* The slope of work at the linearisation point: -dy . M dy. */
static double slope_at_start(exact_problem *p)
{
  memcpy(p->full, p->g, (size_t)p->unknowns.n_full * sizeof *p->full);
  contact_jacobian_scatter(&p->set.rows, -1.0, p->set.r, p->full);
  step_unknowns_fold(&p->unknowns, p->full, p->right);
  exact_line_search_start(&p->search, p->dy, p->right);
  return slope_along(p);
}

/* Next trial step length between one that is too short and one that is too long (infinite: not known yet). */
static double next_step_length(double low, double at_low, double high, double at_high, int k)
{
  const double width = high - low, straight = low + width * at_low / (at_low - at_high);
  if (isinf(high)) return 2.0 * low;
  if (k % 3 == 2 || !(straight > low)) return low + 0.5 * width;
  return fmin(fmax(straight, low + 0.1 * width), high - 0.1 * width);
}

/* Line search along start + share dy. The slope of work is `first` < 0 at the start and `last` at the end of the full step
 * (infinite: invalid state). The next linearisation point is where the slope is near 0, possibly beyond the full step. */
static PetscErrorCode search_line(exact *e, exact_problem *p, double first, double last, step_status *verdict,
                                     step_report *report)
{
  double low = 0.0, at_low = first, high = 1.0, at_high = last, norm;
  PetscFunctionBegin;
  if (last < 0.0) low = 1.0, at_low = last, high = INFINITY;
  anderson_reset(&p->past);
  for (int k = 0; k < TRIALS; ++k) {
    const double share = next_step_length(low, at_low, high, at_high, k);
    for (int64_t i = 0; i < p->n; ++i) p->y[i] = p->start[i] + share * p->dy[i];
    step_unknowns_expand(&p->unknowns, p->y, e->frame.layout.v);
    PetscCall(step_layout_update_poses(&e->frame.layout));
    *verdict = (step_status){STEP_OK, NULL, -1};
    PetscCall(evaluate_residual(e, p, false, &norm, verdict, report));
    const double slope = verdict->code == STEP_OK ? slope_along(p) : INFINITY;
    if (fabs(slope) <= -EXACT_SLOPE_FRACTION * first || (slope < 0.0 && share >= LONGEST_STEP)) break;
    if (slope < 0.0) low = share, at_low = slope;
    else high = share, at_high = slope;
  }
  if (verdict->code == STEP_OK) PetscCall(evaluate_residual(e, p, true, &norm, verdict, report));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same separately for every part that went too far; the other parts take the full step. */
static PetscErrorCode search_lines_of_parts(exact *e, exact_problem *p, step_status *verdict, step_report *report)
{
  double norm;
  PetscFunctionBegin;
  anderson_reset(&p->past);
  for (int k = 0; k < TRIALS && p->search.n_selected > 0 && verdict->code == STEP_OK; ++k) {
    exact_line_search_next(&p->search, k);
    exact_line_search_point(&p->search, p->start, p->dy, p->y);
    step_unknowns_expand(&p->unknowns, p->y, e->frame.layout.v);
    PetscCall(step_layout_update_poses(&e->frame.layout));
    PetscCall(evaluate_residual(e, p, false, &norm, verdict, report));
    exact_line_search_update(&p->search, p->dy, verdict->code == STEP_OK ? p->right : NULL);
    if (k + 1 < TRIALS && verdict->code != STEP_OK) *verdict = (step_status){STEP_OK, NULL, -1};
  }
  if (verdict->code == STEP_OK) PetscCall(evaluate_residual(e, p, true, &norm, verdict, report));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static bool has_only_rigid(const exact *e)
{
  const scene *s = e->frame.layout.scene;
  for (int i = 0; i < s->n_systems; ++i)
    if (s->systems[i]->ops->points != POINT_RIGID && !s->systems[i]->ops->is_reduced) return false;
  return true;
}

/* Friction tolerance for an outer residual `norm`: digits that the next linearisation changes are not computed. */
static double tolerance_of_impulses(const exact *e, const exact_problem *p, double norm)
{
  const double last = e->friction->tolerance;
  if (p->set.n <= EXACT_FEW || e->newton->max_iterations == 1 || has_only_rigid(e)) return last;
  return fmax(last, fmin(LOOSEST, FORCING * last * norm / e->newton->tolerance));
}

/* Continue with added contacts: from the solution of the last problem, or from its linearisation point if only one linearisation
 * is allowed. */
static PetscErrorCode restart_with_added_contacts(exact *e, exact_problem *p, bool is_only, step_status *verdict, step_report *report)
{
  double norm;
  PetscFunctionBegin;
  anderson_reset(&p->past);
  if (is_only) memcpy(p->y, p->start, (size_t)p->n * sizeof *p->y);
  step_unknowns_expand(&p->unknowns, p->y, e->frame.layout.v);
  PetscCall(step_layout_update_poses(&e->frame.layout));
  PetscCall(evaluate_residual(e, p, true, &norm, verdict, report));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Repeat the contact detection between fibres for the current trajectory, unless it has hardly changed since the last detection. */
static PetscErrorCode repeat_contact_detection(exact *e, exact_problem *p, bool *is_more, step_status *verdict)
{
  step_contacts *c = &e->frame.contacts;
  step_layout   *l = &e->frame.layout;
  const int64_t  n = step_contacts_size(c);
  double         moved = 0.0;
  uint64_t      *key;
  PetscFunctionBegin;
  *is_more = false;
  if (!c->fibres || p->n_detections == MOST_DETECTIONS) PetscFunctionReturn(PETSC_SUCCESS);
  if (!p->v_detected) PetscCall(memory_alloc("velocities", p->unknowns.n_full, sizeof *p->v_detected, &p->v_detected));
  for (int64_t i = 0; i < p->unknowns.n_full; ++i) moved = fmax(moved, l->dt * fabs(l->v[i] - p->v_detected[i]));
  if (p->n_detections > 0 && moved <= TRAJECTORY_CHANGE * fibre_scene_thickness(c->fibres)) PetscFunctionReturn(PETSC_SUCCESS);
  ++p->n_detections;
  memcpy(p->v_detected, l->v, (size_t)p->unknowns.n_full * sizeof *p->v_detected);
  PetscCall(memory_alloc("keys of contacts", 2 * n, sizeof *key, &key));
  for (int64_t i = 0; i < n; ++i) memcpy(key + 2 * i, step_contacts_spots(c)[i].key, sizeof step_contacts_spots(c)[i].key);
  PetscErrorCode code = step_contacts_find_more(c, l, &p->unknowns, is_more, verdict);
  if (!code && *is_more) code = exact_working_set_extend(&p->set, c, n, key);
  memory_free(&key);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Add excluded or newly detected contacts that the solution would violate to the next problem. */
static PetscErrorCode extend_contacts(exact *e, exact_problem *p, bool needs_detection, bool *is_complete, step_status *verdict)
{
  const step_layout *l = &e->frame.layout;
  const double       speed = VIOLATION_SPEED * l->acceleration_scale * l->dt;
  int64_t            n_added;
  bool               is_more = false;
  PetscFunctionBegin;
  PetscCall(exact_working_set_join(&p->set, &e->frame.contacts, l->v, speed, &n_added));
  if (needs_detection) PetscCall(repeat_contact_detection(e, p, &is_more, verdict));
  *is_complete = n_added == 0 && !is_more;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Outer Newton iteration until the step is solved. An accepted state is always the solution of a linearised problem, which
 * satisfies the contact law. */
static PetscErrorCode solve_nonlinear_step(exact *e, exact_problem *p, step_status *verdict, step_report *report)
{
  PetscFunctionBegin;
  const newton_options *o      = e->newton;
  const double      final      = e->friction->tolerance;
  double            norm       = INFINITY, before, best = INFINITY;
  double            norm_at_start; /* not used: contacts are not solved at this state */
  double            first;         /* slope of work at the start of the search direction */
  bool              is_renewed = true, is_complete; /* M belongs to the current state; no contact was added */
  int64_t           n_idle     = 0; /* iterations since the smallest residual */
  PetscCall(evaluate_residual(e, p, true, &norm, verdict, report));
  p->friction_tolerance = tolerance_of_impulses(e, p, INFINITY);
  for (int64_t k = 0; verdict->code == STEP_OK; ++k) {
    if (stop_is_urgent()) {
      *verdict = (step_status){STEP_INTERRUPTED, NULL, -1};
      break;
    }
    if (is_renewed) PetscCall(linearise_step(e, p, k == 0, verdict));
    if (verdict->code != STEP_OK) break;
    memcpy(p->start, p->y, (size_t)p->n * sizeof *p->y);
    PetscCall(solve_linearised(e, p, verdict, report));
    ++report->newton_iterations;
    if (verdict->code != STEP_OK) break;
    before = k > 0 ? norm : INFINITY; /* the initial state is no approximation of the solution */
    first  = slope_at_start(p);
    PetscCall(evaluate_residual(e, p, false, &norm, verdict, report));
    const double last = verdict->code == STEP_OK ? slope_along(p) : INFINITY;
    is_complete = true;
    const bool is_exact = p->friction_tolerance <= final || p->error <= final;
    const bool is_end = (verdict->code == STEP_OK && norm <= o->tolerance && is_exact) || o->max_iterations == 1;
    const bool needs_detection = is_end || k == 0 || (p->n_detections == 1 && norm < EARLY_DETECTION * o->tolerance);
    if (verdict->code == STEP_OK) PetscCall(extend_contacts(e, p, needs_detection, &is_complete, verdict));
    if (verdict->code != STEP_OK && last < INFINITY) break; /* contact detection failed */
    if (is_end && is_complete) break;
    bool needs_line_search   = k + 1 < o->max_iterations && (last > -EXACT_SLOPE_FRACTION * first || (k > 0 && last < EXACT_SLOPE_FRACTION * first));
    bool needs_separate_searches = false; /* some parts of several went too far: separate line searches */
    if (p->search.n_parts > 1 && k + 1 < o->max_iterations && verdict->code == STEP_OK && !is_end) {
      needs_separate_searches = exact_line_search_select(&p->search, p->dy, p->right, p->inverse_scale) > 0;
      needs_line_search   = needs_separate_searches || last > -EXACT_SLOPE_FRACTION * first;
    }
    if (!needs_line_search && !is_complete && k + 1 >= o->max_iterations && o->max_iterations > 1) { /* contacts are added without end: the
                                                                                           * state diverges */
      *verdict = (step_status){STEP_NOT_CONVERGED, step_layout_largest_residual(&e->frame.layout, p->full), -1};
      break;
    }
    if (needs_line_search || !is_complete) {
      if (needs_separate_searches) PetscCall(search_lines_of_parts(e, p, verdict, report));
      else if (needs_line_search) PetscCall(search_line(e, p, first, last, verdict, report));
      else PetscCall(restart_with_added_contacts(e, p, o->max_iterations == 1, verdict, report));
      is_renewed = true;
      p->friction_tolerance  = tolerance_of_impulses(e, p, norm);
      norm = best = INFINITY, n_idle = 0;
      continue;
    }
    if (verdict->code != STEP_OK) break;
    n_idle = norm < 0.9 * best ? 0 : n_idle + 1;
    best   = fmin(best, norm);
    const int64_t patience = norm <= o->stall_tolerance ? IDLE : IDLE_FAR;
    if (k + 1 == o->max_iterations || (n_idle >= patience && norm <= best)) { /* no further progress possible */
      if (!(norm <= o->stall_tolerance))
        *verdict = (step_status){STEP_NOT_CONVERGED, step_layout_largest_residual(&e->frame.layout, p->full), -1};
      if (!(norm <= o->stall_tolerance) || is_exact || k + 1 == o->max_iterations) break;
    }
    p->friction_tolerance  = norm <= o->tolerance || n_idle >= patience ? final : tolerance_of_impulses(e, p, norm);
    is_renewed = norm > SLOW * before;
    if (norm > before) anderson_reset(&p->past);
    else if (k > 0) PetscCall(apply_anderson(e, p, p->start));
    PetscCall(evaluate_residual(e, p, is_renewed, &norm_at_start, verdict, report));
    if (verdict->code != STEP_OK && k > 0) PetscCall(discard_acceleration(e, p, is_renewed, verdict, report));
  }
  report->residual    = norm;
  report->is_unsolved = !(norm <= o->tolerance);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The step is solved: make it permanent unless a body rejects it. For excluded contacts W is replaced by the identity; they
 * separate or stay apart for any W. */
static PetscErrorCode accept_step(exact *e, exact_problem *p, step_status *verdict, step_report *report)
{
  const int64_t n = step_contacts_size(&e->frame.contacts);
  double       *r = NULL, *u = NULL, *W = NULL;
  PetscFunctionBegin;
  PetscErrorCode code = memory_alloc("impulses", 3 * n, sizeof *r, &r);
  if (!code) code = memory_alloc("velocities of contacts", 3 * n, sizeof *u, &u);
  if (!code) code = memory_alloc("blocks of W", 9 * n, sizeof *W, &W);
  if (!code) {
    exact_working_set_spread(&p->set, &e->frame.contacts, e->frame.layout.v, r, u);
    for (int64_t i = 0; i < n; ++i) m3_identity(W + 9 * i);
    for (int64_t k = 0; k < p->set.n && p->W; ++k) m3_copy(W + 9 * p->set.contact[k], delassus_diagonal(p->W) + 9 * k);
    const step_outcome law = {.r = r, .u = u, .scale = W};
    code = step_frame_accept(&e->frame, &law, verdict, report);
  }
  memory_free(&r), memory_free(&u), memory_free(&W);
  PetscCall(code);
  report->friction.n_contacts      = p->set.n;
  report->friction.over_constraint = p->n > 0 ? 3.0 * (double)p->set.n / (double)p->n : 0.0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  exact        *e;
  exact_problem problem;
} exact_attempt;

static PetscErrorCode exact_try(void *context, step_status *verdict, step_report *report)
{
  PetscFunctionBegin;
  exact         *e = ((exact_attempt *)context)->e;
  exact_problem *p = &((exact_attempt *)context)->problem;
  e->last.n_contacts = 0;
  PetscCall(step_frame_start(&e->frame, &p->unknowns, verdict));
  if (verdict->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(initialise_problem(e, p));
  if (p->unknowns.n_full > 0) {
    PetscCall(solve_nonlinear_step(e, p, verdict, report));
    if (verdict->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(accept_step(e, p, verdict, report));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void exact_finish(void *context) { problem_destroy(&((exact_attempt *)context)->problem); }

static PetscErrorCode exact_step(formulation *f, double t, double dt, step_status *verdict, step_report *report)
{
  PetscFunctionBegin;
  exact_attempt  now = {.e = (exact *)f};
  const step_attempt own = {exact_try, exact_finish, &now};
  PetscCall(step_run_attempt(&now.e->frame.layout, t, dt, &own, verdict, report));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode exact_describe(const scene *s, FILE *out)
{
  fprintf(out, "formulation exact: rigid contact, Coulomb friction solved by %s; contacts are detected between\n",
          friction_solvers[s->options->solver->friction->method].name);
  return step_contacts_describe(s, out);
}

static PetscErrorCode exact_write_problem(const formulation *f, const char *path)
{
  const exact *e = (const exact *)f;
  return exact_export_write(&e->last, e->name, path);
}

static PetscErrorCode exact_fields(formulation *f, field_table *table) { return step_frame_fields(&((exact *)f)->frame, table); }

static void exact_destroy(formulation *f)
{
  exact *e = (exact *)f;
  step_frame_destroy(&e->frame);
  exact_export_destroy(&e->last);
}

static PetscErrorCode exact_create(scene *s, formulation *f)
{
  PetscFunctionBegin;
  const scene_options *o      = s->options;
  exact               *e      = (exact *)f;
  e->newton                   = o->solver->newton;
  e->friction                 = o->solver->friction;
  e->friction_stall_tolerance = o->solver->exact->friction_stall_tolerance;
  e->name                     = o->name;
  e->keeps_problem            = o->keeps_problem;
  PetscCall(step_frame_create(s, o->contact->overlap_correction, &e->frame));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const unused_key unused[] = {
  {"contact.stiffness", "contact is rigid, without springs", true},
  {"contact.pairs.stiffness", "contact is rigid, without springs", true},
  {"contact.pairs.friction_direction", "its friction cones are circular", false},
  {"contact.pairs.friction_transverse", "its friction cones are circular", false},
  {.path = NULL}};
const formulation_ops exact_formulation = {
  .scene.name          = "exact",
  .scene.kinds         = "mpm fem cloth rod articulated rigid kinematic static",
  .scene.kinds_reason  = "its continua are elastic or plastic",
  .scene.solver        = "newton friction exact petsc",
  .scene.unused        = unused,
  .scene.is_rigid      = true,
  .outer         = "Newton",
  .inner         = "friction",
  .remedy        = "another solver.friction.method",
  .size          = sizeof(exact),
  .create        = exact_create,
  .step          = exact_step,
  .fields        = exact_fields,
  .scene.describe      = exact_describe,
  .write_problem = exact_write_problem,
  .destroy       = exact_destroy,
};
