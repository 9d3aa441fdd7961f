#include "app/run/requeue.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "core/log.h"
#include "core/memory.h"
#include "core/process.h"
#include "app/run/allocation.h"

bool requeue_is_possible(const char *command)
{
  allocation given;
  allocation_read(&given);
  if (*given.job) return true;
  fprintf(stderr, "stickslip %s: --requeue is for SLURM jobs, and this is none (no SLURM_JOB_ID)\n", command);
  return false;
}

/* --- as a new job -------------------------------------------------------------------------------------------------- */

/* This process's own command line, by the program's real path. */
static PetscErrorCode append_command_line(text_buffer *b)
{
  PetscFunctionBegin;
  char    self[4096], *words = NULL;
  size_t  capacity = 0;
  ssize_t n        = readlink("/proc/self/exe", self, sizeof self - 1);
  FILE   *in       = fopen("/proc/self/cmdline", "re");
  PetscCheck(n > 0 && in, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "cannot read /proc/self: the job cannot be submitted again");
  self[n] = '\0';
  PetscCall(text_printf(b, "exec "));
  PetscCall(shell_append_word(b, self));
  for (int i = 0; getdelim(&words, &capacity, '\0', in) > 0; ++i) {
    if (i == 0) continue;
    PetscCall(text_append(b, " ", 1));
    PetscCall(shell_append_word(b, words));
  }
  free(words);
  fclose(in);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* " --option=value", where there is a value. */
static PetscErrorCode append_option(text_buffer *b, const char *option, const char *value)
{
  PetscFunctionBegin;
  if (!value || !*value) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(text_printf(b, " %s=", option));
  PetscCall(shell_append_word(b, value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same with what a command says in its first line. */
static PetscErrorCode append_answer(text_buffer *b, const char *option, const char *command)
{
  PetscFunctionBegin;
  char *answer;
  int   code;
  PetscCall(shell_run(command, &code, &answer));
  shell_first_line(answer);
  if (code == 0 && strcmp(answer, "(null)") != 0 && strcmp(answer, "UNLIMITED") != 0) PetscCall(append_option(b, option, answer));
  memory_free(&answer);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode submission(const allocation *a, const char *me, char **out)
{
  PetscFunctionBegin;
  static const struct {
    const char *option, *format; /* squeue's letters */
  } settings[] = {{"--partition", "%P"}, {"--account", "%a"}, {"--qos", "%q"}, {"--time", "%l"}, {"--job-name", "%j"}, {"--constraint", "%f"}};
  char        command[200];
  text_buffer b = {0}, wrapped = {0};
  PetscCall(append_command_line(&wrapped));
  PetscCall(text_printf(&b, "sbatch --parsable --dependency=afterany:%s --ntasks=1 --signal=B:USR1@120", me));
  for (size_t i = 0; i < sizeof settings / sizeof *settings; ++i) {
    snprintf(command, sizeof command, "squeue -h -j %s -o %s 2>/dev/null", a->job, settings[i].format);
    PetscCall(append_answer(&b, settings[i].option, command));
  }
  PetscCall(append_option(&b, "--cpus-per-task", getenv("SLURM_CPUS_PER_TASK")));
  PetscCall(append_option(&b, "--mem", getenv("SLURM_MEM_PER_NODE")));
  PetscCall(append_option(&b, "--mem-per-cpu", getenv("SLURM_MEM_PER_CPU")));
  snprintf(command, sizeof command, "scontrol show job %s 2>/dev/null | sed -n 's/^ *StdOut=//p'", a->job);
  PetscCall(append_answer(&b, "--open-mode=append --output", command));
  PetscCall(append_option(&b, "--wrap", wrapped.data));
  PetscCall(text_printf(&b, " 2>&1"));
  memory_free(&wrapped.data);
  *out = b.data;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- either way ---------------------------------------------------------------------------------------------------- */

static PetscErrorCode submit_again(const allocation *a, const char *me, const char *refusal)
{
  PetscFunctionBegin;
  char *command, *answer;
  int   code;
  PetscCall(submission(a, me, &command));
  PetscCall(shell_run(command, &code, &answer));
  shell_first_line(answer);
  if (code == 0) log_info("it cannot be (%s); job %s goes on when it has ended", refusal, answer);
  else log_warn("job %s can neither be requeued (%s) nor submitted again (%s); submit it yourself to go on", me, refusal, answer);
  memory_free(&answer);
  memory_free(&command);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode requeue(void)
{
  PetscFunctionBegin;
  allocation  a;
  char        me[200], command[300], *refusal;
  int         code;
  const char *array = getenv("SLURM_ARRAY_JOB_ID"), *task = getenv("SLURM_ARRAY_TASK_ID");
  allocation_read(&a);
  /* By its own number the last task of an array would be the whole array, and take its running siblings with it. */
  if (array && task && strspn(array, "0123456789") == strlen(array) && strspn(task, "0123456789") == strlen(task))
    snprintf(me, sizeof me, "%s_%s", array, task);
  else snprintf(me, sizeof me, "%s", a.job);
  snprintf(command, sizeof command, "scontrol requeue %s 2>&1", me);
  log_info("job %s is to be requeued", me); /* first: it may end us */
  PetscCall(shell_run(command, &code, &refusal));
  shell_first_line(refusal);
  if (code != 0) PetscCall(submit_again(&a, me, refusal));
  memory_free(&refusal);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void requeue_this_job(void)
{
  if (!requeue()) return;
  log_warn("the job was not requeued: %s", error_message());
  error_clear();
}
