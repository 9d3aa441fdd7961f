/* Comparison of solvers: names, lookup, times, tables, and the steps of the performance profile. */
#include "app/friction/friction_profile.h"
#include "io_fixture.h"
#include <string.h>
#include "io/plot_sheet.h"
#include "io/sealed_file.h"

static void add(friction_runs *runs, const char *problem, const char *solver, bool is_solved, double seconds)
{
  friction_run *r;
  assert_ok(friction_runs_add(runs, &r));
  snprintf(r->problem, sizeof r->problem, "%s", problem);
  snprintf(r->solver, sizeof r->solver, "%s", solver);
  r->is_solved = is_solved, r->seconds = seconds, r->scaled = is_solved ? 1e-9 : 3e-4, r->iterations = 7, r->nu = NAN;
}

/* Three problems, two solvers: fastest solver, failures, number of solved problems. */
static void tables_show_times_failures_and_counts(void **state)
{
  (void)state;
  friction_runs runs = {0};
  int64_t       first[6];
  char         *text = NULL;
  size_t        n;
  char          dir[256], path[300];
  folder_make(dir);
  snprintf(path, sizeof path, "%s/table", dir);
  add(&runs, "a", "one", true, 1e-3), add(&runs, "a", "two", true, 2e-3);
  add(&runs, "b", "one", false, 9), add(&runs, "b", "two", true, 3.5);
  add(&runs, "c", "one", true, 5e-6), add(&runs, "c", "two", false, 1);
  assert_int_equal(friction_runs_problems(&runs, first), 3);
  assert_int_equal(first[1], 2);
  assert_int_equal(friction_runs_solvers(&runs, first), 2);
  FILE *out = fopen(path, "w");
  assert_ok(friction_profile_print(&runs, 0, out));
  fclose(out);
  assert_ok(file_read_text(path, &text, &n));
  assert_string_equal(
      text, "| problem | contacts | nu | one | two |\n|---|---|---|---|---|\n"
            "| a | 0 | ? | **1 ms (7)** | 2 ms (7) |\n| b | 0 | ? | no: 3e-04 | **3.5 s (7)** |\n| c | 0 | ? | **5 us (7)** | no: 3e-04 |\n"
            "| solved |  | | 2 of 3 | 2 of 3 |\n");
  memory_free(&text);
  assert_ok(friction_profile_csv(&runs, path));
  assert_ok(file_read_text(path, &text, &n));
  assert_non_null(strstr(text, "\nb,0,0,,one,,0,,7,0,0,9,0,"));
  memory_free(&text);
  friction_runs_clear(&runs);
  folder_remove(dir);
}

static void names_and_times(void **state)
{
  (void)state;
  static const char *const paths[][2] = {{"/x/y.z/Box-1.hdf5", "Box-1"}, {"Box", "Box"}, {"a/.hidden", ".hidden"}, {"a/b.c.d", "b.c"}};
  static const struct {
    double      seconds;
    const char *text;
  } times[] = {{1.25, "1.25 s"}, {1, "1 s"}, {0.034, "34 ms"}, {1e-3, "1 ms"}, {56e-6, "56 us"}, {0, "0 us"}};
  char text[96];
  for (size_t i = 0; i < sizeof paths / sizeof *paths; ++i) {
    friction_problem_name(paths[i][0], sizeof text, text);
    assert_string_equal(text, paths[i][1]);
  }
  for (size_t i = 0; i < sizeof times / sizeof *times; ++i) {
    friction_time_text(times[i].seconds, sizeof text, text);
    assert_string_equal(text, times[i].text);
  }
}

static void runs_are_found_by_problem_and_solver(void **state)
{
  (void)state;
  friction_runs runs = {0};
  add(&runs, "a", "one", true, 1), add(&runs, "a", "two", true, 2), add(&runs, "b", "two", true, 3);
  assert_true(friction_runs_find(&runs, "b", "two")->seconds == 3);
  assert_null(friction_runs_find(&runs, "b", "one"));
  friction_runs_clear(&runs);
  assert_int_equal(runs.n, 0);
}

/* One curve per solver, thin for a peer. The title and both names are in the file. */
static void profile_has_a_curve_per_solver(void **state)
{
  (void)state;
  friction_runs runs = {0};
  char          dir[256], path[300], *svg;
  size_t        n;
  if (!plot_sheet_is_possible()) skip();
  folder_make(dir);
  snprintf(path, sizeof path, "%s/profile.svg", dir);
  add(&runs, "a", "mine", true, 1), add(&runs, "a", "theirs", true, 3);
  runs.run[1].is_peer = true;
  assert_ok(friction_profile_plot(&runs, "1 < 3", path));
  assert_ok(file_read_text(path, &svg, &n));
  assert_non_null(strstr(svg, "1 &lt; 3"));
  assert_non_null(strstr(svg, "stroke-width=\"3\"/><text x=\"40.0\" y=\"464.0\">mine</text>"));
  assert_non_null(strstr(svg, "stroke-width=\"1\"/><text x=\"286.7\" y=\"464.0\">theirs</text>"));
  memory_free(&svg);
  friction_runs_clear(&runs);
  folder_remove(dir);
}

TEST_MAIN(cmocka_unit_test(tables_show_times_failures_and_counts), cmocka_unit_test(names_and_times),
          cmocka_unit_test(runs_are_found_by_problem_and_solver), cmocka_unit_test(profile_has_a_curve_per_solver))
