/* Malformed jobs: line `line` of the good job (job_table.h) is replaced by `text` (NULL: removed; line 0: the whole job is
 * `text`). `says` contains all diagnostics, in order of their positions, each "line:column: " and a part of the message. */
#ifndef SS_TESTS_MALFORMED_JOBS_H
#define SS_TESTS_MALFORMED_JOBS_H

typedef struct {
  int         line;
  const char *text;
  const char *says[4];
} malformed_job;

/* clang-format off */
static const malformed_job malformed_jobs[] = {
  /* unknown keys */
  {3, "formulaton: penalty", {"3:1: formulaton: unknown key; did you mean \"formulation\"?"}},
  {3, "Formulation: penalty", {"3:1: Formulation: unknown key; did you mean \"formulation\"?"}},
  {4, "gravity: [0, 0, -9.81]\nwind: 3", {"5:1: wind: unknown key; allowed keys: stickslip, name, formulation, gravity"}},
  {5, "time: {end: 1.0, setp: 1.0e-3}", {"5:18: time.setp: unknown key; did you mean \"step\"?"}},
  {5, "time: {end: 1.0, step: 1.0e-3, retry: {havlings: 6}}", {"5:40: time.retry.havlings: unknown key; did you mean \"halvings\"?"}},
  {7, "  sand: {model: drucker_prager, density: 1600, youngs: 3e7, friction_angle: 30}",
   {"7:48: materials.sand.youngs: unknown key; did you mean \"youngs_modulus\"?", "7:61: materials.sand.friction_angle: unknown key; did you mean \"friction_angle_deg\"?"}},
  {8, "  steel: {model: rigid, density: 7800, colour: red}", {"8:40: materials.steel.colour: unknown key; allowed keys: model and density"}},
  {8, "  steel: {model: rigid, density: 7800, poisson_ratio: 0.3}",
   {"8:40: materials.steel.poisson_ratio: model \"rigid\" has no such key; model \"drucker_prager\" has"}},
  {12, "  tank: {kind: static, material: steel, shape: {container: {min: [0, 0, 0], max: [1, 1, 1]}}}",
   {"12:24: bodies.tank.material: kind \"static\" has no such key; kind \"mpm\" has"}},
  {15, "  pairs: [{between: [ball, bed], frction: 0.9}]", {"15:34: contact.pairs[0].frction: unknown key; did you mean \"friction\"?"}},
  {12, "  tank: {kind: static, shape: {box: {min: [0, 0, 0], max: [1, 1, 1], radius: 1}}}", {"12:70: bodies.tank.shape.box.radius: unknown key; allowed keys: min and max"}},
  /* keys that are missing */
  {1, NULL, {"1:1: missing required key \"stickslip\" (a whole number)"}},
  {2, NULL, {"1:1: missing required key \"name\" (a text)"}},
  {3, NULL, {"1:1: missing required key \"formulation\" (one of penalty, convex, exact, hybrid or monolith)"}},
  {5, NULL, {"1:1: missing required key \"time\" (a mapping of keys to values)"}},
  {5, "time: {frame: 0.02}", {"5:7: time: missing required key \"end\" (a number in s)", "5:7: time: missing required key \"step\" (a number in s)"}},
  {5, "time:", {"5:6: time: missing required key \"end\"", "5:6: time: missing required key \"step\""}},
  {8, "  steel: {model: rigid}", {"8:10: materials.steel: missing required key \"density\" (a number in kg/m^3)"}},
  {8, "  steel: {density: 7800}", {"8:10: materials.steel: missing required key \"model\" (drucker_prager or rigid)"}},
  {8, "  steel: {mdoel: rigid, density: 7800}", {"8:11: materials.steel.mdoel: unknown key; did you mean \"model\"?"}},
  {8, "  steel:", {"8:9: materials.steel: missing required key \"model\""}},
  {12, "  tank: {kind: static}", {"12:9: bodies.tank: missing required key \"shape\""}},
  {12, "  tank: {kind: static, shape: {sphere: {center: [0, 0, 0]}}}", {"12:40: bodies.tank.shape.sphere: missing required key \"radius\" (a number in m)"}},
  {15, "  pairs: [{friction: 0.9}]", {"15:11: contact.pairs[0]: missing required key \"between\" (a list of 2 texts)"}},
  {19, "  depth: {body: ball}", {"19:10: measure.depth: missing required key \"quantity\" (one of penetration, momentum or energy)"}},
  /* wrong types */
  {5, "time: {end: abc, step: 1.0e-3}", {"5:13: time.end: expected a number in s, got \"abc\""}},
  {5, "time: {end: \"1.0\", step: 1.0e-3}", {"5:13: time.end: expected a number in s, got the text \"1.0\"; remove the quotes"}},
  {5, "time: {end: [1.0], step: 1.0e-3}", {"5:13: time.end: expected a number in s, got a list"}},
  {5, "time: {end: {a: 1}, step: 1.0e-3}", {"5:13: time.end: expected a number in s, got a mapping"}},
  {5, "time: {end: , step: 1.0e-3}", {"5:13: time.end: expected a number in s, got nothing"}},
  {5, "time: {end: 1.0, step: 1.0e-3e}", {"5:24: time.step: expected a number in s, got \"1.0e-3e\""}},
  {5, "time: {end: 1,5, step: 1.0e-3}", {"5:15: time.5: unknown key"}},
  {5, "time:\n  end: 1,5\n  step: 1.0e-3", {"6:8: time.end: expected a number in s, got \"1,5\": the decimal mark is a point"}},
  {5, "time: {end: 0x10, step: 1.0e-3}", {"5:13: time.end: expected a number in s, got \"0x10\""}},
  {5, "time: 1.0", {"5:7: time: expected a mapping of keys to values, got \"1.0\""}},
  {5, "time: [1.0, 2.0]", {"5:7: time: expected a mapping of keys to values, got a list"}},
  {5, "time: {end: 1.0, step: 1.0e-3, retry: {halvings: 2.5}}", {"5:50: time.retry.halvings: expected a whole number, got \"2.5\": it has a fraction"}},
  {5, "time: {end: 1.0, step: 1.0e-3, retry: {halvings: six}}", {"5:50: time.retry.halvings: expected a whole number, got \"six\""}},
  {2, "name: [ball, sand]", {"2:7: name: expected a text, got a list"}},
  {2, "name:", {"2:6: name: expected a text, got nothing"}},
  {6, "materials: sand\nunused:", {"6:12: materials: expected a mapping of names to entries, got \"sand\"", "7:1: unused: unknown key"}},
  {8, "  steel: rigid", {"8:10: materials.steel: expected a mapping of keys to values, got \"rigid\""}},
  {15, "  pairs: {between: [ball, bed]}", {"15:10: contact.pairs: expected a list, got a mapping"}},
  {15, "  pairs: [ball, bed]", {"15:11: contact.pairs[0]: expected a mapping of keys to values, got \"ball\"", "15:17: contact.pairs[1]: expected a mapping"}},
  {16, "solver: {petsc: ksp_monitor}", {"16:17: solver.petsc: expected a mapping, got \"ksp_monitor\""}},
  {7, "  sand: {model: drucker_prager, density: 1600, youngs_modulus: 3e7, friction_angle_deg: 30, hardening: yes}",
   {"7:104: materials.sand.hardening: expected true or false, got \"yes\"; write true"}},
  {7, "  sand: {model: drucker_prager, density: 1600, youngs_modulus: 3e7, friction_angle_deg: 30, hardening: Off}",
   {"7:104: materials.sand.hardening: expected true or false, got \"Off\"; write false"}},
  {7, "  sand: {model: drucker_prager, density: 1600, youngs_modulus: 3e7, friction_angle_deg: 30, hardening: 2}",
   {"7:104: materials.sand.hardening: expected true or false, got \"2\""}},
  {14, "  friction:", {"14:12: contact.friction: expected a number, got nothing; remove the key to use the default 0.3"}},
  {17, "output: {fields: velocity}", {"17:18: output.fields: expected a list of texts, got \"velocity\""}},
  {17, "output: {folder: [a]}", {"17:18: output.folder: expected the path of a file, got a list"}},
  /* units */
  {5, "time: {end: 5 ms, step: 1.0e-3}", {"5:13: time.end: expected a number in s, got \"5 ms\": write the bare number in SI units (5 ms is 0.005 s)"}},
  {10, "  bed: {kind: mpm, material: sand, shape: {box: {min: [0, 0, 0], max: [1, 1, 0.2]}}, spacing: 2cm}",
   {"10:95: bodies.bed.spacing: expected a number in m, got \"2cm\": write the bare number in SI units (2 cm is 0.02 m)"}},
  {8, "  steel: {model: rigid, density: 7.8 g/cm3}", {"8:34: materials.steel.density: expected a number in kg/m^3, got \"7.8 g/cm3\": write the bare number in SI units (7.8 g/cm3 is 7800 kg/m^3)"}},
  {14, "  friction: 30 %", {"14:13: contact.friction: expected a number, got \"30 %\": write the bare number in SI units (30 % is 0.3)"}},
  {8, "  steel: {model: rigid, density: 7 furlongs}", {"8:34: materials.steel.density: expected a number in kg/m^3, got \"7 furlongs\""}},
  /* ranges */
  {5, "time: {end: 0, step: 1.0e-3}", {"5:13: time.end: 0 is out of range: must be > 0 s"}},
  {5, "time: {end: 1.0, step: -1.0e-3}", {"5:24: time.step: -1.0e-3 is out of range: must be > 0 s"}},
  {1, "stickslip: 2", {"1:12: stickslip: 2 is out of range: must be 1"}},
  {14, "  friction: -0.3", {"14:13: contact.friction: -0.3 is out of range: must be >= 0"}},
  {7, "  sand: {model: drucker_prager, density: 1600, youngs_modulus: 3e7, friction_angle_deg: 90, poisson_ratio: 0.5}",
   {"7:89: materials.sand.friction_angle_deg: 90 is out of range: must be >= 0 and <= 89 deg", "7:108: materials.sand.poisson_ratio: 0.5 is out of range: must be > -1 and < 0.5"}},
  {17, "output: {keep: 0}", {"17:16: output.keep: 0 is out of range: must be >= 1"}},
  {17, "output: {keep: 99999999999999999999}", {"17:16: output.keep: expected a whole number, but \"99999999999999999999\" is too large"}},
  {17, "output: {keep: 1e300}", {"17:16: output.keep: expected a whole number, but \"1e300\" is too large"}},
  {4, "gravity: [0, 0, -1.0e155]", {"4:17: gravity[2]: -1.0e155 is out of range: quantities must be between -1e+30 and 1e+30 m/s^2"}},
  /* not finite */
  {5, "time: {end: .inf, step: 1.0e-3}", {"5:13: time.end: expected a number in s, got \".inf\": it must be finite"}},
  {5, "time: {end: nan, step: 1.0e-3}", {"5:13: time.end: expected a number in s, got \"nan\": it must be finite"}},
  {5, "time: {end: 1e999, step: 1.0e-3}", {"5:13: time.end: expected a number in s, but \"1e999\" is too large"}},
  {4, "gravity: [0, 0, -inf]", {"4:17: gravity[2]: expected a number in m/s^2, got \"-inf\": it must be finite"}},
  /* lists */
  {4, "gravity: [0, -9.81]", {"4:10: gravity: expected a list of 3 numbers in m/s^2, got 2"}},
  {4, "gravity: -9.81", {"4:10: gravity: expected a list of 3 numbers in m/s^2, got \"-9.81\""}},
  {4, "gravity: [0, down, {a: 1}]", {"4:14: gravity[1]: expected a number in m/s^2, got \"down\"", "4:20: gravity[2]: expected a number in m/s^2, got a mapping"}},
  {4, "gravity:\n  - 0\n  - 0\n  - -g", {"7:5: gravity[2]: expected a number in m/s^2, got \"-g\""}},
  {15, "  pairs: [{between: [ball]}]", {"15:21: contact.pairs[0].between: expected a list of 2 texts, got 1"}},
  {15, "  pairs: [{between: [ball, [bed]]}]", {"15:28: contact.pairs[0].between[1]: expected a text, got a list"}},
  {12, "  tank: {kind: static, shape: {union: [{sphere: {center: [0, 0, 0], radius: 1}}]}}", {"12:39: bodies.tank.shape.union: has 1 entry: must be >= 2 and <= 8"}},
  {6, "materials: {}\nunused:", {"6:12: materials: has 0 entries: must be >= 1", "7:1: unused: unknown key"}},
  /* choices */
  {3, "formulation: penality", {"3:14: formulation: expected one of penalty, convex, exact, hybrid or monolith, got \"penality\"; did you mean \"penalty\"?"}},
  {3, "formulation: magic", {"3:14: formulation: expected one of penalty, convex, exact, hybrid or monolith, got \"magic\""}},
  {3, "formulation: [penalty]", {"3:14: formulation: expected one of penalty, convex, exact, hybrid or monolith, got a list"}},
  {17, "output: {fields: [velocity, presure]}", {"17:29: output.fields[1]: expected one of velocity, pressure or density, got \"presure\"; did you mean \"pressure\"?"}},
  {19, "  depth: {quantity: depth, body: ball}", {"19:21: measure.depth.quantity: expected one of penetration, momentum or energy, got \"depth\""}},
  /* variants */
  {8, "  steel: {model: rigd, density: 7800}", {"8:18: materials.steel.model: expected drucker_prager or rigid, got \"rigd\"; did you mean \"rigid\"?"}},
  {8, "  steel: {model: rigd, densty: 7800}", {"8:18: materials.steel.model", "8:24: materials.steel.densty: unknown key; did you mean \"density\"?"}},
  {8, "  steel: {model: chocolate, density: 7800}", {"8:18: materials.steel.model: expected drucker_prager or rigid, got \"chocolate\""}},
  {8, "  steel: {model: {a: 1}}", {"8:18: materials.steel.model: expected drucker_prager or rigid, got a mapping"}},
  {16, "solver: {linear: {method: cg, restart: 20}}", {"16:31: solver.linear.restart: method \"cg\" has no such key; method \"gmres\" has"}},
  {16, "solver: {linear: {restart: 20}}", {"16:18: solver.linear: missing required key \"method\" (gmres or cg)"}},
  {16, "solver: {linear: {method: gmres, restart: 0}}", {"16:43: solver.linear.restart: 0 is out of range: must be >= 1 and <= 1000"}},
  /* exactly one of */
  {12, "  tank: {kind: static, shape: {}}", {"12:31: bodies.tank.shape: exactly one of sphere, box, container, mesh, union or difference must be given"}},
  {12, "  tank: {kind: static, shape: {sphere: {center: [0, 0, 0], radius: 1}, box: {min: [0, 0, 0], max: [1, 1, 1]}}}",
   {"12:72: bodies.tank.shape: only one of sphere, box, container, mesh, union or difference may be given, but both \"box\" and \"sphere\" are given"}},
  {12, "  tank: {kind: static, shape: {shpere: {center: [0, 0, 0], radius: 1}}}", {"12:32: bodies.tank.shape.shpere: unknown key; did you mean \"sphere\"?"}},
  {12, "  tank: {kind: static, shape: sphere}", {"12:31: bodies.tank.shape: expected a mapping of keys to values, got \"sphere\""}},
  {12, "  tank: {kind: static, shape: {difference: {from: {box: {min: [0, 0, 0], max: [1, 1, 1]}}}}}",
   {"12:44: bodies.tank.shape.difference: missing required key \"minus\""}},
  /* files */
  {12, "  tank: {kind: static, shape: {mesh: no/such.obj}}", {"12:38: bodies.tank.shape.mesh: cannot read the file /"}},
  {12, "  tank: {kind: static, shape: {mesh: $NO_SUCH_VARIABLE/a.obj}}",
   {"12:38: bodies.tank.shape.mesh: \"$NO_SUCH_VARIABLE/a.obj\": the environment variable NO_SUCH_VARIABLE is not set"}},
  {12, "  tank: {kind: static, shape: {mesh: \"a${b\"}}", {"12:38: bodies.tank.shape.mesh: \"a${b\": expected the name of a variable"}},
  {17, "output: {folder: ~nobody/x}", {"17:18: output.folder: \"~nobody/x\": only \"~/\" is understood"}},
  {17, "output: {folder: \"\"}", {"17:18: output.folder: \"\": the path is empty"}},
  /* the whole document */
  {0, "", {"1:1: the file contains no keys"}},
  {0, "hello", {"1:1: expected a mapping of keys to values, got \"hello\""}},
  {0, "[1, 2]", {"1:1: expected a mapping of keys to values, got a list"}},
  {2, "name: a\nname: b", {"3:1: duplicate key \"name\"; the first is in line 2"}},
  {8, "  steel: *iron", {"8:10: the anchor \"&iron\" is not defined", "8:10: materials.steel: missing required key \"model\""}},
  {12, "  tank: &t {kind: static, shape: {union: [*t, *t]}}",
   {"12:43: the alias \"*t\" is inside its own anchor", "12:43: bodies.tank.shape.union[0]: exactly one of", "12:47: the alias", "12:47: bodies.tank.shape.union[1]"}},
  {19, "  depth: !measure {quantity: energy, body: ball}", {"19:10: the tag \"!measure\" is not supported"}},
  {5, "\ttime: {end: 1.0, step: 1.0e-3}", {"5:1: YAML error: "}},
};
/* clang-format on */
enum { N_MALFORMED = sizeof malformed_jobs / sizeof *malformed_jobs };
#endif
