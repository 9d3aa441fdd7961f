/* Jobs against the program's own key tables: a valid one is accepted; more than sixty distinct invalid ones are rejected, each
 * with its position and reason. An invalid job is the valid one with line `line` replaced by `text`. */
#include "test.h"
#include <string.h>
#include "app/job/job.h"
#include "core/key_table.h"
#include "discretize/rigid/rigid_body.h"
#include "sim/measure/measure.h"
#include "sim/scene/scene.h"

static const char *const good[] = {
    /*  1 */ "stickslip: 1",
    /*  2 */ "name: good",
    /*  3 */ "gravity: [0, 0, -9.81]",
    /*  4 */ "time: {end: 0.1, step: 1.0e-3, frame: 0.01}",
    /*  5 */ "materials:",
    /*  6 */ "  sand:  {model: drucker_prager, density: 1600, youngs_modulus: 1.0e6, poisson_ratio: 0.3, friction_angle_deg: 30}",
    /*  7 */ "  steel: {model: rigid, density: 7800}",
    /*  8 */ "bodies:",
    /*  9 */ "  bed:  {kind: mpm, material: sand, spacing: 0.1, shape: {box: {min: [0, 0, 0], max: [0.2, 0.2, 0.1]}}}",
    /* 10 */ "  ball: {kind: rigid, material: steel, shape: {sphere: {center: [0.1, 0.1, 0.3], radius: 0.05}}}",
    /* 11 */ "  tank: {kind: static, shape: {container: {min: [0, 0, 0], max: [0.2, 0.2, 1]}}}",
    /* 12 */ "  door: {kind: kinematic, shape: {box: {min: [1, 0, 0], max: [2, 1, 1]}}, motion: {velocity: [0, 0, 1]}}",
    /* 13 */ "contact: {friction: 0.3, stiffness: 1.0e3}",
    /* 14 */ "mpm: {kernel: quadratic}",
    /* 15 */ "solver: {newton: {tolerance: 1.0e-3}}",
    /* 16 */ "output: {checkpoint: 0.1}",
    /* 17 */ "measure:",
    /* 18 */ "  z: {quantity: position, body: ball, direction: [0, 0, 1]}",
};
enum { N_LINES = sizeof good / sizeof *good };

typedef struct {
  int         line;
  const char *text, *place, *says;
} bad_job;

/* clang-format off */
static const bad_job bad[] = {
  {1, "stickslip: 2", "1:12", "stickslip"},
  {1, "stickslip: one", "1:12", "whole number"},
  {1, "", "2:1", "missing required key \"stickslip\""},
  {2, "name: ../escape", "2:7", "names a folder"},
  {2, "name: \"\"", "2:7", "names a folder"},
  {2, "name: .hidden", "2:7", "names a folder"},
  {2, "name: a b", "2:7", "names a folder"},
  {2, "name: good\nname: bad", "3:1", "duplicate key"},
  {3, "gravity: 9.81", "3:10", "list of 3 numbers"},
  {3, "gravity: [0, -9.81]", "3:10", "3 numbers"},
  {3, "gravity: [0, 0, nan]", "3:17", "number"},
  {3, "gravity: [0, 0, -9.81 m/s^2]", "3:17", "SI"},
  {3, "gravty: [0, 0, -9.81]", "3:1", "did you mean \"gravity\""},
  {4, "time: {end: 0.1}", "4:7", "missing required key \"step\""},
  {4, "time: {end: 0.1, step: 0}", "4:24", "> 0"},
  {4, "time: {end: -1, step: 1.0e-3}", "4:13", "> 0"},
  {4, "time: {end: 1.0e-5, step: 1.0e-3}", "4:13", "less than time.step = 0.001 s"},
  {4, "time: {end: 0.1, step: 1.0e-3, frame: 0.0015}", "4:39", "multiple of time.step"},
  {4, "time: {end: 1, step: 1.0e-30}", "4:13", "1e12"},
  {4, "time: {end: 0.1, step: 1.0e-3, retry: {halvings: 50}}", "4:50", "20"},
  {4, "time: 0.1", "4:7", "mapping"},
  {6, "  sand:  {model: drucker_prage, density: 1600}", "6:18", "did you mean \"drucker_prager\""},
  {6, "  sand:  {density: 1600}", "6:10", "missing required key \"model\""},
  {6, "  sand:  {model: drucker_prager, density: -1, youngs_modulus: 1.0e6, poisson_ratio: 0.3, friction_angle_deg: 30}", "6:43", "> 0"},
  {6, "  sand:  {model: drucker_prager, density: 1600, youngs_modulus: 1.0e6, poisson_ratio: 0.5, friction_angle_deg: 30}", "6:87", "0.5"},
  {6, "  sand:  {model: drucker_prager, density: 1600, youngs_modulus: 1.0e6, poisson_ratio: 0.3, friction_angle_deg: 120}", "6:112", "120"},
  {6, "  sand:  {model: rigid, density: 1600, youngs_modulus: 3}", "6:40", "youngs_modulus"},
  {6, "  sand:  {model: rigid, density: 1600}", "9:31", "is rigid"},
  {6, "  sand:  {model: linear_corotated, density: 1600, youngs_modulus: 1.0e6, poisson_ratio: -1}", "6:89", "> -1"},
  {6, "  sand:  {model: linear_corotated, density: 1600, youngs_modulus: 1.0e6, poisson_ratio: 0.3, friction_angle_deg: 30}", "6:94", "model \"linear_corotated\" has no such key"},
  {6, "  gravel: {model: fixed_corotated, density: 1600, youngs_modulus: 1.0e6, poisson_ratio: 0.3}", "9:31", "no material is called \"sand\""},
  {7, "  steel: 7800", "7:10", "mapping"},
  {12, "  door: open", "12:9", "mapping"},
  {9, "  bed:  {kind: mmp, material: sand, spacing: 0.1, shape: {box: {min: [0, 0, 0], max: [1, 1, 1]}}}", "9:16", "did you mean \"mpm\""},
  {9, "  bed:  {kind: mpm, material: snad, spacing: 0.1, shape: {box: {min: [0, 0, 0], max: [1, 1, 1]}}}", "9:31", "did you mean \"sand\""},
  {9, "  bed:  {kind: mpm, material: sand, spacing: -0.1, shape: {box: {min: [0, 0, 0], max: [1, 1, 1]}}}", "9:46", "> 0"},
  {9, "  bed:  {kind: mpm, material: sand, spacing: 0.1, shape: {box: {min: [0, 0, 1], max: [1, 1, 1]}}}", "9:", "min"},
  {9, "  bed:  {kind: mpm, material: sand, spacing: 0.1, shape: {}}", "9:58", "one of"},
  {9, "  bed:  {kind: mpm, material: sand, spacing: 0.1, shape: {sphere: {center: [0, 0, 0], radius: 1}, box: {min: [0, 0, 0], max: [1, 1, 1]}}}", "9:104", "exactly one"},
  {9, "  bed:  {kind: mpm, material: sand, spacing: 0.1, shape: {sphere: {center: [0, 0, 0], radius: -1}}}", "9:", "> 0"},
  {9, "  bed:  {kind: mpm, material: sand, spacing: 0.1, shape: {plane: {normal: [0, 0, 1], offset: 0}}}", "9:", "no volume"},
  {9, "  bed:  {kind: mpm, material: sand, spacing: 1.0e-9, shape: {box: {min: [0, 0, 0], max: [1, 1, 1]}}}", "9:", "particles at a spacing"},
  {9, "  bed:  {kind: mpm, material: sand, spacing: 100, shape: {box: {min: [0, 0, 0], max: [1, 1, 1]}}}", "9:", "particles at a spacing"},
  {9, "  bed:  {kind: mpm, material: sand, spacing: 0.1, particles_per_cell: 0, shape: {box: {min: [0, 0, 0], max: [1, 1, 1]}}}", "9:71", "0.1"},
  {9, "  bed:  {kind: mpm, material: sand, spacing: 0.1, seeding: random, shape: {box: {min: [0, 0, 0], max: [1, 1, 1]}}}", "9:60", "blue_noise"},
  {9, "  bed:  {kind: mpm, material: sand, spacing: 0.1, motion: {}, shape: {box: {min: [0, 0, 0], max: [1, 1, 1]}}}", "9:51", "motion"},
  {9, "  bed:  {kind: mpm, material: sand, spacing: 0.1, shape: {box: {min: [0, 0, 0], max: [1, 1, 1]}}}\n"
      "  bed2: {kind: mpm, material: sand, spacing: 0.2, shape: {box: {min: [3, 0, 0], max: [4, 1, 1]}}}", "10:", "share one grid"},
  {9, "  bed:  {kind: mpm, material: sand, spacing: 0.1, pour: {every: 0.1}, shape: {box: {min: [0, 0, 0], max: [1, 1, 1]}}}", "9:", "missing required key \"end\""},
  {9, "  bed:  {kind: mpm, material: sand, spacing: 0.1, pour: {start: 2, end: 1, every: 0.1}, velocity: [0, 0, -20], shape: {box: {min: [0, 0, 0], max: [1, 1, 1]}}}", "9:73", "not after the start"},
  {9, "  bed:  {kind: mpm, material: sand, spacing: 0.1, pour: {end: 1, every: 1.0e-4}, velocity: [0, 0, -1.0e5], shape: {box: {min: [0, 0, 0], max: [1, 1, 1]}}}", "9:73", "less than time.step"},
  {9, "  bed:  {kind: mpm, material: sand, spacing: 0.1, pour: {end: 1, every: 0.1}, velocity: [0, 0, -5], shape: {box: {min: [0, 0, 0], max: [1, 1, 1]}}}", "9:73", "still in the shape"},
  {9, "  bed:  {kind: mpm, material: sand, spacing: 0.1, shape: {sphere: {center: [0, 0, 0], radius: 1.0e20}}}", "9:", "particles at a spacing"},
  {10, "  ball: {kind: rigid, shape: {sphere: {center: [0.1, 0.1, 0.3], radius: 0.05}}}", "10:9", "missing required key \"material\""},
  {10, "  ball: {kind: rigid, material: stele, shape: {sphere: {center: [0.1, 0.1, 0.3], radius: 0.05}}}", "10:33", "did you mean \"steel\""},
  {10, "  ball: {kind: rigid, material: steel, shape: {container: {min: [0, 0, 0], max: [1, 1, 1]}}}", "10:", "no volume"},
  {10, "  ball: {kind: rigid, material: steel, mass: 0, shape: {sphere: {center: [0.1, 0.1, 0.3], radius: 0.05}}}", "10:46", "> 0"},
  {10, "  ball: {kind: rigid, material: steel, inertia: [1, 1, 3], shape: {sphere: {center: [0.1, 0.1, 0.3], radius: 0.05}}}", "10:", "no body has these moments"},
  {10, "  ball: {kind: rigid, material: steel, rotation: rk4, shape: {sphere: {center: [0.1, 0.1, 0.3], radius: 0.05}}}", "10:50", "midpoint"},
  {10, "  ball: {kind: rigid, material: steel, shape: {mesh: {file: no-such-file.obj}}}", "10:", "no-such-file.obj"},
  {10, "  ball: {kind: rigid, material: steel, spacing: 0.1, shape: {sphere: {center: [0.1, 0.1, 0.3], radius: 0.05}}}", "10:40", "spacing"},
  {10, "  ball: {kind: rigid, material: steel, mass: 1.0e-300, shape: {sphere: {center: [0.1, 0.1, 0.3], radius: 0.05}}}", "10:9", "expected 1e-30 to 1e+30 kg"},
  {10, "  ball: {kind: rigid, material: steel, shape: {sphere: {center: [0, 0, 0], radius: 1.0e-120}}}", "10:9", "has a mass of 0 kg"},
  {10, "  ball: {kind: rigid, material: steel, shape: {sphere: {center: [0, 0, 0], radius: 1.0e25}}}", "10:9", "has a mass of"},
  {11, "  tank: {kind: static}", "11:9", "missing required key \"shape\""},
  {11, "  tank: {kind: static, velocity: [0, 0, 1], shape: {plane: {normal: [0, 0, 1], offset: 0}}}", "11:24", "velocity"},
  {12, "  door: {kind: kinematic, shape: {box: {min: [1, 0, 0], max: [2, 1, 1]}}}", "12:9", "missing required key \"motion\""},
  {12, "  door: {kind: kinematic, shape: {box: {min: [1, 0, 0], max: [2, 1, 1]}}, motion: {expressions: {rotate_deg: 3*q}}}", "12:", "unknown name"},
  {12, "  door: {kind: kinematic, shape: {box: {min: [1, 0, 0], max: [2, 1, 1]}}, motion: {expressions: {translate: [t, t]}}}", "12:", "three expressions"},
  {12, "  door: {kind: kinematic, shape: {box: {min: [1, 0, 0], max: [2, 1, 1]}}, motion: {keyframes: [{time: 1}, {time: 0.5}]}}", "12:", "ascend"},
  {12, "  door: {kind: kinematic, shape: {box: {min: [1, 0, 0], max: [2, 1, 1]}}, motion: {velocity: [1, 0, 0], keyframes: [{time: 1}]}}", "12:", "give only one of"},
  {13, "contact: {friction: -0.3, stiffness: 1.0e3}", "13:21", ">= 0"},
  {13, "contact: {friction: 0.3}", "13:", "contact.stiffness: missing"},
  {13, "contact: {friction: 0.3, stiffness: 1.0e3, restitution: 1}", "13:57", "contact.restitution: 1: expected 0 (no damper) or a number from 0.01"},
  {15, "solver: {penalty: {edges: true}}", "15:27", "solver.penalty.edges: no two triangle surfaces"},
  {15, "solver: {penalty: {edges: true, expert: {scheme: lagged_contact}}}", "15:27", "supports only scheme: implicit"},
  {15, "solver: {penalty: {expert: {scheme: newton}}}", "15:37", "lagged_contact"},
  /* keys without effect */
  {13, "contact: {friction: 0.3, stiffness: 0}", "13:37", "> 0"},
  {13, "contact: {friction: 0.3, stiffness: 1.0e3, pairs: [{between: [ball, bed], contact: false, friction: 0.1}]}", "13:101",
   "contact.pairs[0].friction: has no effect when contact.pairs[0].contact is false; remove it"},
  {14, "mpm: {flip: 0.5}", "14:13", "mpm.flip: has no effect when mpm.transfer is apic; remove it"},
  {14, "mpm: {expert: {light_node_mass_fraction: 0, light_node_rest_speed: 0.1}}", "14:68", "has no effect when mpm.expert.light_node_mass_fraction is 0"},
  {14, "mac: {domain: {min: [0, 0, 0], max: [1, 1, 1]}, spacing: 0.1}", "14:6", "mac: has no effect, because no bodies.NAME.kind is mac; remove it"},
  {9, "  bed:  {kind: mpm, material: sand, spacing: 0.1, jitter: 0.1, shape: {box: {min: [0, 0, 0], max: [1, 1, 1]}}}", "9:59",
   "bodies.bed.jitter: has no effect when bodies.bed.seeding is blue_noise"},
  {10, "  ball: {kind: rigid, material: steel, shape: {sphere: {center: [0.1, 0.1, 0.3], radius: 0.05}, axis: [1, 0, 0]}}", "10:103",
   "bodies.ball.shape.axis: has no effect without bodies.ball.shape.rotate_deg"},
  {12, "  door: {kind: kinematic, shape: {box: {min: [1, 0, 0], max: [2, 1, 1]}}, motion: {keyframes: [{time: 1, axis: [1, 0, 0]}]}}", "12:112",
   "bodies.door.motion.keyframes[0].axis: has no effect without bodies.door.motion.keyframes[0].rotate_deg"},
  {12, "  door: {kind: kinematic, shape: {box: {min: [1, 0, 0], max: [2, 1, 1]}}, motion: {velocity: [0, 0, 1], interpolation: linear}}", "12:", "has no effect without bodies.door.motion.keyframes"},
  {15, "solver: {linear: {preconditioner: none, refresh: step}}", "15:50", "has no effect when solver.linear.preconditioner is none"},
  /* earlier names */
  {13, "contact: {friction: 0.3, stiffness: 1.0e3, pairs: [{between: [ball, bed], touch: false}]}", "13:75", "contact.pairs[0].touch: is now contact"},
  {13, "contact: {friction: 0.3, stiffness: 1.0e3, edges: true}", "13:44", "contact.edges: is now solver.penalty.edges"},
  {15, "solver: {flow: {stress: sp}}", "15:10", "solver.flow: is now solver.monolith"},
  {15, "solver: {hybrid: {expert: {prescribed_nodes: all}}}", "15:46", "\"all\" is now \"surface\""},
  {18, "  z: {quantity: run_out, body: bed, direction: [1, 0, 0]}", "18:17", "\"run_out\" is now \"runout\""},
  {13, "contact: {friction: 0.3, stiffness: 1.0e3, restitution: -0.1}", "13:57", ">= 0"},
  {13, "contact: {friction: 0.3, stiffness: 1.0e3, pairs: [{between: [ball, bed], restitution: 0.001}]}", "13:88", "contact.pairs[0].restitution: 0.001: expected"},
  {13, "contact: {friction: 0.3, stiffness: 1.0e3, pairs: [{between: [ball, bde]}]}", "13:", "\"bde\""},
  {13, "contact: {friction: 0.3, stiffness: 1.0e3, pairs: [{between: [ball]}]}", "13:", "two names"},
  {13, "contact: {friction: 0.3, stiffness: 1.0e3, pairs: [{between: [ball, ball]}]}", "13:62", "kind rigid; only bodies of kind fem and cloth, and rod with formulation exact, have self-contact"},
  {13, "contact: {friction: 0.3, stiffness: 1.0e3, pairs: [{between: [door, tank]}]}", "13:62", "obstacles do not touch each other"},
  {13, "contact: {friction: 0.3, stiffness: 1.0e3, pairs: [{between: [bed, bed]}]}", "13:62", "kind mpm; only bodies"},
  {13, "contact: {friction: 0.3, stiffness: 1.0e3, pairs: [{between: [steel, steel]}, {between: [ball, bal]}]}", "13:89", "did you mean \"ball\""},
  {14, "mpm: {kernel: linear}", "14:15", "quadratic or cubic"},
  {14, "mpm: {flip: 1.5}", "14:13", "1"},
  {14, "mpm: {expert: {light_node_mass_fraction: 1.5}}", "14:42", "1"},
  {14, "mpm: {expert: {light_node_rest_speed: -0.1}}", "14:39", "0"},
  {14, "mpm: {walls: [{axis: w, side: lower, at: 0}]}", "14:22", "x, y or z"},
  {15, "solver: {newton: {tolerance: 0}}", "15:30", "> 0"},
  {15, "solver: {friction: {expert: {time_limit: 1}}}", "15:30", "solver.friction.expert.time_limit: is now solver.friction.time_limit"},
  {15, "solver: {friction: {expert: {splitting: {}}}}", "15:30", "solver.friction.expert.splitting: has been removed: local is now solver.friction.expert.local_solver with values exact and fischer_burmeister; the other parameters are constants; remove it"},
  {15, "solver: {friction: {newton: {}}}", "15:21", "solver.friction.newton: has been removed: its keys are now solver.friction.expert.line_search with values full and goldstein_price, and solver.friction.expert.merit; remove it"},
  {15, "solver: {linear: {method: cg}}", "15:19", "solver.linear.method: has been removed: the method is gmres; other PETSc methods: solver.petsc: {ksp_type: ...}; remove it"},
  {15, "solver: {linear: {restart: 0}}", "15:28", ">= 1"},
  {16, "output: {keep: 0}", "16:16", ">= 1"},
  {18, "  z: {quantity: position, body: ball}\npicture: {transparent: [bed, bal]}", "19:30", "did you mean \"ball\""},
  {18, "  z: {quantity: postion, body: ball}", "18:17", "did you mean \"position\""},
  {18, "  z: {quantity: position, body: bal}", "18:", "no body is called \"bal\""},
  {18, "  z: {quantity: position}", "18:", "needs a body"},
  {18, "  z: {quantity: extent, body: ball, direction: [1, 0, 0]}", "18:", "kind mpm, mac, fem, cloth, rod or rigid with copies"},
  {18, "  z: {quantity: self_intersection_depth, body: ball}", "18:48", "needs a body of kind fem or cloth"},
  {18, "  z: {quantity: intersections, body: ball}", "18:38", "needs a body with triangles for contact"},
  {18, "  z: {quantity: intersections, other: ball}", "18:", "needs a body, too"},
  {18, "  z: {quantity: gradient_error, body: ball, expected: [0, 0, 0]}", "18:39", "needs a body of kind fem"},
  {18, "  z: {quantity: velocity_error, body: ball, expected: [0, 0, 0]}", "18:39", "needs a body of kind mpm, mac, fem, cloth or rod"},
  {18, "  z: {quantity: self_intersection_depth}", "18:", "needs a body"},
  {18, "  z: {quantity: point, body: bed}", "18:", "kind rigid, kinematic, static, fem, cloth or rod"},
  {18, "  z: {quantity: angle_of_repose, body: ball}", "18:", "kind mpm"},
  {18, "  z: {quantity: angular_velocity, body: bed}", "18:", "rigid"},
  {18, "  z: {quantity: tilt, body: ball}", "18:", "needs a direction"},
  {18, "  z: {quantity: velocity, body: tank}", "18:33", "quantity velocity needs a body of kind rigid, mpm, mac, fem, cloth or rod"},
  {18, "  z: {quantity: position, body: ball, fraction: 0.5}", "18:49", "quantity position does not use it; remove it"},
  {18, "  z: {quantity: mechanical_energy, body: ball}", "18:42", "does not use it"},
  {18, "  z: {quantity: distance, body: ball}", "18:6", "missing required key \"other\""},
  {18, "  z: {quantity: distance, body: ball, other: bll}", "18:46", "did you mean \"ball\""},
  {18, "  z: {quantity: penetration, other: ball}", "18:37", "needs a body, too"},
  {18, "  z: {quantity: density, body: bed}", "18:6", "needs a box"},
  {18, "  z: {quantity: density, body: bed, within: {min: [0, 0, 0], max: [1, 0, 1]}}", "18:45", "max[1] = 0 m is not beyond min[1] = 0 m"},
  {18, "  z: {quantity: flow_rate, body: bed, direction: [1, 0, 0], radius: 0}", "18:69", "> 0"},
  {18, "  z: {quantity: contact_force, body: ball, part: tangent}", "18:50", "normal or friction"},
  {18, "  a/b: {quantity: mass}", "18:8", "names a file"},
  {18, "  z: {quantity: tilt, body: ball, direction: [0, 0, 0]}", "18:", "zero"},
};
/* clang-format on */

static void compose(int line, const char *text, char *out, size_t size)
{
  out[0] = '\0';
  for (int i = 0; i < N_LINES; ++i) {
    const char *use = i + 1 == line ? text : good[i];
    strncat(out, use, size - strlen(out) - 1);
    strncat(out, "\n", size - strlen(out) - 1);
  }
}

/* Everything `check` does; all errors as one text. */
static void errors_of(const char *text, char *out, size_t size)
{
  diagnostics *d;
  job         *j = NULL;
  scene       *s = NULL;
  out[0]         = '\0';
  assert_ok(diagnostics_create(&d));
  assert_ok(job_read_text("job", text, 0, NULL, d, &j));
  if (j) assert_ok(scene_create(PETSC_COMM_SELF, &j->scene, d, &s));
  if (s) assert_ok(measures_check(s, &j->measure, d));
  diagnostics_sort(d);
  for (int i = 0; i < diagnostics_count(d); ++i) {
    strncat(out, diagnostics_text(d, i), size - strlen(out) - 1);
    strncat(out, "\n", size - strlen(out) - 1);
  }
  scene_destroy(&s);
  job_destroy(&j);
  diagnostics_destroy(&d);
}

static void test_good_job(void **state)
{
  (void)state;
  char text[8192], said[8192];
  compose(0, NULL, text, sizeof text);
  errors_of(text, said, sizeof said);
  assert_string_equal(said, "");
  assert_no_leak();
}

static void test_bad_jobs(void **state)
{
  (void)state;
  int missed = 0;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
    char text[8192], said[8192], place[64];
    compose(bad[i].line, bad[i].text, text, sizeof text);
    errors_of(text, said, sizeof said);
    snprintf(place, sizeof place, "job:%s", bad[i].place);
    if (!strstr(said, place) || !strstr(said, bad[i].says)) {
      print_error("%d: %s\n  expected %s ... %s\n  said   %s\n", bad[i].line, bad[i].text, place, bad[i].says, *said ? said : "nothing");
      ++missed;
    }
    assert_int_equal(memory_live(), 0);
  }
  assert_true(sizeof bad / sizeof *bad >= 60);
  assert_int_equal(missed, 0);
}

static void test_light_nodes_need_no_matrix(void **state)
{
  (void)state;
  char                     text[8192];
  diagnostics             *d;
  job                     *j;
  static const char *const overrides[] = {"mpm.expert.light_node_mass_fraction=0.1", "solver.linear.preconditioner=metis_schwarz"};
  compose(0, NULL, text, sizeof text);
  assert_ok(diagnostics_create(&d));
  assert_ok(job_read_text("job", text, 2, overrides, d, &j));
  assert_int_equal(diagnostics_count(d), 1);
  assert_non_null(strstr(diagnostics_text(d, 0), "mpm.expert.light_node_mass_fraction: not supported with preconditioner: metis_schwarz"));
  job_destroy(&j);
  diagnostics_destroy(&d);
  assert_no_leak();
}

static void test_overrides(void **state)
{
  (void)state;
  char                     text[8192];
  diagnostics             *d;
  job                     *j;
  static const char *const overrides[] = {"time.step=2.0e-3", "bodies.ball.velocity=[1, 2, 3]",
                                          "contact.pairs=[{between: [ball, bed], friction: 0.9}]", "contact.pairs[0].friction=0.8"};
  compose(0, NULL, text, sizeof text);
  assert_ok(diagnostics_create(&d));
  assert_ok(job_read_text("job", text, 4, overrides, d, &j));
  assert_int_equal(diagnostics_count(d), 0);
  assert_close(j->scene.time->step, 2.0e-3, 0);
  assert_close(((const rigid_body_spec *)j->scene.bodies.item[1].value)->velocity[2], 3, 0);
  assert_close(((const contact_pair_options *)j->scene.contact->pairs.item[0].value)->friction, 0.8, 0);
  job_destroy(&j);
  /* an invalid path is rejected, and no part of the job is leaked (found by fuzz_yaml) */
  static const char *const astray[] = {"time..step=1", "time.step[=1", "[0]=1"};
  for (int i = 0; i < 3; ++i) {
    assert_int_equal(job_read_text("job", text, 1, astray + i, d, &j), PETSC_ERR_USER_INPUT);
    assert_null(j);
    error_clear();
  }
  diagnostics_destroy(&d);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_good_job), cmocka_unit_test(test_bad_jobs), cmocka_unit_test(test_light_nodes_need_no_matrix),
          cmocka_unit_test(test_overrides))
