/* Many writers at once: never two inside. Each holder makes a file that must not be there. Every third one ends without releasing its lock. */
#ifndef SS_TESTS_RUN_LOCK_CROWD_H
#define SS_TESTS_RUN_LOCK_CROWD_H
#include <sys/wait.h>
#include "io/run_lock.h"
#include "io_fixture.h"

/* Take the lock once, in a process of its own. Status 0: done, 1: another one was inside, 2: locked. */
static inline int run_lock_visit(const char *folder, const char *inside, bool releases)
{
  int         status;
  const pid_t visitor = fork();
  if (visitor == 0) {
    run_lock *lock = NULL;
    if (run_lock_acquire(folder, &lock)) _exit(2);
    FILE *out = fopen(inside, "wx");
    if (!out) _exit(1);
    fclose(out);
    usleep(200);
    unlink(inside);
    if (releases) run_lock_release(&lock);
    _exit(0);
  }
  return waitpid(visitor, &status, 0) == visitor && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static inline void run_lock_crowd(const char *folder)
{
  enum { N = 6 };
  char  inside[300];
  pid_t child[N];
  int   status;
  snprintf(inside, sizeof inside, "%s/inside", folder);
  for (int k = 0; k < N; ++k)
    if ((child[k] = fork()) == 0) {
      for (int taken = 0; taken < 25;) {
        const int visit = run_lock_visit(folder, inside, (taken + k) % 3 != 0);
        if (visit == 1) _exit(1);
        if (visit == 0) ++taken;
      }
      _exit(0);
    }
  for (int k = 0; k < N; ++k) {
    waitpid(child[k], &status, 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
}
#endif
