/* Many writers at once: never two inside. Each holder makes a file that must not be there. */
#ifndef SS_TESTS_RUN_LOCK_CROWD_H
#define SS_TESTS_RUN_LOCK_CROWD_H
#include <sys/wait.h>
#include "io/run_lock.h"
#include "io_fixture.h"

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
        run_lock *lock = NULL;
        if (run_lock_acquire(folder, &lock)) {
          error_clear();
          usleep(50);
          continue;
        }
        FILE *out = fopen(inside, "wx");
        if (!out) _exit(1);
        fclose(out);
        usleep(200);
        unlink(inside);
        run_lock_release(&lock);
        ++taken;
      }
      _exit(0);
    }
  for (int k = 0; k < N; ++k) {
    waitpid(child[k], &status, 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
}
#endif
