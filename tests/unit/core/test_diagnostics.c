#include "test.h"
#include "core/diagnostics.h"
#include <string.h>

static document_mark at(const char *file, int line, int column) { return (document_mark){file, line, column}; }

static void test_sorted_by_place_and_stable(void **state)
{
  diagnostics *d;
  (void)state;
  assert_ok(diagnostics_create(&d));
  assert_ok(diagnostics_close(d, stderr));
  diagnostics_add(d, at("b.yaml", 1, 1), NULL, "five");
  diagnostics_add(d, at("a.yaml", 10, 2), "x.y", "four %d", 4);
  diagnostics_add(d, at("a.yaml", 9, 5), "x", "three");
  diagnostics_add(d, at("a.yaml", 9, 4), NULL, "one");
  diagnostics_add(d, at("a.yaml", 9, 4), NULL, "two");
  diagnostics_add(d, at(NULL, 0, 0), NULL, "zero");
  diagnostics_sort(d);
  static const char *const lines[] = {
      "zero", "a.yaml:9:4: one", "a.yaml:9:4: two", "a.yaml:9:5: x: three", "a.yaml:10:2: x.y: four 4", "b.yaml:1:1: five"};
  assert_int_equal(diagnostics_count(d), 6);
  for (int i = 0; i < 6; ++i) assert_string_equal(diagnostics_text(d, i), lines[i]);
  FILE *out       = tmpfile();
  char  text[400] = "";
  assert_non_null(out);
  assert_int_equal(diagnostics_close(d, out), PETSC_ERR_USER_INPUT);
  rewind(out);
  assert_true(fread(text, 1, sizeof text - 1, out) > 0);
  fclose(out);
  assert_string_equal(text, "zero\na.yaml:9:4: one\na.yaml:9:4: two\na.yaml:9:5: x: three\na.yaml:10:2: x.y: four 4\nb.yaml:1:1: five\n");
  diagnostics_destroy(&d);
  diagnostics_destroy(&d);
  assert_no_leak();
}

/* Only texts that the list lacks are copied, with their positions. */
static void test_merge(void **state)
{
  diagnostics *a, *b;
  (void)state;
  assert_ok(diagnostics_create(&a));
  assert_ok(diagnostics_create(&b));
  diagnostics_add(a, at("a.yaml", 2, 1), "x", "same");
  diagnostics_add(b, at("a.yaml", 2, 1), "x", "same");
  for (int i = 0; i < 40; ++i) diagnostics_add(b, at("a.yaml", 1, 3), "y", "number %d", i);
  diagnostics_merge(a, b);
  diagnostics_merge(a, b);
  assert_int_equal(diagnostics_count(a), 41);
  assert_string_equal(diagnostics_text(a, 40), "a.yaml:1:3: y: number 39");
  const document_mark m = diagnostics_mark(a, 40);
  assert_string_equal(m.file, "a.yaml");
  assert_int_equal(m.line, 1);
  assert_int_equal(m.column, 3);
  diagnostics_destroy(&a);
  diagnostics_destroy(&b);
  assert_no_leak();
}

/* Diagnostics get the position of the deepest existing node of the key; user errors become diagnostics, other errors stay
 * errors. */
static void test_places_under_a_node(void **state)
{
  document           *doc;
  document_node      *root;
  diagnostics        *d;
  const document_mark mark = {"a.yaml", 3, 7};
  (void)state;
  assert_ok(document_create(&doc));
  assert_ok(diagnostics_create(&d));
  assert_ok(document_read_flow(doc, "{mesh: {path: x}, spacing: 2}", mark, &root));
  ((document_node *)document_find(root, "mesh"))->mark.column                        = 11;
  ((document_node *)document_find(document_find(root, "mesh"), "path"))->mark.column = 22;
  diagnostics_add_under(d, root, "b", NULL, "itself");
  diagnostics_add_under(d, root, "b", "mesh.path", "deep");
  diagnostics_add_under(d, root, "b", "mesh.scale.x", "half way");
  diagnostics_add_under(d, root, "b", "mes", "not there");
  diagnostics_add_under(d, NULL, "b", "mesh", "nowhere");
  assert_false(diagnostics_take(d, root, "b", "mesh", PETSC_SUCCESS));
  assert_false(diagnostics_take(d, root, "b", "mesh", PETSC_ERR_MEM));
  static const char *const lines[] = {"a.yaml:3:7: b: itself", "a.yaml:3:22: b.mesh.path: deep", "a.yaml:3:11: b.mesh.scale.x: half way",
                                      "a.yaml:3:7: b.mes: not there", "b.mesh: nowhere"};
  assert_int_equal(diagnostics_count(d), 5);
  for (int i = 0; i < 5; ++i) assert_string_equal(diagnostics_text(d, i), lines[i]);
  diagnostics_destroy(&d);
  document_destroy(&doc);
  assert_no_leak();
}

static void test_hostile_text_stays_on_its_line(void **state)
{
  diagnostics *d;
  char         huge[8000];
  (void)state;
  memset(huge, 'x', sizeof huge - 1);
  huge[sizeof huge - 1] = 0;
  assert_ok(diagnostics_create(&d));
  diagnostics_add(d, at(huge, 1, 1), huge, "%s", huge);
  diagnostics_add(d, at(NULL, 0, 0), NULL, "a\x1b[31m\nb");
  assert_true(strlen(diagnostics_text(d, 0)) < 2048);
  assert_string_equal(diagnostics_text(d, 1), "a?[31m b");
  diagnostics_destroy(&d);
  assert_no_leak();
}

static void test_nearest(void **state)
{
  static const char *const names[] = {"friction", "stiffness", "youngs_modulus", "end", "step", "friction_angle_deg", "mpm", "fem"};
  static const struct {
    const char *word, *nearest;
  } cases[] = {
      {"frction", "friction"},
      {"firction", "friction"},
      {"Friction", "friction"},
      {"stifness", "stiffness"},
      {"youngs", "youngs_modulus"},
      {"youngs-modulus", "youngs_modulus"},
      {"friction_angle", "friction_angle_deg"},
      {"ned", "end"},
      {"stpe", "step"},
      {"steps", "step"},
      {"mmp", "mpm"},
      {"x", NULL},
      {"", NULL},
      {"gravity", NULL},
      {"ab", NULL},
      {"xyz", NULL},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    const char *nearest = diagnostics_nearest(cases[i].word, 8, names);
    if (!nearest || !cases[i].nearest) {
      if (nearest != cases[i].nearest) fail_msg("%s: %s", cases[i].word, nearest ? nearest : "none");
    } else assert_string_equal(nearest, cases[i].nearest);
  }
  char huge[5000];
  memset(huge, 'f', sizeof huge - 1);
  huge[sizeof huge - 1] = 0;
  assert_null(diagnostics_nearest(huge, 8, names));
}

TEST_MAIN(cmocka_unit_test(test_sorted_by_place_and_stable), cmocka_unit_test(test_places_under_a_node),
          cmocka_unit_test(test_hostile_text_stays_on_its_line), cmocka_unit_test(test_nearest), cmocka_unit_test(test_merge))
