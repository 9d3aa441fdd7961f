/* The quality block: bounds of each entry, texts, and the key table that result.yaml is written with. */
#include "app/run/run_quality.h"
#include "io_fixture.h"
#include <math.h>
#include <string.h>

static const run_quality good = {.steps                  = 120,
                                 .largest_residual       = 9e-4,
                                 .largest_residual_body  = "rope",
                                 .deepest_overlap        = 1e-3,
                                 .deepest_overlap_bodies = "ball, floor",
                                 .overlap_ratio          = 0.1,
                                 .overlap_ratio_bodies   = "ball, floor",
                                 .energy_increase        = 0.5,
                                 .energy_increase_ratio  = 1e-3,
                                 .energy_not_checked     = "",
                                 .relaxation_steps       = NAN,
                                 .remaining_velocity     = NAN};

static void entries_are_bad_above_their_bounds(void **state)
{
  (void)state;
  run_quality           q[5] = {good, good, good, good, good};
  run_quality_sentences s;
  static const char    *expected[5] = {
         "", "3 of 120 steps accepted although the residual or a contact solver was above its tolerance, largest residual 0.0009 in rope",
         "bodies overlap by 0.11 of the size of the smaller one, bound 0.1: ball, floor",
         "the energy increased by 0.5 J without external work, 0.00101 of the energy exchanged, bound 0.001", "2 warnings"};
  q[1].steps_above_tolerance = 3, q[2].overlap_ratio = 0.11, q[3].energy_increase_ratio = 0.00101, q[4].warnings = 2;
  for (int k = 0; k < 5; ++k) {
    run_quality_evaluate(&q[k], &s);
    assert_int_equal(q[k].bad.n, k > 0);
    if (k > 0) assert_string_equal(q[k].bad.item[0].value, expected[k]);
  }
  run_quality all   = q[1];
  all.overlap_ratio = 0.5, all.energy_increase_ratio = 1.0, all.warnings = 1;
  run_quality_evaluate(&all, &s);
  assert_int_equal(all.bad.n, RUN_QUALITY_MAX_BAD);
  all.energy_increase_ratio = NAN; /* not checked */
  run_quality_evaluate(&all, &s);
  assert_int_equal(all.bad.n, RUN_QUALITY_MAX_BAD - 1);
}

static void texts_have_the_entries(void **state)
{
  (void)state;
  run_quality           q = good;
  run_quality_sentences s;
  text_buffer           b       = {0};
  key_item              item[2] = {{.value = "ball: <no> support [unsupported]"}, {.value = "floor: thin [thin]"}};
  q.energy_increase = q.energy_increase_ratio = NAN;
  q.energy_not_checked                        = "bodies.belt.motion";
  q.warnings = 2, q.warning_texts = (key_list){2, item};
  run_quality_evaluate(&q, &s);
  run_quality_line(&q, &b);
  assert_string_equal(b.data,
                      "steps 120, steps above tolerance 0, largest residual 0.0009, largest residual body rope, deepest overlap 0.001 m, "
                      "deepest overlap bodies ball, floor, overlap ratio 0.1, overlap ratio bodies ball, floor, "
                      "energy not checked bodies.belt.motion, fallen bodies 0, step halvings 0, warnings 2");
  text_clear(&b);
  run_quality_print(&q, "  ", &b);
  assert_non_null(
      strstr(b.data, "  warning texts            ball: <no> support [unsupported]\n                           floor: thin [thin]\n"));
  assert_null(strstr(b.data, "energy increase"));
  text_clear(&b);
  run_quality_html(&q, &b);
  assert_non_null(strstr(b.data, "<tr><th>warning texts</th><td>ball: &lt;no&gt; support [unsupported]</td></tr>"));
  text_clear(&b);
  assert_no_leak();
}

static void the_key_table_is_valid(void **state)
{
  (void)state;
  diagnostics *d;
  assert_ok(diagnostics_create(&d));
  assert_ok(key_table_validate(&run_quality_table, d));
  assert_int_equal(diagnostics_count(d), 0);
  diagnostics_destroy(&d);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(entries_are_bad_above_their_bounds), cmocka_unit_test(texts_have_the_entries),
          cmocka_unit_test(the_key_table_is_valid))
