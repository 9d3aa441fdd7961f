/* A job table of the real one's shape and with every feature of key tables, for the tests and the fuzz harness of key tables.
 * Tests of the keys of the program are those of app/job.                                                            */
#ifndef SS_TESTS_JOB_TABLE_H
#define SS_TESTS_JOB_TABLE_H
#include <math.h>
#include "core/key_table.h"

#define POSITIVE .min = 0.0, .max = INFINITY, .is_open = true
#define NOT_NEGATIVE .min = 0.0, .max = INFINITY
/* clang-format off */
#define END {.name = NULL}
/* clang-format on */

/* ---- shapes: one of several, some of shapes ---- */
typedef struct {
  double center[3], radius;
} sphere_spec;
typedef struct {
  double min[3], max[3];
} box_spec;
typedef struct shape_spec shape_spec;
typedef struct {
  const shape_spec *from, *minus;
} difference_spec;
struct shape_spec {
  const sphere_spec     *sphere;
  const box_spec        *box, *container;
  const char            *mesh;
  key_list               unite;
  const difference_spec *difference;
};
extern const key_table shape_table;
static const key_spec  sphere_keys[] = {
     {.name = "center", .type = KEY_REALS, .count = 3, .offset = offsetof(sphere_spec, center), .unit = "m", .help = "Centre"},
     {.name = "radius", .type = KEY_REAL, .offset = offsetof(sphere_spec, radius), .unit = "m", POSITIVE, .help = "Radius"},
     END};
static const key_table sphere_table = {.name = "shape.sphere", .help = "A ball.", .size = sizeof(sphere_spec), .keys = sphere_keys};
static const key_spec  box_keys[]   = {
       {.name = "min", .type = KEY_REALS, .count = 3, .offset = offsetof(box_spec, min), .unit = "m", .help = "Lower corner"},
       {.name = "max", .type = KEY_REALS, .count = 3, .offset = offsetof(box_spec, max), .unit = "m", .help = "Upper corner"},
       END};
static const key_table box_table         = {.name = "shape.box", .help = "A box.", .size = sizeof(box_spec), .keys = box_keys};
static const key_spec  difference_keys[] = {
     {.name = "from", .type = KEY_TABLE, .table = &shape_table, .offset = offsetof(difference_spec, from), .help = "What is cut"},
     {.name = "minus", .type = KEY_TABLE, .table = &shape_table, .offset = offsetof(difference_spec, minus), .help = "What is cut away"},
     END};
static const key_table difference_table = {
    .name = "shape.difference", .help = "One without another.", .size = sizeof(difference_spec), .keys = difference_keys};
/* clang-format off */
static const key_spec  shape_keys[] = {
  {.name = "sphere", .type = KEY_TABLE, .table = &sphere_table, .offset = offsetof(shape_spec, sphere), .help = "A ball"},
  {.name = "box", .type = KEY_TABLE, .table = &box_table, .offset = offsetof(shape_spec, box), .help = "A box"},
  {.name = "container", .type = KEY_TABLE, .table = &box_table, .offset = offsetof(shape_spec, container), .help = "The inside of a box"},
  {.name = "mesh", .type = KEY_PATH, .is_input = true, .offset = offsetof(shape_spec, mesh), .help = "A closed surface, OBJ or STL"},
  {.name = "union", .type = KEY_LIST, .table = &shape_table, .min = 2, .max = 8, .offset = offsetof(shape_spec, unite), .help = "Several together"},
  {.name = "difference", .type = KEY_TABLE, .table = &difference_table, .offset = offsetof(shape_spec, difference), .help = "One without another"}, END};
/* clang-format on */
const key_table shape_table = {.name = "shape", .help = "A solid.", .size = sizeof(shape_spec), .keys = shape_keys, .is_one_of = true};

/* ---- materials: variants, nothing in common ---- */
typedef struct {
  double density, youngs_modulus, poisson_ratio, friction_angle_deg;
  bool   has_hardening;
} sand_spec;
typedef struct {
  double density;
} rigid_material_spec;
/* clang-format off */
#define DENSITY(T) {.name = "density", .type = KEY_REAL, .offset = offsetof(T, density), .unit = "kg/m^3", POSITIVE, .help = "Mass per volume"}
static const key_spec sand_keys[] = {
  DENSITY(sand_spec),
  {.name = "youngs_modulus", .type = KEY_REAL, .offset = offsetof(sand_spec, youngs_modulus), .unit = "Pa", POSITIVE, .help = "Young's modulus"},
  {.name = "poisson_ratio", .type = KEY_REAL, .offset = offsetof(sand_spec, poisson_ratio), .min = -1, .max = 0.5, .is_open = true, .fallback = "0.3", .help = "Poisson's ratio"},
  {.name = "friction_angle_deg", .type = KEY_REAL, .offset = offsetof(sand_spec, friction_angle_deg), .unit = "deg", .min = 0, .max = 89, .help = "Angle of internal friction"},
  {.name = "hardening", .type = KEY_BOOL, .offset = offsetof(sand_spec, has_hardening), .fallback = "false", .help = "Whether it hardens"}, END};
/* clang-format on */
static const key_table sand_table = {.name = "materials.drucker_prager", .help = "Sand.", .size = sizeof(sand_spec), .keys = sand_keys};
static const key_spec  rigid_material_keys[] = {DENSITY(rigid_material_spec), END};
static const key_table rigid_material_table  = {
     .name = "materials.rigid", .help = "Does not deform.", .size = sizeof(rigid_material_spec), .keys = rigid_material_keys};
static const key_variant materials[]    = {{"drucker_prager", &sand_table}, {"rigid", &rigid_material_table}, {0}};
static const key_table   material_table = {
      .name = "materials", .help = "What bodies are made of.", .variant_key = "model", .variants = materials};

/* ---- bodies: variants that begin with a common part ---- */
typedef struct {
  const shape_spec *shape;
} body_spec;
typedef struct {
  body_spec   body;
  const char *material;
  double      spacing;
  int64_t     particles_per_cell;
  double      velocity[3];
} mpm_spec;
typedef struct {
  body_spec   body;
  const char *material;
  double      velocity[3], angular_velocity[3];
} rigid_spec;
static const key_spec body_keys[] = {
    {.name = "shape", .type = KEY_TABLE, .table = &shape_table, .offset = offsetof(body_spec, shape), .help = "What it looks like"}, END};
/* clang-format off */
#define MATERIAL(T) {.name = "material", .type = KEY_STRING, .offset = offsetof(T, material), .help = "Name of a material"}
#define VELOCITY(T) {.name = "velocity", .type = KEY_REALS, .count = 3, .offset = offsetof(T, velocity), .unit = "m/s", .fallback = "[0, 0, 0]", .help = "At the start"}
static const key_spec mpm_keys[] = {
  MATERIAL(mpm_spec),
  {.name = "spacing", .type = KEY_REAL, .offset = offsetof(mpm_spec, spacing), .unit = "m", POSITIVE, .help = "Edge of a grid cell"},
  {.name = "particles_per_cell", .type = KEY_INT, .offset = offsetof(mpm_spec, particles_per_cell), .min = 1, .max = 64, .fallback = "8", .help = "At the start"},
  VELOCITY(mpm_spec), END};
static const key_table mpm_table = {.name = "bodies.mpm", .help = "Particles on a grid.", .size = sizeof(mpm_spec), .keys = mpm_keys};
static const key_spec  rigid_keys[] = {
  MATERIAL(rigid_spec), VELOCITY(rigid_spec),
  {.name = "angular_velocity", .type = KEY_REALS, .count = 3, .offset = offsetof(rigid_spec, angular_velocity), .unit = "rad/s", .is_optional = true, .help = "At the start"}, END};
static const key_table rigid_table = {.name = "bodies.rigid", .help = "Moves as a whole.", .size = sizeof(rigid_spec), .keys = rigid_keys};
static const key_table static_table = {.name = "bodies.static", .help = "Never moves.", .size = sizeof(body_spec), .keys = (const key_spec[]){END}};
static const key_variant bodies[] = {{"mpm", &mpm_table}, {"rigid", &rigid_table}, {"static", &static_table}, {0}};
static const key_table   body_table = {.name = "bodies", .help = "What is in the scene.", .size = sizeof(body_spec), .keys = body_keys, .variant_key = "kind", .variants = bodies};
/* clang-format on */

/* ---- the rest ---- */
typedef struct {
  int64_t halvings;
} retry_spec;
typedef struct {
  double            end, step, frame;
  const retry_spec *retry;
} time_spec;
/* clang-format off */
static const key_spec retry_keys[] = {{.name = "halvings", .type = KEY_INT, .offset = offsetof(retry_spec, halvings), .min = 0, .max = 20, .fallback = "6", .help = "Of a step that fails"}, END};
static const key_table retry_table = {.name = "time.retry", .help = "What to do about failed steps.", .size = sizeof(retry_spec), .keys = retry_keys};
static const key_spec  time_keys[] = {
  {.name = "end", .type = KEY_REAL, .offset = offsetof(time_spec, end), .unit = "s", POSITIVE, .help = "When it ends", .may_change = true},
  {.name = "step", .type = KEY_REAL, .offset = offsetof(time_spec, step), .unit = "s", POSITIVE, .help = "Time step"},
  {.name = "frame", .type = KEY_REAL, .offset = offsetof(time_spec, frame), .unit = "s", POSITIVE, .is_optional = true, .help = "Between pictures"},
  {.name = "retry", .type = KEY_TABLE, .table = &retry_table, .offset = offsetof(time_spec, retry), .fallback = "{}", .help = "What to do about failed steps"}, END};
/* clang-format on */
static const key_table time_table = {.name = "time", .help = "When.", .size = sizeof(time_spec), .keys = time_keys};

typedef struct {
  key_list between;
  double   friction, stiffness;
} pair_spec;
typedef struct {
  double   friction;
  key_list pairs;
} contact_spec;
/* clang-format off */
static const key_spec pair_keys[] = {
  {.name = "between", .type = KEY_STRINGS, .count = 2, .offset = offsetof(pair_spec, between), .help = "Two bodies"},
  {.name = "friction", .type = KEY_REAL, .offset = offsetof(pair_spec, friction), NOT_NEGATIVE, .is_optional = true, .help = "Coulomb's coefficient"},
  {.name = "stiffness", .type = KEY_REAL, .offset = offsetof(pair_spec, stiffness), .unit = "N/m", POSITIVE, .fallback = "1e4", .help = "Of the penalty"}, END};
static const key_table pair_table = {.name = "contact.pairs", .help = "Two bodies.", .size = sizeof(pair_spec), .keys = pair_keys};
static const key_spec  contact_keys[] = {
  {.name = "friction", .type = KEY_REAL, .offset = offsetof(contact_spec, friction), NOT_NEGATIVE, .fallback = "0.3", .help = "Coulomb's coefficient"},
  {.name = "pairs", .type = KEY_LIST, .table = &pair_table, .offset = offsetof(contact_spec, pairs), .is_optional = true, .help = "What differs between two bodies"}, END};
/* clang-format on */
static const key_table contact_table = {
    .name = "contact", .help = "Where things touch.", .size = sizeof(contact_spec), .keys = contact_keys};

typedef struct {
  key_item             linear;
  const document_node *petsc;
  double               tolerance;
} solver_spec;
typedef struct {
  int64_t restart;
} gmres_spec;
/* clang-format off */
static const key_spec gmres_keys[] = {{.name = "restart", .type = KEY_INT, .offset = offsetof(gmres_spec, restart), .min = 1, .max = 1000, .fallback = "20", .help = "Vectors kept"}, END};
static const key_table gmres_table = {.name = "solver.linear.gmres", .help = "For any matrix.", .size = sizeof(gmres_spec), .keys = gmres_keys};
static const key_table cg_table = {.name = "solver.linear.cg", .help = "For symmetric ones.", .size = 1, .keys = (const key_spec[]){END}};
static const key_table linear_table = {.name = "solver.linear", .help = "Linear systems.", .variant_key = "method",
                                       .variants = (const key_variant[]){{"gmres", &gmres_table}, {"cg", &cg_table}, {0}}};
static const key_spec  solver_keys[] = {
  {.name = "linear", .type = KEY_TABLE, .table = &linear_table, .offset = offsetof(solver_spec, linear), .fallback = "{method: gmres}", .help = "Linear systems"},
  {.name = "tolerance", .type = KEY_REAL, .offset = offsetof(solver_spec, tolerance), POSITIVE, .fallback = "1e-3", .help = "Of Newton"},
  {.name = "petsc", .type = KEY_TREE, .offset = offsetof(solver_spec, petsc), .is_optional = true, .help = "Any PETSc option"}, END};
/* clang-format on */
static const key_table solver_table = {.name = "solver", .help = "How it is solved.", .size = sizeof(solver_spec), .keys = solver_keys};

typedef struct {
  double      checkpoint;
  int64_t     keep;
  key_list    fields;
  const char *folder;
} output_spec;
static const char *const field_names[] = {"velocity", "pressure", "density", NULL};
/* clang-format off */
static const key_spec    output_keys[] = {
  {.name = "checkpoint", .type = KEY_REAL, .offset = offsetof(output_spec, checkpoint), .unit = "s", POSITIVE, .fallback = "0.1", .help = "Between checkpoints"},
  {.name = "keep", .type = KEY_INT, .offset = offsetof(output_spec, keep), .min = 1, .max = INFINITY, .fallback = "3", .help = "Checkpoints kept"},
  {.name = "fields", .type = KEY_STRINGS, .choices = field_names, .offset = offsetof(output_spec, fields), .fallback = "[velocity]", .help = "Written to frames"},
  {.name = "folder", .type = KEY_PATH, .offset = offsetof(output_spec, folder), .is_optional = true, .help = "Where to"}, END};
/* clang-format on */
static const key_table output_table = {.name = "output", .help = "What is written.", .size = sizeof(output_spec), .keys = output_keys};

typedef struct {
  int         quantity;
  const char *body, *into;
  double      every;
} measure_spec;
static const char *const quantities[] = {"penetration", "momentum", "energy", NULL}, *const quantity_help[] = {"[m] how deep", "[N s] a|b",
                                                                                                               "[J] all of it"};
/* clang-format off */
static const key_spec    measure_keys[] = {
  {.name = "quantity", .type = KEY_ENUM, .choices = quantities, .choice_help = quantity_help, .offset = offsetof(measure_spec, quantity), .help = "What"},
  {.name = "body", .type = KEY_STRING, .offset = offsetof(measure_spec, body), .help = "Of what"},
  {.name = "into", .type = KEY_STRING, .offset = offsetof(measure_spec, into), .is_optional = true, .help = "Against what"},
  {.name = "every", .type = KEY_REAL, .offset = offsetof(measure_spec, every), .unit = "s", POSITIVE, .fallback = "0.01", .help = "Time between values"}, END};
/* clang-format on */
static const key_table measure_table = {
    .name = "measure", .help = "Numbers over time.", .size = sizeof(measure_spec), .keys = measure_keys};

/* ---- a table with a shorthand ---- */
typedef struct {
  const char *when;
  double      hold;
} until_spec;
static const key_spec until_keys[] = {
    {.name = "when", .type = KEY_STRING, .offset = offsetof(until_spec, when), .help = "Condition"},
    {.name = "for", .type = KEY_REAL, .offset = offsetof(until_spec, hold), .unit = "s", NOT_NEGATIVE, .fallback = "0", .help = "How long"},
    END};
static const key_table until_table = {
    .name = "until", .help = "When it ends.", .size = sizeof(until_spec), .keys = until_keys, .shorthand = "when"};

typedef struct {
  int64_t             stickslip;
  const char         *name;
  int                 formulation;
  double              gravity[3];
  const time_spec    *time;
  key_list            materials, bodies;
  const contact_spec *contact;
  const solver_spec  *solver;
  const output_spec  *output;
  key_list            measure, until;
} job_spec;
static const char *const formulations[] = {"penalty", "convex", "exact", "hybrid", "monolith", NULL};
/* clang-format off */
static const key_spec    job_keys[] = {
  {.name = "stickslip", .type = KEY_INT, .offset = offsetof(job_spec, stickslip), .min = 1, .max = 1, .help = "Job format version"},
  {.name = "name", .type = KEY_STRING, .offset = offsetof(job_spec, name), .help = "Of the run"},
  {.name = "formulation", .type = KEY_ENUM, .choices = formulations, .offset = offsetof(job_spec, formulation), .help = "How contact is formulated"},
  {.name = "gravity", .type = KEY_REALS, .count = 3, .offset = offsetof(job_spec, gravity), .unit = "m/s^2", .fallback = "[0, 0, -9.81]", .help = "Acceleration of free fall"},
  {.name = "time", .type = KEY_TABLE, .table = &time_table, .offset = offsetof(job_spec, time), .help = "When"},
  {.name = "materials", .type = KEY_NAMED, .table = &material_table, .min = 1, .max = INFINITY, .offset = offsetof(job_spec, materials), .help = "What bodies are made of"},
  {.name = "bodies", .type = KEY_NAMED, .table = &body_table, .min = 1, .max = INFINITY, .offset = offsetof(job_spec, bodies), .help = "What is in the scene"},
  {.name = "contact", .type = KEY_TABLE, .table = &contact_table, .offset = offsetof(job_spec, contact), .fallback = "{}", .help = "Where things touch"},
  {.name = "solver", .type = KEY_TABLE, .table = &solver_table, .offset = offsetof(job_spec, solver), .fallback = "{}", .may_change = true, .help = "How it is solved"},
  {.name = "output", .type = KEY_TABLE, .table = &output_table, .offset = offsetof(job_spec, output), .fallback = "{}", .help = "What is written"},
  {.name = "measure", .type = KEY_NAMED, .table = &measure_table, .offset = offsetof(job_spec, measure), .is_optional = true, .help = "Numbers over time"},
  {.name = "until", .type = KEY_LIST, .table = &until_table, .offset = offsetof(job_spec, until), .is_optional = true, .help = "When it ends"}, END};
/* clang-format on */
static const key_table job_table = {.name = "job", .help = "A job file.", .size = sizeof(job_spec), .keys = job_keys};

/* A job without mistakes that uses most of it; cases of malformed jobs edit one line each. */
static const char *const job_lines[] = {
    /*  1 */ "stickslip: 1",
    /*  2 */ "name: ball-on-sand",
    /*  3 */ "formulation: penalty",
    /*  4 */ "gravity: [0, 0, -9.81]",
    /*  5 */ "time: {end: 1.0, step: 1.0e-3, frame: 0.02, retry: {halvings: 6}}",
    /*  6 */ "materials:",
    /*  7 */ "  sand: {model: drucker_prager, density: 1600, youngs_modulus: 3.537e7, friction_angle_deg: 30}",
    /*  8 */ "  steel: {model: rigid, density: 7800}",
    /*  9 */ "bodies:",
    /* 10 */ "  bed: {kind: mpm, material: sand, shape: {box: {min: [0, 0, 0], max: [1, 1, 0.2]}}, spacing: 0.02}",
    /* 11 */ "  ball: {kind: rigid, material: steel, shape: {sphere: {center: [0, 0, 0.5], radius: 0.05}}, velocity: [0, 0, -1]}",
    /* 12 */ "  tank: {kind: static, shape: {container: {min: [0, 0, 0], max: [1, 1, 1]}}}",
    /* 13 */ "contact:",
    /* 14 */ "  friction: 0.3",
    /* 15 */ "  pairs: [{between: [ball, bed], friction: 0.9, stiffness: 1.0e4}]",
    /* 16 */ "solver: {tolerance: 1e-3, linear: {method: gmres, restart: 20}, petsc: {ksp_monitor: }}",
    /* 17 */ "output: {checkpoint: 0.1, keep: 3, fields: [velocity, pressure]}",
    /* 18 */ "measure:",
    /* 19 */ "  depth: {quantity: penetration, body: ball, into: bed, every: 0.005}",
};
enum { JOB_LINES = sizeof job_lines / sizeof *job_lines };
#endif
