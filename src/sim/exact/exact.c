/* The formulation `exact`: backward Euler with rigid contact and exact Coulomb friction [BertailsEtAl2011].
 *
 * A step solves g(v) = H^T r, where (H v + w, r) satisfies Coulomb's law at every contact and g is the residual of the systems.
 * Contacts, their frames and H are those of the start of the step. Linearised at v_k:
 *
 *    M (v - v_k) + g(v_k) = H^T r,   u = H v + w = W r + q,   W = H M^-1 H^T,   q = H v_k + w - H M^-1 g(v_k)
 *
 * This is the paper's one-step problem with f = g(v_k) - M v_k. M is the symmetric positive definite part of the tangent. The
 * remainder stays in g, so repeated linearisation converges to the same step, until |D^-1 (g - H^T r)| is within the tolerance
 * (nonlinear.h). From the third linearisation on, the linearisation point is Anderson's combination of earlier ones; M and W
 * are reused while the iteration converges. The friction tolerance follows the outer residual (inexact Newton). Friction is solved for
 * the contacts of a working set (exact_working_set.h). max_iterations: 1 accepts the first linearisation without a check, as the
 * paper does. */
#include "core/math3.h"
#include "core/memory.h"
#include "discretize/body/body_stages.h"
#include "sim/step/step_stages.h"
#include "core/timer.h"
#include "optim/friction/delassus.h"
#include "optim/friction/sparse_direct.h"
#include "sim/exact/exact_export.h"
#include "sim/exact/exact_keys.h"
#include "sim/exact/exact_working_set.h"
#include "sim/step/nonlinear.h"
#include "sim/step/solver_options.h"
#include "sim/step/step_contacts.h"
#include "sim/step/step_frame.h"
#include "sim/scene/scene_overlap_check.h"
#include <string.h>

typedef struct {
  step_frame              frame;
  const newton_options   *newton;
  const friction_options *friction;
  double                  friction_stall_tolerance;
  const char             *name; /* of the run, in files of contact problems */
  bool                    keeps_problem;
  exact_export            last;                           /* if keeps_problem */
  linear_solver          *motion_solver, *contact_solver; /* of M; of Newton's method on contacts */
} exact;

/* Of the thickest fibre: smaller changes of the trajectory since the last contact detection do not require a new one. */
#define TRAJECTORY_CHANGE 0.1
/* Residual over tolerance below which contacts are detected a second time, before the other impulses are solved accurately. */
#define EARLY_DETECTION 1e2
/* Of the speed that gravity adds in a step: closing speed up to which an excluded contact may be violated. */
#define VIOLATION_SPEED 1e-4
enum {
  MOST_DETECTIONS    = 8,  /* contact detections after the start of a step */
  INEXACT_ITERATIONS = 400 /* friction iterations if another linearisation follows */
};

/* Temporary data of one step: a problem of the nonlinear driver. */
typedef struct {
  exact            *e;
  step_report      *report;
  step_unknowns     unknowns;
  delassus         *W; /* for the current matrix; NULL: none yet */
  int64_t           n;
  double           *g, *full;       /* [n_full] residual of the systems; work */
  double           *y, *dy, *right; /* [n] free velocities, their change, P^T (g - H^T r) */
  bool              has_tangent;    /* the systems have evaluated their tangents at y */
  exact_working_set set;
  step_line_search  search;     /* parts of the current matrix */
  double           *v_detected; /* [n_full] velocities at the last contact detection */
  int               n_detections;
} exact_attempt;

static void exact_finish(void *context)
{
  exact_attempt *p = context;
  delassus_destroy(&p->W);
  step_unknowns_destroy(&p->unknowns);
  exact_working_set_destroy(&p->set);
  step_line_search_destroy(&p->search);
  MEMORY_FREE(&p->g, &p->full, &p->y, &p->dy, &p->right, &p->v_detected);
}

/* Initialise a step whose contacts have been detected: velocities of its start, impulses of the last step. */
static PetscErrorCode initialise_problem(exact_attempt *p)
{
  exact *e = p->e;
  PetscFunctionBegin;
  step_layout *l       = &e->frame.layout;
  p->n                 = p->unknowns.n;
  double **full[]      = {&p->g, &p->full}, *guess;
  double **free_ones[] = {&p->y, &p->dy, &p->right};
  for (int k = 0; k < 2; ++k) PetscCall(memory_alloc("velocities", p->unknowns.n_full, sizeof(double), full[k]));
  for (int k = 0; k < 3; ++k) PetscCall(memory_alloc("velocities", p->n, sizeof(double), free_ones[k]));
  step_unknowns_select(&p->unknowns, l->v0, p->y);
  PetscCall(memory_alloc("impulses", 3 * step_contacts_size(&e->frame.contacts), sizeof(double), &guess));
  step_impulses_guess(&e->frame.record.known, &e->frame.contacts.rows, step_contacts_spots(&e->frame.contacts), l->dt, guess);
  const PetscErrorCode code = exact_working_set_create(&e->frame.contacts, l->v0, guess, &p->set);
  memory_free(&guess);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* p->right = P^T (g - H^T r), p->full the same before P^T. */
static void combine_residual(void *context)
{
  exact_attempt *p = context;
  memcpy(p->full, p->g, (size_t)p->unknowns.n_full * sizeof *p->full);
  contact_jacobian_scatter(&p->set.rows, -1.0, p->set.r, p->full);
  step_unknowns_fold(&p->unknowns, p->full, p->right);
}

/* p->right at p->y with the current impulses. */
static PetscErrorCode evaluate_residual(void *context, const nonlinear_state *now, bool with_tangent, step_status *status)
{
  exact_attempt *p = context;
  step_layout   *l = &p->e->frame.layout;
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
  exact_attempt *p = context;
  sparse_rows    M, H;
  PetscFunctionBegin;
  if (!p->has_tangent) PetscCall(evaluate_residual(context, now, true, status));
  if (status->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
  timer_begin(TIMER_PRECONDITIONER);
  delassus_destroy(&p->W);
  PetscCall(step_unknowns_mass(&p->unknowns, &p->e->frame.layout, NULL, &M));
  PetscCall(step_unknowns_jacobian(&p->unknowns, &p->set.rows, &H));
  const PetscErrorCode code = delassus_create_system(&M, &H, &p->W);
  if (p->W) delassus_set_solvers(p->W, p->e->motion_solver, p->e->contact_solver);
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

/* Record the result of a friction solve. A failure ends the attempt at this step unless another linearisation follows. */
static void record_solver_result(const exact *e, const friction_result *result, bool is_last, step_status *status, step_report *report)
{
  report->friction_iterations += result->iterations;
  report->friction_error_absolute = result->absolute, report->friction_error_siconos = result->siconos;
  report->friction_error = result->scaled;
  /* "splitting, newton_prox": the last method of a sequence found the solution. */
  const char *const comma = strrchr(result->method, ','), *const name = comma ? comma + 2 : result->method;
  for (int k = 0; k < FRICTION_N_METHODS; ++k)
    if (strcmp(friction_solvers[k].name, name) == 0) report->friction_method = k;
  const bool is_short = !is_last && (result->status == FRICTION_ITERATIONS || result->status == FRICTION_STALLED);
  nonlinear_record_solver(result->status == FRICTION_OK, result->status == FRICTION_STOPPED, is_short,
                          friction_result_error(result, e->friction->error), e->friction_stall_tolerance, &report->friction_unconverged,
                          status);
}

/* Solve the problem linearised at v for impulses and velocities, with the current M and W. Few contacts are solved to the final
 * tolerance at once. */
static PetscErrorCode solve_linearised(void *context, nonlinear_state *now, step_status *status)
{
  exact_attempt     *p = context;
  exact             *e = p->e;
  exact_working_set *s = &p->set;
  PetscFunctionBegin;
  if (s->n <= EXACT_FEW) now->tolerance = e->friction->tolerance;
  step_unknowns_fold(&p->unknowns, p->g, p->right);
  PetscCall(delassus_solve(p->W, p->right, p->dy));
  for (int64_t i = 0; i < p->n; ++i) p->dy[i] = -p->dy[i];
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
    options.tolerance              = now->tolerance;
    options.enough                 = e->friction_stall_tolerance;
    const bool is_last             = now->tolerance <= e->friction->tolerance;
    if (!is_last && options.max_iterations == 0) options.max_iterations = INEXACT_ITERATIONS;
    timer_begin(TIMER_FRICTION);
    PetscCall(friction_solve(&problem, &options, s->r, s->u, &result));
    timer_end(TIMER_FRICTION);
    record_solver_result(e, &result, is_last, status, p->report);
    now->error = friction_result_error(&result, options.error);
    memset(p->full, 0, (size_t)p->unknowns.n_full * sizeof *p->full);
    contact_jacobian_scatter(&s->rows, 1.0, s->r, p->full);
    step_unknowns_fold(&p->unknowns, p->full, p->right);
    PetscCall(delassus_solve(p->W, p->right, p->right));
    for (int64_t i = 0; i < p->n; ++i) p->dy[i] += p->right[i];
  }
  for (int64_t i = 0; i < p->n; ++i) p->y[i] += p->dy[i];
  if (e->keeps_problem && s->n > 0) exact_export_solution(&e->last, s->r, s->u, p->y);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static bool has_only_rigid(const exact *e)
{
  const scene *s = e->frame.layout.scene;
  for (int i = 0; i < s->n_systems; ++i)
    if (s->systems[i]->ops->points != POINT_RIGID && !s->systems[i]->ops->is_reduced) return false;
  return true;
}

/* Repeat the contact detection between fibres for the current trajectory, unless it has hardly changed since the last detection. */
static PetscErrorCode repeat_contact_detection(exact_attempt *p, bool *is_more, step_status *status)
{
  step_contacts *c     = &p->e->frame.contacts;
  step_layout   *l     = &p->e->frame.layout;
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
  if (!code && *is_more) code = exact_working_set_extend(&p->set, c, n, key);
  memory_free(&key);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Add excluded or newly detected contacts that the solution would violate to the next problem. Contacts are detected again at the
 * first solution, where the residual is small, and at the end. */
static PetscErrorCode extend_contacts(void *context, const nonlinear_state *now, bool is_end, bool *is_complete, step_status *status)
{
  exact_attempt     *p     = context;
  const step_layout *l     = &p->e->frame.layout;
  const double       speed = VIOLATION_SPEED * l->acceleration_scale * l->dt;
  int64_t            n_added;
  bool               is_more = false;
  PetscFunctionBegin;
  const bool is_near = p->n_detections == 1 && now->norm < EARLY_DETECTION * p->e->newton->tolerance;
  PetscCall(exact_working_set_join(&p->set, &p->e->frame.contacts, l->v, speed, &n_added));
  if (is_end || now->k == 0 || is_near) PetscCall(repeat_contact_detection(p, &is_more, status));
  *is_complete = n_added == 0 && !is_more;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static nonlinear_options options_of(const exact *e)
{
  nonlinear_options o = nonlinear_defaults(e->newton);
  o.accepts_first     = true;
  /* With Anderson's combination an older matrix suffices up to this ratio of residuals. Always renewing it takes 14 to 20 % fewer
   * linearisations of brushes and wisps, but 5 to 14 % more CPU time. */
  o.renew = 0.3;
  o.least = e->friction->tolerance;
  /* Wisp: 9190 friction iterations; 11546 with loosest 1e-3; 11053 and 10232 with a fifth and five times the forcing. */
  o.loosest = 1e-2;
  if (o.max_iterations > 1 && !has_only_rigid(e)) o.forcing = 0.05 * e->friction->tolerance / o.tolerance;
  return o;
}

/* Solve the nonlinear equations of the step. An accepted state is always the solution of a linearised problem, which satisfies
 * the contact law. */
static PetscErrorCode solve_nonlinear_step(exact_attempt *p, step_status *status)
{
  const nonlinear_options o       = options_of(p->e);
  const nonlinear_problem problem = {p,
                                     &p->e->frame.layout,
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
                                     .extend        = extend_contacts};
  nonlinear_result        result;
  PetscFunctionBegin;
  PetscCall(nonlinear_solve(&problem, &o, &result, status));
  p->report->newton_iterations += result.n_iterations;
  nonlinear_record(&result, o.tolerance, p->report);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The step is solved: make it permanent unless a body rejects it. For excluded contacts W is replaced by the identity; they
 * separate or stay apart for any W. */
static PetscErrorCode accept_step(exact_attempt *p, step_status *status)
{
  exact        *e = p->e;
  const int64_t n = step_contacts_size(&e->frame.contacts);
  double       *r = NULL, *u = NULL, *W = NULL;
  PetscFunctionBegin;
  PetscErrorCode code = MEMORY_ALLOC("exact", ARRAY(r, 3 * n), ARRAY(u, 3 * n), ARRAY(W, 9 * n));
  if (!code) {
    exact_working_set_spread(&p->set, &e->frame.contacts, e->frame.layout.v, r, u);
    for (int64_t i = 0; i < n; ++i) m3_identity(W + 9 * i);
    for (int64_t k = 0; k < p->set.n && p->W; ++k) m3_copy(W + 9 * p->set.contact[k], delassus_diagonal(p->W) + 9 * k);
    const step_outcome law = {.r = r, .u = u, .scale = W};
    code                   = step_frame_accept(&e->frame, &law, status, p->report);
  }
  MEMORY_FREE(&r, &u, &W);
  PetscCall(code);
  p->report->contact_candidates = p->set.n;
  p->report->over_constraint    = p->n > 0 ? 3.0 * (double)p->set.n / (double)p->n : 0.0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode exact_try(void *context, step_status *status, step_report *report)
{
  PetscFunctionBegin;
  exact_attempt *p   = context;
  exact         *e   = p->e;
  p->report          = report;
  e->last.n_contacts = 0;
  PetscCall(step_frame_start(&e->frame, &p->unknowns, status));
  if (status->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(initialise_problem(p));
  if (p->unknowns.n_full > 0) {
    PetscCall(solve_nonlinear_step(p, status));
    if (status->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(accept_step(p, status));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode exact_step(formulation *f, double t, double dt, step_status *status, step_report *report)
{
  PetscFunctionBegin;
  exact_attempt      now = {.e = (exact *)f};
  const step_attempt own = {exact_try, exact_finish, &now};
  PetscCall(step_run_attempt(&now.e->frame.layout, t, dt, &own, status, report));
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
  linear_solver_destroy(&e->motion_solver);
  linear_solver_destroy(&e->contact_solver);
}

static const char MOTION[] = "exact_motion_", CONTACT[] = "exact_contact_"; /* prefixes of options */

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
  PetscCall(linear_solver_create(s->comm, MOTION, &e->motion_solver));
  PetscCall(linear_solver_create(s->comm, CONTACT, &e->contact_solver));
  PetscCall(step_frame_create(s, o->contact->overlap_correction, &e->frame));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode exact_probe(const scene *s)
{
  PetscFunctionBegin;
  PetscCall(linear_solver_probe(MOTION, KSPPREONLY, PCMASSFACTOR, true, false));
  const int method = s->options->solver->friction->method;
  if (method != FRICTION_METHOD_SPLITTING && method != FRICTION_METHOD_GRADIENT) { /* these have no linear systems */
    if (method != FRICTION_METHOD_ADMM) PetscCall(linear_solver_probe(CONTACT, KSPPREONLY, PCFRICTIONLU, false, false));
    PetscCall(linear_solver_probe(CONTACT, KSPPREONLY, PCSPARSEDIRECT, true, false));
  }
  PetscCall(sparse_direct_probe(SPARSE_DIRECT_CHOLESKY));
  PetscCall(sparse_direct_probe(SPARSE_DIRECT_LU));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const unused_key unused[]          = {{"contact.stiffness", "contact is rigid, without springs", true},
                                             {"contact.pairs.stiffness", "contact is rigid, without springs", true},
                                             {"contact.pairs.friction_direction", "its friction cones are circular", false},
                                             {"contact.pairs.friction_transverse", "its friction cones are circular", false},
                                             {.path = NULL}};
const formulation_ops   exact_formulation = {
      .scene.name         = "exact",
      .scene.kinds        = "mpm fem cloth rod articulated rigid kinematic static",
      .scene.kinds_reason = "its continua are elastic or plastic",
      .scene.solver       = "newton friction exact petsc",
      .scene.unused       = unused,
      .scene.is_rigid     = true,
      .outer              = "Newton",
      .inner              = "friction",
      .report             = REPORT_OUTER | REPORT_EVALUATIONS | REPORT_TOLERANCE | REPORT_CONTACT | REPORT_CONTACT_LAW | REPORT_IMPULSES |
                REPORT_CONTACT_PROBLEM | REPORT_FRICTION_SOLVER,
      .remedy         = "another solver.friction.method",
      .size           = sizeof(exact),
      .create         = exact_create,
      .probe          = exact_probe,
      .step           = exact_step,
      .fields         = exact_fields,
      .scene.check    = scene_overlap_check,
      .scene.describe = exact_describe,
      .write_problem  = exact_write_problem,
      .destroy        = exact_destroy,
};
