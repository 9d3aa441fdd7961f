/* Manual, man page and JSON Schema of the tests' job table. */
#include "test.h"
#include <ctype.h>
#include <string.h>
#include "core/key_table_manual.h"
#include "core/text.h"
#include "job_table.h"
#include "malformed_jobs.h"

static int count(const char *text, const char *what)
{
  int n = 0;
  for (const char *p = strstr(text, what); p; p = strstr(p + 1, what)) ++n;
  return n;
}

static void test_markdown_has_a_section_a_table_and_a_row_a_key(void **state)
{
  char *text;
  (void)state;
  assert_ok(key_table_manual_markdown(&job_table, &text));
  assert_int_equal(count(text, "\n## ") + !strncmp(text, "## ", 3), 23);
  assert_non_null(strstr(text, "## job\n\nA job file.\n\n| key | type | unit | default | range | meaning |\n|---|---|---|---|---|---|\n"));
  assert_non_null(strstr(text, "| `stickslip` | whole number |  | *required* | 1 | Job format version |\n"));
  assert_non_null(strstr(text, "| `gravity` | 3 numbers | m/s^2 | `[0, 0, -9.81]` |  | Acceleration of free fall |\n"));
  assert_non_null(strstr(text, "| `formulation` | one of `penalty`, `convex`, `exact`, `hybrid`, `monolith` |"));
  assert_non_null(strstr(text, "| `bodies` | names with a mapping each: [bodies](#bodies) |  | *required* | \\>= 1 entries |"));
  assert_non_null(
      strstr(text, "| `kind` | one of `mpm`, `rigid`, `static` | | *required* | | selects the other keys: [bodies.mpm](#bodiesmpm), "));
  assert_non_null(strstr(text, "| `friction_angle_deg` | number | deg | *required* | \\>= 0 and \\<= 89 |"));
  assert_int_equal(count(text, "; may change when a run is continued |\n"), 2);
  assert_non_null(strstr(text, "When it ends; may change when a run is continued |\n"));
  assert_non_null(strstr(text, "\n| `quantity` | meaning |\n|---|---|\n| `penetration` | [m] how deep |\n| `momentum` | [N s] a\\|b |\n| "
                               "`energy` | [J] all of it |\n"));
  /* every row of every table has its six cells, or two where choices are explained */
  int n_short = 0;
  for (const char *line = text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
    int bars = 0;
    if (*line != '|') continue;
    for (const char *c = line; *c != '\n'; ++c) bars += *c == '|' && c[-1] != '\\';
    assert_true(bars == 7 || bars == 3);
    n_short += bars == 3;
  }
  assert_int_equal(n_short, 2 + 3);
  memory_free(&text);
  assert_no_leak();
}

static void test_man_page_is_sound_troff(void **state)
{
  static const char *const requests[] = {".SS ", ".TP\n", ".br\n"};
  char                    *text;
  (void)state;
  assert_ok(key_table_man_page(&job_table, &text));
  assert_int_equal(count(text, ".SS "), 23);
  assert_non_null(strstr(text, ".TP\n\\fBgravity\\fR (3 numbers in m/s^2, default [0, 0, \\-9.81])\nAcceleration of free fall\n"));
  assert_non_null(strstr(text, "\\fBkind\\fR (required)\nselects the other keys: \\fBmpm\\fR, \\fBrigid\\fR, \\fBstatic\\fR\n"));
  assert_non_null(strstr(text, "\nWhat\n.br\n\\fBpenetration\\fR: [m] how deep\n.br\n\\fBmomentum\\fR: [N s] a|b\n"));
  assert_non_null(strstr(text, "Young\\(aqs modulus"));
  assert_int_equal(count(text, "; may change when a run is continued\n"), 2);
  for (const char *line = text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
    if (*line != '.' && *line != '\'') continue;
    assert_true(!strncmp(line, requests[0], 4) || !strncmp(line, requests[1], 4) ||
                !strncmp(line, requests[2], 4)); /* no text is taken for a request */
  }
  memory_free(&text);
  assert_no_leak();
}

static void test_outline_links_keys_to_tables(void **state)
{
  char *text;
  (void)state;
  assert_ok(key_table_outline(&job_table, &text));
  int n_lines = 0, number;
  for (const char *line = text; *line; line = strchr(line, '\n') + 1, ++n_lines) {
    assert_int_equal(sscanf(line, "%d ", &number), 1);
    assert_int_equal(number, n_lines);
  }
  assert_int_equal(n_lines, 23); /* as many as the manual has sections */
  /* a value, words, a mapping, names, a list, a shape inside a shape, a variant's key, and the keys of all variants, each once */
  const char *kinds = strstr(text, " kind=mpm,rigid,static ");
  assert_non_null(kinds);
  assert_int_equal(strncmp(text, "0 stickslip= ", 13), 0);
  assert_non_null(strstr(text, " formulation=penalty,convex,exact,hybrid,monolith "));
  assert_non_null(strstr(text, " bodies@"));
  const char *shape = strstr(text, " sphere.");
  int         self = -1, root_of_union = -2;
  assert_non_null(shape);
  assert_int_equal(sscanf(strstr(shape, " union#") + 7, "%d", &root_of_union), 1);
  while (shape > text && shape[-1] != '\n') --shape;
  assert_int_equal(sscanf(shape, "%d", &self), 1);
  assert_int_equal(self, root_of_union); /* a union is a list of shapes: it leads back */
  int n_velocity = 0;
  for (const char *at = kinds; at && at < strchr(kinds, '\n'); at = strstr(at + 1, " velocity=")) n_velocity += at != kinds;
  assert_int_equal(n_velocity, 1);
  memory_free(&text);
  assert_no_leak();
}

static void test_troff_escapes_text(void **state)
{
  text_buffer b = {0};
  (void)state;
  text_troff(&b, ".a 'b' \\c -d \"e\" `f`\ng");
  assert_string_equal(b.data, "\\&.a \\(aqb\\(aq \\ec \\-d \\(dqe\\(dq \\(gaf\\(ga g");
  memory_free(&b.data);
  assert_no_leak();
}

/* ---- a JSON reader that only validates and counts ---- */

static const char *json_skip(const char *p) { return p + strspn(p, " \n\t\r"); }

static const char *json_text(const char *p)
{
  if (*p++ != '"') return NULL;
  for (; *p != '"'; ++p) {
    if ((unsigned char)*p < 0x20) return NULL;
    if (*p == '\\' && !strchr("\"\\/bfnrtu", *++p)) return NULL;
  }
  return p + 1;
}

static const char *json_value(const char *p)
{
  static const char *const words[] = {"true", "false", "null"};
  char                    *end;
  if (*p == '"') return json_text(p);
  for (int i = 0; i < 3; ++i)
    if (!strncmp(p, words[i], strlen(words[i]))) return p + strlen(words[i]);
  if (*p == '{' || *p == '[') {
    const char close = *p == '{' ? '}' : ']';
    p                = json_skip(p + 1);
    if (*p == close) return p + 1;
    for (;;) {
      if (close == '}') {
        p = json_text(p);
        if (!p || *(p = json_skip(p)) != ':') return NULL;
        p = json_skip(p + 1);
      }
      p = json_value(p);
      if (!p) return NULL;
      p = json_skip(p);
      if (*p == close) return p + 1;
      if (*p != ',') return NULL;
      p = json_skip(p + 1);
    }
  }
  if (!isdigit((unsigned char)*p) && *p != '-') return NULL;
  (void)strtod(p, &end);
  return end > p ? end : NULL;
}

static void test_schema_is_json_and_equals_the_tables(void **state)
{
  static const char *const parts[] = {
      "\"$schema\": \"https://json-schema.org/draft/2020-12/schema\"",
      "\"$ref\": \"#/$defs/job\"",
      "\"stickslip\": {\"type\": \"integer\", \"minimum\": 1, \"maximum\": 1, ",
      "\"gravity\": {\"type\": \"array\", \"minItems\": 3, \"maxItems\": 3, \"items\": {\"type\": \"number\"}, \"default\": [0, 0, -9.81], "
      "\"description\": \"Acceleration of free fall [m/s^2]\"}",
      "\"poisson_ratio\": {\"type\": \"number\", \"exclusiveMinimum\": -1, \"exclusiveMaximum\": 0.5, \"default\": 0.3, ",
      "\"formulation\": {\"enum\": [\"penalty\", \"convex\", \"exact\", \"hybrid\", \"monolith\"]",
      "\"hardening\": {\"type\": \"boolean\", \"default\": false",
      "\"kind\": {\"const\": \"mpm\"",
      "\"required\": [\"kind\", \"shape\", \"material\", \"spacing\"]",
      "\"minProperties\": 1, \"maxProperties\": 1",
      "\"union\": {\"type\": \"array\", \"minItems\": 2, \"maxItems\": 8, \"items\": {\"$ref\": \"#/$defs/shape\"}",
      "\"linear\": {\"allOf\": [{\"$ref\": \"#/$defs/solver.linear\"}], \"default\": {\"method\": \"gmres\"}",
      "\"between\": {\"type\": \"array\", \"minItems\": 2, \"maxItems\": 2, ",
      "\"tolerance\": {\"type\": \"number\", \"exclusiveMinimum\": 0, \"default\": 0.001,",
      "\"until\": {\"anyOf\": [{\"anyOf\": [{\"type\": [\"string\", \"number\"]}, {\"$ref\": \"#/$defs/until\"}]}, {\"type\": \"array\", "
      "\"items\": {\"anyOf\": [{\"type\": [\"string\", \"number\"]}, {\"$ref\": \"#/$defs/until\"}]}}]",
  };
  char *text;
  (void)state;
  assert_ok(key_table_json_schema(&job_table, &text));
  const char *end = json_value(text);
  if (!end || *json_skip(end)) fail_msg("not JSON");
  for (size_t i = 0; i < sizeof parts / sizeof *parts; ++i)
    if (!strstr(text, parts[i])) fail_msg("the schema lacks %s", parts[i]);
  /* every reference leads somewhere */
  for (const char *p = strstr(text, "#/$defs/"); p; p = strstr(p + 1, "#/$defs/")) {
    char key[100];
    snprintf(key, sizeof key, "\n    \"%.*s\": {", (int)strcspn(p + 8, "\""), p + 8);
    if (!strstr(text, key)) fail_msg("no definition %s", key);
  }
  memory_free(&text);
  assert_no_leak();
}

/* STICKSLIP_SHOW=folder: write markdown, man, schema and jobs (the good one, then the malformed) there, for other tools. */
static FILE *create(const char *folder, const char *name)
{
  char path[400];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  return f;
}

static void test_texts_are_written_on_request(void **state)
{
  static const struct {
    const char *name;
    PetscErrorCode (*make)(const key_table *, char **);
  } texts[] = {{"manual.md", key_table_manual_markdown}, {"manual.man", key_table_man_page}, {"schema.json", key_table_json_schema}};
  const char *folder = getenv("STICKSLIP_SHOW");
  (void)state;
  if (!folder) skip();
  for (int i = 0; i < 3; ++i) {
    char *text;
    FILE *f = create(folder, texts[i].name);
    assert_ok(texts[i].make(&job_table, &text));
    fputs(text, f);
    fclose(f);
    memory_free(&text);
  }
  FILE *f = create(folder, "jobs.yaml");
  for (int k = -1; k < N_MALFORMED; ++k) {
    if (k >= 0) fprintf(f, "---\n");
    for (int i = 0; i < JOB_LINES; ++i) {
      const char *use = k >= 0 && i + 1 == malformed_jobs[k].line ? malformed_jobs[k].text : job_lines[i];
      if (use) fprintf(f, "%s\n", use);
    }
  }
  fclose(f);
}

/* Tables below keys of type KEY_PART are on the page for experts only. A key that two variants declare alike has one row, next to the variants. */
static void test_pages(void **state)
{
  typedef struct {
    double density, depth;
  } spec;
  static const key_spec expert_keys[] = {
      {.name = "depth", .type = KEY_REAL, .offset = offsetof(spec, depth), .fallback = "3", .only_if = {"^density", "!0"}, .help = "Depth"},
      {.name = NULL}};
  static const key_table expert      = {.name = "sand.expert", .help = "For experts.", .size = sizeof(spec), .keys = expert_keys};
  static const key_spec grain_keys[] = {{.name = "density", .type = KEY_REAL, .offset = offsetof(spec, density), .help = "Mass per volume"},
                                        {.name = "expert", .type = KEY_PART, .table = &expert, .fallback = "{}", .help = "For experts"},
                                        {.name = NULL}},
                        plank_keys[] = {{.name = "density", .type = KEY_REAL, .offset = offsetof(spec, density), .help = "Mass per volume"},
                                        {.name = "depth", .type = KEY_REAL, .offset = offsetof(spec, depth), .help = "Own depth"},
                                        {.name = NULL}};
  static const key_table sand        = {.name = "sand", .help = "Sand.", .size = sizeof(spec), .keys = grain_keys},
                         wood        = {.name = "wood", .help = "Wood.", .size = sizeof(spec), .keys = plank_keys};
  static const key_variant variants[] = {{"sand", &sand}, {"wood", &wood}, {NULL, NULL}};
  static const key_table   root       = {.name = "materials", .help = "Materials.", .variant_key = "model", .variants = variants};
  char                    *text, *experts;
  (void)state;
  assert_ok(key_table_manual_markdown(&root, &text));
  assert_ok(key_table_manual_expert(&root, &experts));
  assert_int_equal(count(text, "| `density` |"), 1);
  assert_non_null(strstr(text, "Mass per volume; for sand and wood |\n"));
  assert_int_equal(count(text, "Keys that it shares with others: [materials](#materials).\n"), 2);
  assert_int_equal(count(text, "| `depth` |"), 1); /* that of wood */
  assert_int_equal(count(text, "| `expert` |"), 0);
  assert_non_null(strstr(text, "Keys for experts: [sand.expert](expert.md#sandexpert).\n"));
  assert_string_equal(experts,
                      "## sand.expert\n\nFor experts.\n\n| key | type | unit | default | range | meaning |\n|---|---|---|---|---|---|\n"
                      "| `depth` | number |  | `3` |  | Depth; not with density: 0 |\n\n");
  memory_free(&text);
  memory_free(&experts);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_pages), cmocka_unit_test(test_markdown_has_a_section_a_table_and_a_row_a_key),
          cmocka_unit_test(test_man_page_is_sound_troff), cmocka_unit_test(test_outline_links_keys_to_tables),
          cmocka_unit_test(test_troff_escapes_text), cmocka_unit_test(test_schema_is_json_and_equals_the_tables),
          cmocka_unit_test(test_texts_are_written_on_request))
