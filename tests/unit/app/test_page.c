/* Common parts of report pages: number formats, colours, links, escaping. */
#include "app/report/page.h"
#include "io_fixture.h"
#include <string.h>
#include "io/plot_sheet.h"

#define NARROW_SPACE "\xe2\x80\xaf"

static void numbers_have_the_stated_formats(void **state)
{
  (void)state;
  static const struct {
    double      x;
    const char *text;
  } numbers[] = {{0, "0"},
                 {1.5, "1.5"},
                 {0.00012, "0.00012"},
                 {1.23e-7, "1.23e-07"},
                 {12300, "12300"},
                 {-999999, "-999999"},
                 {NAN, "-"},
                 {INFINITY, "-"},
                 {2.5e9, "2.5e+09"},
                 {1234567, "1" NARROW_SPACE "234" NARROW_SPACE "567"},
                 {-5000042, "-5" NARROW_SPACE "000" NARROW_SPACE "042"}},
    durations[] =
        {{0, "0 s"},          {4.2, "4.2 s"}, {99.4, "99.4 s"}, {200, "3 min 20 s"}, {7199.4, "119 min 59 s"}, {18720, "5 h 12 min"},
         {200000, "2 d 7 h"}, {-1, "-"},      {NAN, "-"}},
    sizes[] = {{0, "0 byte"}, {999, "999 byte"}, {1000, "1 kB"}, {35.1e6, "35.1 MB"}, {2e9, "2 GB"}, {4e15, "4e+03 TB"}};
  char text[64];
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i)
    page_number(numbers[i].x, sizeof text, text), assert_string_equal(text, numbers[i].text);
  for (size_t i = 0; i < sizeof durations / sizeof *durations; ++i)
    page_duration(durations[i].x, sizeof text, text), assert_string_equal(text, durations[i].text);
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i)
    page_bytes(sizes[i].x, sizeof text, text), assert_string_equal(text, sizes[i].text);
}

/* Okabe and Ito's blue and vermillion; a number without colour is black. */
static void colours_are_those_for_light_background(void **state)
{
  (void)state;
  char hex[8];
  page_colour(1, hex), assert_string_equal(hex, "#0072b2");
  page_colour(2, hex), assert_string_equal(hex, "#d55e00");
  page_colour(20, hex), assert_string_equal(hex, "#440154");
  page_colour(99, hex), assert_string_equal(hex, "#000000");
}

static void texts_are_escaped(void **state)
{
  (void)state;
  text_buffer b = {0};
  page_row(&b, "a<b", "");
  assert_null(b.data);
  page_row(&b, "a<b", "1 & 2");
  assert_string_equal(b.data, "<tr><th>a&lt;b</th><td>1 &amp; 2</td></tr>\n");
  memory_free(&b.data);
  b = (text_buffer){0};
  page_tiles_begin(&b);
  page_tile(&b, "<3", "m/s", "speed");
  page_tiles_end(&b);
  assert_string_equal(b.data, "<div class=\"tiles\">\n<div><b>&lt;3 <small>m/s</small></b><span>speed</span></div>\n</div>\n");
  memory_free(&b.data);
  b = (text_buffer){0};
  page_link(&b, "/a b/", "c?.csv", "x & y");
  assert_string_equal(b.data, "<a href=\"/a%20b/c%3F.csv\">x &amp; y</a>");
  memory_free(&b.data);
}

static void page_has_one_head_and_one_foot(void **state)
{
  (void)state;
  text_buffer b = {0};
  page_begin(&b, "a & b");
  page_end(&b);
  assert_int_equal(strncmp(b.data, "<!DOCTYPE html>\n", 16), 0);
  assert_non_null(strstr(b.data, "<title>a &amp; b</title>"));
  assert_true(strstr(b.data, "</style>") < strstr(b.data, "<body>"));
  assert_non_null(strstr(b.data, "<footer>Written 20"));
  assert_string_equal(b.data + b.n - 16, "</body>\n</html>\n");
  memory_free(&b.data);
}

/* Links are relative for a page in the folder of its files, absolute elsewhere. */
static void base_depends_on_the_folder_of_the_page(void **state)
{
  (void)state;
  char dir[256], path[512], expected[512], *base;
  folder_make(dir);
  snprintf(path, sizeof path, "%s/report.html", dir);
  assert_ok(page_base(dir, path, &base));
  assert_string_equal(base, "");
  memory_free(&base);
  char *real = realpath(dir, NULL);
  snprintf(expected, sizeof expected, "%s/", real);
  free(real);
  assert_ok(page_base(dir, "/report.html", &base));
  assert_string_equal(base, expected);
  memory_free(&base);
  assert_ok(page_base("/nowhere/at/all", path, &base));
  assert_string_equal(base, "");
  memory_free(&base);
  folder_remove(dir);
}

static int            n_written;
static PetscErrorCode count_call(const char *dir) { return ++n_written, strcmp(dir, "run/x") ? PETSC_ERR_ARG_WRONG : PETSC_SUCCESS; }
static PetscErrorCode fail_to_write(const char *dir)
{
  PetscFunctionBegin;
  SETERRQ(PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "%s: disk full", dir);
}

/* A page that cannot be written is no error: false, and the message is cleared. */
static void failed_pages_are_no_errors(void **state)
{
  (void)state;
  if (!plot_sheet_is_possible()) skip();
  n_written = 0;
  assert_true(page_try_write("run/x", "report", count_call));
  assert_int_equal(n_written, 1);
  assert_false(page_try_write("run/x", "report", fail_to_write));
  assert_string_equal(error_message(), "");
}

static void without_gnuplot_no_page_is_written(void **state)
{
  (void)state;
  char *before = strdup(getenv("PATH"));
  n_written    = 0;
  setenv("PATH", "/nowhere", 1);
  assert_false(page_try_write("run/x", "report", count_call));
  setenv("PATH", before, 1);
  free(before);
  assert_int_equal(n_written, 0);
}

TEST_MAIN(cmocka_unit_test(numbers_have_the_stated_formats), cmocka_unit_test(colours_are_those_for_light_background),
          cmocka_unit_test(texts_are_escaped), cmocka_unit_test(page_has_one_head_and_one_foot),
          cmocka_unit_test(base_depends_on_the_folder_of_the_page), cmocka_unit_test(failed_pages_are_no_errors),
          cmocka_unit_test(without_gnuplot_no_page_is_written))
