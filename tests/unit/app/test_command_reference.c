/* The command schema: references of keys, columns, files, fields and bodies, and wrong combinations of options. */
#include "app/command/command_reference.h"
#include "command_fixture.h"

static void bodies_have_the_numbers_of_the_job(void **state)
{
  (void)state;
  assert_command(SS_EXIT_OK, "schema bodies --job job.yaml");
  assert_string_equal(command_out, "| body | name | kind |\n|---|---|---|\n| 0 | `ball` | rigid |\n| 1 | `floor` | static |\n\n"
                                   "| object | name |\n|---|---|\n| 0 | `ball` |\n| 1 | `floor` |\n");
}

static void fields_are_those_of_the_job(void **state)
{
  (void)state;
  assert_command(SS_EXIT_OK, "schema fields --job job.yaml");
  assert_contains(command_out,
                  "\n## bodies/NAME (static)\n\n| field | type | components | unit | in | meaning |\n|---|---|---|---|---|---|\n"
                  "| `position` | f64 | 3 | m | k | surface vertices |\n");
  assert_contains(command_out, "\n## rigid/bodies\n");
  assert_lacks(command_out, "ball");
  const size_t once = strlen(command_out);
  assert_command(SS_EXIT_OK, "schema fields --job job.yaml --job job.yaml"); /* the union of equal fields */
  assert_int_equal(strlen(command_out), once);
  assert_command(SS_EXIT_BAD_INPUT, "schema fields --job missing.yaml");
  assert_string_equal(command_out, "");
  assert_contains(command_err, "missing.yaml");
}

static void columns_and_files_are_listed(void **state)
{
  (void)state;
  assert_command(SS_EXIT_OK, "schema history");
  assert_contains(command_out, "| `time` | s | ");
  assert_contains(command_out, "| all | ");
  assert_contains(command_out, "## friction_method\n\n| value | friction solver |\n|---|---|\n| 0 | `");
  assert_command(SS_EXIT_OK, "schema files");
  assert_contains(command_out, "| `history.csv` |");
  assert_contains(command_out, "## result\n");
  assert_contains(command_out, "## machine\n");
}

static void keys_have_three_formats(void **state)
{
  (void)state;
  assert_command(SS_EXIT_OK, "schema");
  assert_int_equal(strncmp(command_out, "## job\n", 7), 0);
  assert_command(SS_EXIT_OK, "schema sweep --format json");
  assert_contains(command_out, "\"$ref\": \"#/$defs/sweep\"");
  assert_command(SS_EXIT_OK, "schema result --format man");
  assert_int_equal(strncmp(command_out, ".SS result\n", 11), 0);
  assert_non_null(command_file_find("job"));
  assert_null(command_file_find("jobs"));
}

static void wrong_options_are_bad_input(void **state)
{
  (void)state;
  static const char *const lines[][2] = {
      {"schema jobs", "stickslip schema jobs: expected job, sweep, result, history, warnings, files, fields or bodies\n"},
      {"schema job --format xml", "stickslip schema: --format xml: expected markdown, man or json\n"},
      {"schema history --format man", "stickslip schema history: --format needs job, sweep or result\n"},
      {"schema files --expert", "stickslip schema files: --expert needs job, sweep or result\n"},
      {"schema fields", "stickslip schema fields: --job is required\n"},
      {"schema job --job job.yaml", "stickslip schema job: --job needs fields or bodies\n"}};
  for (size_t i = 0; i < sizeof lines / sizeof *lines; ++i) {
    assert_command(SS_EXIT_BAD_INPUT, lines[i][0]);
    assert_string_equal(command_out, "");
    assert_string_equal(command_err, lines[i][1]);
  }
}

TEST_MAIN(command_test(bodies_have_the_numbers_of_the_job), command_test(fields_are_those_of_the_job),
          command_test(columns_and_files_are_listed), command_test(keys_have_three_formats), command_test(wrong_options_are_bad_input))
