#include "sim/run/requeue.h"
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "core/log.h"
#include "core/memory.h"
#include "core/text.h"
#include "sim/run/allocation.h"

bool requeue_is_possible(const char *command)
{
  allocation given;
  allocation_read(&given);
  if (*given.job) return true;
  fprintf(stderr, "stickslip %s: --requeue is for SLURM jobs, and this is none (no SLURM_JOB_ID)\n", command);
  return false;
}

/* Run a command; its code, and the first line that it says (either way), without the newline. */
static int ask(const char *command, size_t size, char *answer)
{
  char  rest[256];
  FILE *in = popen(command, "re");
  *answer  = '\0';
  if (!in) return -1;
  if (fgets(answer, (int)size, in)) answer[strcspn(answer, "\n")] = '\0';
  while (fgets(rest, sizeof rest, in)) continue;
  const int status = pclose(in);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* --- as a new job -------------------------------------------------------------------------------------------------- */

PetscErrorCode requeue_quote(const char *word, char **out)
{
  PetscFunctionBegin;
  text_buffer b = {0};
  const char *plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+.,:/=@%";
  if (*word && strspn(word, plain) == strlen(word)) {
    PetscCall(text_printf(&b, "%s", word));
  } else {
    PetscCall(text_append(&b, "'", 1));
    for (const char *c = word; *c; ++c) PetscCall(*c == '\'' ? text_append(&b, "'\\''", 4) : text_append(&b, c, 1));
    PetscCall(text_append(&b, "'", 1));
  }
  *out = b.data;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode append_quoted(text_buffer *b, const char *before, const char *word)
{
  PetscFunctionBegin;
  char *quoted;
  PetscCall(requeue_quote(word, &quoted));
  PetscCall(text_printf(b, "%s%s", before, quoted));
  memory_free(&quoted);
  PetscFunctionReturn(PETSC_SUCCESS);
}

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
  PetscCall(append_quoted(b, "exec ", self));
  for (int i = 0; (n = getdelim(&words, &capacity, '\0', in)) > 0; ++i)
    if (i > 0) PetscCall(append_quoted(b, " ", words));
  free(words);
  fclose(in);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* "--name=value" for what SLURM says of the present job by one of squeue's letters; nothing where it says nothing. */
static PetscErrorCode append_setting(text_buffer *b, const allocation *a, const char *option, const char *format)
{
  PetscFunctionBegin;
  char command[200], answer[4096];
  snprintf(command, sizeof command, "squeue -h -j %s -o %s 2>/dev/null", a->job, format);
  if (ask(command, sizeof answer, answer) == 0 && *answer && strcmp(answer, "(null)") != 0 && strcmp(answer, "UNLIMITED") != 0) {
    PetscCall(text_printf(b, " %s=", option));
    PetscCall(append_quoted(b, "", answer));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode append_environment(text_buffer *b, const char *option, const char *name)
{
  PetscFunctionBegin;
  const char *value = getenv(name);
  if (value && *value) {
    PetscCall(text_printf(b, " %s=", option));
    PetscCall(append_quoted(b, "", value));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode append_log(text_buffer *b, const allocation *a)
{
  PetscFunctionBegin;
  char command[200], answer[4096];
  snprintf(command, sizeof command, "scontrol show job %s 2>/dev/null | sed -n 's/^ *StdOut=//p'", a->job);
  if (ask(command, sizeof answer, answer) == 0 && *answer) {
    PetscCall(text_printf(b, " --open-mode=append --output="));
    PetscCall(append_quoted(b, "", answer));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode submission(const allocation *a, const char *me, char **out)
{
  PetscFunctionBegin;
  static const struct {
    const char *option, *format;
  } settings[] = {{"--partition", "%P"}, {"--account", "%a"}, {"--qos", "%q"}, {"--time", "%l"}, {"--job-name", "%j"}, {"--constraint", "%f"}};
  static const struct {
    const char *option, *name;
  } resources[] = {{"--cpus-per-task", "SLURM_CPUS_PER_TASK"}, {"--mem", "SLURM_MEM_PER_NODE"}, {"--mem-per-cpu", "SLURM_MEM_PER_CPU"}};
  text_buffer b = {0}, wrapped = {0};
  PetscCall(append_command_line(&wrapped));
  PetscCall(text_printf(&b, "sbatch --parsable --dependency=afterany:%s --ntasks=1 --signal=B:USR1@120", me));
  for (size_t i = 0; i < sizeof settings / sizeof *settings; ++i) PetscCall(append_setting(&b, a, settings[i].option, settings[i].format));
  for (size_t i = 0; i < sizeof resources / sizeof *resources; ++i) PetscCall(append_environment(&b, resources[i].option, resources[i].name));
  PetscCall(append_log(&b, a));
  PetscCall(append_quoted(&b, " --wrap=", wrapped.data));
  PetscCall(text_printf(&b, " 2>&1"));
  memory_free(&wrapped.data);
  *out = b.data;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- either way ---------------------------------------------------------------------------------------------------- */

static PetscErrorCode requeue(void)
{
  PetscFunctionBegin;
  allocation  a;
  char        me[200], command[300], refusal[512], answer[512], *text;
  const char *array = getenv("SLURM_ARRAY_JOB_ID"), *task = getenv("SLURM_ARRAY_TASK_ID");
  allocation_read(&a);
  /* By its own number the last task of an array would be the whole array, and take its running siblings with it. */
  if (array && task && strspn(array, "0123456789") == strlen(array) && strspn(task, "0123456789") == strlen(task))
    snprintf(me, sizeof me, "%s_%s", array, task);
  else snprintf(me, sizeof me, "%s", a.job);
  snprintf(command, sizeof command, "scontrol requeue %s 2>&1", me);
  log_info("job %s is to be requeued", me); /* first: it may end us */
  if (ask(command, sizeof refusal, refusal) == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(submission(&a, me, &text));
  const int code = ask(text, sizeof answer, answer);
  if (code == 0) log_info("it cannot be (%s); job %s goes on when it has ended", refusal, answer);
  else log_warn("job %s can neither be requeued (%s) nor submitted again (%s); submit it yourself to go on", me, refusal, answer);
  memory_free(&text);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void requeue_this_job(void)
{
  if (!requeue()) return;
  log_warn("the job was not requeued: %s", error_message());
  error_clear();
}
