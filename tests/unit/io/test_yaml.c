#include "document_fixture.h"
#include "io/yaml.h"
#include "temporary.h"
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- helpers ---- */

static const document_node *read_text(const char *text)
{
  assert_ok(yaml_read_text("job.yaml", text, strlen(text), doc, d));
  return document_root(doc);
}
static void assert_clean(void)
{
  if (diagnostics_count(d)) fail_msg("unexpected error: %s", diagnostics_text(d, 0));
}
/* The same on one line; what that gives when it is read, is the same line. */
static void assert_flows_as(const char *text, const char *written)
{
  char *out, *again;
  begin();
  const document_node *root = read_text(text);
  assert_clean();
  assert_ok(document_write_flow(root, &out));
  assert_string_equal(out, written);
  root = read_text(out);
  assert_clean();
  assert_ok(document_write_flow(root, &again));
  assert_string_equal(out, again);
  memory_free(&out);
  memory_free(&again);
  end();
}
static void test_one_line(void **state)
{
  (void)state;
  assert_flows_as("a:\n  - 1\n  - {b: c d, e: \"3\"}\n  - []\nf: {}\ng: ~\n", "{a: [1, {b: c d, e: \"3\"}, []], f: {}, g: null}");
  assert_flows_as("- a, b\n- \"[x]\"\n- 'it''s'\n- {\"x,y\": \"a: b\"}\n- \"two\\nlines\"\n",
                  "[\"a, b\", \"[x]\", \"it's\", {\"x,y\": \"a: b\"}, \"two\\nlines\"]");
  assert_flows_as("-9.81", "-9.81");
}
/* A document written again in block style. */
static void assert_reads_as(const char *text, const char *written)
{
  char *out;
  begin();
  const document_node *root = read_text(text);
  assert_clean();
  assert_non_null(root);
  assert_ok(document_write(root, &out));
  assert_string_equal(out, written);
  memory_free(&out);
  end();
}
static void assert_says(const char *text, size_t n, const char *const *says)
{
  begin();
  assert_ok(yaml_read_text("job.yaml", text, n, doc, d));
  diagnostics_sort(d);
  int n_says = 0;
  for (; says[n_says]; ++n_says) {
    if (n_says >= diagnostics_count(d)) fail_msg("%.60s: did not say \"%s\"", text, says[n_says]);
    if (!strstr(diagnostics_text(d, n_says), says[n_says]))
      fail_msg("%.60s: message \"%s\", expected \"%s\"", text, diagnostics_text(d, n_says), says[n_says]);
  }
  if (diagnostics_count(d) != n_says) fail_msg("%.60s: additional message \"%s\"", text, diagnostics_text(d, n_says));
  end();
}

/* ---- valid documents ---- */

static void test_every_node_knows_its_place(void **state)
{
  (void)state;
  begin();
  const document_node *root = read_text("name: ball\nlist: [1, \"2\",\n  ä, x]\nempty:\nmap:\n  a: |\n    text\n  b: ~\n");
  assert_clean();
  assert_int_equal(root->kind, DOCUMENT_MAPPING);
  assert_int_equal(root->n, 4);
  assert_string_equal(root->mark.file, "job.yaml");
  const document_node *list = document_find(root, "list");
  assert_int_equal(list->mark.line, 2);
  assert_int_equal(list->mark.column, 7);
  assert_int_equal(root->key_mark[1].column, 1);
  assert_false(list->value[0]->is_quoted);
  assert_true(list->value[1]->is_quoted);
  assert_int_equal(list->value[3]->mark.line, 3);
  assert_int_equal(list->value[3]->mark.column, 6); /* in characters, not bytes */
  assert_int_equal(document_find(root, "empty")->kind, DOCUMENT_NULL);
  const document_node *map = document_find(root, "map");
  assert_string_equal(document_find(map, "a")->text, "text\n");
  assert_true(document_find(map, "a")->is_quoted);
  assert_int_equal(document_find(map, "b")->kind, DOCUMENT_NULL);
  end();
}

static void test_anchors_and_merges(void **state)
{
  (void)state;
  assert_reads_as("a: &x {k: 1}\nb: *x\n", "a:\n  k: 1\nb:\n  k: 1\n");
  /* explicit keys take precedence over <<, at any position; of several << the earlier */
  assert_reads_as("a: &a {k: 1, l: 2}\nb: &b {k: 3, m: 4}\nc: {<<: [*b, *a], l: 5}\n",
                  "a:\n  k: 1\n  l: 2\nb:\n  k: 3\n  m: 4\nc:\n  l: 5\n  k: 3\n  m: 4\n");
  assert_reads_as("a: &a {k: 1}\nb: {k: 2, <<: *a}\n", "a:\n  k: 1\nb:\n  k: 2\n");
  assert_reads_as("b: {<<: {k: 1}, l: 2}\n", "b:\n  l: 2\n  k: 1\n");
  assert_reads_as("a: &a 1\nb: &a 2\nc: *a\n", "a: 1\nb: 2\nc: 2\n"); /* set again */
  assert_reads_as("\"<<\": {k: 1}\n", "\"<<\":\n  k: 1\n");           /* quoted: an ordinary key */
  assert_reads_as("a: !!str 3\nb: !!float 3\nc: ! 4\n", "a: \"3\"\nb: 3\nc: \"4\"\n");
  assert_reads_as("\xef\xbb\xbfz: 1\n", "z: 1\n");
  /* a copy is a copy: overriding one leaves the other */
  begin();
  read_text("a: &x {k: 1}\nb: *x\n");
  document_node *value;
  assert_ok(yaml_read_text_into("--set", "[7, 8]", 6, doc, d, &value));
  assert_ok(document_override(doc, "b.k", value));
  assert_string_equal(document_find(document_find(document_root(doc), "a"), "k")->text, "1");
  assert_int_equal(document_find(document_find(document_root(doc), "b"), "k")->n, 2);
  assert_string_equal(document_find(document_find(document_root(doc), "b"), "k")->mark.file, "--set");
  end();
}

static bool equal(const document_node *a, const document_node *b)
{
  if (a->kind != b->kind || a->n != b->n) return false;
  if (a->kind == DOCUMENT_SCALAR && strcmp(a->text, b->text)) return false;
  for (int i = 0; i < a->n; ++i) {
    if (a->kind == DOCUMENT_MAPPING && strcmp(a->key[i], b->key[i])) return false;
    if (!equal(a->value[i], b->value[i])) return false;
  }
  return true;
}

/* Small, fast, the same everywhere: enough to mutate and to invent. */
static uint64_t random_state;
static uint32_t random_u32(void)
{
  random_state = random_state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(random_state >> 33);
}

static document_node *invent(int depth)
{
  static const char *const pieces[] = {
      "a",   "-",   ": ", "#", " ", "\n", "\"", "'", "\\", "3", "null", "~", "{",  "]",    "\xc3\xa4", "\xc2\x85", "\x7f", "\xe2\x80\xa8",
      "...", "---", "?",  "!", "&", "*",  "<<", "%", "@",  "`", "|",    ">", "\t", "\x01", ",",        "true"};
  const document_kind kind     = depth > 3 ? DOCUMENT_SCALAR : (document_kind)(random_u32() % 4);
  char                text[64] = "";
  document_node      *node, *child;
  for (uint32_t i = random_u32() % 4; i < 4 && kind == DOCUMENT_SCALAR; ++i)
    strcat(text, pieces[random_u32() % (sizeof pieces / sizeof *pieces)]);
  assert_ok(document_add_node(doc, kind, (document_mark){0}, kind == DOCUMENT_SCALAR ? text : NULL, &node));
  for (uint32_t i = random_u32() % 4; i < 4 && kind >= DOCUMENT_SEQUENCE; ++i) {
    char key[64];
    snprintf(key, sizeof key, "%s%u", pieces[random_u32() % (sizeof pieces / sizeof *pieces)], i);
    child = invent(depth + 1);
    assert_ok(document_append(doc, node, kind == DOCUMENT_MAPPING ? key : NULL, (document_mark){0}, child));
  }
  return node;
}

static void test_written_documents_read_back_equal(void **state)
{
  (void)state;
  random_state = 1;
  for (int i = 0; i < 1000; ++i) {
    char          *text, *again;
    document_node *back;
    begin();
    document_node *node = invent(0);
    assert_ok(document_write(node, &text));
    assert_ok(yaml_read_text_into("again", text, strlen(text), doc, d, &back));
    if (diagnostics_count(d)) fail_msg("%s\n%s", diagnostics_text(d, 0), text);
    if (!equal(node, back)) fail_msg("differs after reading back:\n%s", text);
    assert_ok(document_write(back, &again));
    assert_string_equal(text, again);
    memory_free(&text);
    memory_free(&again);
    end();
  }
}

/* ---- errors ---- */

#define SAYS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void test_errors_have_positions(void **state)
{
  static const struct {
    const char *text;
    size_t      n; /* 0: strlen */
    const char *says[4];
  } cases[] = {
      {"a: 1\nb: 2\na: 3\n", 0, {"job.yaml:3:1: duplicate key \"a\"; the first is in line 1"}},
      {"x:\n  - {k: 1, k: 2}\n", 0, {"job.yaml:2:12: duplicate key \"k\""}},
      {"a: *nobody\n", 0, {"job.yaml:1:4: the anchor \"&nobody\" is not defined"}},
      {"a: &x [*x]\n", 0, {"job.yaml:1:8: the alias \"*x\" is inside its own anchor"}},
      {"a: &x {b: {c: *x}}\n", 0, {"job.yaml:1:15: the alias \"*x\" is inside"}},
      {"a: 1\n---\nb: 2\n", 0, {"job.yaml:2:1: a second document begins here"}},
      {"a: {<<: 3}\n", 0, {"job.yaml:1:9: \"<<\" merges a mapping"}},
      {"a: {<<: [{b: 1}, 4]}\n", 0, {"job.yaml:1:18: \"<<\" merges a mapping"}},
      {"[1, 2]: 3\n", 0, {"job.yaml:1:1: a key must be a word"}},
      {"{{a: 1}: 3}\n", 0, {"job.yaml:1:2: a key must be a word"}},
      {"\"\": 3\n", 0, {"job.yaml:1:1: a key is empty"}},
      {"a: !foo 3\n", 0, {"job.yaml:1:4: the tag \"!foo\" is not supported"}},
      {"a: !!set {b: 1}\n", 0, {"job.yaml:1:4: the tag \"tag:yaml.org,2002:set\" is not supported"}},
      {"a: !x [1]\n", 0, {"job.yaml:1:4: the tag \"!x\" is not supported"}},
      {"a: !include no/such.yaml\n", 0, {"job.yaml:1:4: cannot include no/such.yaml: No such file"}},
      {"a: !include /tmp\n", 0, {"job.yaml:1:4: cannot include /tmp: it is a folder"}},
      {"a: !include /dev/zero\n", 0, {"job.yaml:1:4: cannot include /dev/zero: it is a device, not a regular file"}},
      {"", 0, {"job.yaml:1:1: the file contains no keys"}},
      {"# only words\n", 0, {"job.yaml:1:1: the file contains no keys"}},
      {"a: 1\nb:2\nc: 3\n",
       0,
       {"job.yaml:3:1: YAML error: could not find expected ':' (while scanning a simple key that began in line 2); line 2: a space must "
        "follow the colon: \"b: 2\""}},
      {"a: 1\nb 2\nc: 3\n",
       0,
       {"job.yaml:3:1: YAML error: could not find expected ':' (while scanning a simple key that began in line 2); line 2 may lack a "
        "colon: \"b: 2\""}},
      {"a\n  b: 1\n", 0, {"job.yaml:2:4: YAML error: mapping values are not allowed in this context; line 1 may lack a colon: \"a:\""}},
      {"a:\n\t- 1\n", 0, {"job.yaml:2:1: YAML error: found character that cannot start any token; a tab cannot indent, use spaces"}},
      {"a: [1, 2\nb: 3\n",
       0,
       {"job.yaml:2:2: YAML error: did not find expected ',' or ']' (while parsing a flow sequence that began in line 1)"}},
      {"a: {b: 1\n", 0, {"job.yaml:2:1: YAML error: "}},
      {"a: 1\n b: 2\n", 0, {"job.yaml:2:3: YAML error: mapping values are not allowed"}},
      {"a: \"x\n", 0, {"YAML error: found unexpected end of stream (while scanning a quoted scalar that began in line 1)"}},
      {"a: 1\nb: \xff\n", 0, {"job.yaml:2:4: invalid leading UTF-8 octet (0xFF)"}},
      {"a: b\x01\n", 0, {"job.yaml:1:5: control characters are not allowed (0x01)"}},
      {"a: b\0c\n", 7, {"job.yaml:1:5: control characters are not allowed (0x00)"}},
      {"a: \"b\\0c\"\n", 0, {"job.yaml:1:4: the text contains a zero character"}},
      {"a: 'b\n", 0, {"YAML error"}},
      {"%YAML 3.0\n---\na: 1\n", 0, {"job.yaml:1:1: YAML error: found incompatible YAML document"}},
      {"a: @b\n", 0, {"job.yaml:1:4: YAML error: found character that cannot start any token"}},
      {"a: %b\n", 0, {"job.yaml:1:4: YAML error: found character that cannot start any token"}},
      {"- 1\nb: 2\n", 0, {"job.yaml:2:1: YAML error: did not find expected '-' indicator"}},
      /* several at once */
      {"a: 1\na: 2\nb: *z\n? [x]\n: 1\n", 0, {"job.yaml:2:1: duplicate key", "job.yaml:3:4: the anchor", "job.yaml:4:3: a key must be"}},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    const char *const says[] = {cases[i].says[0], cases[i].says[1], cases[i].says[2], cases[i].says[3], NULL};
    assert_says(cases[i].text, cases[i].n ? cases[i].n : strlen(cases[i].text), says);
  }
}

static void test_limits_are_enforced(void **state)
{
  enum { N = 400000 };
  char *big = malloc(N + 1);
  (void)state;
  /* depth, both of brackets and of indentation; libyaml alone would need 20 s for the first */
  memset(big, '[', N);
  assert_says(big, N, SAYS("job.yaml:1:49: nested too deeply"));
  for (int i = 0; i < N - 4; i += 4) memcpy(big + i, "{a: ", 4);
  assert_says(big, N, SAYS("nested too deeply"));
  for (int i = 0; i < N - 1; i += 2) memcpy(big + i, "- ", 2);
  assert_says(big, N, SAYS("nested too deeply"));
  /* a billion laughs */
  char   laughs[2000] = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  size_t n            = strlen(laughs);
  for (int i = 1; i < 10; ++i)
    n += (size_t)snprintf(laughs + n, sizeof laughs - n, "a%d: &a%d [*a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d]\n", i, i,
                          i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1);
  assert_says(laughs, n, SAYS("too many values, once aliases and merges are written out"));
  /* values that are written out are not limited: 300,000 */
  char *many = malloc(600002);
  assert_non_null(many);
  many[0] = '[';
  for (int i = 0; i < 300000; ++i) memcpy(many + 1 + 2 * i, i ? ",1" : " 1", 2);
  many[600001] = ']';
  assert_says(many, 600002, (const char *const[]){NULL});
  free(many);
  /* a key of any length is rejected */
  memset(big, 'k', N);
  memcpy(big + 500, ": 1\n", 4);
  assert_says(big, 504, SAYS("job.yaml:1:1: a key has more than 200 characters"));
  /* very many keys in one mapping, with one double at the end: linear time */
  n = 0;
  for (int i = 0; i < 40000; ++i) n += (size_t)snprintf(big + n, N - n, "k%05d: \n", i);
  n += (size_t)snprintf(big + n, N - n, "k00007: 1\n");
  assert_says(big, n, SAYS("job.yaml:40001:1: duplicate key \"k00007\"; the first is in line 8"));
  free(big);
  assert_no_leak();
}

/* ---- includes ---- */

static char folder[TEMPORARY_ROOM];

static void put(const char *name, const char *text)
{
  char  path[TEMPORARY_ROOM + 64];
  FILE *f;
  snprintf(path, sizeof path, "%s/%s", folder, name);
  f = fopen(path, "w");
  assert_non_null(f);
  fputs(text, f);
  fclose(f);
}
static const document_node *read_file(const char *name)
{
  char path[TEMPORARY_ROOM + 64];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  assert_ok(yaml_read_file(path, doc, d));
  diagnostics_sort(d);
  return document_root(doc);
}

static void test_includes(void **state)
{
  char path[TEMPORARY_ROOM + 64];
  (void)state;
  assert_non_null(mkdtemp(temporary_name(folder, "")));
  snprintf(path, sizeof path, "%s/sub", folder);
  assert_int_equal(mkdir(path, 0700), 0);

  /* relative to the including file; merged; marks name the file */
  put("job.yaml", "a: !include sub/a.yaml\nb: {<<: !include sub/a.yaml, k: 2}\n");
  put("sub/a.yaml", "k: 1\nl: !include b.yaml\n");
  put("sub/b.yaml", "[7]\n");
  begin();
  const document_node *root = read_file("job.yaml");
  assert_clean();
  const document_node *l = document_find(document_find(root, "a"), "l");
  assert_string_equal(l->value[0]->text, "7");
  assert_true(strstr(l->value[0]->mark.file, "/sub/b.yaml") != NULL);
  assert_int_equal(l->value[0]->mark.column, 2);
  assert_string_equal(document_find(document_find(root, "b"), "k")->text, "2");
  assert_int_equal(document_find(document_find(root, "b"), "l")->n, 1);
  end();

  /* circles, direct and not */
  put("job.yaml", "a: !include sub/c.yaml\n");
  put("sub/c.yaml", "b: !include ../job.yaml\n");
  begin();
  read_file("job.yaml");
  assert_int_equal(diagnostics_count(d), 1);
  assert_non_null(strstr(diagnostics_text(d, 0), "sub/c.yaml:1:4: cannot include"));
  assert_non_null(strstr(diagnostics_text(d, 0), "the file includes itself"));
  end();

  /* a fan: every file includes the next twice; stops at the number of files */
  for (int i = 0; i < 10; ++i) {
    char name[32], text[64];
    snprintf(name, sizeof name, "f%d.yaml", i);
    snprintf(text, sizeof text, "[!include f%d.yaml, !include f%d.yaml]\n", i + 1, i + 1);
    put(name, text);
  }
  put("f10.yaml", "1\n");
  begin();
  assert_null(read_file("f0.yaml"));
  assert_int_equal(diagnostics_count(d), 1);
  assert_non_null(strstr(diagnostics_text(d, 0), "too many files are included"));
  end();

  /* a syntax error in an included file is named there and stops nothing else */
  put("job.yaml", "a: !include sub/bad.yaml\nb: 1\nb: 2\n");
  put("sub/bad.yaml", "x: [1\n");
  begin();
  assert_non_null(read_file("job.yaml"));
  assert_int_equal(diagnostics_count(d), 2);
  assert_non_null(strstr(diagnostics_text(d, 0), "/job.yaml:3:1: duplicate key \"b\""));
  assert_non_null(strstr(diagnostics_text(d, 1), "sub/bad.yaml:2:1: YAML error"));
  end();

  begin();
  assert_null(read_file("absent.yaml"));
  assert_non_null(strstr(diagnostics_text(d, 0), "absent.yaml: No such file or directory"));
  end();
  begin();
  assert_null(read_file("sub"));
  assert_non_null(strstr(diagnostics_text(d, 0), "it is a folder"));
  end();

  snprintf(path, sizeof path, "rm -r %s", folder);
  assert_int_equal(system(path), 0);
}

TEST_MAIN(cmocka_unit_test(test_one_line), cmocka_unit_test(test_every_node_knows_its_place), cmocka_unit_test(test_anchors_and_merges),
          cmocka_unit_test(test_written_documents_read_back_equal), cmocka_unit_test(test_errors_have_positions),
          cmocka_unit_test(test_limits_are_enforced), cmocka_unit_test(test_includes))
