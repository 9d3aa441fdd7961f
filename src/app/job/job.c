/* Key tables of output:, picture: and the job itself (the other tables are declared by the modules that use them), the checks
 * that concern several keys, and the comparison of two jobs. */
#include "app/job/job.h"
#include "core/key_text.h"
#include "core/log.h"
#include "core/math3.h"
#include "core/memory.h"
#include "discretize/body_kinds.h"
#include "discretize/material/material_registry.h"
#include "discretize/mpm/mpm_body.h"
#include "io/yaml.h"
#include "app/job/capabilities.h"
#include "sim/formulations.h"
#include "sim/measure/measure.h"
#include "sim/scene/scene.h"
#include "sim/scene/warning_codes.h"
#include "app/job/until.h"

/* clang-format off */
#define KEYS_END {.name = NULL}

/* --- output -------------------------------------------------------------------------------------------------------- */

static const char *const checkpoint_child_names[] = {"auto", "always", "never", NULL};
static const char *const precisions[] = {"single", "double", NULL};
static const key_spec output_keys[] = {
  {.name = "checkpoint", .type = KEY_REAL, .offset = offsetof(job_output, checkpoint), .unit = "s", .fallback = "0", .min = 0,
   .max = INFINITY, .help = "simulated time between checkpoints; 0: only by wall time and at the end"},
  {.name = "checkpoint_wall", .type = KEY_REAL, .offset = offsetof(job_output, checkpoint_wall), .unit = "s",
   .fallback = "600", .min = 0, .max = INFINITY, .help = "wall time between checkpoints; 0: off"},
  {.name = "checkpoint_in_background", .type = KEY_ENUM, .offset = offsetof(job_output, checkpoint_background),
   .choices = checkpoint_child_names, .fallback = "auto",
   .help = "write checkpoints in a child process during the computation, if memory suffices: always, never, or auto, if the "
           "last one took more than 1 % of the time between them"},
  {.name = "keep", .type = KEY_INT, .offset = offsetof(job_output, keep), .fallback = "3", .min = 1, .max = 1000000,
   .help = "checkpoints kept"},
  {.name = "fields", .type = KEY_STRINGS, .offset = offsetof(job_output, fields), .is_optional = true,
   .help = "fields in frames; all if not given"},
  {.name = "precision", .type = KEY_ENUM, .offset = offsetof(job_output, precision), .choices = precisions, .fallback = "single",
   .help = "of frames"},
  {.name = "history_every", .type = KEY_INT, .offset = offsetof(job_output, history_every), .fallback = "1", .min = 1,
   .max = 1000000000, .help = "steps between rows of the history table"},
  {.name = "fclib", .type = KEY_INT, .offset = offsetof(job_output, fclib), .fallback = "0", .min = 0, .max = 1000000000,
   .help = "formulation exact: steps between contact problems written to fclib/, with initial guess and solution, for "
           "`stickslip friction` and other programs; 0: none"},
  KEYS_END};
static const key_table output_table = {.name = "output", .help = "Files that are written, and how often.", .size = sizeof(job_output), .keys = output_keys};

static const key_spec picture_keys[] = {
  {.name = "eye", .type = KEY_REALS, .count = 3, .offset = offsetof(job_picture, eye), .unit = "m", .is_optional = true,
   .help = "position of the camera; chosen if not given"},
  {.name = "target", .type = KEY_REALS, .count = 3, .offset = offsetof(job_picture, target), .unit = "m", .is_optional = true,
   .help = "point that the camera is directed at; chosen if not given"},
  {.name = "field", .type = KEY_STRING, .offset = offsetof(job_picture, field), .fallback = "speed",
   .help = "particle field that gives the colour"},
  {.name = "range", .type = KEY_REALS, .count = 2, .offset = offsetof(job_picture, range), .is_optional = true,
   .help = "range of the colour bar; from the data if not given"},
  {.name = "transparent", .type = KEY_STRINGS, .offset = offsetof(job_picture, transparent), .is_optional = true,
   .help = "bodies drawn transparent, so that bodies inside or behind them are visible"},
  {.name = "width", .type = KEY_INT, .offset = offsetof(job_picture, width), .fallback = "1280", .min = 64, .max = 8192,
   .help = "width of the picture in pixels"},
  {.name = "height", .type = KEY_INT, .offset = offsetof(job_picture, height), .fallback = "720", .min = 64, .max = 8192,
   .help = "height of the picture in pixels"},
  KEYS_END};
static const key_table picture_table = {.name = "picture", .help = "Default view of `stickslip render`.",
                                        .size = sizeof(job_picture), .keys = picture_keys};

/* --- the job ------------------------------------------------------------------------------------------------------- */

static const char *const qualities[]    = {[JOB_QUALITY_REPORT] = "report", [JOB_QUALITY_STRICT] = "strict", NULL};
static const char *const quality_help[] = {"the status is `finished, see quality`, the exit code is 0", "like report, but the exit code is 5, as with --strict"};

static const key_spec job_keys[] = {
  {.name = "stickslip", .type = KEY_INT, .offset = offsetof(job, stickslip), .min = JOB_FORMAT, .max = JOB_FORMAT,
   .help = "job format version: 1"},
  {.name = "name", .type = KEY_STRING, .offset = offsetof(job, scene.name),
   .help = "name of the run; its folder is run/NAME unless --out is given"},
  {.name = "description", .type = KEY_STRING, .offset = offsetof(job, description), .fallback = "\"\"",
   .help = "free text, shown in the report", .may_change = true},
  {.name = "formulation", .type = KEY_ENUM, .offset = offsetof(job, formulation), .choices = formulation_names,
   .fallback = "penalty", .help = "contact formulation"},
  {.name = "gravity", .type = KEY_REALS, .count = 3, .offset = offsetof(job, scene.gravity), .unit = "m/s^2", .fallback = "[0, 0, -9.81]",
   .help = "acceleration of gravity"},
  {.name = "time", .type = KEY_TABLE, .offset = offsetof(job, scene.time), .table = &time_table,
   .help = "duration of the run and length of its steps"},
  {.name = "materials", .type = KEY_NAMED, .offset = offsetof(job, scene.materials), .table = &material_table,
   .is_optional = true,
   .help = "materials by name"},
  {.name = "mpm", .type = KEY_TABLE, .offset = offsetof(job, scene.mpm), .fallback = "{}", .table = &mpm_options_table, .only_if = {"bodies.*.kind", "mpm"},
   .help = "the shared grid"},
  {.name = "mac", .type = KEY_TABLE, .offset = offsetof(job, scene.mac), .is_optional = true, .table = &mac_options_table, .only_if = {"bodies.*.kind", "mac"},
   .help = "the staggered grid of bodies of kind mac"},
  {.name = "bodies", .type = KEY_NAMED, .offset = offsetof(job, scene.bodies), .table = &body_table,
   .help = "bodies of the scene by name"},
  {.name = "contact", .type = KEY_TABLE, .offset = offsetof(job, scene.contact), .fallback = "{}", .table = &contact_table,
   .help = "contact parameters"},
  {.name = "solver", .type = KEY_TABLE, .offset = offsetof(job, scene.solver), .fallback = "{}", .table = &solver_table,
   .help = "solvers of a time step", .may_change = true},
  {.name = "output", .type = KEY_TABLE, .offset = offsetof(job, output), .fallback = "{}", .table = &output_table,
   .help = "files that are written, and how often", .may_change = true},
  {.name = "quality", .type = KEY_ENUM, .offset = offsetof(job, quality), .choices = qualities, .choice_help = quality_help, .fallback = "report",
   .help = "effect of a bad entry in the quality block at the end of a run: steps above the tolerance, deep overlaps, an increase of energy, or warnings", .may_change = true},
  {.name = "ignore_warnings", .type = KEY_STRINGS, .offset = offsetof(job, scene.ignored_warnings), .choices = warning_code_names, .is_optional = true,
   .help = "codes of warnings that are not reported, as with --no-warn", .may_change = true},
  {.name = "picture", .type = KEY_TABLE, .offset = offsetof(job, picture), .fallback = "{}", .table = &picture_table,
   .help = "the default view", .may_change = true},
  {.name = "measure", .type = KEY_NAMED, .offset = offsetof(job, measure), .table = &measure_table, .is_optional = true,
   .help = "quantities to record, by name", .may_change = true},
  {.name = "until", .type = KEY_LIST, .offset = offsetof(job, until), .table = &until_table, .is_optional = true,
   .help = "conditions that end the run before time.end", .may_change = true},
  KEYS_END};
/* clang-format on */
#define SPLITTING_KEYS                                                                                                                     \
  "local is now solver.friction.expert.local_solver with values exact and fischer_burmeister; the other parameters are constants"
#define NEWTON_KEYS                                                                                                                        \
  "its keys are now solver.friction.expert.line_search with values full and goldstein_price, and solver.friction.expert.merit"
/* Names before version 0.1.0. */
static const key_rename job_renames[] = {
    {"contact.pairs.touch", "contact", NULL},
    {"contact.overlap_share", "contact.overlap_correction", NULL},
    {"contact.overlap_speed", "contact.overlap_correction_speed", NULL},
    {"contact.edges", "solver.penalty.edges", NULL},
    {"contact.scheme", "solver.penalty.expert.scheme", NULL},
    {"contact.detection", NULL, "contacts are detected in every evaluation of the forces"},
    {"solver.penalty.expert.detection", NULL, "contacts are detected in every evaluation of the forces"},
    {"solver.newton.norm", "solver.penalty.expert.norm", NULL},
    {"solver.friction_stall_tolerance", "solver.exact.expert.friction_stall_tolerance", NULL},
    {"solver.exact.friction_stall_tolerance", "solver.exact.expert.friction_stall_tolerance", NULL},
    {"solver.flow", "solver.monolith", NULL},
    {"solver.monolith.max_outer", "max_outer_iterations", NULL},
    {"solver.monolith.boxes", "solver.monolith.expert.component_solver", NULL},
    {"solver.convex.linearisations", "max_outer_iterations", NULL},
    {"solver.convex.coulomb_passes", "solver.convex.expert.max_coulomb_iterations", NULL},
    {"solver.convex.near_rigid", "solver.convex.expert.min_contact_period", NULL},
    {"solver.convex.min_contact_period", "solver.convex.expert.min_contact_period", NULL},
    {"solver.convex.stiction", "solver.convex.expert.stiction_tolerance", NULL},
    {"solver.convex.stiction_tolerance", "solver.convex.expert.stiction_tolerance", NULL},
    {"solver.hybrid.grid.acts_on", "solver.hybrid.grid.expert.region", NULL},
    {"solver.hybrid.grid.region", "solver.hybrid.grid.expert.region", NULL},
    {"solver.hybrid.grid.iterations", "solver.hybrid.grid.expert.iterations", NULL},
    {"solver.hybrid.grid.expert.region=closing", "approaching", NULL},
    {"solver.hybrid.grid.expert.region=meeting", "colliding", NULL},
    {"solver.hybrid.impulses.stiffness", "solver.hybrid.impulses.expert.stiffness", NULL},
    {"solver.hybrid.impulses.iterations", "solver.hybrid.impulses.expert.iterations", NULL},
    {"solver.hybrid.allow_intersections", "contact.initial_overlap: permit", NULL},
    {"solver.hybrid.grid.hinders_sliding", "solver.hybrid.grid.expert.damps_sliding", NULL},
    {"solver.hybrid.holds", "solver.hybrid.expert.prescribed_nodes", NULL},
    {"solver.hybrid.expert.prescribed_nodes=all", "surface", NULL},
    {"solver.hybrid.expert.prescribed_nodes=touched", "contact", NULL},
    {"solver.hybrid.momentum_fix", "momentum_correction", NULL},
    {"mpm.light_nodes", "mpm.expert.light_node_mass_fraction", NULL},
    {"mpm.rest_speed", "mpm.expert.light_node_rest_speed", NULL},
    {"picture.glass", "transparent", NULL},
    {"output.checkpoint_beside", "checkpoint_in_background", NULL},
    {"bodies.*.bends", "bending_strain", NULL},
    {"bodies.*.start.held", "support", NULL},
    {"bodies.*.end.held", "support", NULL},
    {"measure.*.quantity=self_crossing", "self_intersection_depth", NULL},
    {"measure.*.quantity=run_out", "runout", NULL},
    {"measure.*.quantity=sticking", "sticking_fraction", NULL},
    {"measure.*.quantity=largest_piece", "largest_fragment", NULL},
    {"solver.monolith.sweeps", NULL, "it is always 4"},
    {"solver.monolith.expert.sweeps", NULL, "it is always 4"},
    {"solver.monolith.projected_gradient", "solver.monolith.expert.projected_gradient", NULL},
    {"solver.monolith.augmented_lagrangian", "solver.monolith.expert.augmented_lagrangian", NULL},
    {"solver.monolith.pyramid", NULL, "its width is now solver.monolith.expert.pyramid_width; damping 0.5 and shift 1e-3 are fixed"},
    {"solver.monolith.expert.pyramid", NULL, "its width is now solver.monolith.expert.pyramid_width; damping 0.5 and shift 1e-3 are fixed"},
    {"solver.monolith.expert.projected_gradient.inner", NULL, "it is always 0.4"},
    {"solver.monolith.expert.augmented_lagrangian.beta", NULL, "it is always 1"},
    {"solver.monolith.expert.augmented_lagrangian.keep_multipliers", NULL, "multipliers are always kept"},
    {"solver.monolith.expert.friction.kappa", NULL, "it is always 3"},
    {"solver.monolith.expert.friction.beta", NULL, "it is always 1"},
    {"solver.monolith.friction", "solver.monolith.expert.friction", NULL},
    {"mac.wall_mass", NULL, "walls always mirror the kernels of particles"},
    {"mac.expert.wall_mass", NULL, "walls always mirror the kernels of particles"},
    {"mac.basis", "mac.expert.basis", NULL},
    {"mac.edge_weights", NULL, "edges at walls always have the full friction"},
    {"mac.expert.edge_weights", NULL, "edges at walls always have the full friction"},
    {"mac.hourglass", "mac.expert.hourglass", NULL},
    {"mac.density_threshold", NULL, "it is always 0.4"},
    {"mac.expert.density_threshold", NULL, "it is always 0.4"},
    {"mac.cell_fill", NULL, "it is always 0.01"},
    {"mac.expert.cell_fill", NULL, "it is always 0.01"},
    {"mac.position_correction", "mac.expert.position_correction", NULL},
    {"solver.convex.dissipation", "solver.convex.expert.dissipation", NULL},
    {"solver.convex.slip_speed", "solver.convex.expert.slip_speed", NULL},
    {"solver.convex.linear", "solver.convex.expert.linear", NULL},
    {"solver.convex.stall_tolerance", "solver.convex.expert.stall_tolerance", NULL},
    {"solver.hybrid.grid.tolerance", NULL, "it is always 1e-3; iterations limits the work"},
    {"solver.hybrid.grid.expert.tolerance", NULL, "it is always 1e-3; iterations limits the work"},
    {"solver.hybrid.grid.cohesion", "solver.hybrid.grid.expert.cohesion", NULL},
    {"solver.hybrid.grid.resampling", "solver.hybrid.grid.expert.resampling", NULL},
    {"mpm.gradient", "mpm.expert.gradient", NULL},
    {"solver.monolith.pressure.max_iterations", "solver.monolith.pressure.expert.max_iterations", NULL},
    {"solver.monolith.pressure.trials", "solver.monolith.pressure.expert.trials", NULL},
    {"solver.hybrid.linear", NULL, "the solver is chosen by the size of the systems"},
    {"solver.hybrid.expert.linear", NULL, "the solver is chosen by the size of the systems"},
    {"solver.convex.max_iterations", "solver.convex.expert.max_iterations", NULL},
    {"solver.convex.search", "solver.convex.expert.search", NULL},
    {"solver.linear.method", NULL, "the method is gmres; other PETSc methods: solver.petsc: {ksp_type: ...}"},
    {"solver.friction.expert.time_limit", "solver.friction.time_limit", NULL},
    {"solver.friction.splitting", NULL, SPLITTING_KEYS},
    {"solver.friction.expert.splitting", NULL, SPLITTING_KEYS},
    {"solver.friction.newton", NULL, NEWTON_KEYS},
    {"solver.friction.expert.newton", NULL, NEWTON_KEYS},
    {"solver.friction.newton_prox", NULL, "its parameters are constants"},
    {"solver.friction.expert.newton_prox", NULL, "its parameters are constants"},
    {"solver.friction.admm", NULL, "its parameters are constants"},
    {"solver.friction.expert.admm", NULL, "its parameters are constants"},
    {"solver.friction.gradient", NULL, "its parameters are constants"},
    {"solver.friction.expert.gradient", NULL, "its parameters are constants"},
    {"solver.monolith.pressure.absolute", NULL, "it is always 0; use tolerance"},
    {"solver.monolith.pressure.expert.absolute", NULL, "it is always 0; use tolerance"},
    {"solver.monolith.pressure.gamma", NULL, "it is always 1"},
    {"solver.monolith.pressure.expert.gamma", NULL, "it is always 1"},
    {"solver.monolith.pressure.nested", NULL, "it is always true"},
    {"solver.monolith.pressure.expert.nested", NULL, "it is always true"},
    {"solver.monolith.pressure.prefix", NULL, "it is always pressure_"},
    {"solver.monolith.pressure.expert.prefix", NULL, "it is always pressure_"},
    {"mac.transfer", NULL, "the transfer is always affine"},
    {"mac.flip", NULL, "the transfer is always affine"},
    {"materials.*.stress", NULL, "the stress of the returned state acts at the trial gradient"},
    {"mac.density_floor", NULL, "it is always 0.4"},
    {"mac.face_fill", NULL, "it is always 0.05"},
    {"mac.ghost_fraction", NULL, "it is always 0.05"},
    {"mac.particle_radius", NULL, "it is always 0.62"},
    {"mac.extend_into_solids", NULL, "the continuum always continues inside solids"},
    {.old = NULL}};
/* Names that other programs and textbooks use. */
static const key_slip job_slips[] = {
    {"mu", "friction", NULL},
    {"friction_coefficient", "friction", NULL},
    {"coefficient_of_friction", "friction", NULL},
    {"mu", "contact", "write contact: {friction: NUMBER}"},
    {"friction", "contact", "write contact: {friction: NUMBER}"},
    {"stiffness", "contact", "write contact: {stiffness: NUMBER}"},
    {"bodies.*.mu", NULL, "friction belongs to pairs: write contact.friction, or an entry of contact.pairs"},
    {"bodies.*.friction", NULL, "friction belongs to pairs: write contact.friction, or an entry of contact.pairs"},
    {"materials.*.mu", NULL, "friction belongs to pairs: write contact.friction, or an entry of contact.pairs between two materials"},
    {"materials.*.friction", NULL, "friction belongs to pairs: write contact.friction, or an entry of contact.pairs between two materials"},
    {"dt", "step", NULL},
    {"timestep", "step", NULL},
    {"time_step", "step", NULL},
    {"dt", "time", "write time: {step: NUMBER}"},
    {"timestep", "time", "write time: {step: NUMBER}"},
    {"time_step", "time", "write time: {step: NUMBER}"},
    {"duration", "end", NULL},
    {"t_end", "end", NULL},
    {"duration", "time", "write time: {end: NUMBER}"},
    {"t_end", "time", "write time: {end: NUMBER}"},
    {"E", "youngs_modulus", NULL},
    {"young", "youngs_modulus", NULL},
    {"nu", "poisson_ratio", NULL},
    {"poisson", "poisson_ratio", NULL},
    {"rho", "density", NULL},
    {"bodies.*.density", NULL, "the density belongs to the material: write materials.NAME.density"},
    {"bodies.*.rho", NULL, "the density belongs to the material: write materials.NAME.density"},
    {"bodies.*.E", NULL, "it belongs to the material: write materials.NAME.youngs_modulus"},
    {"bodies.*.youngs_modulus", NULL, "it belongs to the material: write materials.NAME.youngs_modulus"},
    {"bodies.*.mass", NULL, "the mass follows from the volume and the density: write materials.NAME.density"},
    {"materials.*.mass", NULL, "the mass follows from the volume of a body: write density"},
    {"k", "stiffness", NULL},
    {"cor", "restitution", NULL},
    {"omega", "angular_velocity", NULL},
    {"v0", "velocity", NULL},
    {"type", "kind", NULL},
    {"type", "model", NULL},
    {"r", "radius", NULL},
    {"diameter", "radius", "write radius, half of the diameter"},
    {"g", "gravity", NULL},
    {"bodies.*.position", NULL, "the position is part of the shape: sphere: {center: ...}, box: {min: ..., max: ...}, or shape.translate"},
    {NULL, NULL, NULL}};
/* clang-format off */
const key_table job_table = {.name = "job", .renames = job_renames, .slips = job_slips, .help = "A job file describes a scene, the contact formulation and the output. SI "
                                                    "units throughout.",
                             .size = sizeof(job), .keys = job_keys};
/* clang-format on */

bool job_name_is_valid(const char *name)
{
  const char *allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+.";
  return *name && *name != '.' && strspn(name, allowed) == strlen(name) && strlen(name) <= 100;
}

static void check_name(const job *j, const document_node *root, diagnostics *d)
{
  const document_node *node = document_find(root, "name");
  if (!node || !j->scene.name) return;
  if (!job_name_is_valid(j->scene.name))
    diagnostics_add(d, node->mark, "name", "expected " JOB_NAME_EXPECTED ", got \"%s\"", j->scene.name);
}

static void check_time(const job *j, const document_node *root, diagnostics *d)
{
  const document_node *time = document_find(root, "time");
  const time_options  *t    = j->scene.time;
  if (!time || !t || !(t->step > 0) || !(t->end > 0)) return;
  const document_node *end = document_find(time, "end"), *frame = document_find(time, "frame");
  if (end && t->end < t->step * (1 - 1e-9))
    diagnostics_add(d, end->mark, "time.end", "%g s is less than time.step = %g s; increase it, or shorten the step", t->end, t->step);
  if (end && t->end / t->step > 1e12)
    diagnostics_add(d, end->mark, "time.end", "more than 1e12 steps of time.step = %g s; decrease it, or lengthen the step", t->step);
  /* Relative error of decimal numbers such as 0.0333333, at most a hundredth of a step. */
  const double ratio = t->frame / t->step, n = fmax(1.0, nearbyint(ratio));
  if (frame && t->frame > 0 && fabs(ratio - n) > fmin(0.01, 1e-6 * n))
    diagnostics_add(d, frame->mark, "time.frame", "expected a multiple of time.step = %g s, such as %g, got %.10g s", t->step, n * t->step,
                    t->frame);
}

static void check_light_nodes(const job *j, const document_node *root, diagnostics *d)
{
  const document_node *mpm = document_find(root, "mpm"), *expert = mpm ? document_find(mpm, "expert") : NULL,
                      *light = expert ? document_find(expert, "light_node_mass_fraction") : NULL;
  if (light && j->scene.mpm->light_node_mass_fraction > 0 && j->scene.has_assembled_tangent)
    diagnostics_add(d, light->mark, "mpm.expert.light_node_mass_fraction",
                    "not supported with preconditioner: metis_schwarz, whose matrix does not "
                    "include it; use block_diagonal");
}

/* Set the scene options that are derived from several keys. Blocks that the formulation does not use get their defaults, so that their values
 * cannot have an effect. */
static PetscErrorCode finish_scene_options(job *j, document *doc, diagnostics *d)
{
  const void    *contact, *solver;
  scene_options *o = &j->scene;
  PetscFunctionBegin;
  PetscCall(key_table_read(&contact_table, doc, document_find(j->tree, "contact"), "contact", d, &contact));
  PetscCall(key_table_read(&solver_table, doc, document_find(j->tree, "solver"), "solver", d, &solver));
  o->contact     = contact;
  o->solver      = solver;
  o->formulation = &formulations[j->formulation]->scene;
  /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): without messages, all blocks of the job were read */
  o->has_assembled_tangent = o->solver->linear->preconditioner == LINEAR_PRECONDITIONER_METIS_SCHWARZ;
  o->keeps_problem         = j->output->fclib > 0;
  o->transparent           = &j->picture->transparent;
  o->keeps_origins         = measures_need_origins(&j->measure);
  o->root                  = document_root(doc);
  const double g = v3_norm(o->gravity), a = o->solver->newton->acceleration_scale;
  o->acceleration_scale = isfinite(a) ? a : g > 0 ? g : 9.81;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode job_finish(job *j, document *doc, diagnostics *d)
{
  PetscFunctionBegin;
  document_node           *root = document_root(doc), *resolved;
  const scene_formulation *f    = &formulations[j->formulation]->scene;
  PetscCall(diagnostics_create(&j->notices));
  capabilities_check(f, root, d, j->notices);
  check_name(j, root, d);
  check_time(j, root, d);
  PetscCall(until_check(&j->until, &j->measure, d));
  if (diagnostics_count(d)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(key_table_resolve(&job_table, doc, root, &resolved));
  capabilities_prune(f, resolved);
  key_table_check_conditions(&job_table, root, resolved, d);
  if (diagnostics_count(d)) PetscFunctionReturn(PETSC_SUCCESS);
  j->tree = resolved;
  PetscCall(finish_scene_options(j, doc, d));
  check_light_nodes(j, root, d);
  PetscCall(document_write(resolved, &j->resolved));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* "a.b=c": the value is YAML, so lists and mappings are possible, too. */
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

/* Replace the value of `stiffness:` in the mapping by a number; it is a node of j->tree, which the job owns. */
static PetscErrorCode store_stiffness(job *j, const document_node *mapping, double k)
{
  char                 text[KEY_TEXT_REAL];
  document_node *const node = (document_node *)document_find(mapping, "stiffness"); /* the job owns its tree */
  PetscFunctionBegin;
  if (!isfinite(k) || !node) PetscFunctionReturn(PETSC_SUCCESS);
  node->text = document_intern(j->document, key_text_of_real(k, text));
  PetscCheck(node->text, PETSC_COMM_SELF, PETSC_ERR_MEM,
             "out of memory: no space for the resolved job; use a smaller scene or a larger machine");
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode job_store_stiffness(job *j, const double *stiffness)
{
  PetscFunctionBegin;
  const document_node *contact = document_find(j->tree, "contact"), *pairs = document_find(contact, "pairs");
  PetscCall(store_stiffness(j, contact, stiffness[0]));
  for (int k = 0; pairs && k < pairs->n; ++k) PetscCall(store_stiffness(j, pairs->value[k], stiffness[1 + k]));
  memory_free(&j->resolved);
  PetscCall(document_write(j->tree, &j->resolved));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void job_destroy(job **j)
{
  if (!*j) return;
  memory_free(&(*j)->resolved);
  diagnostics_destroy(&(*j)->notices);
  document_destroy(&(*j)->document);
  memory_free(j);
}

void job_log_notices(const job *j)
{
  for (int i = 0; i < diagnostics_count(j->notices); ++i) log_info("notice: %s", diagnostics_text(j->notices, i));
}

/* --- comparison of two jobs of one run --- */

typedef struct {
  const char  *dir;
  bool         accept_all;
  diagnostics *d;
  int          n, n_refused;
} comparison;

/* The stored job contains the number to which `stiffness: auto` was resolved; the job file still says auto, and resolves to the same number. */
static bool is_resolved_stiffness(const key_difference *k)
{
  const size_t n = strlen(k->path), m = strlen(".stiffness");
  double       x;
  return k->before && k->after && strncmp(k->path, "contact.", 8) == 0 && n > m && strcmp(k->path + n - m, ".stiffness") == 0 &&
         strcmp(k->after, "auto") == 0 && key_text_real(k->before, &x) == KEY_TEXT_OK;
}

static PetscErrorCode show_difference(const key_difference *k, void *context)
{
  PetscFunctionBegin;
  comparison *c      = context;
  const char *before = k->before ? k->before : "(not given)", *after = k->after ? k->after : "(not given)";
  if (is_resolved_stiffness(k)) PetscFunctionReturn(PETSC_SUCCESS);
  ++c->n;
  if (c->accept_all || k->may_change) {
    log_info("the job has changed: %s: %s -> %s", k->path, before, after);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (c->n_refused++ == 0)
    diagnostics_add(c->d, (document_mark){0}, NULL,
                    "%s was started with a different job; undo the following changes, choose another --out, or accept them with "
                    "--accept-changes",
                    c->dir);
  diagnostics_add(c->d, k->mark, k->path, "%s -> %s", before, after);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode job_compare(const job *before, const job *after, const char *dir, bool accept_all, diagnostics *d, int *n_changes)
{
  PetscFunctionBegin;
  comparison c = {.dir = dir, .accept_all = accept_all, .d = d};
  PetscCall(key_table_compare(&job_table, before->tree, after->tree, show_difference, &c));
  *n_changes = c.n;
  PetscFunctionReturn(PETSC_SUCCESS);
}
