/* Access to parsed options, and the names of actions. */
#include "app/command/command_line.h"
#include "test.h"

static const command_option set = {"--set", "KEY=VALUE", true, "x"}, force = {"--force", NULL, false, "x"},
                            steps = {"--steps", "N", false, "x"};

static void the_last_value_counts(void **state)
{
  (void)state;
  const command_line line = {.n_options = 4, .option = {&set, &force, &set, &steps}, .value = {"a=1", NULL, "b=2", "7"}};
  const char        *values[COMMAND_MAX_VALUES];
  assert_string_equal(command_value(&line, "--set"), "b=2");
  assert_string_equal(command_value(&line, "--force"), "");
  assert_null(command_value(&line, "--out"));
  assert_int_equal(command_values(&line, "--set", values), 2);
  assert_string_equal(values[0], "a=1");
  assert_string_equal(values[1], "b=2");
  assert_int_equal(command_values(&line, "--out", values), 0);
}

static void integers_are_checked(void **state)
{
  (void)state;
  static const char *const bad[] = {"", "x", "7x", "0", "11", "1e1", "99999999999999999999"};
  command_line             line  = {.n_options = 1, .option = {&steps}, .value = {"10"}};
  int64_t                  n     = -1;
  assert_true(command_integer(&line, "--steps", 1, 10, 3, &n));
  assert_int_equal(n, 10);
  assert_true(command_integer(&line, "--threads", 1, 10, 3, &n));
  assert_int_equal(n, 3);
  for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
    line.value[0] = bad[i];
    assert_false(command_integer(&line, "--steps", 1, 10, 3, &n));
  }
}

static void actions_belong_to_their_command(void **state)
{
  (void)state;
  const command status = {.name = "sweep status"}, sweep = {.name = "sweep"};
  assert_string_equal(command_action(&status, "sweep"), "status");
  assert_string_equal(command_action(&status, NULL), "status");
  assert_null(command_action(&status, "swee"));
  assert_null(command_action(&status, "sweeps"));
  assert_null(command_action(&sweep, NULL));
}

TEST_MAIN(cmocka_unit_test(the_last_value_counts), cmocka_unit_test(integers_are_checked),
          cmocka_unit_test(actions_belong_to_their_command))
