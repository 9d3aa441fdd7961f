/* Diagrams of report pages: values that axes cannot show, legends, sections, SVG files. */
#include "app/report/figures.h"
#include "io_fixture.h"
#include <string.h>
#include "io/sealed_file.h"

static int occurrences(const char *text, const char *word)
{
  int n = 0;
  for (const char *p = text; (p = strstr(p, word)); p += strlen(word)) ++n;
  return n;
}

/* Diagrams without visible values are omitted; labels of omitted curves do not enter the legend. */
static void diagrams_without_values_are_omitted(void **state)
{
  (void)state;
  const double    x[3] = {1, 2, 3}, positive[3] = {1, 10, 100}, negative[3] = {-1, -2, 0}, nothing[3] = {NAN, NAN, INFINITY};
  const plot_axes log_axes = {.is_log_y = true};
  text_buffer     page     = {0};
  figures        *f;
  if (!plot_sheet_is_possible()) skip();
  assert_ok(figures_create(&f));
  assert_ok(figures_begin(f, "first", "a & b", &log_axes));
  assert_ok(figures_curve(f, "shown", PLOT_LINE, 1, 3, x, positive));
  assert_ok(figures_curve(f, "negative", PLOT_LINE, 2, 3, x, negative));
  assert_ok(figures_curve(f, NULL, PLOT_POINTS, 3, 3, x, positive));
  assert_ok(figures_curve(f, "marks", PLOT_CROSSES, 9, 1, x, NULL));
  assert_ok(figures_end(f));
  assert_ok(figures_begin(f, "first", "empty", &log_axes));
  assert_ok(figures_curve(f, "nothing", PLOT_LINE, 1, 3, x, nothing));
  assert_ok(figures_curve(f, "marks alone", PLOT_CROSSES, 9, 1, x, NULL));
  assert_ok(figures_end(f));
  assert_ok(figures_begin(f, "second", "linear", &(plot_axes){0}));
  assert_ok(figures_curve(f, "negative", PLOT_LINE, 2, 3, x, negative));
  assert_ok(figures_end(f));
  assert_int_equal(figures_count(f, "first"), 1);
  assert_int_equal(figures_count(f, "second"), 1);
  assert_int_equal(figures_count(f, "third"), 0);
  assert_ok(figures_draw(f));
  assert_ok(figures_put(f, "first", &page));
  assert_int_equal(occurrences(page.data, "<figure>"), 1);
  assert_non_null(strstr(page.data, "<b>a &amp; b</b> <span class=\"key\"><i class=\"line\" style=\"background:var(--c1)\"></i>shown</span>"
                                    " <span class=\"key\"><i class=\"dot\" style=\"background:var(--c9)\"></i>marks</span></figcaption>"));
  assert_int_equal(occurrences(page.data, "class=\"key\""), 2);
  memory_free(&page.data);
  figures_destroy(&f);
}

/* The legend of the file: three entries in a line below a diagram of 300 x 200; no variables of the style sheet. */
static void files_have_colours_and_a_legend(void **state)
{
  (void)state;
  const double x[2] = {0, 1};
  char         dir[256], path[300], *svg;
  size_t       n;
  figures     *f;
  if (!plot_sheet_is_possible()) skip();
  folder_make(dir);
  snprintf(path, sizeof path, "%s/a.svg", dir);
  assert_ok(figures_create(&f));
  assert_ok(figures_begin(f, "s", "<title>", &(plot_axes){.width = 300, .height = 200}));
  for (int i = 1; i <= 4; ++i)
    assert_ok(figures_curve(f, i == 4 ? "fourth" : "curve", i == 2 ? PLOT_THIN : i == 3 ? PLOT_POINTS : PLOT_LINE, i, 2, x, x));
  assert_ok(figures_end(f));
  assert_ok(figures_draw(f));
  assert_int_equal(figures_write_svg(f, "other", path), PETSC_ERR_ARG_WRONGSTATE);
  error_clear();
  assert_ok(figures_write_svg(f, "s", path));
  assert_ok(file_read_text(path, &svg, &n));
  assert_null(strstr(svg, "var(--"));
  assert_null(strstr(svg, "currentColor"));
  assert_non_null(strstr(svg, "&lt;title&gt;"));
  assert_non_null(strstr(svg, "viewBox=\"0 0 300 280\"")); /* 200 + title 40 + two lines of 20 */
  assert_non_null(strstr(svg, "<path d=\"M12.0 240.0h22\" stroke=\"#0072b2\" stroke-width=\"3\"/>"));
  assert_non_null(strstr(svg, "<path d=\"M105.3 240.0h22\" stroke=\"#d55e00\" stroke-width=\"1\"/>"));
  assert_non_null(strstr(svg, "<circle cx=\"209.7\" cy=\"240.0\" r=\"4\" fill=\"#009e73\"/>"));
  assert_non_null(strstr(svg, "<text x=\"40.0\" y=\"264.0\">fourth</text>"));
  memory_free(&svg);
  figures_destroy(&f);
  folder_remove(dir);
}

/* A value between two missing ones is drawn as a point: one more series than curves. */
static void isolated_values_are_marked(void **state)
{
  (void)state;
  const double x[5] = {0, 1, 2, 3, 4}, broken[5] = {1, 1, NAN, 2, NAN}, whole[5] = {1, 2, 1, 2, 1};
  text_buffer  page[2] = {{0}};
  int          marks[2];
  if (!plot_sheet_is_possible()) skip();
  for (int i = 0; i < 2; ++i) {
    figures *f;
    assert_ok(figures_create(&f));
    assert_ok(figures_begin(f, "s", "t", &(plot_axes){0}));
    assert_ok(figures_curve(f, "c", PLOT_LINE, 1, 5, x, i ? broken : whole));
    assert_ok(figures_end(f));
    assert_ok(figures_draw(f));
    assert_ok(figures_put(f, "s", &page[i]));
    marks[i] = occurrences(page[i].data, " scale("); /* gnuplot scales the marks that it draws */
    memory_free(&page[i].data);
    figures_destroy(&f);
  }
  assert_int_equal(marks[0], 0);
  assert_int_equal(marks[1], 1);
}

TEST_MAIN(cmocka_unit_test(diagrams_without_values_are_omitted), cmocka_unit_test(files_have_colours_and_a_legend),
          cmocka_unit_test(isolated_values_are_marked))
