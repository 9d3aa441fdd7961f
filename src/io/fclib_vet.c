#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "core/log.h"
#include "io/fclib.h"

/* In the child: whatever it says is said again by the parent, so it is silent. What it dies of is its answer. */
static void __attribute__((noreturn)) read_and_end(const char *path, int seconds)
{
  const int     crashes[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGALRM};
  const int     nowhere   = open("/dev/null", O_WRONLY | O_CLOEXEC);
  fclib_problem p;

  for (size_t i = 0; i < sizeof crashes / sizeof *crashes; ++i) (void)signal(crashes[i], SIG_DFL);
  if (nowhere >= 0) (void)dup2(nowhere, 1), (void)dup2(nowhere, 2);
  log_redirect(NULL, false);
  (void)alarm((unsigned)seconds);
  if (!fclib_read(path, &p)) fclib_clear(&p);
  _exit(0);
}

PetscErrorCode fclib_vet(const char *path, int seconds)
{
  int status = 0;

  PetscFunctionBegin;
  (void)fflush(NULL); /* or the child would write it again */
  const pid_t child = fork();
  if (child == 0) read_and_end(path, seconds);
  if (child < 0) PetscFunctionReturn(PETSC_SUCCESS); /* no room for one more process: go without */
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(!WIFSIGNALED(status), PETSC_COMM_SELF, PETSC_ERR_FILE_READ, "%s is damaged: the HDF5 library %s on it; fetch or write it again", path,
             WTERMSIG(status) == SIGALRM ? "comes to no end" : "crashes");
  PetscFunctionReturn(PETSC_SUCCESS);
}
