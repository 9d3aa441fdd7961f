/* Signals that request a stop, signals that abandon the current step, and stopping by wall time alone. */
#include "test.h"
#include <math.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "core/stop.h"
#include "core/timer.h"

static void wait_for(double seconds)
{
  const struct timespec t = {0, (long)(1e9 * seconds)};
  nanosleep(&t, NULL);
}

static void test_a_warning_requests_a_stop_after_the_step(void **state)
{
  const int warnings[] = {SIGUSR1, SIGXCPU, SIGHUP, SIGUSR2};
  (void)state;
  for (int i = 0; i < 4; ++i) {
    stop_reset();
    stop_install();
    assert_int_equal(stop_signal(), 0);
    for (int k = 0; k < 5; ++k) raise(warnings[i]);
    assert_int_equal(stop_signal(), warnings[i]);
    assert_false(stop_is_urgent());
  }
  raise(SIGTERM); /* the first signal is reported */
  assert_int_equal(stop_signal(), SIGUSR2);
  assert_false(stop_is_urgent());
}

static void test_the_second_interrupt_abandons_the_step(void **state)
{
  const int hard[] = {SIGTERM, SIGINT};
  (void)state;
  for (int i = 0; i < 4; ++i) {
    stop_reset();
    stop_install();
    raise(hard[i / 2]);
    assert_int_equal(stop_signal(), hard[i / 2]);
    assert_false(stop_is_urgent());
    raise(hard[i % 2]);
    assert_false(stop_is_urgent()); /* a launcher's way of sending one */
    wait_for(1.1 * STOP_TWIN);
    raise(hard[i % 2]);
    assert_true(stop_is_urgent());
  }
}

static void test_a_third_interrupt_leaves_at_once(void **state)
{
  int status;
  (void)state;
  stop_reset();
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    stop_install();
    for (int i = 0; i < 3; ++i, wait_for(1.1 * STOP_TWIN)) raise(SIGINT);
    _exit(0); /* not reached */
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 75);
}

static void test_grace_begins_with_sigterm_alone(void **state)
{
  (void)state;
  stop_reset();
  stop_install();
  stop_set_grace(0.0);
  assert_false(stop_is_urgent());
  raise(SIGINT);
  assert_false(stop_is_urgent());
  stop_reset();
  stop_set_grace(0.05);
  raise(SIGTERM);
  assert_false(stop_is_urgent());
  wait_for(0.06);
  assert_true(stop_is_urgent());
  stop_set_grace(100.0);
  assert_false(stop_is_urgent());
}

static void test_a_deadline_needs_no_signal(void **state)
{
  (void)state;
  stop_reset();
  stop_set_deadline(timer_now() + 0.05);
  assert_false(stop_is_urgent());
  wait_for(0.06);
  assert_true(stop_is_urgent());
  assert_int_equal(stop_signal(), 0);
  stop_set_deadline(INFINITY);
  assert_false(stop_is_urgent());
}

TEST_MAIN(cmocka_unit_test(test_a_warning_requests_a_stop_after_the_step), cmocka_unit_test(test_the_second_interrupt_abandons_the_step),
          cmocka_unit_test(test_a_third_interrupt_leaves_at_once), cmocka_unit_test(test_grace_begins_with_sigterm_alone),
          cmocka_unit_test(test_a_deadline_needs_no_signal))
