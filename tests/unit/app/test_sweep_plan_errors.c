/* Errors in sweep files: each one is reported with its place and a remedy. The lines of each test follow a head of three lines. */
#include "sweep_fixture.h"

typedef struct {
  const char *text, *place, *says; /* place: "4:7" or ""; says: part of the diagnostic */
} mistake;

/* clang-format off */
static const mistake mistakes[] = {
  /* the file */
  {"vry: {contact.friction: [1]}\n", "4:1", "did you mean \"vary\""},
  {"vary: 3\n", "4:7", "mapping"},
  {"", "1:1", "missing: give \"vary\" or \"repeat\""},
  {"vary: {contact.friction: [1, 2]}\nname: t\n", "5:1", "duplicate key"},
  {"vary: {contact.friction: [1, 2]}\njob: {stickslip: 1}\n", "3:7", "are both given"},
  {"vary: {contact.friction: [1, 2]}\nresources: {cores: -1}\n", "5:20", ">= 0"},
  {"vary: {contact.friction: [1, 2]}\nresources: {core: 1}\n", "5:13", "did you mean \"cores\""},
  {"vary: {contact.friction: [1, 2]}\nwhere: \"1\"\n", "5:8", "list of texts"},
  {"vary: {contact.friction: [1, 2]}\nresources: {memory: 2 GB}\n", "5:21", "such as 2G"},
  {"vary: {contact.friction: [1, 2]}\nresources: {time: 1 hour}\n", "5:19", "hours:minutes:seconds"},
  {"vary: {contact.friction: [1, 2]}\nresources: {partition: \"short; ls\"}\n", "5:24", "expected a name of letters"},
  /* vary */
  {"vary: {contact.friction: []}\n", "4:26", "has no values"},
  {"vary: {contact.friction: 0.1}\n", "4:26", "constant settings belong under \"set\""},
  {"vary: {contact.friction: {}}\n", "4:26", "exactly one of"},
  {"vary: {contact.friction: {rnage: {from: 1, to: 2, count: 2}}}\n", "4:27", "did you mean \"range\""},
  {"vary: {contact.friction: {range: {from: 1, to: 2}}}\n", "4:34", "either count or step"},
  {"vary: {contact.friction: {range: {from: 1, to: 2, count: 2, step: 1}}}\n", "4:34", "either count or step"},
  {"vary: {contact.friction: {range: {from: 1, to: 2, count: 1}}}\n", "4:58", ">= 2"},
  {"vary: {contact.friction: {range: {from: 1, to: 1, count: 2}}}\n", "4:48", "is equal to range.from, 1; give two different limits"},
  {"vary: {contact.friction: {range: {from: 1, to: 2, step: -1}}}\n", "4:57", "steps of -1 from 1 never reach 2"},
  {"vary: {contact.friction: {range: {from: 1, to: 2, step: 0}}}\n", "4:57", "never reach"},
  {"vary: {contact.friction: {range: {from: 0, to: 1, step: 1e-9}}}\n", "4:57", "at most 100000"},
  {"vary: {contact.friction: {range: {from: one, to: 2, count: 2}}}\n", "4:41", "expected a number"},
  {"vary: {contact.stiffness: {log: {from: 0, to: 1, count: 2}}}\n", "4:40", "> 0"},
  {"vary: {contact.stiffness: {log: {from: 1, to: 1, count: 2}}}\n", "4:47", "is equal to log.from, 1; give two different limits"},
  {"vary: {z: {zip: {contact.friction: [1, 2], contact.stiffness: [1, 2, 3]}}}\n", "4:63", "has 3 entries, but contact.friction has 2"},
  {"vary: {z: {zip: {contact.friction: 1}}}\n", "4:36", "expected a list"},
  {"vary: {z: {zip: {}}}\n", "4:17", "expected a mapping of names"},
  {"vary: {z: {latin_hypercube: {count: 3, of: {contact.friction: [1]}}}}\n", "4:63", "two numbers"},
  {"vary: {z: {latin_hypercube: {count: 3, of: {contact.friction: [2, 1]}}}}\n", "4:63", "less than to"},
  {"vary: {z: {latin_hypercube: {count: 3, of: {contact.friction: {from: 0, to: 1, log: true}}}}}\n", "4:63", "from > 0"},
  {"vary: {z: {latin_hypercube: {of: {contact.friction: [0, 1]}}}}\n", "4:29", "missing required key \"count\""},
  {"vary: {z: {sobol: {count: 3, of: {}}}}\n", "4:34", "expected a mapping of names"},
  {"vary: {z: {sobol: {count: 0, of: {contact.friction: [0, 1]}}}}\n", "4:27", ">= 1"},
  {"vary: {contact.friction: [0.1, 0.2, 1e-1]}\n", "4:37", "entry 3 is equal to entry 1"},
  {"vary: {z: {zip: {contact.friction: [1, 2, 1], contact.stiffness: [5, 6, 5]}}}\n", "4:43", "entry 3 is equal to entry 1"},
  {"vary: {contact.friction: [1, 2], z: {zip: {contact.friction: [1, 2]}}}\n", "4:44", "duplicate parameter; first defined in line 4"},
  /* how many */
  {"vary: {contact.friction: {range: {from: 0, to: 1, count: 400}}, contact.stiffness: {range: {from: 1, to: 2, count: 400}}}\n", "4:7", "more than 100000 cases"},
  {"vary: {contact.friction: {range: {from: 0, to: 1, count: 9000}}, contact.stiffness: {range: {from: 1, to: 2, count: 9000}}}\n", "4:7", "combinations"},
  {"vary: {contact.friction: [1, 2]}\nwhere: [contact.friction > 2]\n", "5:8", "omits all 2 combinations"},
  /* names */
  {"vary: {2nd: [1]}\n", "4:8", "expected a name"},
  {"vary: {number: [1]}\nset: {contact.friction: number}\n", "4:8", "this name is reserved"},
  {"vary: {mu: [1]}\n", "4:8", "has no effect"},
  {"vary: {gravty: [[0, 0, 1]]}\n", "4:8", "did you mean the job key \"gravity\""},
  {"vary: {mu: [1]}\nlet: {nu: mu*2}\n", "4:8", "has no effect"},
  {"vary: {contact.friction: [1]}\nrepeat: {count: 3}\n", "5:9", "give the key of a seed"},
  {"vary: {contact.friction: [1]}\nrepeat: {count: 3, seed: seed}\n", "5:26", "expected a job key"},
  {"vary: {contact.friction: [1]}\nrepeat: {count: 0, seed: bodies.ball.seed}\n", "5:17", ">= 1"},
  /* expressions */
  {"vary: {mu: [1]}\nlet: {a: mux+1}\nset: {contact.friction: a}\n", "5:10", "unknown parameter \"mux\"; did you mean \"mu\""},
  {"vary: {mu: [1]}\nlet: {a: \"1 + mux\"}\nset: {contact.friction: a*mu}\n", "5:15", "\"mux\""},
  {"vary: {mu: [1]}\nlet: {a: (mu}\nset: {contact.friction: a}\n", "5:13", "expected )"},
  {"vary: {mu: [1]}\nlet: {a: [mu]}\nset: {contact.friction: mu}\n", "5:10", "expected an expression"},
  {"vary: {mu: [1]}\nlet: {a: c+mu, b: a, c: b}\nset: {contact.friction: a}\n", "5:7", "circular definition: a -> c -> b -> a"},
  {"vary: {mu: [1]}\nlet: {a: a}\nset: {contact.friction: mu}\n", "5:7", "circular definition: a -> a"},
  {"vary: {mu: [1]}\nlet: {mu: 2}\nset: {contact.friction: mu}\n", "5:7", "duplicate parameter"},
  {"vary: {mu: [1]}\nlet: {contact.stiffness: mu}\nset: {contact.friction: mu}\n", "5:7", "belongs under \"set\""},
  {"vary: {mu: [1, -1]}\nlet: {a: log(mu)}\nset: {contact.friction: a}\n", "5:7", "not a number for mu=-1"},
  {"vary: {mu: [1, 0]}\nlet: {a: 1/mu}\nset: {contact.friction: a}\n", "5:7", "infinite for mu=0"},
  {"vary: {mu: [1]}\nwhere: [\"mu <\"]\nset: {contact.friction: mu}\n", "5:14", "unexpected end"},
  {"vary: {mu: [-1]}\nwhere: [\"sqrt(mu)\"]\nset: {contact.friction: mu}\n", "5:9", "not a number for mu=-1"},
  {"vary: {m: [steel, ice]}\nwhere: [m > 1]\nset: {bodies.ball.material: m}\n", "5:9", "m is not a number in every case"},
  /* set */
  {"vary: {mu: [1]}\nset: {contact.friction: mu*x}\n", "5:28", "unknown parameter \"x\""},
  {"vary: {mu: [1]}\nset: {\"solver.petsc.a=b\": mu}\n", "5:7", "expected a job key"},
  {"vary: {mu: [1]}\nset: {friction: mu}\n", "5:7", "expected a job key"},
  {"vary: {slope: [1]}\nset: {contact.friction: slope, description: \"of {slop}\"}\n", "5:45", "unknown parameter \"slop\" in this text; did you mean \"slope\""},
  {"vary: {contact.friction: [1]}\nset: {contact.friction: 2}\n", "5:7", "set twice, first by contact.friction in line 4"},
  {"vary: {contact.friction: [1]}\nset: {contact: {friction: 2}}\n", "5:7", "set twice"},
  {"vary: {contact.friction: [1]}\nrepeat: {count: 2, seed: contact.friction}\n", "5:26", "set twice"},
  /* the jobs of the cases */
  {"vary: {contact.frction: [1, 2]}\n", "4:8", "did you mean \"friction\"? (in every case)"},
  {"vary: {bodies.bal.material: [steel]}\n", "4:8", "missing required key"},
  {"vary: {contact.friction: [1, -2, -3]}\n", "4:30", "out of range: must be >= 0 (case 2: contact.friction=-2)"},
  {"vary: {contact.friction: [1, -2], contact.stiffness: [1, 2]}\n", "4:30", "(2 cases, the first is case 3: contact.friction=-2 contact.stiffness=1)"},
  {"vary: {contact.friction: [1, two]}\n", "4:30", "expected a number, got \"two\" (case 2"},
  {"vary: {contact.friction: [1, \"2\"]}\n", "4:30", "remove the quotes"},
  {"vary: {output.keep: [1, 1.5]}\n", "4:25", "has a fraction"},
  {"vary: {mu: [1, 2]}\nset: {output.keep: mu/2}\n", "5:20", "has a fraction (case 1: mu=1)"},
  {"vary: {bodies.ball.kind: [rigid, rgid]}\n", "4:34", "did you mean \"rigid\""},
  {"vary:\n  gravity[4]: [1]\n", "5:3", "gravity[4]: the list has 0 entries"},
  {"vary: {name.x: [1]}\n", "4:8", "has no keys"},
  {"vary: {time.frame: [0.0015, 0.001]}\n", "4:21", "multiple of time.step"},
};
/* clang-format on */

static void each_error_is_reported(void **state)
{
  (void)state;
  int n_missed = 0;
  for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; ++i) {
    const mistake *m = &mistakes[i];
    char           place[TEMPORARY_ROOM + 64];
    diagnostics   *d;
    bool           is_said = false;
    assert_ok(diagnostics_create(&d));
    sweep_plan *plan = sweep_read(m->text, d);
    snprintf(place, sizeof place, "%s/s.yaml:%s:", sweep_folder, m->place);
    for (int k = 0; k < diagnostics_count(d); ++k)
      is_said = is_said || (strstr(diagnostics_text(d, k), m->says) && !strncmp(diagnostics_text(d, k), place, strlen(place)));
    if (!is_said)
      print_message("%sexpected \"%s ... %s\"; got %d: %s\n", m->text, place, m->says, diagnostics_count(d),
                    diagnostics_count(d) ? diagnostics_text(d, 0) : "");
    n_missed += !is_said || plan;
    sweep_plan_destroy(&plan);
    diagnostics_destroy(&d);
  }
  assert_int_equal(n_missed, 0);
}

/* One name more than allowed, of each kind. */
static void too_many_names(void **state)
{
  (void)state;
  static const char *const head[] = {"vary:\n", "vary: {a: [1]}\nlet:\n", "vary: {a: [1]}\nset:\n"}, *const line[] = {
                                                                                                         "  p%d: [1]\n", "  p%d: a\n",
                                                                                                         "  solver.petsc.p%d: a\n"};
  static const char *const says[] = {"more than 200 parameters", "more than 200 parameters", "more than 200 keys"};
  for (int kind = 0; kind < 3; ++kind) {
    static char  text[8192];
    diagnostics *d;
    bool         is_said = false;
    size_t       n       = (size_t)snprintf(text, sizeof text, "%s", head[kind]);
    for (int i = 0; i <= SWEEP_MAX_NAMES; ++i) n += (size_t)snprintf(text + n, sizeof text - n, line[kind], i);
    assert_ok(diagnostics_create(&d));
    assert_null(sweep_read(text, d));
    for (int k = 0; k < diagnostics_count(d); ++k) is_said = is_said || strstr(diagnostics_text(d, k), says[kind]);
    assert_true(is_said);
    diagnostics_destroy(&d);
  }
}

/* All errors are reported at once. */
static void all_at_once(void **state)
{
  (void)state;
  diagnostics *d;
  assert_ok(diagnostics_create(&d));
  assert_null(
      sweep_read("vary: {a: [], b: {range: {from: 1, to: 2}}, 3c: [1]}\nlet: {x: y}\nwhere: [\"(\"]\nset: {friction: 1}\nfoo: 1\n", d));
  assert_int_equal(diagnostics_count(d), 7);
  diagnostics_destroy(&d);
}

/* Randomly damaged files: no crash, no leak, and each accepted plan has cases. */
static void random_damage(void **state)
{
  (void)state;
  static const char *const pieces[] = {
      "a",     "contact.friction", ": ",  "{",   "}",   "[", "]", "*a", "\n", "zip: ", "range: ", "-1", "count: 3", "{a}", "\"", "^", "?",
      "let: ", "!include s.yaml ", "&x ", "*x ", "<<: "};
  static const char good[] = "vary: {a: [1, 2], z: {zip: {b: [x, y], c: [1, 2]}}, r: {range: {from: 1, to: 2, count: 3}}, l: {sobol: "
                             "{count: 4, of: {u: [0, 1]}}}}\n"
                             "let: {d: a*2 + r, e: \"d ? c : -1\"}\nwhere: [\"d > 2\"]\nset: {contact.friction: d, description: \"{b} "
                             "{u}\", output.keep: a, bodies.ball.velocity: [c, u, e]}\n"
                             "repeat: {count: 2, first: 3, seed: output.history_every}\n";
  uint64_t          seed   = 1;
  int               n_good = 0;
  for (int i = 0; i < 400; ++i) {
    char text[1200] = "", damaged[2 * sizeof text];
    strcpy(text, good);
    for (int k = 0; k < i % 5; ++k) {
      seed               = seed * 6364136223846793005u + 1442695040888963407u;
      const size_t at    = (seed >> 33) % strlen(text);
      const char  *piece = pieces[(seed >> 20) % (sizeof pieces / sizeof *pieces)];
      snprintf(damaged, sizeof damaged, "%.*s%s%s", (int)at, text, piece, text + at + (seed >> 60) % 3 * (at + 2 < strlen(text)));
      memcpy(text, damaged, sizeof text);
      text[sizeof text - 1] = 0;
    }
    diagnostics *d;
    assert_ok(diagnostics_create(&d));
    sweep_plan *plan = sweep_read(text, d);
    assert_true((plan != NULL) == (diagnostics_count(d) == 0));
    if (plan) assert_true(plan->n_cases > 0);
    n_good += plan != NULL;
    sweep_plan_destroy(&plan);
    diagnostics_destroy(&d);
  }
  assert_true(n_good >= 80 && n_good < 320); /* one fifth is not damaged */
}

static void missing_base_job(void **state)
{
  (void)state;
  char         path[TEMPORARY_ROOM + 64];
  sweep_plan  *plan;
  diagnostics *d;
  assert_ok(diagnostics_create(&d));
  sweep_write("t.yaml", "sweep: 1\nname: s\nbase: nowhere.yaml\nvary: {contact.friction: [1, 2]}\n");
  snprintf(path, sizeof path, "%s/t.yaml", sweep_folder);
  assert_ok(sweep_plan_read(path, 0, NULL, d, &plan));
  assert_null(plan);
  assert_int_equal(diagnostics_count(d), 1);
  assert_non_null(strstr(diagnostics_text(d, 0), "t.yaml:3:7: base: cannot read the job"));
  diagnostics_destroy(&d);
}

/* A --set that the sweep would override, and one with an unknown key. */
static void overrides(void **state)
{
  (void)state;
  static const char *const set[] = {"contact.friction=3", "time.stpe=1"}, *const says[] = {"would have no effect", "did you mean \"step\""};
  char path[TEMPORARY_ROOM + 64];
  sweep_write("t.yaml", "sweep: 1\nname: s\nbase: base.yaml\nvary: {contact.friction: [1, 2]}\n");
  snprintf(path, sizeof path, "%s/t.yaml", sweep_folder);
  for (int i = 0; i < 2; ++i) {
    sweep_plan  *plan;
    diagnostics *d;
    assert_ok(diagnostics_create(&d));
    assert_ok(sweep_plan_read(path, 1, &set[i], d, &plan));
    assert_null(plan);
    assert_non_null(strstr(diagnostics_text(d, 0), says[i]));
    diagnostics_destroy(&d);
  }
}

TEST_MAIN(cmocka_unit_test_setup_teardown(each_error_is_reported, sweep_setup, sweep_teardown),
          cmocka_unit_test_setup_teardown(all_at_once, sweep_setup, sweep_teardown),
          cmocka_unit_test_setup_teardown(too_many_names, sweep_setup, sweep_teardown),
          cmocka_unit_test_setup_teardown(missing_base_job, sweep_setup, sweep_teardown),
          cmocka_unit_test_setup_teardown(random_damage, sweep_setup, sweep_teardown),
          cmocka_unit_test_setup_teardown(overrides, sweep_setup, sweep_teardown))
