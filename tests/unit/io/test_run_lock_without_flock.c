/* Where the file system has no locks, the file itself is the lock: the same promises, with flock() refusing as it does there. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include "run_lock_crowd.h"

/* Replaces the function of the C library. */
int flock(int fd, int operation)
{
  (void)fd, (void)operation;
  errno = ENOLCK;
  return -1;
}

static void put_file(const char *path, const char *text)
{
  FILE *out = fopen(path, "w");
  assert_non_null(out);
  fputs(text, out);
  fclose(out);
}

static void put_holder(const char *folder, const char *text)
{
  char path[300];
  snprintf(path, sizeof path, "%s/run.lock", folder);
  put_file(path, text);
}

static void second_writer_is_rejected_with_the_owner(void **state)
{
  (void)state;
  char      folder[256], expected[64];
  run_lock *first = NULL, *second = NULL;
  folder_make(folder);
  assert_ok(run_lock_acquire(folder, &first));
  snprintf(expected, sizeof expected, "is being written by process %ld on ", (long)getpid());
  expect_message(run_lock_acquire(folder, &second), expected);
  assert_null(second);
  run_lock_release(&first);
  assert_ok(run_lock_acquire(folder, &second));
  run_lock_release(&second);
  assert_int_equal(rmdir(folder), 0); /* nothing is left in it */
  assert_no_leak();
}

/* A lock of an ended process of this host is replaced; one of another host may be valid, which cannot be determined here. */
static void locks_of_ended_processes(void **state)
{
  (void)state;
  char      folder[256], host[256], text[400];
  run_lock *lock = NULL;
  folder_make(folder);
  const pid_t child = fork();
  if (child == 0) _exit(run_lock_acquire(folder, &lock) ? 1 : 0); /* leaves without a word */
  int status;
  waitpid(child, &status, 0);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  assert_ok(run_lock_acquire(folder, &lock));
  run_lock_release(&lock);

  put_holder(folder, "pid 1\nhost another-host\nsince 2020-01-01 00:00:00\n");
  expect_message(run_lock_acquire(folder, &lock), "is being written by process 1 on another-host since 2020-01-01 00:00:00");
  assert_int_equal(gethostname(host, sizeof host), 0);
  snprintf(text, sizeof text, "pid %ld\nhost %s\nsince 2020-01-01 00:00:00\n", (long)getppid(), host); /* alive */
  put_holder(folder, text);
  expect_message(run_lock_acquire(folder, &lock), "is being written by process ");
  put_holder(folder, ""); /* no owner */
  assert_ok(run_lock_acquire(folder, &lock));
  run_lock_release(&lock);
  assert_int_equal(rmdir(folder), 0);
  assert_no_leak();
}

/* A process that ends while it removes the lock of an ended one leaves a file. The message names it. */
static void interrupted_removal_is_reported(void **state)
{
  (void)state;
  char      folder[256], host[256], text[400], path[300], expected[400];
  run_lock *lock = NULL;
  folder_make(folder);
  const pid_t child = fork();
  if (child == 0) _exit(run_lock_acquire(folder, &lock) ? 1 : 0);
  waitpid(child, NULL, 0);
  snprintf(path, sizeof path, "%s/run.lock.takeover", folder);
  assert_int_equal(gethostname(host, sizeof host), 0);
  snprintf(text, sizeof text, "pid %ld\nhost %s\nsince 2020-01-01 00:00:00\n", (long)child, host);
  put_file(path, text);
  snprintf(expected, sizeof expected, "process %ld, which has ended while it removed an earlier lock; remove %s", (long)child, path);
  expect_message(run_lock_acquire(folder, &lock), expected);
  snprintf(text, sizeof text, "pid %ld\nhost %s\nsince 2020-01-01 00:00:00\n", (long)getppid(), host);
  put_file(path, text);
  expect_message(run_lock_acquire(folder, &lock), "other processes lock it repeatedly; try again, or, if there are none, remove ");
  assert_int_equal(unlink(path), 0);
  assert_ok(run_lock_acquire(folder, &lock));
  run_lock_release(&lock);
  assert_int_equal(rmdir(folder), 0);
  assert_no_leak();
}

static void only_one_of_many_gets_the_lock(void **state)
{
  (void)state;
  char      folder[256];
  run_lock *lock = NULL;
  folder_make(folder);
  run_lock_crowd(folder);
  assert_ok(run_lock_acquire(folder, &lock)); /* the last one may have left its lock */
  run_lock_release(&lock);
  assert_int_equal(rmdir(folder), 0);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(second_writer_is_rejected_with_the_owner), cmocka_unit_test(locks_of_ended_processes),
          cmocka_unit_test(interrupted_removal_is_reported), cmocka_unit_test(only_one_of_many_gets_the_lock))
