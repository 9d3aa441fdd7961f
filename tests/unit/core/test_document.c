#include "test.h"
#include "core/document.h"
#include <string.h>

static const document_mark MARK = {"test", 3, 7};

static document_node *flow(document *doc, const char *text)
{
  document_node *node = NULL;
  assert_ok(document_read_flow(doc, text, MARK, &node));
  return node;
}

static void assert_written(const document_node *node, const char *expected)
{
  char *text;
  assert_ok(document_write(node, &text));
  assert_string_equal(text, expected);
  memory_free(&text);
}

static void test_flow_reads_every_form_of_default(void **state)
{
  document *doc;
  (void)state;
  assert_ok(document_create(&doc));
  assert_string_equal(flow(doc, "0.5")->text, "0.5");
  assert_string_equal(flow(doc, "two words")->text, "two words");
  assert_true(flow(doc, "\"3\"")->is_quoted);
  assert_string_equal(flow(doc, "")->text, "");
  assert_int_equal(flow(doc, "{}")->kind, DOCUMENT_MAPPING);
  assert_int_equal(flow(doc, "[]")->n, 0);
  const document_node *list = flow(doc, "[0, 0 , -9.81]");
  assert_int_equal(list->n, 3);
  assert_string_equal(list->value[2]->text, "-9.81");
  const document_node *mapping = flow(doc, "{a: 1, b: {c: [x]}, d: \"e, f\"}");
  assert_string_equal(document_find(document_find(mapping, "b"), "c")->value[0]->text, "x");
  assert_string_equal(document_find(mapping, "d")->text, "e, f");
  assert_null(document_find(mapping, "z"));
  static const char *const wrong[] = {"[1", "{a 1}", "[1] 2", " ", "\"x", "[1 [2]]", "{a: }"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
    document_node *node;
    if (!document_read_flow(doc, wrong[i], MARK, &node)) fail_msg("accepted %s", wrong[i]);
    error_clear();
  }
  document_destroy(&doc);
  assert_null(doc);
  document_destroy(&doc);
  assert_no_leak();
}

static void test_append_keeps_order_and_places(void **state)
{
  document      *doc;
  document_node *root;
  char           key[32];
  (void)state;
  assert_ok(document_create(&doc));
  assert_ok(document_add_node(doc, DOCUMENT_MAPPING, MARK, NULL, &root));
  for (int i = 0; i < 1000; ++i) {
    document_node *child;
    snprintf(key, sizeof key, "key_%d", i);
    assert_ok(document_add_node(doc, DOCUMENT_SCALAR, MARK, key, &child));
    assert_ok(document_append(doc, root, key, (document_mark){"test", i + 1, 1}, child));
  }
  assert_int_equal(root->n, 1000);
  for (int i = 0; i < 1000; ++i) {
    snprintf(key, sizeof key, "key_%d", i);
    assert_string_equal(root->key[i], key);
    assert_string_equal(root->value[i]->text, key);
    assert_int_equal(root->key_mark[i].line, i + 1);
    assert_ptr_equal(document_find(root, key), root->value[i]);
  }
  assert_null(document_find(root, "key_1000"));
  document_remove(root, 500);
  assert_null(document_find(root, "key_500"));
  assert_string_equal(document_find(root, "key_499")->text, "key_499");
  assert_string_equal(document_find(root, "key_999")->text, "key_999");
  assert_ptr_equal(document_find(root, "key_501"), root->value[500]);
  void *big;
  assert_ok(document_alloc(doc, 1000000, &big)); /* larger than a block; zeroed and aligned */
  assert_int_equal((uintptr_t)big % 16, 0);
  for (int i = 0; i < 1000000; ++i) assert_int_equal(((char *)big)[i], 0);
  document_destroy(&doc);
  assert_no_leak();
}

static void test_override_walks_and_creates(void **state)
{
  document *doc;
  (void)state;
  assert_ok(document_create(&doc));
  assert_ok(document_override(doc, "time.end", flow(doc, "2.0")));
  document_set_root(doc, flow(doc, "{time: {end: 1, step: 2}, pairs: [{mu: 0.1}, {mu: 0.2}]}"));
  assert_ok(document_override(doc, "time.end", flow(doc, "5")));
  assert_ok(document_override(doc, "pairs[1].mu", flow(doc, "0.9")));
  assert_ok(document_override(doc, "pairs[2].mu", flow(doc, "0.7")));
  assert_ok(document_override(doc, "solver.newton.tolerance", flow(doc, "1e-3")));
  assert_ok(document_override(doc, "grid[0][0]", flow(doc, "4")));
  assert_ok(document_override(doc, "grid[0][]", flow(doc, "5")));
  assert_ok(document_override(doc, "codes[]", flow(doc, "a")));
  assert_ok(document_override(doc, "codes[]", flow(doc, "b")));
  assert_written(document_root(doc), "time:\n  end: 5\n  step: 2\npairs:\n  -\n    mu: 0.1\n  -\n    mu: 0.9\n  -\n    mu: 0.7\n"
                                     "solver:\n  newton:\n    tolerance: 1e-3\ngrid:\n  -\n    - 4\n    - 5\ncodes:\n  - a\n  - b\n");
  static const struct {
    const char *path, *says;
  } wrong[] = {
      {"", "expected a key at position 1"},
      {"time..end", "position 6"},
      {"time.end.more", "not a mapping"},
      {"pairs.mu", "not a mapping"},
      {"pairs[9]", "3 entries"},
      {"pairs[x]", "expected a number"},
      {"pairs[1", "expected \"]\""},
      {"time[0]", "not a list"},
      {"pairs[0]x", "expected \".\""},
      {"pairs[99999999999999999999]", "and no entry"},
      {".time", "position 1"},
      {"time.", "position 6"},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
    assert_int_equal(document_override(doc, wrong[i].path, flow(doc, "1")), PETSC_ERR_USER_INPUT);
    if (!strstr(error_message(), wrong[i].says)) fail_msg("%s: \"%s\" lacks \"%s\"", wrong[i].path, error_message(), wrong[i].says);
    error_clear();
  }
  document_destroy(&doc);
  assert_no_leak();
}

static void test_write_quotes_what_needs_it(void **state)
{
  static const struct {
    const char *text;
    bool        is_quoted;
    const char *written;
  } cases[] = {
      {"3", false, " 3\n"},
      {"3", true, " \"3\"\n"},
      {"-9.81", false, " -9.81\n"},
      {"- x", false, " \"- x\"\n"},
      {"", false, " \"\"\n"},
      {"null", false, " \"null\"\n"},
      {"a: b", false, " \"a: b\"\n"},
      {"a:b", false, " a:b\n"},
      {"a #b", false, " \"a #b\"\n"},
      {"*x", false, " \"*x\"\n"},
      {"sin(2*t)", false, " sin(2*t)\n"},
      {"a\nb\t\"\\", true, " \"a\\nb\\x09\\\"\\\\\"\n"},
      {"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", false, " \"\\xE4\\u20AC\\U0001F600\"\n"},
      {" x", false, " \" x\"\n"},
      {"x:", false, " \"x:\"\n"},
      {"...", false, " \"...\"\n"},
      {"\xff", false, " \"\\xFF\"\n"},
  };
  document *doc;
  (void)state;
  assert_ok(document_create(&doc));
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    document_node *node;
    assert_ok(document_add_node(doc, DOCUMENT_SCALAR, MARK, cases[i].text, &node));
    node->is_quoted = cases[i].is_quoted;
    assert_written(node, cases[i].written);
  }
  assert_written(flow(doc, "{a: [], b: {}}"), "a: []\nb: {}\n");
  document_destroy(&doc);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_flow_reads_every_form_of_default), cmocka_unit_test(test_append_keeps_order_and_places),
          cmocka_unit_test(test_override_walks_and_creates), cmocka_unit_test(test_write_quotes_what_needs_it))
