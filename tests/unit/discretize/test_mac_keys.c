/* Job keys of the staggered grid: the tables are consistent, names select their constants, defaults, ranges and keys without effect. */
#include "core/diagnostics.h"
#include "core/document.h"
#include "discretize/mac/mac_keys.h"
#include "test.h"
#include <string.h>

static document    *doc;
static diagnostics *d;

static int setup(void **state)
{
  (void)state;
  assert_ok(document_create(&doc));
  assert_ok(diagnostics_create(&d));
  return 0;
}
static int teardown(void **state)
{
  diagnostics_destroy(&d);
  document_destroy(&doc);
  return test_check_leaks(state);
}

#define BOX "domain: {min: [0, 0, 0], max: [1, 2, 3]}, spacing: 0.1"

/* The entry `mac:`; keys without effect are errors, as in a job. */
static const mac_options *read(const char *text)
{
  document_node *node, *resolved;
  const void    *out;
  assert_ok(document_read_flow(doc, text, (document_mark){"job.yaml", 4, 6}, &node));
  assert_ok(key_table_read(&mac_options_table, doc, node, "mac", d, &out));
  if (diagnostics_count(d)) return out;
  assert_ok(key_table_resolve(&mac_options_table, doc, node, &resolved));
  key_table_check_conditions(&mac_options_table, node, resolved, d);
  return out;
}

static void tables_are_consistent(void **state)
{
  (void)state;
  assert_ok(key_table_validate(&mac_options_table, d));
  assert_ok(key_table_validate(&mac_body_table, d));
  if (diagnostics_count(d)) fail_msg("%s", diagnostics_text(d, 0));
}

static void defaults(void **state)
{
  (void)state;
  const mac_options *o = read("{" BOX "}");
  assert_int_equal(diagnostics_count(d), 0);
  for (int a = 0; a < 3; ++a) {
    assert_true(o->domain->min[a] == 0.0 && o->domain->max[a] == 1.0 + a);
    for (int k = 0; k < 2; ++k) assert_int_equal(o->walls->side[a][k], MAC_WALL_ROUGH);
  }
  assert_true(o->spacing == 0.1 && isnan(o->wall_friction) && o->cfl == 2.0 && o->hourglass == 0.1);
  assert_int_equal(o->fractions, MAC_FRACTIONS_AUTO);
  assert_int_equal(o->arrangement, MAC_COLOCATED);
  assert_int_equal(o->basis, MAC_ORTHONORMAL);
  assert_int_equal(o->position_correction, 3);
}

/* Every value of every list of names, and every side of the box. */
static void names_select_their_constants(void **state)
{
  static const struct {
    const char *text;
    size_t      offset;
    int         value;
  } cases[]                        = {{"fractions: volume", offsetof(mac_options, fractions), MAC_FRACTIONS_VOLUME},
                                      {"fractions: area", offsetof(mac_options, fractions), MAC_FRACTIONS_AREA},
                                      {"fractions: voxel", offsetof(mac_options, fractions), MAC_FRACTIONS_VOXEL},
                                      {"fractions: ghost", offsetof(mac_options, fractions), MAC_FRACTIONS_GHOST},
                                      {"arrangement: staggered", offsetof(mac_options, arrangement), MAC_STAGGERED},
                                      {"expert: {basis: components}", offsetof(mac_options, basis), MAC_COMPONENTS}};
  static const char *const names[] = {"rough", "smooth", "open", "periodic"}, *const sides[] = {"lower_x", "upper_x", "lower_y",
                                                                                                "upper_y", "lower_z", "upper_z"};
  static const mac_wall walls[] = {MAC_WALL_ROUGH, MAC_WALL_SMOOTH, MAC_WALL_OPEN, MAC_WALL_PERIODIC};
  char                  text[200];
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    snprintf(text, sizeof text, "{" BOX ", %s}", cases[i].text);
    const mac_options *o = read(text);
    assert_int_equal(diagnostics_count(d), 0);
    assert_int_equal(*(const int *)((const char *)o + cases[i].offset), cases[i].value);
  }
  for (int side = 0; side < 6; ++side)
    for (int k = 0; k < 4; ++k) {
      snprintf(text, sizeof text, "{" BOX ", walls: {%s: %s}}", sides[side], names[k]);
      const mac_options *o = read(text);
      assert_int_equal(diagnostics_count(d), 0);
      for (int other = 0; other < 6; ++other) /* the others stay rough */
        assert_int_equal(o->walls->side[other / 2][other % 2], other == side ? walls[k] : MAC_WALL_ROUGH);
    }
}

static void errors_are_reported(void **state)
{
  static const char *const cases[][2] = {
      {"spacing: 0.1", "domain"},
      {BOX ", cfl: 0", "mac.cfl"},
      {BOX ", cfl: 11", "mac.cfl"},
      {BOX ", wall_friction: -1", "mac.wall_friction"},
      {BOX ", expert: {hourglass: 1.5}", "mac.expert.hourglass"},
      {BOX ", expert: {position_correction: -1}", "mac.expert.position_correction"},
      {BOX ", walls: {lower_x: rouhg}", "did you mean \"rough\"?"},
      {BOX ", arrangement: staggered, expert: {hourglass: 0.2}", "expert.hourglass: has no effect when arrangement is staggered"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    char text[200];
    snprintf(text, sizeof text, "{%s}", cases[i][0]);
    (void)read(text);
    if (diagnostics_count(d) != 1 || !strstr(diagnostics_text(d, 0), cases[i][1]))
      fail_msg("%s: expected \"%s\", got \"%s\"", text, cases[i][1], diagnostics_count(d) ? diagnostics_text(d, 0) : "nothing");
    assert_int_equal(teardown(state), 0);
    setup(state);
  }
}

#define KEYS_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
TEST_MAIN(KEYS_TEST(tables_are_consistent), KEYS_TEST(defaults), KEYS_TEST(names_select_their_constants), KEYS_TEST(errors_are_reported))
