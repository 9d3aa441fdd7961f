/* Jobs of every kind of body with a few keys changed to unusual values, processed up to the first step of a run: read, scene built,
 * measures checked. The result is a job or diagnostics with positions; never a crash, an internal error, or a leak.
 *
 * The first byte selects the job, each following pair of bytes a key and its new value, as --set would do; value 255: the bytes up to the
 * next zero are the text. Sizes stay small: no value creates more than a few thousand elements in any of the jobs. */
#include "fuzz.h"
#include <string.h>
#include "core/memory.h"
#include "app/job/job.h"
#include "sim/measure/measure.h"
#include "sim/scene/scene.h"

#define HEAD                                                                                                                               \
  "stickslip: 1\nname: fuzz\ntime: {end: 1, step: 0.01}\nmaterials:\n"                                                                     \
  "  rubber: {model: fixed_corotated, density: 100, youngs_modulus: 1.0e5, poisson_ratio: 0.3}\n"                                          \
  "  sand: {model: drucker_prager, density: 1600, youngs_modulus: 1.0e6, poisson_ratio: 0.3, friction_angle_deg: 30}\n"                    \
  "  steel: {model: rigid, density: 7800}\ncontact: {friction: 0.3, stiffness: 100, pairs: [{between: [a, floor], friction: 1}]}\n"        \
  "measure: {z: {quantity: position, body: a, direction: [0, 0, 1]}}\nbodies:\n"                                                           \
  "  floor: {kind: static, shape: {plane: {}}}\n  a: "
/* clang-format off */
static const char *const jobs[] = {
  HEAD "{kind: rigid, material: steel, shape: {box: {min: [0, 0, 0], max: [1, 1, 1]}}}\n",
  HEAD "{kind: rigid, material: steel, shape: {torus: {center: [0, 0, 0], major_radius: 1, minor_radius: 0.3}}, anchors: [{point: [0, 0, 0], stiffness: 1}]}\n",
  HEAD "{kind: fem, material: rubber, spacing: 0.5, shape: {box: {min: [0, 0, 0], max: [1, 1, 1]}}, hold: [{inside: {plane: {}}}], pressure: [{value: 1}]}\n",
  HEAD "{kind: fem, material: rubber, spacing: 0.4, mesher: stuffing, shape: {sphere: {center: [0, 0, 0], radius: 1}}}\n",
  HEAD "{kind: cloth, mass_per_area: 1, stretch: 100, sheet: {corner: [0, 0, 0], u: [1, 0, 0], v: [0, 1, 0], cells: [3, 3]}}\n",
  HEAD "{kind: cloth, mass_per_area: 1, stretch: 100, spacing: 0.5, shape: {sphere: {center: [0, 0, 0], radius: 1}}}\n",
  HEAD "{kind: mpm, material: sand, spacing: 0.25, shape: {box: {min: [0, 0, 0], max: [1, 1, 1]}}, pour: {end: 2, every: 1}, velocity: [0, 0, -2]}\n",
  HEAD "{kind: kinematic, shape: {box: {min: [0, 0, 0], max: [1, 1, 1]}}, motion: {keyframes: [{time: 0}, {time: 1, translate: [1, 0, 0]}]}}\n",
  HEAD "{kind: rigid, material: steel, shape: {difference: {from: {box: {min: [0, 0, 0], max: [1, 1, 1]}}, minus: [{sphere: {center: [0, 0, 0], radius: 0.4}}]}}}\n"};

/* With a, bodies.a: */
static const char *const keys[] = {
  "time.end", "time.step", "time.frame", "gravity", "materials.rubber.density", "materials.rubber.youngs_modulus", "materials.rubber.poisson_ratio",
  "materials.rubber.model", "materials.steel.density", "materials.sand.friction_angle_deg", "materials.sand.cohesion", "contact.friction", "contact.stiffness",
  "solver.penalty.expert.scheme", "contact.pairs", "contact.pairs[0].between", "contact.pairs[0].friction", "contact.pairs[0].stiffness", "contact.pairs[0].friction_direction",
  "contact.pairs[0].friction_transverse", "measure.z.quantity", "measure.z.body", "measure.z.other", "measure.z.direction", "measure.z.point", "measure.z.expected",
  "mpm.kernel", "mpm.walls", "mpm.expert.light_node_mass_fraction", "mpm.expert.light_node_rest_speed", "mpm.body_force", "solver.linear.preconditioner", "bodies.floor.shape", "bodies.floor.kind", "bodies.a",
  "bodies.a.kind", "bodies.a.material", "bodies.a.shape", "bodies.a.shape.box", "bodies.a.shape.box.min", "bodies.a.shape.box.max", "bodies.a.shape.sphere",
  "bodies.a.shape.sphere.radius", "bodies.a.shape.torus.minor_radius", "bodies.a.shape.torus.major_radius", "bodies.a.shape.torus.axis", "bodies.a.shape.rotate_deg",
  "bodies.a.shape.axis", "bodies.a.shape.translate", "bodies.a.shape.mesh", "bodies.a.shape.union", "bodies.a.shape.intersection", "bodies.a.shape.difference.minus",
  "bodies.a.spacing", "bodies.a.surface_spacing", "bodies.a.contact_surface", "bodies.a.mesher", "bodies.a.mesh", "bodies.a.velocity", "bodies.a.angular_velocity",
  "bodies.a.velocity_field", "bodies.a.mass", "bodies.a.inertia", "bodies.a.anchors[0].point", "bodies.a.anchors[0].stiffness", "bodies.a.damping.mass",
  "bodies.a.damping.stiffness", "bodies.a.hold", "bodies.a.hold[0].inside", "bodies.a.hold[0].axes", "bodies.a.hold[0].motion", "bodies.a.pressure[0].inside",
  "bodies.a.pressure[0].value", "bodies.a.load", "bodies.a.sheet", "bodies.a.sheet.u", "bodies.a.sheet.v", "bodies.a.sheet.cells", "bodies.a.mass_per_area",
  "bodies.a.stretch", "bodies.a.shear", "bodies.a.bending", "bodies.a.bending_springs", "bodies.a.pour", "bodies.a.pour.end", "bodies.a.pour.every",
  "bodies.a.particles_per_cell", "bodies.a.seeding", "bodies.a.jitter", "bodies.a.motion", "bodies.a.motion.keyframes[1].time", "bodies.a.motion.keyframes[0].axis",
  "bodies.a.motion.interpolation", "bodies.a.motion.expressions"};
static const char *const values[] = {
  "0", "-1", "1", "0.5", "2", "1.0e-300", "1.0e300", "1.0e20", "1.0e-20", ".nan", ".inf", "\"\"", "{}", "[]", "null", "true", "[0, 0, 0]", "[1, 0, 0]", "[1, 1, 1]",
  "[-1, -1, -1]", "[1.0e200, 0, 0]", "[1.0e-200, 1, 1]", "[0, 0]", "[3, 3]", "[0, 1]", "[a, a]", "[a, floor]", "[floor, floor]", "[rubber, steel]", "[steel, nobody]",
  "a", "floor", "nobody", "rigid", "static", "kinematic", "fem", "cloth", "mpm", "steel", "rubber", "sand", "mesh", "stuffing", "structured", "smooth", "metis_schwarz",
  "{box: {min: [0, 0, 0], max: [1, 1, 1]}}", "{sphere: {center: [0, 0, 0], radius: 0.5}}", "{plane: {}}", "{plane: {normal: [0, 0, 0]}}", "{mesh: {file: nowhere.obj}}",
  "{capsule: {from: [0, 0, 0], to: [0, 0, 1], radius: 0.5}}", "{container: {min: [0, 0, 0], max: [1, 1, 1]}}", "{container: {min: [1, 1, 1], max: [0, 0, 0]}}",
  "[{sphere: {center: [0, 0, 0], radius: 1}}, {sphere: {center: [9, 0, 0], radius: 1}}]", "[{plane: {}}, {plane: {normal: [0, 0, -1]}}]", "{path: nowhere.msh}",
  "{corner: [0, 0, 0], u: [1, 0, 0], v: [0, 1, 0], cells: [2, 2]}", "{end: 1, every: 0.1}", "{end: 0, every: 1}", "[x]", "[x, y, z]", "[\"x\", \"1/x\", \"sqrt(-1)\"]",
  "[\"t\", \"t\"]", "{translate: [\"t\", \"1/t\", \"0\"]}", "{velocity: [1, 0, 0]}", "[{inside: {plane: {}}}, {inside: {plane: {}}}]", "tilt", "extent", "contact_force",
  "[{axis: x, side: lower, at: 0}]", "lagged_friction", "neo_hookean", "lattice", "cubic", "[{between: [a, a]}]"};
enum { N_JOBS = sizeof jobs / sizeof *jobs, N_KEYS = sizeof keys / sizeof *keys, N_VALUES = sizeof values / sizeof *values, MAX_CHANGES = 6, MAX_TEXT = 400 };
/* clang-format on */

static void fuzz_set_up(void) {}

/* "key=value" of each pair of bytes; how many. */
static int read_changes(const uint8_t *data, size_t n, char out[MAX_CHANGES][MAX_TEXT])
{
  int changes = 0;
  for (size_t i = 0; i + 1 < n && changes < MAX_CHANGES; i += 2) {
    const char *key = keys[data[i] % N_KEYS];
    if (data[i + 1] < 255) (void)snprintf(out[changes++], MAX_TEXT, "%s=%s", key, values[data[i + 1] % N_VALUES]);
    else {
      const size_t rest = n - i - 2, length = rest ? strnlen((const char *)data + i + 2, rest) : 0;
      (void)snprintf(out[changes++], MAX_TEXT, "%s=%.*s", key, (int)(length < 200 ? length : 200), (const char *)data + i + 2);
      i += length + 1;
    }
  }
  return changes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
  static char    text[MAX_CHANGES][MAX_TEXT];
  const char    *change[MAX_CHANGES];
  diagnostics   *d;
  job           *j = NULL;
  scene         *s = NULL;
  PetscErrorCode code;
  if (n < 1) return 0;
  const int changes = read_changes(data + 1, n - 1, text);
  for (int i = 0; i < changes; ++i) change[i] = text[i];
  MUST(!diagnostics_create(&d));
  code = job_read_text("job.yaml", jobs[data[0] % N_JOBS], changes, change, d, &j);
  MUST(code == PETSC_SUCCESS || code == PETSC_ERR_USER_INPUT);
  error_clear();
  if (j) {
    code = scene_create(PETSC_COMM_SELF, &j->scene, d, &s);
    if (code) fprintf(stderr, "%s\n", error_message());
    MUST(code == PETSC_SUCCESS);
    MUST((s != NULL) == (diagnostics_count(d) == 0));
    if (s) MUST(!measures_check(s, &j->measure, d));
  }
  for (int i = 0; i < diagnostics_count(d); ++i) {
    const char *said = diagnostics_text(d, i);
    MUST(!strncmp(said, "job.yaml:", 9) || !strncmp(said, "--set", 5));
  }
  scene_destroy(&s);
  job_destroy(&j);
  diagnostics_destroy(&d);
  MUST(memory_live() == 0);
  return 0;
}
