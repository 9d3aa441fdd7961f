#include "document_fixture.h"
#include <string.h>
#include <unistd.h>
#include "core/key_table.h"
#include "core/key_text.h"
#include "io/yaml.h"
#include "job_table.h"
#include "malformed_jobs.h"
#include "test.h"
#include <stdio.h>

static void good_job(char *out, int line, const char *text)
{
  *out = 0;
  for (int i = 0; i < JOB_LINES; ++i) {
    const char *use = i + 1 == line ? text : job_lines[i];
    if (use) strcat(strcat(out, use), "\n");
  }
}
static const job_spec *read_job(const char *text)
{
  const void *job;
  assert_ok(yaml_read_text("job.yaml", text, strlen(text), doc, d));
  assert_ok(key_table_read(&job_table, doc, document_root(doc), "", d, &job));
  diagnostics_sort(d);
  return job;
}
static void assert_clean(void)
{
  if (diagnostics_count(d)) fail_msg("unexpected error: %s", diagnostics_text(d, 0));
}

static void test_tables_are_sound(void **state)
{
  (void)state;
  begin();
  assert_ok(key_table_validate(&job_table, d));
  assert_clean();
  end();
}

static void test_unsound_tables_are_found(void **state)
{
  static const key_spec    broken[] = {{.name = "a", .type = KEY_REAL, .offset = 0, .fallback = "-1", .min = 0, .max = 1, .help = "x"},
                                       {.name = "a", .type = KEY_ENUM, .offset = 0, .help = "x"},
                                       {.name = "b", .type = KEY_TABLE, .offset = 0, .help = "x"},
                                       {.name = "c", .type = KEY_REALS, .count = 3, .offset = 0, .help = "x."},
                                       {.name = "e", .type = KEY_REALS, .count = 2, .offset = 0, .fallback = "[1", .help = "x"},
                                       {0}};
  static const key_table   table    = {.name = "broken", .help = "x", .size = 16, .keys = broken};
  static const char *const says[]   = {"-1 is out of range", "declared twice", "has no choices", "has a table although its type has none",
                                       "outside the struct", "full stop",      "does not parse"};
  (void)state;
  begin();
  assert_ok(key_table_validate(&table, d));
  error_clear();
  for (size_t s = 0; s < sizeof says / sizeof *says; ++s) {
    bool is_said = false;
    for (int i = 0; i < diagnostics_count(d); ++i) is_said |= strstr(diagnostics_text(d, i), says[s]) != NULL;
    if (!is_said) fail_msg("did not say %s", says[s]);
  }
  end();
}

static void test_every_type_reaches_its_member(void **state)
{
  char text[4000];
  (void)state;
  begin();
  good_job(text, 0, NULL);
  const job_spec *job = read_job(text);
  assert_clean();
  assert_int_equal(job->stickslip, 1);
  assert_string_equal(job->name, "ball-on-sand");
  assert_int_equal(job->formulation, 0);
  assert_close(job->gravity[2], -9.81, 0);
  assert_close(job->time->step, 1e-3, 0);
  assert_int_equal(job->time->retry->halvings, 6);

  assert_int_equal(job->materials.n, 2);
  assert_string_equal(job->materials.item[0].name, "sand");
  assert_int_equal(job->materials.item[0].variant, 0);
  assert_int_equal(job->materials.item[1].variant, 1);
  assert_int_equal(job->materials.item[1].node->mark.line, 8);
  const sand_spec *sand = job->materials.item[0].value;
  assert_close(sand->youngs_modulus, 3.537e7, 0);
  assert_close(sand->poisson_ratio, 0.3, 0); /* default */
  assert_false(sand->has_hardening);

  const mpm_spec *bed = job->bodies.item[0].value;
  assert_string_equal(bed->material, "sand");
  assert_close(bed->body.shape->box->max[2], 0.2, 0); /* the common part begins the variant's struct */
  assert_null(bed->body.shape->sphere);
  assert_int_equal(bed->particles_per_cell, 8);
  assert_close(bed->velocity[2], 0, 0);
  const rigid_spec *ball = job->bodies.item[1].value;
  assert_close(ball->velocity[2], -1, 0);
  assert_true(isnan(ball->angular_velocity[1])); /* optional and absent */
  assert_int_equal(job->bodies.item[2].variant, 2);

  assert_int_equal(job->contact->pairs.n, 1);
  const pair_spec *pair = job->contact->pairs.item[0].value;
  assert_null(job->contact->pairs.item[0].name);
  assert_string_equal(pair->between.item[1].value, "bed");
  assert_int_equal(job->solver->linear.variant, 0);
  assert_int_equal(((const gmres_spec *)job->solver->linear.value)->restart, 20);
  assert_string_equal(job->solver->petsc->key[0], "ksp_monitor");
  assert_int_equal(job->output->fields.n, 2);
  assert_null(job->output->folder);
  const measure_spec *depth = job->measure.item[0].value;
  assert_string_equal(depth->into, "bed");
  end();
}

static void test_defaults_fill_what_is_absent(void **state)
{
  (void)state;
  begin();
  const job_spec *job =
      read_job("{stickslip: 1, name: 3, formulation: exact, time: {end: 1e0, step: +.5}, materials: {m: {model: rigid, density: 1}},\n"
               "bodies: {b: {kind: static, shape: {union: [{sphere: {center: [0, 0, 0], radius: 1.}}, {difference:\n"
               "{from: {container: {min: [0, 0, 0], max: [1, 1, 1]}}, minus: {sphere: {center: [0, 0, 0], radius: 1}}}}]}}},\n"
               "output: {keep: 1e6}, contact: , measure: {a: {quantity: energy, body: b}}}");
  assert_clean();
  assert_string_equal(job->name, "3");
  assert_int_equal(job->formulation, 2);
  assert_close(job->gravity[2], -9.81, 0);
  assert_close(job->time->step, 0.5, 0);
  assert_true(isnan(job->time->frame));
  assert_int_equal(job->time->retry->halvings, 6);
  assert_close(job->contact->friction, 0.3, 0);
  assert_int_equal(job->contact->pairs.n, 0);
  assert_int_equal(((const gmres_spec *)job->solver->linear.value)->restart, 20);
  assert_null(job->solver->petsc);
  assert_int_equal(job->output->keep, 1000000);
  assert_string_equal(job->output->fields.item[0].value, "velocity");
  assert_null(((const measure_spec *)job->measure.item[0].value)->into);
  const body_spec *b = job->bodies.item[0].value;
  assert_int_equal(b->shape->unite.n, 2);
  assert_close(((const shape_spec *)b->shape->unite.item[1].value)->difference->minus->sphere->radius, 1, 0);
  end();
}

/* After any error, pointers that are never NULL are not NULL. */
static void assert_walkable(const job_spec *job)
{
  assert_non_null(job);
  assert_non_null(job->name);
  assert_non_null(job->time);
  assert_non_null(job->time->retry);
  assert_in_range(job->formulation, 0, 4);
  for (int i = 0; i < job->materials.n; ++i) assert_non_null(job->materials.item[i].value);
  for (int i = 0; i < job->bodies.n; ++i) {
    const body_spec *b = job->bodies.item[i].value;
    assert_non_null(b->shape);
    if (b->shape->difference) assert_non_null(b->shape->difference->minus);
  }
  for (int i = 0; i < job->contact->pairs.n; ++i) {
    const pair_spec *p = job->contact->pairs.item[i].value;
    assert_true(p->between.n == 0 || p->between.n >= 2);
    for (int k = 0; k < p->between.n; ++k) assert_non_null(p->between.item[k].value);
  }
  assert_non_null(job->solver->linear.value);
  for (int i = 0; i < job->output->fields.n; ++i) assert_non_null(job->output->fields.item[i].value);
  for (int i = 0; i < job->measure.n; ++i) assert_non_null(((const measure_spec *)job->measure.item[i].value)->body);
}

static void test_malformed_jobs_are_rejected_with_their_position(void **state)
{
  char text[6000];
  int  n_bad = 0;
  (void)state;
  assert_true(N_MALFORMED >= 60);
  for (int i = 0; i < N_MALFORMED; ++i) {
    const malformed_job *m     = &malformed_jobs[i];
    const char          *shown = m->text ? m->text : "(line left out)";
    int                  n     = 0;
    begin();
    if (m->line) good_job(text, m->line, m->text);
    else strcpy(text, m->text);
    const job_spec *job = read_job(text);
    assert_walkable(job);
    for (; n < 4 && m->says[n]; ++n) {
      char        place[32] = "";
      const char *line = n < diagnostics_count(d) ? diagnostics_text(d, n) : "nothing", *rest = strstr(m->says[n], ": ");
      snprintf(place, sizeof place, "job.yaml:%.*s: ", (int)(rest - m->says[n]), m->says[n]);
      if (strncmp(line, place, strlen(place)) || strncmp(line + strlen(place), rest + 2, strlen(rest + 2)))
        ++n_bad, print_error("case %d, %s:\n  message  \"%s\"\n  expected \"%s\"\n", i, shown, line, m->says[n]);
    }
    if (n < diagnostics_count(d)) ++n_bad, print_error("case %d, %s: additional message \"%s\"\n", i, shown, diagnostics_text(d, n));
    end();
  }
  assert_int_equal(n_bad, 0);
}

static void test_paths(void **state)
{
  char cwd[2000], expected[2100];
  (void)state;
  assert_non_null(getcwd(cwd, sizeof cwd));
  static const struct {
    const char *file, *text, *is, *resolved;
  } cases[] = {
      {"/a/b/job.yaml", "out", "/a/b/out", "/a/b/out"},
      {"/a/b/job.yaml", "../out", "/a/b/../out", "/a/b/../out"},
      {"/a/b/job.yaml", "/out", "/out", "/out"},
      {"/a/b/job.yaml", "$STICKSLIP_X/out", "/x/out", "/x/out"},
      {"/a/b/job.yaml", "p${STICKSLIP_Y}q", "/a/b/pyq", "/a/b/pyq"},
      {"/a/b/job.yaml", "~/out", "/home/me/out", "/home/me/out"},
      {"/a/b/job.yaml", "c$$d", "/a/b/c$d", "/a/b/c$$d"},
      {"job.yaml", "out", "<cwd>/out", "<cwd>/out"},
      {"jobs/job.yaml", "out", "<cwd>/jobs/out", "<cwd>/jobs/out"},
      {"/a/b/job.yaml", "~", "/home/me", "/home/me"},
  };
  setenv("STICKSLIP_X", "/x", 1);
  setenv("STICKSLIP_Y", "y", 1);
  setenv("HOME", "/home/me", 1);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    char           text[200];
    const void    *out;
    document_node *resolved;
    begin();
    snprintf(text, sizeof text, "folder: \"%s\"\n", cases[i].text);
    assert_ok(yaml_read_text(cases[i].file, text, strlen(text), doc, d));
    assert_ok(key_table_read(&output_table, doc, document_root(doc), "", d, &out));
    assert_clean();
    for (int k = 0; k < 2; ++k) {
      const char *want = k ? cases[i].resolved : cases[i].is;
      snprintf(expected, sizeof expected, "%s%s", *want == '<' ? cwd : "", *want == '<' ? want + 5 : want);
      if (k) assert_ok(key_table_resolve(&output_table, doc, document_root(doc), &resolved));
      assert_string_equal(k ? document_find(resolved, "folder")->text : ((const output_spec *)out)->folder, expected);
    }
    end();
  }
}

/* Paths become absolute at any depth, also behind a one-of and in lists; nothing else changes, and no default appears. */
static void test_paths_alone(void **state)
{
  (void)state;
  static const char *const text = "materials: {m: {density: 1.50e3}}\nbodies:\n  a: {kind: static, shape: {mesh: x.obj}}\n"
                                  "  b: {kind: static, shape: {union: [{mesh: ../y.obj}, {sphere: {radius: 1}}]}}\n  c: {kind: no_such, "
                                  "shape: {mesh: x.obj}}\nunknown: [x.obj]\n";
  char                    *out;
  begin();
  assert_ok(yaml_read_text("/a/b/job.yaml", text, strlen(text), doc, d));
  assert_ok(key_table_absolute_paths(&job_table, doc, document_root(doc)));
  assert_ok(document_write_flow(document_root(doc), &out));
  assert_string_equal(out, "{materials: {m: {density: 1.50e3}}, bodies: {a: {kind: static, shape: {mesh: /a/b/x.obj}}, "
                           "b: {kind: static, shape: {union: [{mesh: /a/b/../y.obj}, {sphere: {radius: 1}}]}}, c: {kind: no_such, shape: "
                           "{mesh: /a/b/x.obj}}}, unknown: [x.obj]}");
  memory_free(&out);
  end();
}

static void test_resolved_job_is_complete_and_equivalent(void **state)
{
  char           text[4000], *once, *twice;
  document_node *resolved, *again;
  (void)state;
  begin();
  good_job(text, 0, NULL);
  read_job(text);
  assert_ok(key_table_resolve(&job_table, doc, document_root(doc), &resolved));
  assert_ok(document_write(resolved, &once));
  /* omitted keys are added in the order of the table */
  assert_string_equal(document_find(document_find(document_find(resolved, "materials"), "sand"), "poisson_ratio")->text, "0.3");
  assert_string_equal(document_find(document_find(document_find(resolved, "bodies"), "bed"), "particles_per_cell")->text, "8");
  assert_string_equal(document_find(document_find(resolved, "bodies"), "bed")->key[0], "kind");
  assert_string_equal(document_find(document_find(resolved, "solver"), "petsc")->key[0], "ksp_monitor");
  assert_null(document_find(document_find(document_find(resolved, "bodies"), "ball"), "angular_velocity"));
  /* reading it gives no error and the same text again */
  const job_spec *job = read_job(once);
  assert_clean();
  assert_close(((const sand_spec *)job->materials.item[0].value)->poisson_ratio, 0.3, 0);
  assert_ok(key_table_resolve(&job_table, doc, document_root(doc), &again));
  assert_ok(document_write(again, &twice));
  assert_string_equal(once, twice);
  memory_free(&once);
  memory_free(&twice);
  end();
}

/* A bare value is read as its shorthand key, alone or in a list, and resolved in full. */
static void test_shorthand(void **state)
{
  static const char *const forms[] = {"x < 1", "{when: x < 1}", "[x < 1]", "[{when: x < 1, for: 0}]"};
  char                     text[4000];
  (void)state;
  for (size_t i = 0; i < sizeof forms / sizeof *forms; ++i) {
    document_node *resolved;
    begin();
    good_job(text, 0, NULL);
    strcat(strcat(strcat(text, "until: "), forms[i]), "\n");
    const job_spec *job = read_job(text);
    assert_clean();
    assert_int_equal(job->until.n, 1);
    assert_string_equal(((const until_spec *)job->until.item[0].value)->when, "x < 1");
    assert_ok(key_table_resolve(&job_table, doc, document_root(doc), &resolved));
    const document_node *list = document_find(resolved, "until");
    assert_int_equal(list->kind, DOCUMENT_SEQUENCE);
    assert_int_equal(list->n, 1);
    assert_string_equal(document_find(list->value[0], "when")->text, "x < 1");
    assert_string_equal(document_find(list->value[0], "for")->text, "0");
    end();
  }
  begin();
  good_job(text, 0, NULL);
  strcat(text, "until: [a, b, {for: 1}, [c]]\n");
  (void)read_job(text);
  assert_int_equal(diagnostics_count(d), 2);
  assert_non_null(strstr(diagnostics_text(d, 0), "until[2]: missing required key \"when\""));
  assert_non_null(strstr(diagnostics_text(d, 1), "until[3]: expected a mapping"));
  end();
}

/* The same keys in the same order, the same words, the same numbers in whatever digits. */
static void assert_says_the_same(const document_node *a, const document_node *b)
{
  assert_int_equal(a->kind, b->kind);
  assert_int_equal(a->n, b->n);
  for (int i = 0; i < a->n; ++i) {
    if (a->kind == DOCUMENT_MAPPING) assert_string_equal(a->key[i], b->key[i]);
    assert_says_the_same(a->value[i], b->value[i]);
  }
  double x, y;
  if (a->kind == DOCUMENT_SCALAR && key_text_real(a->text, &x) == KEY_TEXT_OK && key_text_real(b->text, &y) == KEY_TEXT_OK)
    assert_close(x, y, 0);
  else if (a->kind == DOCUMENT_SCALAR) assert_string_equal(a->text, b->text);
}

static void test_written_struct_is_the_resolved_job(void **state)
{
  char           text[4000];
  document_node *resolved, *written;
  (void)state;
  begin();
  good_job(text, 17, "output: {checkpoint: 0.1, keep: 3, fields: [velocity, pressure], folder: /a/$$b}");
  const job_spec *job = read_job(text);
  assert_clean();
  assert_ok(key_table_resolve(&job_table, doc, document_root(doc), &resolved));
  assert_ok(key_table_write(&job_table, doc, job, &written));
  assert_says_the_same(resolved, written);
  assert_string_equal(document_find(document_find(written, "output"), "folder")->text, "/a/$$b");
  assert_string_equal(document_find(document_find(written, "time"), "step")->text, "0.001");
  end();
}

/* Mutated jobs: read completely, without crash or endless loop; every accepted job can be written and read again. */
static void test_mutated_jobs_are_rejected_or_round_trip(void **state)
{
  static const char *const pieces[] = {"[", "]",     "{",    "}", ": ", ", ",   "\n", "- ", "&a ", "*a", "<<: ", "!include x", "\"", "'",
                                       "#", "1e999", "null", "~", "\t", "\xff", "|",  ">",  "?",   "-",  "\\",   "%",          "é"};
  uint64_t                 r        = 42;
  char                     good[4000], text[8000];
  int                      n_accepted = 0;
  (void)state;
  good_job(good, 0, NULL);
  for (int round = 0; round < 3000; ++round) {
    size_t n = strlen(good);
    memcpy(text, good, n);
    for (int k = 0; k <= round % 4; ++k) {
#define RANDOM(limit) (r = r * 6364136223846793005u + 1442695040888963407u, (size_t)(r >> 33) % (limit))
      const size_t at = RANDOM(n), length = 1 + RANDOM(12), kind = RANDOM(4);
      const char  *piece = pieces[RANDOM(sizeof pieces / sizeof *pieces)];
      const size_t m = kind == 0 ? 0 : strlen(piece), gone = kind == 1 ? 0 : at + length < n ? length : n - at;
      if (kind == 3) text[at] = (char)RANDOM(256);
      else {
        memmove(text + at + m, text + at + gone, n - at - gone);
        memcpy(text + at, piece, m);
        n += m - gone;
      }
    }
    const void    *job;
    document_node *resolved;
    char          *written;
    begin();
    assert_ok(yaml_read_text("job.yaml", text, n, doc, d));
    assert_ok(key_table_read(&job_table, doc, document_root(doc), "", d, &job));
    assert_walkable(job);
    if (diagnostics_count(d) == 0) {
      ++n_accepted;
      assert_ok(key_table_resolve(&job_table, doc, document_root(doc), &resolved));
      assert_ok(document_write(resolved, &written));
      (void)read_job(written);
      assert_clean();
      memory_free(&written);
    }
    end();
  }
  assert_in_range(n_accepted, 10, 2000); /* both ways are walked */
}

/* What differs between two documents of one table, with the tests' job table. */

#define HEAD "stickslip: 1\nformulation: penalty\nname: test\ntime: {end: 1, step: 0.5}\n"
#define SAND "materials: {sand: {model: drucker_prager, density: 1600, youngs_modulus: 1e6, friction_angle_deg: 30}}\n"
#define BALL "ball: {kind: rigid, material: sand, shape: {sphere: {center: [0, 0, 1], radius: 0.5}}}"
#define BED "bed: {kind: mpm, material: sand, spacing: 0.1, shape: {box: {min: [0, 0, 0], max: [1, 1, 1]}}}"
static const char JOB[] = HEAD SAND "bodies:\n  " BED "\n  " BALL "\n";

static PetscErrorCode list(const key_difference *k, void *context)
{
  char *text = context;
  sprintf(text + strlen(text), "%s%s: %s -> %s (line %d)\n", k->may_change ? "may " : "", k->path, k->before ? k->before : "-",
          k->after ? k->after : "-", k->mark.line);
  return PETSC_SUCCESS;
}

static document_node *resolve(document *owner, const char *text)
{
  diagnostics   *errors;
  const void    *unused;
  document_node *tree;
  assert_ok(diagnostics_create(&errors));
  assert_ok(yaml_read_text("job", text, strlen(text), owner, errors));
  assert_ok(key_table_read(&job_table, owner, document_root(owner), "", errors, &unused));
  if (diagnostics_count(errors)) fail_msg("%s", diagnostics_text(errors, 0));
  assert_ok(key_table_resolve(&job_table, owner, document_root(owner), &tree));
  diagnostics_destroy(&errors);
  return tree;
}

static void expect(const char *before, const char *after, const char *expected)
{
  document *a, *b;
  char      text[8192] = "";
  assert_ok(document_create(&a));
  assert_ok(document_create(&b));
  assert_ok(key_table_compare(&job_table, resolve(a, before), resolve(b, after), list, text));
  assert_string_equal(text, expected);
  document_destroy(&a);
  document_destroy(&b);
}

static void test_equal_values_are_no_difference(void **state)
{
  (void)state;
  expect(JOB, JOB, "");
  /* numbers in other forms, defaults written out, names in another order */
  expect(JOB,
         "name: test\nformulation: penalty\nstickslip: 1\ntime: {step: 5.0e-1, end: 1.0}\ngravity: [0, 0.0, -9.81]\n" SAND
         "bodies:\n  " BALL "\n  " BED "\n",
         "");
  assert_no_leak();
}

static void test_every_kind_of_change_is_reported(void **state)
{
  (void)state;
  expect(JOB, HEAD "gravity: [0, 0, -1.62]\n" SAND "bodies:\n  " BED "\n  " BALL "\n",
         "gravity: [0, 0, -9.81] -> [0, 0, -1.62] (line 5)\n");
  expect(
      JOB, HEAD SAND "bodies:\n  " BED "\n",
      "bodies.ball: {kind: rigid, shape: {sphere: {center: [0, 0, 1], radius: 0.5}}, material: sand, velocity: [0, 0, 0]} -> - (line 0)\n");
  expect(
      HEAD SAND "bodies: {" BED "}", JOB,
      "bodies.ball: - -> {kind: rigid, shape: {sphere: {center: [0, 0, 1], radius: 0.5}}, material: sand, velocity: [0, 0, 0]} (line 8)\n");
  expect(JOB, HEAD "materials: {sand: {model: rigid, density: 1600}}\nbodies:\n  " BED "\n  " BALL "\n",
         "materials.sand: {model: drucker_prager, density: 1600, youngs_modulus: 1e6, poisson_ratio: 0.3, friction_angle_deg: 30, "
         "hardening: false} -> "
         "{model: rigid, density: 1600} (line 5)\n");
  assert_no_leak();
}

static void test_permission_to_change_applies_to_all_keys_below(void **state)
{
  (void)state;
  expect(JOB,
         "stickslip: 1\nformulation: penalty\nname: test\ntime: {end: 2, step: 0.25}\n" SAND "bodies:\n  " BED "\n  " BALL
         "\nsolver: {linear: {method: cg}}\n",
         "may time.end: 1 -> 2 (line 4)\ntime.step: 0.5 -> 0.25 (line 4)\nmay solver.linear: {method: gmres, restart: 20} -> {method: cg} "
         "(line 9)\n");
  assert_no_leak();
}

static void test_long_values_are_cut(void **state)
{
  char job[8000], text[8192] = "";
  (void)state;
  document *a, *b;
  snprintf(job, sizeof job, "stickslip: 1\nformulation: penalty\nname: %0500d\n%s", 0, strstr(JOB, "time:"));
  assert_ok(document_create(&a));
  assert_ok(document_create(&b));
  assert_ok(key_table_compare(&job_table, resolve(a, JOB), resolve(b, job), list, text));
  assert_true(strlen(text) < 300);
  assert_non_null(strstr(text, "000... (line 3)"));
  document_destroy(&a);
  document_destroy(&b);
  assert_no_leak();
}

/* ---- conditions, parts and earlier names: a table of its own ---- */

typedef struct {
  int    method, direction;
  double flip, factor, depth;
} transfer_spec;
static const char *const methods[] = {"plain", "flip", NULL}, *const directions[] = {"up", "down", NULL};
/* clang-format off */
static const key_spec    transfer_expert_keys[] = {
  {.name = "factor", .type = KEY_REAL, .offset = offsetof(transfer_spec, factor), .fallback = "2", .only_if = {"^method", "flip"}, .help = "Factor"},
  {.name = "depth", .type = KEY_REAL, .offset = offsetof(transfer_spec, depth), .fallback = "3", .min = 0, .max = 9, .only_if = {"factor", "!0"}, .help = "Depth"}, END};
static const key_table transfer_expert = {.name = "transfer.expert", .help = "For experts.", .size = sizeof(transfer_spec), .keys = transfer_expert_keys};
static const key_spec  transfer_keys[] = {
  {.name = "method", .type = KEY_ENUM, .offset = offsetof(transfer_spec, method), .choices = methods, .fallback = "plain", .help = "Method"},
  {.name = "direction", .type = KEY_ENUM, .offset = offsetof(transfer_spec, direction), .choices = directions, .fallback = "up", .only_if = {"method", "*"}, .help = "Direction"},
  {.name = "flip", .type = KEY_REAL, .offset = offsetof(transfer_spec, flip), .fallback = "1", .only_if = {"method", "flip"}, .help = "Share"},
  {.name = "expert", .type = KEY_PART, .table = &transfer_expert, .fallback = "{}", .help = "Keys for experts"}, END};
/* clang-format on */
static const key_rename renames[] = {
    {"way", "method", NULL}, {"method=old", "plain", NULL}, {"expert.gone", NULL, "it is always 4"}, {.old = NULL}};
static const key_table transfer_table = {
    .name = "transfer", .help = "A transfer.", .size = sizeof(transfer_spec), .keys = transfer_keys, .renames = renames};

/* Errors of reading and of the conditions, one a line; "" if there is none. The resolved text goes to *resolved if not NULL. */
static void read_transfer(const char *text, transfer_spec *value, char **resolved, char *said, size_t size)
{
  document      *transfer_doc;
  document_node *tree;
  diagnostics   *found;
  const void    *read;
  assert_ok(document_create(&transfer_doc));
  assert_ok(diagnostics_create(&found));
  assert_ok(document_read_flow(transfer_doc, text, (document_mark){"t", 1, 1}, &tree));
  assert_ok(key_table_read(&transfer_table, transfer_doc, tree, "", found, &read));
  *value = *(const transfer_spec *)read;
  assert_ok(key_table_resolve(&transfer_table, transfer_doc, tree, &tree));
  document_node *given;
  assert_ok(document_read_flow(transfer_doc, text, (document_mark){"t", 1, 1}, &given));
  key_table_check_conditions(&transfer_table, given, tree, found);
  if (resolved) assert_ok(document_write_flow(tree, resolved));
  said[0] = '\0';
  for (int i = 0; i < diagnostics_count(found); ++i) snprintf(said + strlen(said), size - strlen(said), "%s\n", diagnostics_text(found, i));
  diagnostics_destroy(&found);
  document_destroy(&transfer_doc);
}

static void test_parts_fill_the_same_struct(void **state)
{
  transfer_spec value;
  char          said[1000], *resolved;
  diagnostics  *found;
  (void)state;
  assert_ok(diagnostics_create(&found));
  assert_ok(key_table_validate(&transfer_table, found));
  if (diagnostics_count(found)) fail_msg("%s", diagnostics_text(found, 0));
  diagnostics_destroy(&found);
  read_transfer("{method: flip, flip: 0.5, expert: {factor: 7}}", &value, &resolved, said, sizeof said);
  assert_string_equal(said, "");
  assert_true(value.method == 1 && value.flip == 0.5 && value.factor == 7.0 && value.depth == 3.0);
  assert_string_equal(resolved, "{method: flip, direction: up, flip: 0.5, expert: {factor: 7, depth: 3}}");
  memory_free(&resolved);
  read_transfer("{method: flip, expert: {depth: 10}}", &value, NULL, said, sizeof said);
  assert_string_equal(said, "t:1:1: expert.depth: 10 is out of range: must be >= 0 and <= 9\n");
  read_transfer("{expert: {dept: 1}}", &value, NULL, said, sizeof said);
  assert_string_equal(said, "t:1:1: expert.dept: unknown key; did you mean \"depth\"?\n");
  read_transfer("{expert: 3}", &value, NULL, said, sizeof said);
  assert_string_equal(said, "t:1:1: expert: expected a mapping of keys to values, got \"3\"\n");
  assert_true(value.factor == 2.0 && value.depth == 3.0);
  assert_no_leak();
}

static void test_keys_without_effect(void **state)
{
  static const struct {
    const char *text, *resolved, *said;
  } cases[] = {
      {"{}", "{method: plain, direction: up, expert: {depth: 3}}", ""},
      {"{flip: 1}", "{method: plain, direction: up, expert: {depth: 3}}", "t:1:1: flip: has no effect when method is plain; remove it\n"},
      {"{method: plain, direction: down, expert: {factor: 1}}", "{method: plain, direction: down, expert: {depth: 3}}",
       "t:1:1: expert.factor: has no effect when method is plain; remove it\n"},
      {"{direction: down}", "{method: plain, direction: down, expert: {depth: 3}}",
       "t:1:1: direction: has no effect without method; remove it\n"},
      {"{method: flip, expert: {factor: 0.0, depth: 1}}", "{method: flip, direction: up, flip: 1, expert: {factor: 0.0}}",
       "t:1:1: expert.depth: has no effect when expert.factor is 0.0; remove it\n"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    transfer_spec value;
    char          said[1000], *resolved;
    read_transfer(cases[i].text, &value, &resolved, said, sizeof said);
    assert_string_equal(said, cases[i].said);
    assert_string_equal(resolved, cases[i].resolved);
    memory_free(&resolved);
  }
  char words[200];
  key_condition_words(&transfer_keys[2].only_if, words, sizeof words);
  assert_string_equal(words, "; only with method: flip");
  key_condition_words(&transfer_keys[1].only_if, words, sizeof words);
  assert_string_equal(words, "; only with method");
  key_condition_words(&transfer_expert_keys[1].only_if, words, sizeof words);
  assert_string_equal(words, "; not with factor: 0");
  assert_no_leak();
}

/* A key with a word in place of a number: stored as -infinity, kept in the resolved text. */
typedef struct {
  double k, angle_deg, rate, min[3], max[3];
} words_spec;
/* clang-format off */
static const key_spec words_keys[] = {
  {.name = "k", .type = KEY_REAL, .offset = offsetof(words_spec, k), .min = 0, .max = INFINITY, .is_open = true, .word = "auto", .is_optional = true, .help = "Stiffness"},
  {.name = "angle_deg", .type = KEY_REAL, .offset = offsetof(words_spec, angle_deg), .is_optional = true, .help = "Angle"},
  {.name = "rate", .type = KEY_REAL, .offset = offsetof(words_spec, rate), .is_optional = true, .help = "Rate"},
  {.name = "min", .type = KEY_REALS, .count = 3, .offset = offsetof(words_spec, min), .is_optional = true, .help = "Corner"},
  {.name = "max", .type = KEY_REALS, .count = 3, .offset = offsetof(words_spec, max), .is_optional = true, .help = "Corner"}, END};
/* clang-format on */
static const key_slip  slips[] = {{"stiff", "k", NULL}, {"mass", NULL, "give a density"}, {"absent", "other", NULL}, {NULL, NULL, NULL}};
static const key_table words_table = {.name = "words", .help = "Words.", .size = sizeof(words_spec), .keys = words_keys, .slips = slips};

static void test_words_and_slips(void **state)
{
  static const struct {
    const char *text, *said;
  } cases[] = {
      {"{k: auto}", ""},
      {"{k: Auto}", "t:1:1: k: expected a number or auto, got \"Auto\"\n"},
      {"{k: 0}", "t:1:1: k: 0 is out of range: must be > 0\n"},
      {"{stiff: 1}", "t:1:1: stiff: unknown key; write \"k\"\n"},
      {"{mass: 1}", "t:1:1: mass: unknown key; give a density\n"},
      {"{absent: 1}", "t:1:1: absent: unknown key; allowed keys: k, angle_deg, rate, min and max\n"},
      {"{angle: 1}", "t:1:1: angle: unknown key; did you mean \"angle_deg\"? It is in degrees\n"},
      {"{angle_rad: 0.1}", "t:1:1: angle_rad: unknown key; angle_deg is in degrees; write angle_deg: 5.72958\n"},
      {"{rate_deg: 90}", "t:1:1: rate_deg: unknown key; rate is in rad; write rate: 1.5708\n"},
      {"{center: [0, 0, 1], size: [2, 4, 2]}", "t:1:1: center: unknown key; a box has min and max; write min: [-1, -2, 0], max: [1, 2, 2]\n"
                                               "t:1:1: size: unknown key; a box has min and max; write min: [-1, -2, 0], max: [1, 2, 2]\n"},
      {"{center: [0, 0, 1]}", "t:1:1: center: unknown key; a box has min and max: min = center - size/2, max = center + size/2\n"},
      {"{min: [0, 5, 1, 2]}", "t:1:1: min: expected a list of 3 numbers, got 4; the decimal mark is a point: 0.5, not 0,5\n"},
      {"{min: [0.5, 1, 2, 3]}", "t:1:1: min: expected a list of 3 numbers, got 4\n"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    document      *d_words;
    document_node *tree;
    diagnostics   *found;
    const void    *read;
    char           said[1000] = "", *written;
    assert_ok(document_create(&d_words));
    assert_ok(diagnostics_create(&found));
    assert_ok(document_read_flow(d_words, cases[i].text, (document_mark){"t", 1, 1}, &tree));
    assert_ok(key_table_read(&words_table, d_words, tree, "", found, &read));
    for (int k = 0; k < diagnostics_count(found); ++k)
      snprintf(said + strlen(said), sizeof said - strlen(said), "%s\n", diagnostics_text(found, k));
    assert_string_equal(said, cases[i].said);
    if (i == 0) {
      assert_true(((const words_spec *)read)->k == -INFINITY);
      assert_ok(key_table_write(&words_table, d_words, read, &tree));
      assert_ok(document_write_flow(tree, &written));
      assert_string_equal(written, "{k: auto}");
      memory_free(&written);
    }
    diagnostics_destroy(&found);
    document_destroy(&d_words);
  }
  char words[100];
  key_spec_type_words(&words_keys[0], "`", words, sizeof words);
  assert_string_equal(words, "number or `auto`");
  assert_no_leak();
}

static void test_earlier_names(void **state)
{
  transfer_spec value;
  char          said[1000];
  (void)state;
  read_transfer("{way: flip}", &value, NULL, said, sizeof said);
  assert_string_equal(said, "t:1:1: way: is now method\n");
  read_transfer("{method: old}", &value, NULL, said, sizeof said);
  assert_string_equal(said, "t:1:1: method: \"old\" is now \"plain\"\n");
  read_transfer("{expert: {gone: 1}}", &value, NULL, said, sizeof said);
  assert_string_equal(said, "t:1:1: expert.gone: has been removed: it is always 4; remove it\n");
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_parts_fill_the_same_struct), cmocka_unit_test(test_keys_without_effect),
          cmocka_unit_test(test_earlier_names), cmocka_unit_test(test_words_and_slips), cmocka_unit_test(test_tables_are_sound),
          cmocka_unit_test(test_paths_alone), cmocka_unit_test(test_unsound_tables_are_found),
          cmocka_unit_test(test_every_type_reaches_its_member), cmocka_unit_test(test_defaults_fill_what_is_absent),
          cmocka_unit_test(test_malformed_jobs_are_rejected_with_their_position), cmocka_unit_test(test_paths),
          cmocka_unit_test(test_resolved_job_is_complete_and_equivalent), cmocka_unit_test(test_written_struct_is_the_resolved_job),
          cmocka_unit_test(test_shorthand), cmocka_unit_test(test_mutated_jobs_are_rejected_or_round_trip),
          cmocka_unit_test(test_equal_values_are_no_difference), cmocka_unit_test(test_every_kind_of_change_is_reported),
          cmocka_unit_test(test_permission_to_change_applies_to_all_keys_below), cmocka_unit_test(test_long_values_are_cut))
