/* Checkpoints written by a child process, see checkpoint_background.h. */
#include "io/checkpoint_background.h"
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "core/log.h"
#include "core/memory.h"
#include "core/timer.h"
#include "io/file.h"

/* Result of the child. Its size is less than PIPE_BUF, so one write sends it completely. */
typedef struct {
  double seconds;
  char   message[1000];
} report;

struct checkpoint_background {
  pid_t   child;
  int     pipe; /* to read the report from */
  int64_t step;
};

/* Value in bytes of a line "NAME:   1234 kB" in a file of the kernel; -1: no such line. */
static int64_t kilobytes(const char *path, const char *name)
{
  char      line[256];
  long long kb = -1;
  FILE     *in = fopen(path, "re");

  while (in && kb < 0 && fgets(line, sizeof line, in))
    if (!strncmp(line, name, strlen(name))) (void)sscanf(line + strlen(name), " %lld", &kb);
  if (in) fclose(in);
  return kb < 0 ? -1 : 1024 * (int64_t)kb;
}

bool checkpoint_background_has_room(int64_t given)
{
  const int64_t used = kilobytes("/proc/self/status", "VmRSS:"), left = kilobytes("/proc/meminfo", "MemAvailable:");

  /* A tenth and 100 MB to spare: running out of memory would cost more than any checkpoint. */
  const int64_t need = used + used / 10 + 100000000;
  return used >= 0 && left >= need && (given <= 0 || given - used >= need);
}

static void child_of(pid_t parent, int out, const char *directory, const checkpoint_head *head, const field_table *table, int keep)
{
  const double begun = timer_now();
  report       said  = {0};

  prctl(PR_SET_PDEATHSIG, SIGKILL); /* if the parent dies, stop writing: another process may take over the run */
  if (getppid() != parent) _exit(1);
  error_clear();
  PetscErrorCode code = checkpoint_write(directory, head, table, keep);
  if (!code) code = flush_now(false); /* delayed flushes would be lost with this process */
  said.seconds = timer_now() - begun;
  if (code) snprintf(said.message, sizeof said.message, "%s", error_message());
  const ssize_t n = write(out, &said, sizeof said);
  _exit(code || n != (ssize_t)sizeof said ? 1 : 0); /* nothing that is undone at exit() is the child's */
}

PetscErrorCode checkpoint_background_start(const char *directory, const checkpoint_head *head, const field_table *table, int keep,
                                           checkpoint_background **out)
{
  int         ends[2];
  const pid_t parent = getpid();

  PetscFunctionBegin;
  *out = NULL;
  if (pipe(ends)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscErrorCode code  = memory_alloc("checkpoint", 1, sizeof **out, out);
  const pid_t    child = code ? -1 : fork();
  if (child == 0) child_of(parent, ends[1], directory, head, table, keep);
  close(ends[1]);
  if (child < 0) {
    close(ends[0]);
    memory_free(out);
  } else {
    **out = (checkpoint_background){child, ends[0], head->step};
  }
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode checkpoint_background_poll(checkpoint_background **b, bool wait, checkpoint_background_end *end)
{
  int    status = 0;
  pid_t  ended;
  report said = {0};

  PetscFunctionBegin;
  *end = (checkpoint_background_end){.step = (*b)->step};
  do ended = waitpid((*b)->child, &status, wait ? 0 : WNOHANG);
  while (ended < 0 && errno == EINTR);
  end->is_running = ended == 0;
  if (end->is_running) PetscFunctionReturn(PETSC_SUCCESS);
  const bool is_heard = read((*b)->pipe, &said, sizeof said) == (ssize_t)sizeof said;
  end->is_written     = is_heard && ended > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  end->seconds        = said.seconds;
  if (!end->is_written)
    log_warn("the checkpoint of step %lld could not be written in the background: %s", (long long)end->step,
             is_heard && *said.message ? said.message : "its process was killed");
  close((*b)->pipe);
  memory_free(b);
  PetscFunctionReturn(PETSC_SUCCESS);
}
