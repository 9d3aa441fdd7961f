/* io/plot_sheet: what gnuplot draws of it, where there is a gnuplot. */
#include "io/plot_sheet.h"
#include "test.h"
#include <string.h>

static void draws_all_with_one_process(void **state)
{
  (void)state;
  const double x[3] = {0, 1, 2}, y[3] = {3, 1, 2};
  const char  *svg;
  plot_sheet  *s;
  int          index;
  if (!plot_sheet_is_possible()) skip();
  assert_ok(plot_sheet_create(&s));
  for (int i = 0; i < 3; ++i) {
    /* labels that would be commands, markup or the end of a text */
    const plot_axes axes = {.x_label = "it's `touch /tmp/x` $d0", .y_label = i == 1 ? "<script>'\nexit\n" : "a_b^c", .is_log_y = i == 2};
    plot_sheet_begin(s, &axes);
    plot_sheet_series(s, PLOT_LINE, 4, 3, x, y);
    plot_sheet_series(s, PLOT_CROSSES, 9, 1, x, NULL);
    assert_ok(plot_sheet_end(s, &index));
    assert_int_equal(index, i);
  }
  assert_ok(plot_sheet_draw(s));
  for (int i = 0; i < 3; ++i) {
    char id[32];
    assert_ok(plot_sheet_svg(s, i, "a diagram", &svg));
    assert_non_null(strstr(svg, "var(--c4)"));
    assert_non_null(strstr(svg, "var(--c9)"));
    assert_non_null(strstr(svg, "it's `touch"));
    assert_true(!strstr(svg, "<script") && !strstr(svg, "<title>"));
    snprintf(id, sizeof id, "id='d%d-gpPt1'", i);
    assert_non_null(strstr(svg, id));
    assert_int_equal(strncmp(svg, "<svg ", 5), 0);
    assert_string_equal(svg + strlen(svg) - 6, "</svg>");
  }
  assert_non_null(plot_sheet_svg(s, 0, "", &svg) ? NULL : strstr(svg, "a_b^c"));
  assert_int_equal(plot_sheet_svg(s, 3, "", &svg), PETSC_ERR_LIB);
  error_clear();
  plot_sheet_destroy(&s);
  assert_no_leak();
}

static void reports_missing_programs(void **state)
{
  (void)state;
  const double x[1]   = {0};
  char        *before = strdup(getenv("PATH"));
  plot_sheet  *s;
  int          index;
  setenv("PATH", "/nowhere", 1);
  assert_false(plot_sheet_is_possible());
  assert_ok(plot_sheet_create(&s));
  assert_ok(plot_sheet_draw(s)); /* nothing to draw needs nothing */
  plot_sheet_begin(s, &(plot_axes){0});
  plot_sheet_series(s, PLOT_POINTS, 1, 1, x, x);
  assert_ok(plot_sheet_end(s, &index));
  assert_int_equal(plot_sheet_draw(s), PETSC_ERR_FILE_OPEN);
  assert_non_null(strstr(error_message(), "gnuplot-nox"));
  error_clear();
  plot_sheet_destroy(&s);
  setenv("PATH", before, 1);
  free(before);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(draws_all_with_one_process), cmocka_unit_test(reports_missing_programs))
