/* The command friction: solutions with a known answer, output files, exit codes and wrong options. */
#include "fclib_scenes.h"
#include "command_fixture.h"
#include "core/csv.h"

/* A body slides down a slope of 0.6 rad: friction 0.5 < tan(0.6). */
static void write_slope(const char *path)
{
  fclib_problem p;
  scene_slope(&p, false, 0.6, 0.5);
  assert_ok(fclib_write(path, &p, NULL, 0, NULL));
  fclib_clear(&p);
}

static void solutions_are_printed_and_written(void **state)
{
  (void)state;
  char     *text;
  size_t    n;
  csv_table t;
  double    normal = 0;
  write_slope("a.hdf5");
  assert_command(SS_EXIT_OK, "friction a.hdf5 --tol 1e-10 --contacts contacts.csv --output b.hdf5");
  assert_contains(command_out, "a.hdf5\n  global problem, 4 contacts, 6 degrees of freedom, nu = 2.00\n");
  assert_contains(command_out, "tolerance: scaled and siconos at most 1e-10\n");
  assert_ok(file_read_text("contacts.csv", &text, &n));
  assert_ok(csv_read("contacts.csv", text, &t));
  assert_string_equal(t.cell[3], "r_n");
  assert_string_equal(t.cell[7], "u_t1");
  assert_int_equal(t.n_rows, 5);
  for (int i = 1; i < 5; ++i) {
    const char *const *row = t.cell + i * t.n_columns;
    assert_string_equal(row[1], "slide");
    assert_close(atof(row[7]), scene_slope_speed(0.6, 0.5), 1e-8);
    normal += atof(row[3]);
  }
  assert_close(normal, scene_weight * cos(0.6), 1e-8);
  csv_clear(&t);
  memory_free(&text);
  assert_command(SS_EXIT_OK, "friction b.hdf5 --from-guess 0 --max-iterations 1"); /* starts from the solution */
  assert_contains(command_out, "the file also contains a solution, 0 guesses");
}

static void several_files_give_a_table(void **state)
{
  (void)state;
  write_slope("a.hdf5");
  write_slope("b.hdf5");
  command_write("c.hdf5", "not HDF5");
  assert_command(SS_EXIT_BAD_INPUT, "friction a.hdf5 c.hdf5 b.hdf5 --table t.csv");
  assert_contains(command_err, "c.hdf5");
  assert_contains(command_out, "\nb  "); /* solved after the error */
  assert_int_equal(system("[ $(wc -l <t.csv) = 3 ]"), 0);
}

static void wrong_options_are_bad_input(void **state)
{
  (void)state;
  static const char *const lines[][2] = {
      {"friction a.hdf5 a.hdf5 --output b.hdf5", "stickslip friction: --output requires one FILE and one solver\n"},
      {"friction a.hdf5 --all --contacts b.csv", "stickslip friction: --contacts requires one FILE and one solver\n"},
      {"friction a.hdf5 --force", "stickslip friction: --force requires --output, --contacts, --table or --plot\n"},
      {"friction a.hdf5 --all --solver splitting", "stickslip friction: --all and --solver contradict each other; give one of them\n"},
      {"friction a.hdf5 --plot b.svg", "stickslip friction: --plot requires --all, because it compares solvers\n"},
      {"friction a.hdf5 --table a.hdf5", "stickslip friction: --table a.hdf5 is an input file; choose another name\n"},
      {"friction a.hdf5 --output a.hdf5",
       "stickslip friction: --output a.hdf5 is an input file; choose another name, or add --force to replace it\n"},
      {"friction a.hdf5 --output job.yaml",
       "stickslip friction: --output job.yaml already exists; choose another name, or add --force to replace it\n"}};
  write_slope("a.hdf5");
  for (size_t i = 0; i < sizeof lines / sizeof *lines; ++i) {
    assert_command(SS_EXIT_BAD_INPUT, lines[i][0]);
    assert_string_equal(command_err, lines[i][1]);
    assert_string_equal(command_out, "");
  }
  assert_command(SS_EXIT_BAD_INPUT, "friction a.hdf5 --tol -1");
  assert_contains(command_err, "friction.tolerance: ");
  assert_command(SS_EXIT_BAD_INPUT, "friction a.hdf5 --set expert.line_serch=full");
  assert_contains(command_err, "did you mean \"line_search\"?");
  assert_command(SS_EXIT_BAD_INPUT, "friction missing.hdf5");
}

/* Keys without effect with the method of the command line; with --all every method is used, so all keys have an effect. */
static void keys_without_effect_are_bad_input(void **state)
{
  (void)state;
  static const char *const lines[][2] = {
      {"friction a.hdf5 --set expert.merit=1", "expert.merit: has no effect when method is automatic"},
      {"friction a.hdf5 --solver splitting --set expert.merit=1", "expert.merit: has no effect when method is splitting"},
      {"friction a.hdf5 --solver newton --set expert.local_solver=exact", "expert.local_solver: has no effect when method is newton"}};
  write_slope("a.hdf5");
  for (size_t i = 0; i < sizeof lines / sizeof *lines; ++i) {
    assert_command(SS_EXIT_BAD_INPUT, lines[i][0]);
    assert_contains(command_err, lines[i][1]);
    assert_string_equal(command_out, "");
  }
  assert_command(SS_EXIT_OK, "friction a.hdf5 --solver newton --set expert.merit=1e-30 --max-iterations 1000 --tol 1e-4");
  (void)command_do("friction a.hdf5 --all --set expert.merit=1e-30 --set expert.local_solver=exact --tol 1e-4");
  assert_lacks(command_err, "has no effect");
  assert_contains(command_out, "newton_prox"); /* all methods were run */
}

/* One iteration is not enough: exit code 6, and the iterate is written as a guess. */
static void unsolved_problems_have_their_own_code(void **state)
{
  (void)state;
  write_slope("a.hdf5");
  assert_command(SS_EXIT_NOT_CONVERGED, "friction a.hdf5 --solver splitting --max-iterations 1 --output b.hdf5");
  assert_contains(command_err, "the last iterate was written as guess 1");
  assert_command(SS_EXIT_OK, "friction b.hdf5");
  assert_contains(command_out, "the file also contains 1 guesses");
}

TEST_MAIN(command_test(solutions_are_printed_and_written), command_test(several_files_give_a_table),
          command_test(wrong_options_are_bad_input), command_test(keys_without_effect_are_bad_input),
          command_test(unsolved_problems_have_their_own_code))
