/* Columns of history.csv and totals of summary.txt. */
#include "test.h"
#include <math.h>
#include <string.h>
#include "app/run/run_history.h"
#include "sim/formulations.h"
#include "io_fixture.h"

static void print(const run_counters *t, const formulation_ops *ops, char *text, size_t size)
{
  FILE *f = tmpfile();
  assert_non_null(f);
  run_counters_print(t, ops, f);
  rewind(f);
  const size_t n = fread(text, 1, size - 1, f);
  text[n]        = '\0';
  fclose(f);
}

static void expect_lines(const char *text, size_t n, const char *const *lines)
{
  for (size_t i = 0; i < n; ++i)
    if (!strstr(text, lines[i])) fail_msg("\"%s\" is not in\n%s", lines[i], text);
}

static void steps_are_summed(void **state)
{
  (void)state;
  run_counters t;
  char         text[8192];
  step_report  one = {.newton_iterations = 2, .linear_iterations = 30, .evaluations = 5, .residual = 1e-3}, two = {.newton_iterations = 5,
                                                                                                                   .linear_iterations = 60,
                                                                                                                   .evaluations       = 6,
                                                                                                                   .gradient_directions = 3,
                                                                                                                   .unconverged         = 2,
                                                                                                                   .residual = 0.5};
  one.contact = (contact_summary){.contacts = 10, .penetration = 0.25};
  two.contact = (contact_summary){.contacts = 5, .penetration = 0.125};
  for (int i = 0; i < 3; ++i) relax_statistics_add(&one.contact.relaxation_chains, 0x1, 1, false);
  relax_statistics_add(&two.contact.relaxation_chains, 0x123, 3, false);
  run_counters_begin(&t);
  print(&t, &penalty_formulation, text, sizeof text);
  assert_string_equal(text, ""); /* no steps, no averages */
  run_counters_add(&t, 0.5, &one, 0);
  run_counters_add(&t, 0.5, &two, 1);
  print(&t, &penalty_formulation, text, sizeof text);
  static const char *const lines[] = {
      "simulated              1 s in 2 steps, 1 retries\n",
      "Newton iterations      3.500 per step, maximum 5\n",
      "GMRES iterations       45.00 per step\n",
      "not converged          1 steps accepted with a residual above solver.newton.tolerance, at most 0.5\n",
      "contacts               7.5 average over steps, maximum 10\n",
      "relaxations            4, 75.0000 % ended in their first place, longest 3 places, 0 stopped at the limit\n  1               "
      "     3\n  1-2-3                1\n",
      "  penetration [m]              maximum  0.25\n",
      "  evaluations                  sum      11, 5.5 per step\n",
      "  residual                     maximum  0.5\n",
      "  gradient_directions          sum      3, 1.5 per step\n",
      "user CPU time          "};
  expect_lines(text, sizeof lines / sizeof *lines, lines);
  assert_null(strstr(text, "friction_iterations")); /* penalty does not provide it */
  assert_null(strstr(text, "  creep"));
  /* The average of friction iterations is over steps with contacts. */
  one.contact_candidates = 3, one.friction_iterations = 40;
  run_counters_add(&t, 0.5, &one, 0);
  print(&t, &exact_formulation, text, sizeof text);
  static const char *const friction[] = {"friction iterations    40.00 per step with contacts\n",
                                         "  friction_iterations          sum      40, 13.33 per step\n"};
  expect_lines(text, 2, friction);
  assert_null(strstr(text, "gradient_directions"));
  assert_no_leak();
}

static bool provides(const formulation_ops *ops, const char *column)
{
  const report_quantity *q = history_find(column);
  if (!q) fail_msg("there is no column %s", column);
  return q->group & (ops->report | REPORT_RUN);
}

/* A formulation provides the columns of its methods only. */
static void formulations_have_their_columns(void **state)
{
  (void)state;
  static const struct {
    const char *column, *formulations; /* first letters */
  } cases[] = {{"step", "pechm"},
               {"kinetic_energy", "pechm"},
               {"penetration", "pechm"},
               {"newton_iterations", "pechm"},
               {"linear_iterations", "pchm"},
               {"inner_iterations", "pch"},
               {"evaluations", "pech"},
               {"gradient", "pc"},
               {"unconverged", "pechm"},
               {"contact_energy", "p"},
               {"slip_angle_error", "p"},
               {"friction_angle_error", "pechm"},
               {"friction_angle_rms", "echm"},
               {"creep_bound", "c"},
               {"contact_candidates", "ech"},
               {"friction_method", "eh"},
               {"yield_ratio", "m"},
               {"transfer_points", "h"},
               {"gradient_directions", "p"},
               {"friction_unconverged", "eh"},
               {"contact_unconverged", "c"},
               {"rigid_zone_rounds", "h"},
               {"unified_solves", "m"},
               {"yield_overshoot", ""},
               {"seconds", "pechm"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i)
    for (int f = 0; f < N_FORMULATIONS; ++f)
      if (provides(formulations[f], cases[i].column) != (strchr(cases[i].formulations, *formulation_names[f]) != NULL))
        fail_msg("%s and %s", formulation_names[f], cases[i].column);
  assert_null(history_find("friction_work_done")); /* not a column */
  assert_null(history_find("fallbacks"));
  assert_no_leak();
}

static int count_columns(int groups)
{
  int n = 0;
  for (int i = 0; i < HISTORY_N_QUANTITIES; ++i) {
    n += (history_quantities[i].group & groups) != 0;
    for (int k = 0; k < i; ++k) assert_string_not_equal(history_quantities[i].name, history_quantities[k].name);
    assert_true(*history_quantities[i].help && *history_quantities[i].unit);
  }
  return n;
}

/* The table has the columns of its groups; an index without a value is an empty cell, which is read as NaN. */
static void rows_have_the_columns_of_their_groups(void **state)
{
  (void)state;
  char            folder[256], path[300];
  double          values[HISTORY_N_QUANTITIES];
  history        *h;
  history_reader *r;
  bool            is_row;
  const int       groups = exact_formulation.report | REPORT_RUN;
  folder_make(folder);
  snprintf(path, sizeof path, "%s/history.csv", folder);
  for (int i = 0; i < HISTORY_N_QUANTITIES; ++i) values[i] = i + 1;
  assert_ok(run_history_open(path, groups, -1, &h));
  values[HISTORY_friction_method] = HISTORY_EMPTY;
  assert_ok(run_history_row(h, groups, values));
  values[HISTORY_step] = 2, values[HISTORY_friction_method] = 4;
  assert_ok(run_history_row(h, groups, values));
  assert_ok(history_close(&h));
  assert_ok(run_history_open(path, groups, 5, &h)); /* rows with an empty cell survive a resume */
  assert_ok(history_close(&h));
  assert_ok(history_reader_open(path, &r));
  assert_int_equal(history_reader_columns(r), count_columns(groups));
  double *row = calloc((size_t)history_reader_columns(r), sizeof *row);
  for (int k = 0; k < 2; ++k) {
    assert_ok(history_reader_next(r, row, &is_row));
    assert_true(is_row);
    assert_close(row[history_reader_find(r, "residual")], HISTORY_residual + 1, 0.0);
    assert_close(row[history_reader_find(r, "seconds")], HISTORY_seconds + 1, 0.0);
    const double method = row[history_reader_find(r, "friction_method")];
    if (k == 0) assert_true(isnan(method));
    else assert_close(method, 4.0, 0.0);
  }
  assert_int_equal(history_reader_find(r, "yield_ratio"), -1);
  assert_string_equal(history_reader_unit(r, history_reader_find(r, "penetration")), "m");
  history_reader_close(&r);
  free(row);
  folder_remove(folder);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(steps_are_summed), cmocka_unit_test(formulations_have_their_columns),
          cmocka_unit_test(rows_have_the_columns_of_their_groups))
