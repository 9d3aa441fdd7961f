/* One writer per run directory: a second one is rejected with the name of the first, and the lock is free as soon as the first
 * has ended, for any reason. */
#include "run_lock_crowd.h"
#include <signal.h>
#include <sys/wait.h>

static void second_writer_is_rejected_with_the_owner(void **state)
{
  (void)state;
  char      folder[256], run[300], expected[64];
  run_lock *first = NULL, *second = NULL;
  folder_make(folder);
  snprintf(run, sizeof run, "%s/run/deep", folder);
  assert_false(run_lock_is_held(run));
  assert_ok(run_lock_acquire(run, &first));
  assert_true(run_lock_is_held(run));
  snprintf(expected, sizeof expected, "is being written by process %ld on ", (long)getpid());
  expect_message(run_lock_acquire(run, &second), expected);
  assert_null(second);
  run_lock_release(&first);
  assert_null(first);
  assert_false(run_lock_is_held(run));
  assert_ok(run_lock_acquire(run, &second));
  run_lock_release(&second);
  run_lock_release(&second);
  folder_remove(folder);
  assert_no_leak();
}

static void the_lock_of_a_killed_process_is_free(void **state)
{
  (void)state;
  char      folder[256], byte;
  int       ready[2];
  run_lock *lock = NULL;
  folder_make(folder);
  assert_int_equal(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    if (run_lock_acquire(folder, &lock) || write(ready[1], "x", 1) != 1) _exit(1);
    pause();
    _exit(0);
  }
  assert_int_equal(read(ready[0], &byte, 1), 1);
  char expected[64];
  snprintf(expected, sizeof expected, "is being written by process %ld on ", (long)child);
  expect_message(run_lock_acquire(folder, &lock), expected);
  assert_true(run_lock_is_held(folder));
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  assert_false(run_lock_is_held(folder));
  /* Its file still exists; so may one of a process that was killed while taking the lock, but not one of a live process. */
  char host[256], dead[600], alive[600];
  assert_int_equal(gethostname(host, sizeof host), 0);
  snprintf(dead, sizeof dead, "%s/run.lock.%s.%ld", folder, host, (long)child);
  snprintf(alive, sizeof alive, "%s/run.lock.%s.%ld", folder, host, (long)getppid());
  fclose(fopen(dead, "w")), fclose(fopen(alive, "w"));
  assert_ok(run_lock_acquire(folder, &lock));
  assert_int_not_equal(access(dead, F_OK), 0);
  assert_int_equal(access(alive, F_OK), 0);
  run_lock_release(&lock);
  close(ready[0]), close(ready[1]);
  folder_remove(folder);
  assert_no_leak();
}

static void only_one_of_many_gets_the_lock(void **state)
{
  (void)state;
  char folder[256];
  folder_make(folder);
  run_lock_crowd(folder);
  folder_remove(folder);
  assert_no_leak();
}

static void obstructing_file_is_reported(void **state)
{
  (void)state;
  char      folder[256], path[300];
  run_lock *lock = NULL;
  folder_make(folder);
  snprintf(path, sizeof path, "%s/run", folder);
  fclose(fopen(path, "w"));
  expect_message(run_lock_acquire(path, &lock), "is not a folder");
  expect_message(run_lock_acquire("/proc/nothing/here", &lock), "cannot create the folder /proc/nothing");
  folder_remove(folder);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(second_writer_is_rejected_with_the_owner), cmocka_unit_test(the_lock_of_a_killed_process_is_free),
          cmocka_unit_test(only_one_of_many_gets_the_lock), cmocka_unit_test(obstructing_file_is_reported))
