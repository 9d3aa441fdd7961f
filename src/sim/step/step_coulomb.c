/* Iteration of step_coulomb.h: linearisation, friction problem of a working set of contacts, repeated contact detection of fibres. */
#include "sim/step/step_coulomb.h"
#include "core/math3.h"
#include "core/memory.h"
#include "core/timer.h"
#include "discretize/body/body_stages.h"
#include "optim/friction/sparse_direct.h"
#include "sim/step/nonlinear.h"
#include "sim/step/step_stages.h"
#include <string.h>

/* Of the thickest fibre: smaller changes of the trajectory since the last contact detection do not require a new one. */
#define TRAJECTORY_CHANGE 0.1
/* Residual over tolerance below which contacts are detected a second time, before the other impulses are solved accurately. */
#define EARLY_DETECTION 1e2
/* Of the speed that gravity adds in a step: closing speed up to which an excluded contact may be violated while the iteration continues, and
 * in the result. */
#define VIOLATION_SPEED 1e-4
#define VIOLATION_SPEED_AT_END 1e-9
enum {
  MOST_DETECTIONS    = 8,  /* contact detections after the start of a step */
  INEXACT_ITERATIONS = 400 /* friction iterations if another linearisation follows */
};

void step_coulomb_destroy(step_coulomb *p)
{
  delassus_destroy(&p->W);
  step_unknowns_destroy(&p->unknowns);
  step_working_set_destroy(&p->set);
  step_line_search_destroy(&p->search);
  MEMORY_FREE(&p->g, &p->full, &p->y, &p->dy, &p->right, &p->body, &p->speed_limit, &p->v_detected);
}

/* Initialise a step whose contacts have been detected: velocities of its start, impulses of the last step. */
static PetscErrorCode initialise_problem(step_coulomb *p)
{
  PetscFunctionBegin;
  step_layout *l       = &p->frame->layout;
  p->n                 = p->unknowns.n;
  double **full[]      = {&p->g, &p->full}, *guess;
  double **free_ones[] = {&p->y, &p->dy, &p->right};
  for (int k = 0; k < 2; ++k) PetscCall(memory_alloc("velocities", p->unknowns.n_full, sizeof(double), full[k]));
  for (int k = 0; k < 3; ++k) PetscCall(memory_alloc("velocities", p->n, sizeof(double), free_ones[k]));
  step_unknowns_select(&p->unknowns, l->v0, p->y);
  PetscCall(memory_alloc("impulses", 3 * step_contacts_size(&p->frame->contacts), sizeof(double), &guess));
  step_impulses_guess(&p->frame->record.known, &p->frame->contacts.rows, step_contacts_spots(&p->frame->contacts), l->dt, guess);
  PetscErrorCode code       = 0;
  const bool     uses_creep = p->options->creep && step_contacts_size(&p->frame->contacts) > STEP_CREEP_FEW;
  if (uses_creep) code = step_creep_limits(p->options->creep, &p->frame->contacts, l, &p->speed_limit, NULL);
  if (!code && uses_creep) step_creep_add_slack(p->options->creep, p->speed_limit, guess, &p->frame->contacts);
  if (!code) code = step_working_set_create(&p->frame->contacts, l->v0, guess, uses_creep, &p->set);
  if (!code && uses_creep) code = step_creep_bodies(&p->unknowns, l, &p->body);
  memory_free(&guess);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* p->right = P^T (g - H^T r), p->full the same before P^T. */
static void combine_residual(void *context)
{
  step_coulomb *p = context;
  memcpy(p->full, p->g, (size_t)p->unknowns.n_full * sizeof *p->full);
  contact_jacobian_scatter(&p->set.rows, -1.0, p->set.r, p->full);
  step_unknowns_fold(&p->unknowns, p->full, p->right);
}

/* p->right at p->y with the current impulses. */
static PetscErrorCode evaluate_residual(void *context, const nonlinear_state *now, bool with_tangent, step_status *status)
{
  step_coulomb *p = context;
  step_layout  *l = &p->frame->layout;
  PetscFunctionBegin;
  (void)now;
  ++p->report->evaluations;
  p->has_tangent = with_tangent;
  step_unknowns_expand(&p->unknowns, p->y, l->v);
  PetscCall(step_layout_update_poses(l));
  PetscCall(step_layout_residual(l, p->g, with_tangent, status));
  if (status->code == STEP_OK) combine_residual(context);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Assemble and factorise M and W. The bodies guarantee a definite matrix; if it is not definite, the state is invalid, or, at
 * the start of a step, something has no mass. */
static PetscErrorCode linearise_step(void *context, const nonlinear_state *now, step_status *status)
{
  step_coulomb *p = context;
  sparse_rows   M, H;
  PetscFunctionBegin;
  if (!p->has_tangent) PetscCall(evaluate_residual(context, now, true, status));
  if (status->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
  timer_begin(TIMER_PRECONDITIONER);
  delassus_destroy(&p->W);
  PetscCall(step_unknowns_mass(&p->unknowns, &p->frame->layout, NULL, &M));
  PetscCall(step_unknowns_jacobian(&p->unknowns, &p->set.rows, &H));
  const PetscErrorCode code = delassus_create_system(&M, &H, &p->W);
  if (p->W) delassus_set_bodies(p->W, p->body);
  if (p->W) delassus_set_solvers(p->W, p->options->motion_solver, p->options->contact_solver);
  sparse_rows_destroy(&M);
  sparse_rows_destroy(&H);
  step_line_search_destroy(&p->search);
  if (!code) PetscCall(step_line_search_create_parts(p->W, &p->search));
  if (code == PETSC_ERR_MAT_CH_ZRPVT && now->k > 0) {
    error_clear();
    *status = (step_status){STEP_NOT_CONVERGED, NULL, -1};
  } else PetscCall(code);
  timer_end(TIMER_PRECONDITIONER);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A stalled friction problem is accepted up to this error, in the norm that decides in this step. */
static double stall_tolerance_of(const step_coulomb *p)
{
  return p->speed_limit ? p->options->creep_stall_tolerance : p->options->friction_stall_tolerance;
}

/* Record the result of a friction solve. A failure ends the attempt at this step unless another linearisation follows. */
static void record_solver_result(const step_coulomb *p, const friction_options *used, const friction_result *result, bool is_last,
                                 step_status *status, step_report *report)
{
  const double stall_tolerance = p->frame->layout.accepts_unconverged ? INFINITY : stall_tolerance_of(p);
  report->friction_iterations += result->iterations;
  report->friction_error_absolute = result->absolute, report->friction_error_siconos = result->siconos;
  report->friction_error = result->scaled, report->friction_residual_speed = result->residual_speed;
  report->friction_speed_ratio = result->speed;
  /* "splitting, newton_prox": the last method of a sequence found the solution. */
  const char *const comma = strrchr(result->method, ','), *const name = comma ? comma + 2 : result->method;
  for (int k = 0; k < FRICTION_N_METHODS; ++k)
    if (strcmp(friction_solvers[k].name, name) == 0) report->friction_method = k;
  const bool is_short = !is_last && (result->status == FRICTION_ITERATIONS || result->status == FRICTION_STALLED);
  nonlinear_record_solver(result->status == FRICTION_OK, result->status == FRICTION_STOPPED, is_short,
                          friction_result_error(result, used->error), stall_tolerance, &report->friction_unconverged, status);
}

/* The final tolerance of the friction problems. */
static double last_tolerance(const step_coulomb *p) { return p->speed_limit ? 1.0 : friction_tolerance(p->options->friction); }

/* Solve the problem linearised at v for impulses and velocities, with the current M and W. Few contacts are solved to the final
 * tolerance at once. */
static PetscErrorCode solve_linearised(void *context, nonlinear_state *now, step_status *status)
{
  step_coulomb               *p = context;
  const step_coulomb_options *o = p->options;
  step_working_set           *s = &p->set;
  PetscFunctionBegin;
  if (s->n <= WORKING_SET_FEW) now->tolerance = last_tolerance(p);
  step_unknowns_fold(&p->unknowns, p->g, p->right);
  PetscCall(delassus_solve(p->W, p->right, p->dy));
  for (int64_t i = 0; i < p->n; ++i) p->dy[i] = -p->dy[i];
  if (s->n > 0) {
    friction_result result;
    for (int64_t i = 0; i < p->n; ++i) p->y[i] += p->dy[i]; /* without impulses */
    step_unknowns_expand(&p->unknowns, p->y, p->full);
    contact_jacobian_velocity(&s->rows, p->full, s->q);
    for (int64_t i = 0; i < s->n; ++i) s->q[3 * i] += s->shift[i];
    if (o->keep_problem) PetscCall(o->keep_problem(o->context, p->W, s->n, p->y, s->q, s->mu, s->r));
    for (int64_t i = 0; i < p->n; ++i) p->y[i] -= p->dy[i];
    const friction_problem problem = {.W           = p->W,
                                      .n           = s->n,
                                      .q           = s->q,
                                      .mu          = s->mu,
                                      .speed_limit = p->speed_limit,
                                      .load_speed  = p->frame->layout.acceleration_scale * p->frame->layout.dt};
    friction_options       options = *o->friction;
    options.tolerance              = now->tolerance;
    options.enough                 = stall_tolerance_of(p);
    if (p->speed_limit) options.error = FRICTION_ERROR_SPEED, options.least_work = STEP_CREEP_WORK;
    const bool is_last = now->tolerance <= last_tolerance(p);
    if (!is_last && options.max_iterations == 0) options.max_iterations = INEXACT_ITERATIONS;
    timer_begin(TIMER_FRICTION);
    PetscCall(friction_solve(&problem, &options, s->r, s->u, &result));
    timer_end(TIMER_FRICTION);
    record_solver_result(p, &options, &result, is_last, status, p->report);
    now->error = friction_result_error(&result, options.error);
    memset(p->full, 0, (size_t)p->unknowns.n_full * sizeof *p->full);
    contact_jacobian_scatter(&s->rows, 1.0, s->r, p->full);
    step_unknowns_fold(&p->unknowns, p->full, p->right);
    PetscCall(delassus_solve(p->W, p->right, p->right));
    for (int64_t i = 0; i < p->n; ++i) p->dy[i] += p->right[i];
  }
  for (int64_t i = 0; i < p->n; ++i) p->y[i] += p->dy[i];
  if (o->keep_solution && s->n > 0) o->keep_solution(o->context, s->r, s->u, p->y);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Repeat the contact detection between fibres for the current trajectory, unless it has hardly changed since the last detection. */
static PetscErrorCode repeat_contact_detection(step_coulomb *p, bool *is_more, step_status *status)
{
  step_contacts *c     = &p->frame->contacts;
  step_layout   *l     = &p->frame->layout;
  const int64_t  n     = step_contacts_size(c);
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
  PetscErrorCode code = step_contacts_find_more(c, l, &p->unknowns, is_more, status);
  if (!code && *is_more) code = step_working_set_extend(&p->set, c, n, key);
  memory_free(&key);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Add excluded or newly detected contacts that the solution would violate to the next problem. Contacts are detected again at the
 * first solution, where the residual is small, and at the end. */
static PetscErrorCode extend_contacts(void *context, const nonlinear_state *now, bool is_end, bool *is_complete, step_status *status)
{
  step_coulomb      *p     = context;
  const step_layout *l     = &p->frame->layout;
  const double       speed = (is_end ? VIOLATION_SPEED_AT_END : VIOLATION_SPEED) * l->acceleration_scale * l->dt;
  int64_t            n_added;
  bool               is_more = false;
  PetscFunctionBegin;
  const bool is_near = p->n_detections == 1 && now->norm < EARLY_DETECTION * p->options->newton->tolerance;
  PetscCall(step_working_set_join(&p->set, &p->frame->contacts, l->v, speed, &n_added));
  if (is_end || now->k == 0 || is_near) PetscCall(repeat_contact_detection(p, &is_more, status));
  *is_complete = n_added == 0 && !is_more;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Impulses and contact velocities belong to the velocities that they were solved with. */
static int list_arrays(void *context, nonlinear_array out[NONLINEAR_MAX_ARRAYS])
{
  const step_working_set *s = &((step_coulomb *)context)->set;
  out[0]                    = (nonlinear_array){s->r, 3 * s->n};
  out[1]                    = (nonlinear_array){s->u, 3 * s->n};
  return 2;
}

static nonlinear_options options_of(const step_coulomb *p)
{
  nonlinear_options o = nonlinear_defaults(p->options->newton);
  o.accepts_first     = true;
  /* With Anderson's combination an older matrix suffices up to this ratio of residuals. Always renewing it takes 14 to 20 % fewer
   * linearisations of brushes and wisps, but 5 to 14 % more CPU time. */
  o.renew = 0.3;
  o.least = last_tolerance(p);
  /* Wisp: 9190 friction iterations; 11546 with loosest 1e-3; 11053 and 10232 with a fifth and five times the forcing. */
  o.loosest = 1e-2;
  if (o.max_iterations > 1 && !step_creep_is_rigid(p->frame->layout.scene)) o.forcing = 0.05 * o.least / o.tolerance;
  return o;
}

/* Solve the nonlinear equations of the step. An accepted state is always the solution of a linearised problem, which satisfies
 * the contact law. */
static PetscErrorCode solve_nonlinear_step(step_coulomb *p, step_status *status)
{
  const nonlinear_options o       = options_of(p);
  const nonlinear_problem problem = {p,
                                     &p->frame->layout,
                                     &p->unknowns,
                                     p->y,
                                     p->dy,
                                     p->right,
                                     p->full,
                                     &p->search,
                                     .evaluate      = evaluate_residual,
                                     .linearise     = linearise_step,
                                     .solve         = solve_linearised,
                                     .combine_start = combine_residual,
                                     .extend        = extend_contacts,
                                     .list_arrays   = list_arrays};
  nonlinear_result        result;
  PetscFunctionBegin;
  PetscCall(nonlinear_solve(&problem, &o, &result, status));
  p->report->newton_iterations += result.n_iterations;
  nonlinear_record(&result, o.tolerance, p->report);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode step_coulomb_solve(step_coulomb *p, step_frame *frame, const step_coulomb_options *options, step_status *status,
                                  step_report *report)
{
  PetscFunctionBegin;
  *p = (step_coulomb){.frame = frame, .options = options, .report = report};
  PetscCall(step_frame_start(frame, &p->unknowns, status));
  if (status->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(initialise_problem(p));
  if (p->unknowns.n_full > 0) PetscCall(solve_nonlinear_step(p, status));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* For excluded contacts W is replaced by the identity; they separate or stay apart for any W. */
PetscErrorCode step_coulomb_accept(step_coulomb *p, step_status *status)
{
  step_frame   *f = p->frame;
  const int64_t n = step_contacts_size(&f->contacts);
  double       *r = NULL, *u = NULL, *W = NULL;
  PetscFunctionBegin;
  PetscErrorCode code = MEMORY_ALLOC("contact law", ARRAY(r, 3 * n), ARRAY(u, 3 * n), ARRAY(W, 9 * n));
  if (!code) {
    step_working_set_spread(&p->set, &f->contacts, f->layout.v, r, u);
    for (int64_t i = 0; i < n; ++i) m3_identity(W + 9 * i);
    for (int64_t k = 0; k < p->set.n && p->W; ++k) m3_copy(W + 9 * p->set.contact[k], delassus_diagonal(p->W) + 9 * k);
    const step_outcome law = {.r = r, .u = u, .scale = W, .creep = p->speed_limit};
    code                   = step_frame_accept(f, &law, status, p->report);
  }
  MEMORY_FREE(&r, &u, &W);
  PetscCall(code);
  p->report->contact_candidates = p->set.n;
  p->report->over_constraint    = p->n > 0 ? 3.0 * (double)p->set.n / (double)p->n : 0.0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode step_coulomb_probe(const char *motion, const char *contact, const friction_options *friction)
{
  PetscFunctionBegin;
  PetscCall(linear_solver_probe(motion, KSPPREONLY, PCMASSFACTOR, true, false));
  if (friction->method != FRICTION_METHOD_SPLITTING && friction->method != FRICTION_METHOD_GRADIENT) { /* these have no linear systems */
    if (friction->method != FRICTION_METHOD_ADMM) PetscCall(linear_solver_probe(contact, KSPPREONLY, PCFRICTIONLU, false, false));
    PetscCall(linear_solver_probe(contact, KSPPREONLY, PCSPARSEDIRECT, true, false));
  }
  PetscCall(sparse_direct_probe(SPARSE_DIRECT_CHOLESKY));
  PetscCall(sparse_direct_probe(SPARSE_DIRECT_LU));
  PetscFunctionReturn(PETSC_SUCCESS);
}
