#include "app/job/job.h"
#include "contact/penalty/penalty.h"
#include "core/math3.h"
#include "core/memory.h"
#include "discretize/body_kinds.h"
#include "discretize/material/material_registry.h"
#include "discretize/mpm/mpm_body.h"
#include "io/yaml.h"
#include "sim/step/formulation.h"
#include "app/job/formulation_keys.h"
#include "sim/measure/measure.h"
#include "sim/measure/until.h"
#include "sim/scene/scene.h"

#define KEYS_END {.name = NULL}

/* --- time ---------------------------------------------------------------------------------------------------------- */

static const key_spec retry_keys[] = {
  {.name = "halvings", .type = KEY_INT, .offset = offsetof(job_retry, halvings), .fallback = "6", .min = 0, .max = 20,
   .help = "how often a failed step may be halved before the run gives up"},
  KEYS_END};
static const key_table retry_table = {.name = "time.retry", .help = "What happens when a step fails: it is rolled back and taken in halves.",
                                      .size = sizeof(job_retry), .keys = retry_keys};
static const key_spec time_keys[] = {
  {.name = "end", .type = KEY_REAL, .offset = offsetof(job_time, end), .unit = "s", .min = 0, .max = INFINITY, .is_open = true,
   .help = "simulated time at which the run ends", .may_change = true},
  {.name = "step", .type = KEY_REAL, .offset = offsetof(job_time, step), .unit = "s", .min = 0, .max = INFINITY, .is_open = true,
   .help = "time step"},
  {.name = "frame", .type = KEY_REAL, .offset = offsetof(job_time, frame), .unit = "s", .fallback = "0", .min = 0, .max = INFINITY,
   .help = "time between frames for ParaView and pictures, a multiple of step; 0: only the first and the last", .may_change = true},
  {.name = "retry", .type = KEY_TABLE, .offset = offsetof(job_time, retry), .fallback = "{}", .table = &retry_table,
   .help = "what happens when a step fails", .may_change = true},
  KEYS_END};
static const key_table time_table = {.name = "time", .help = "How long to run and in which steps.", .size = sizeof(job_time), .keys = time_keys};

/* --- contact ------------------------------------------------------------------------------------------------------- */

static const key_spec pair_keys[] = {
  {.name = "between", .type = KEY_STRINGS, .offset = offsetof(job_pair, between),
   .help = "two names, each of a body or of a material; a later entry overrides an earlier one"},
  {.name = "friction", .type = KEY_REAL, .offset = offsetof(job_pair, friction), .min = 0, .max = INFINITY, .is_optional = true,
   .help = "coefficient of friction of this pair; with friction_direction, along it"},
  {.name = "friction_direction", .type = KEY_REALS, .count = 3, .offset = offsetof(job_pair, friction_direction), .is_optional = true,
   .help = "friction depends on the direction: its cone is an ellipse about this axis, which turns with the body that is touched and counts as projected on its surface; on a surface that deforms, as drawn on it before"},
  {.name = "friction_transverse", .type = KEY_REAL, .offset = offsetof(job_pair, friction_transverse), .min = 0, .max = INFINITY, .is_open = true,
   .is_optional = true, .help = "coefficient of friction across friction_direction"},
  {.name = "stiffness", .type = KEY_REAL, .offset = offsetof(job_pair, stiffness), .unit = "N/m", .min = 0, .max = INFINITY, .is_optional = true,
   .help = "stiffness of this pair, per contact point; 0: the two never touch"},
  {.name = "restitution", .type = KEY_REAL, .offset = offsetof(job_pair, restitution), .min = 0, .max = 1, .is_optional = true,
   .help = "coefficient of restitution of this pair"},
  {.name = "touch", .type = KEY_BOOL, .offset = offsetof(job_pair, touch), .fallback = "true", .help = "false: the two never touch, in any formulation"},
  KEYS_END};
static const key_table pair_table = {.name = "contact.pairs", .help = "Exceptions from the defaults.", .size = sizeof(job_pair), .keys = pair_keys};
static const char *const contact_schemes[] = {[CONTACT_IMPLICIT] = "implicit", [CONTACT_LAGGED_FRICTION] = "lagged_friction",
                                              [CONTACT_LAGGED_CONTACT] = "lagged_contact", NULL};
static const char *const contact_detections[] = {[CONTACT_DETECT_EVALUATION] = "evaluation", [CONTACT_DETECT_STEP] = "step", NULL};
static const key_spec contact_keys[] = {
  {.name = "friction", .type = KEY_REAL, .offset = offsetof(job_contact, friction), .min = 0, .max = INFINITY, .is_optional = true,
   .help = "coefficient of friction where no pair says otherwise; between a body of kind mac and others that is the material's own"},
  {.name = "stiffness", .type = KEY_REAL, .offset = offsetof(job_contact, stiffness), .unit = "N/m", .min = 0, .max = INFINITY, .is_optional = true,
   .help = "of the spring at a contact point; a body of weight W on n points sinks W/(n k). Formulation convex: as stiff as the step can carry if not given"},
  {.name = "restitution", .type = KEY_REAL, .offset = offsetof(job_contact, restitution), .min = 0, .max = 1, .fallback = "0",
   .help = "speed of leaving over speed of arriving, in [0.01, 1): a damper beside each spring takes the rest; reached from below as the step gets short against sqrt(m/stiffness). 0: no damper, the step alone damps, to exp(-pi/2 step sqrt(stiffness/m))"},
  {.name = "overlap_share", .type = KEY_REAL, .offset = offsetof(job_contact, overlap_share), .fallback = "0.2", .min = 0, .max = 1,
   .help = "formulations exact and monolith: what part of an overlap a step takes back, as far as overlap_speed lets it; exact by velocities, monolith by moving bodies"},
  {.name = "overlap_speed", .type = KEY_REAL, .offset = offsetof(job_contact, overlap_speed), .unit = "m/s", .is_optional = true, .min = 0, .max = INFINITY,
   .help = "formulations exact, monolith and convex (where contact is as stiff as the step can carry; springs of a given stiffness push as they do): the fastest that overlaps are pushed apart. If not given: exact and convex, acceleration_scale * step, which gravity takes back before anything hops; monolith, a tenth of a grid cell in a step"},
  {.name = "detection", .type = KEY_ENUM, .offset = offsetof(job_contact, detection), .choices = contact_detections, .fallback = "evaluation",
   .help = "when points that come to surfaces of triangles are looked for: in every evaluation of the forces, or twice a step: as it begins, on the way it would take without contact, and as it ends. Fewer searches, and Newton's method keeps one set of contacts; what comes unexpected is stopped a step late"},
  {.name = "edges", .type = KEY_BOOL, .offset = offsetof(job_contact, edges), .fallback = "false",
   .help = "edges of surfaces of triangles meet edges of others, not only points triangles: for corners, bars and folds that cross"},
  {.name = "scheme", .type = KEY_ENUM, .offset = offsetof(job_contact, scheme), .choices = contact_schemes, .fallback = "implicit",
   .help = "for comparison: lagged_friction takes friction from the start of each step, lagged_contact all of the contact forces; stacks creep, and steps beyond 2 sqrt(m/k) explode"},
  {.name = "pairs", .type = KEY_LIST, .offset = offsetof(job_contact, pairs), .table = &pair_table, .is_optional = true, .help = "exceptions"},
  KEYS_END};
static const key_table contact_table = {.name = "contact", .help = "How bodies touch.", .size = sizeof(job_contact), .keys = contact_keys};

/* --- solver -------------------------------------------------------------------------------------------------------- */

static const char *const newton_norms[] = {[JOB_NORM_ACCELERATION] = "acceleration", [JOB_NORM_IMPULSE] = "impulse", NULL};
const char *job_norm_unit(const job_newton *newton) { return newton->norm == JOB_NORM_IMPULSE ? "N s" : "in units of acceleration_scale"; }
static const key_spec newton_keys[] = {
  {.name = "norm", .type = KEY_ENUM, .offset = offsetof(job_newton, norm), .choices = newton_norms, .fallback = "acceleration",
   .help = "what the tolerances measure. acceleration: as they say; impulse, formulation penalty: as published, the Euclidean norm of what is left of all equations of momentum [N s] (rotation: N m s), "
           "which says the less of each the more there are, or that of its product with the transposed tangent [kg], whichever is less"},
  {.name = "tolerance", .type = KEY_REAL, .offset = offsetof(job_newton, tolerance), .fallback = "1.0e-3", .min = 0, .max = 1e6, .is_open = true,
   .help = "rms acceleration error of a body in units of acceleration_scale, at which a step counts as solved"},
  {.name = "stall_tolerance", .type = KEY_REAL, .offset = offsetof(job_newton, stall_tolerance), .fallback = "0.1", .min = 0, .max = INFINITY,
   .help = "a line search (exact, convex: a series of linearisations) that cannot go on is accepted below this error, else the step is retried smaller"},
  {.name = "max_iterations", .type = KEY_INT, .offset = offsetof(job_newton, max_iterations), .fallback = "100", .min = 1, .max = 100000,
   .help = "Newton iterations per step; exact: linearisations, of which 1 is taken as it is"},
  {.name = "acceleration_scale", .type = KEY_REAL, .offset = offsetof(job_newton, acceleration_scale), .unit = "m/s^2", .is_optional = true,
   .min = 0, .max = INFINITY, .is_open = true, .help = "reference acceleration of the tolerance; |gravity| if not given, 9.81 without gravity"},
  KEYS_END};
static const key_table newton_table = {.name = "solver.newton", .help = "The stabilised Newton method; in formulation exact, how often a step is linearised.", .size = sizeof(job_newton), .keys = newton_keys};
const char *const job_linear_methods[] = {"gmres", "fgmres", "bcgs", "tfqmr", NULL};
static const char *const preconditioners[] = {"auto", "block_diagonal", "metis_schwarz", "none", NULL};
static const char *const refreshes[] = {"step", "newton", NULL};
static const char *const linear_precisions[] = {"double", "single", NULL};
static const key_spec linear_keys[] = {
  {.name = "method", .type = KEY_ENUM, .offset = offsetof(job_linear, method), .choices = job_linear_methods, .fallback = "gmres",
   .help = "Krylov method (any other of PETSc's through petsc: {ksp_type: ...})"},
  {.name = "restart", .type = KEY_INT, .offset = offsetof(job_linear, restart), .fallback = "100", .min = 1, .max = 1000,
   .help = "of GMRES, which keeps as many vectors when it needs them; below the iterations that stiff sand takes it stalls"},
  {.name = "max_iterations", .type = KEY_INT, .offset = offsetof(job_linear, max_iterations), .fallback = "200", .min = 1, .max = 100000,
   .help = "per Newton iteration; Newton goes on with whatever direction that gives, but directions cut short cost many more iterations"},
  {.name = "tolerance", .type = KEY_REAL, .offset = offsetof(job_linear, tolerance), .fallback = "1.0e-3", .min = 0, .max = 1, .is_open = true,
   .help = "relative residual of the linear solve"},
  {.name = "preconditioner", .type = KEY_ENUM, .offset = offsetof(job_linear, preconditioner), .choices = preconditioners,
   .fallback = "auto",
   .help = "applied from the right; auto: metis_schwarz where there are bodies of kind fem or cloth and none of kind mpm, else block_diagonal; metis_schwarz assembles the tangent (1 kB to 25 kB per grid node) and factorises it in parts, for stiff problems"},
  {.name = "refresh", .type = KEY_ENUM, .offset = offsetof(job_linear, refresh), .choices = refreshes, .fallback = "newton",
   .help = "of metis_schwarz: at every Newton iteration, or once per step, at its first tangent, which sand that yields soon outdates; block_diagonal always follows Newton"},
  {.name = "precision", .type = KEY_ENUM, .offset = offsetof(job_linear, precision), .choices = linear_precisions, .fallback = "double",
   .help = "of products with bodies of kind mpm within linear solves, which take most of the time of large beds: single is twice as fast and serves tolerances down to 1e-3; what a step is judged by stays double"},
  KEYS_END};
static const key_table linear_table = {.name = "solver.linear", .help = "The linear solves inside Newton.", .size = sizeof(job_linear), .keys = linear_keys};
static const key_spec solver_keys[] = {
  {.name = "newton", .type = KEY_TABLE, .offset = offsetof(job_solver, newton), .fallback = "{}", .table = &newton_table, .help = "nonlinear solver"},
  {.name = "linear", .type = KEY_TABLE, .offset = offsetof(job_solver, linear), .fallback = "{}", .table = &linear_table, .help = "linear solver"},
  {.name = "friction", .type = KEY_TABLE, .offset = offsetof(job_solver, friction), .fallback = "{}", .table = &friction_options_table,
   .help = "impulses of formulation exact"},
  {.name = "friction_stall_tolerance", .type = KEY_REAL, .offset = offsetof(job_solver, friction_stall_tolerance), .fallback = "1.0e-6", .min = 0, .max = INFINITY,
   .help = "formulation exact: impulses whose error is no worse than this are taken when the solver gets no further, else the step is retried smaller"},
  {.name = "flow", .type = KEY_TABLE, .offset = offsetof(job_solver, flow), .fallback = "{}", .table = &flow_options_table,
   .help = "pressure, friction and contact of formulation monolith"},
  {.name = "convex", .type = KEY_TABLE, .offset = offsetof(job_solver, convex), .fallback = "{}", .table = &convex_options_table,
   .help = "contact of formulation convex: its law, and how impulses are found"},
  {.name = "hybrid", .type = KEY_TABLE, .offset = offsetof(job_solver, hybrid), .fallback = "{}", .table = &hybrid_options_table,
   .help = "contact of formulation hybrid: through a grid, then by impulses"},
  {.name = "petsc", .type = KEY_TREE, .offset = offsetof(job_solver, petsc), .is_optional = true,
   .help = "any PETSc options, key by key, without the leading dash; nested keys join with _"},
  KEYS_END};
static const key_table solver_table = {.name = "solver", .help = "How a step is solved.", .size = sizeof(job_solver), .keys = solver_keys};

/* --- output -------------------------------------------------------------------------------------------------------- */

static const char *const besides[] = {"auto", "always", "never", NULL};
static const char *const precisions[] = {"single", "double", NULL};
static const key_spec output_keys[] = {
  {.name = "checkpoint", .type = KEY_REAL, .offset = offsetof(job_output, checkpoint), .unit = "s", .fallback = "0", .min = 0, .max = INFINITY,
   .help = "simulated time between checkpoints; 0: by wall time and at the end alone"},
  {.name = "checkpoint_wall", .type = KEY_REAL, .offset = offsetof(job_output, checkpoint_wall), .unit = "s", .fallback = "600", .min = 0,
   .max = INFINITY, .help = "wall time between checkpoints; 0: off"},
  {.name = "checkpoint_beside", .type = KEY_ENUM, .offset = offsetof(job_output, checkpoint_beside), .choices = besides, .fallback = "auto",
   .help = "write checkpoints in a process of their own while the computation goes on, if there is memory for it: always, never, or auto, when the "
           "last one took more than 1 % of the time between them"},
  {.name = "keep", .type = KEY_INT, .offset = offsetof(job_output, keep), .fallback = "3", .min = 1, .max = 1000000, .help = "checkpoints kept"},
  {.name = "fields", .type = KEY_STRINGS, .offset = offsetof(job_output, fields), .is_optional = true, .help = "fields in frames; all if not given"},
  {.name = "precision", .type = KEY_ENUM, .offset = offsetof(job_output, precision), .choices = precisions, .fallback = "single", .help = "of frames"},
  {.name = "history_every", .type = KEY_INT, .offset = offsetof(job_output, history_every), .fallback = "1", .min = 1, .max = 1000000000,
   .help = "steps between rows of the history table"},
  {.name = "fclib", .type = KEY_INT, .offset = offsetof(job_output, fclib), .fallback = "0", .min = 0, .max = 1000000000,
   .help = "formulation exact: steps between contact problems written to fclib/, with guess and solution, for `stickslip friction` and others; 0: none"},
  KEYS_END};
static const key_table output_table = {.name = "output", .help = "What is written, and how often.", .size = sizeof(job_output), .keys = output_keys};

static const key_spec picture_keys[] = {
  {.name = "eye", .type = KEY_REALS, .count = 3, .offset = offsetof(job_picture, eye), .unit = "m", .is_optional = true, .help = "where the camera stands; chosen if not given"},
  {.name = "target", .type = KEY_REALS, .count = 3, .offset = offsetof(job_picture, target), .unit = "m", .is_optional = true, .help = "what it looks at; chosen if not given"},
  {.name = "field", .type = KEY_STRING, .offset = offsetof(job_picture, field), .fallback = "speed", .help = "particle field that gives the colour"},
  {.name = "range", .type = KEY_REALS, .count = 2, .offset = offsetof(job_picture, range), .is_optional = true, .help = "of the colour bar; from the data if not given"},
  {.name = "glass", .type = KEY_STRINGS, .offset = offsetof(job_picture, glass), .is_optional = true, .help = "bodies drawn as glass, so that what is in them or behind them can be seen"},
  {.name = "width", .type = KEY_INT, .offset = offsetof(job_picture, width), .fallback = "1280", .min = 64, .max = 8192, .help = "pixels"},
  {.name = "height", .type = KEY_INT, .offset = offsetof(job_picture, height), .fallback = "720", .min = 64, .max = 8192, .help = "pixels"},
  KEYS_END};
static const key_table picture_table = {.name = "picture", .help = "How `stickslip render` shows the run unless told otherwise.",
                                        .size = sizeof(job_picture), .keys = picture_keys};

/* --- the job ------------------------------------------------------------------------------------------------------- */

static const key_spec job_keys[] = {
  {.name = "stickslip", .type = KEY_INT, .offset = offsetof(job, stickslip), .min = JOB_FORMAT, .max = JOB_FORMAT, .help = "job format version: 1"},
  {.name = "name", .type = KEY_STRING, .offset = offsetof(job, name), .help = "of the run; its folder is run/NAME unless --out says otherwise"},
  {.name = "description", .type = KEY_STRING, .offset = offsetof(job, description), .fallback = "\"\"", .help = "for people", .may_change = true},
  {.name = "formulation", .type = KEY_ENUM, .offset = offsetof(job, formulation), .choices = formulation_names, .fallback = "penalty",
   .help = "how contact enters the equations"},
  {.name = "gravity", .type = KEY_REALS, .count = 3, .offset = offsetof(job, gravity), .unit = "m/s^2", .fallback = "[0, 0, -9.81]", .help = "acceleration of gravity"},
  {.name = "time", .type = KEY_TABLE, .offset = offsetof(job, time), .table = &time_table, .help = "how long to run and in which steps"},
  {.name = "materials", .type = KEY_NAMED, .offset = offsetof(job, materials), .table = &material_table, .is_optional = true, .help = "what bodies are made of, by name"},
  {.name = "mpm", .type = KEY_TABLE, .offset = offsetof(job, mpm), .fallback = "{}", .table = &mpm_options_table, .help = "the shared grid"},
  {.name = "mac", .type = KEY_TABLE, .offset = offsetof(job, mac), .is_optional = true, .table = &mac_options_table, .help = "the staggered grid of bodies of kind mac"},
  {.name = "bodies", .type = KEY_NAMED, .offset = offsetof(job, bodies), .table = &body_table, .help = "what is in the scene, by name"},
  {.name = "contact", .type = KEY_TABLE, .offset = offsetof(job, contact), .fallback = "{}", .table = &contact_table, .help = "how bodies touch"},
  {.name = "solver", .type = KEY_TABLE, .offset = offsetof(job, solver), .fallback = "{}", .table = &solver_table, .help = "how a step is solved", .may_change = true},
  {.name = "output", .type = KEY_TABLE, .offset = offsetof(job, output), .fallback = "{}", .table = &output_table, .help = "what is written, and how often", .may_change = true},
  {.name = "picture", .type = KEY_TABLE, .offset = offsetof(job, picture), .fallback = "{}", .table = &picture_table, .help = "the default view", .may_change = true},
  {.name = "measure", .type = KEY_NAMED, .offset = offsetof(job, measure), .table = &measure_table, .is_optional = true, .help = "quantities to record, by name", .may_change = true},
  {.name = "until", .type = KEY_LIST, .offset = offsetof(job, until), .table = &until_table, .is_optional = true, .help = "conditions that end the run before time.end", .may_change = true},
  KEYS_END};
const key_table job_table = {.name = "job", .help = "A job file says what is in a scene, how contact is formulated, and what is to be written. SI units throughout.",
                             .size = sizeof(job), .keys = job_keys};

bool job_name_is_sound(const char *name)
{
  const char *allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+.";
  return *name && *name != '.' && strspn(name, allowed) == strlen(name) && strlen(name) <= 100;
}

static void check_name(const job *j, const document_node *root, diagnostics *d)
{
  const document_node *node = document_find(root, "name");
  if (!node || !j->name) return;
  if (!job_name_is_sound(j->name)) diagnostics_add(d, node->mark, "name", "expected " JOB_NAME_WORDS ", got \"%s\"", j->name);
}

static void check_time(const job *j, const document_node *root, diagnostics *d)
{
  const document_node *time = document_find(root, "time");
  const job_time      *t    = j->time;
  if (!time || !t || !(t->step > 0) || !(t->end > 0)) return;
  const document_node *end = document_find(time, "end"), *frame = document_find(time, "frame");
  if (end && t->end < t->step * (1 - 1e-9)) diagnostics_add(d, end->mark, "time.end", "%g s is less than one step of %g s", t->end, t->step);
  if (end && t->end / t->step > 1e12) diagnostics_add(d, end->mark, "time.end", "more than 1e12 steps of %g s", t->step);
  const double ratio = t->frame / t->step;
  if (frame && t->frame > 0 && fabs(ratio - nearbyint(ratio)) > 1e-6 * fmax(1.0, ratio))
    diagnostics_add(d, frame->mark, "time.frame", "expected a multiple of time.step = %g s, got %g s", t->step, t->frame);
}

static void check_light_nodes(const job *j, const document_node *root, diagnostics *d)
{
  const document_node *mpm = document_find(root, "mpm"), *light = mpm ? document_find(mpm, "light_nodes") : NULL;
  if (!light || !j->mpm || !(j->mpm->light_nodes > 0) || !j->solver || !j->solver->linear) return;
  if (j->solver->linear->preconditioner == JOB_PRECONDITIONER_METIS_SCHWARZ)
    diagnostics_add(d, light->mark, "mpm.light_nodes", "cannot be given with preconditioner: metis_schwarz, whose matrix leaves it out; take block_diagonal");
}

static PetscErrorCode job_finish(job *j, document *doc, diagnostics *d)
{
  PetscFunctionBegin;
  document_node *root = document_root(doc);
  formulation_keys_check(root, j->formulation, d);
  check_name(j, root, d);
  check_time(j, root, d);
  check_light_nodes(j, root, d);
  PetscCall(until_check(&j->until, &j->measure, d));
  if (j->solver && j->solver->newton) {
    const double g = v3_norm(j->gravity), a = j->solver->newton->acceleration_scale;
    j->acceleration_scale = isfinite(a) ? a : g > 0 ? g : 9.81;
  }
  if (diagnostics_count(d)) PetscFunctionReturn(PETSC_SUCCESS);
  document_node *resolved;
  PetscCall(key_table_resolve(&job_table, doc, root, &resolved));
  formulation_keys_check_parts(root, resolved, j->formulation, d);
  if (diagnostics_count(d)) PetscFunctionReturn(PETSC_SUCCESS);
  formulation_keys_prune(resolved, j->formulation);
  j->tree = resolved;
  PetscCall(document_write(resolved, &j->resolved));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* "a.b=c": the value is YAML, so lists and mappings can be set, too. */
PetscErrorCode job_override(document *doc, const char *text, diagnostics *d)
{
  PetscFunctionBegin;
  const document_mark nowhere = {"--set", 0, 0};
  const char         *equals  = strchr(text, '=');
  if (!equals || equals == text) {
    diagnostics_add(d, nowhere, NULL, "--set %s: expected key.path=value", text);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  char *path;
  PetscCall(memory_alloc("override", equals - text + 1, 1, &path));
  memcpy(path, text, (size_t)(equals - text));
  document_node *value = NULL;
  PetscCall(yaml_read_text_into("--set", equals + 1, strlen(equals + 1), doc, d, &value));
  const PetscErrorCode code = value ? document_override(doc, path, value) : PETSC_SUCCESS;
  memory_free(&path);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode job_read_document(document **doc, diagnostics *d, job **out)
{
  const void *read = NULL;

  PetscFunctionBegin;
  *out = NULL;
  if (!diagnostics_count(d)) PetscCall(key_table_read(&job_table, *doc, document_root(*doc), "", d, &read));
  if (!read) {
    document_destroy(doc);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  job *j;
  PetscCall(memory_alloc("job", 1, sizeof *j, &j));
  *j          = *(const job *)read;
  j->document = *doc;
  *doc        = NULL;
  PetscCall(job_finish(j, j->document, d));
  if (diagnostics_count(d)) job_destroy(&j);
  *out = j;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode job_from_document(document *doc, int n_overrides, const char *const *overrides, diagnostics *d, job **out)
{
  PetscFunctionBegin;
  for (int i = 0; i < n_overrides; ++i) {
    const PetscErrorCode code = job_override(doc, overrides[i], d);
    if (code) document_destroy(&doc);
    PetscCall(code);
  }
  PetscCall(job_read_document(&doc, d, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode job_read(const char *path, int n_overrides, const char *const *overrides, diagnostics *d, job **out)
{
  PetscFunctionBegin;
  document *doc;
  *out = NULL;
  PetscCall(document_create(&doc));
  PetscCall(yaml_read_file(path, doc, d));
  PetscCall(job_from_document(doc, n_overrides, overrides, d, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode job_read_text(const char *name, const char *text, int n_overrides, const char *const *overrides, diagnostics *d, job **out)
{
  PetscFunctionBegin;
  document *doc;
  *out = NULL;
  PetscCall(document_create(&doc));
  PetscCall(yaml_read_text(name, text, strlen(text), doc, d));
  PetscCall(job_from_document(doc, n_overrides, overrides, d, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void job_destroy(job **j)
{
  if (!*j) return;
  memory_free(&(*j)->resolved);
  document_destroy(&(*j)->document);
  memory_free(j);
}
