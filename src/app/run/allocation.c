#define _GNU_SOURCE
#include "app/run/allocation.h"
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "core/log.h"
#include "core/memory.h"
#include "core/shell.h"

/* A positive whole number of the environment, or 0. */
static int64_t number_of(const char *name)
{
  const char *text = getenv(name);
  char       *end;
  if (!text) return 0;
  errno             = 0;
  const long long n = strtoll(text, &end, 10);
  return errno || end == text || n < 0 ? 0 : n;
}

bool allocation_is_restart(void) { return number_of("SLURM_RESTART_COUNT") > 0; }

/* --- cores --------------------------------------------------------------------------------------------------------- */

/* SLURM_CPUS_PER_TASK is set only where it was asked for; without it the job's cores on this node are shared by its tasks. */
static int64_t cores_of_task(void)
{
  const int64_t asked = number_of("SLURM_CPUS_PER_TASK"), here = number_of("SLURM_CPUS_ON_NODE"), n_tasks = number_of("SLURM_NTASKS");
  if (asked || !here || n_tasks <= 1) return asked ? asked : here;
  const int64_t n_nodes = number_of("SLURM_JOB_NUM_NODES"), tasks_here = n_nodes > 1 ? (n_tasks + n_nodes - 1) / n_nodes : n_tasks;
  return here > tasks_here ? here / tasks_here : 1;
}

/* Cores of which `allowed` holds at least one hardware thread. */
static int64_t count_cores(const cpu_set_t *allowed)
{
  int64_t n = 0;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    char path[128];
    int  first = i;
    if (!CPU_ISSET(i, allowed)) continue;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", i);
    FILE *in = fopen(path, "re");
    if (in && fscanf(in, "%d", &first) != 1) first = i;
    if (in) fclose(in);
    n += first == i || !CPU_ISSET(first, allowed); /* a core counts with the first of its threads */
  }
  return n;
}

const char *allocation_places(const allocation *a, int64_t n_threads)
{
  cpu_set_t allowed;
  if (!*a->job || !a->cores || getenv("OMP_PLACES") || getenv("OMP_PROC_BIND") || getenv("GOMP_CPU_AFFINITY")) return NULL;
  if (sched_getaffinity(0, sizeof allowed, &allowed)) return NULL;
  const int64_t n_cpus = CPU_COUNT(&allowed), n_cores = count_cores(&allowed);
  /* Confined: to no more than it was given, counted in hardware threads, or in cores where they are given whole to the only task. */
  const bool is_confined = n_cpus <= a->cores || (n_cores <= a->cores && number_of("SLURM_NTASKS") <= 1 && n_cpus < sysconf(_SC_NPROCESSORS_ONLN));
  if (!is_confined || n_threads > n_cpus) return NULL;
  return n_threads > n_cores ? "threads" : "cores";
}

/* --- memory -------------------------------------------------------------------------------------------------------- */

static int64_t least(int64_t a, int64_t b) { return a == 0 || (b > 0 && b < a) ? b : a; }

/* The least limit of a group and those above it; `file` is the name of the limit. */
static int64_t limit_along(const char *root, const char *group, const char *file)
{
  char    path[4096];
  int64_t limit = 0;
  snprintf(path, sizeof path, "%s%s", root, group);
  for (;;) {
    char      name[4200];
    long long n;
    snprintf(name, sizeof name, "%s/%s", path, file);
    FILE *in = fopen(name, "re");
    /* "max", or close to 2^63 in the old layout, mean none */
    if (in && fscanf(in, "%lld", &n) == 1 && n > 0 && n < INT64_MAX / 2) limit = least(limit, n);
    if (in) fclose(in);
    char *slash = strrchr(path, '/');
    if (!slash || (size_t)(slash - path) < strlen(root)) return limit;
    *slash = '\0';
  }
}

/* Lines "0::/path" of the new layout, "9:memory:/path" of the old one. */
int64_t allocation_group_memory(const char *root, const char *membership)
{
  int64_t limit = 0;
  char    line[4096], old_root[4096];
  FILE   *in = fopen(membership, "re");
  if (!in) return 0;
  snprintf(old_root, sizeof old_root, "%s/memory", root);
  while (fgets(line, sizeof line, in)) {
    line[strcspn(line, "\n")] = '\0';
    char *controllers         = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group) continue;
    *group++ = '\0';
    if (strcmp(group, "/") == 0) group = "";
    if (controllers[1] == '\0') limit = least(limit, limit_along(root, group, "memory.max"));
    else if (strcmp(controllers + 1, "memory") == 0) limit = least(limit, limit_along(old_root, group, "memory.limit_in_bytes"));
  }
  fclose(in);
  return limit;
}

/* SLURM counts in units of 2^20 bytes. */
static int64_t memory_of_task(int64_t cores)
{
  const int64_t node = number_of("SLURM_MEM_PER_NODE"), core = number_of("SLURM_MEM_PER_CPU");
  return least(node << 20, (core * (cores > 0 ? cores : 1)) << 20);
}

void allocation_read(allocation *a)
{
  memset(a, 0, sizeof *a);
  const char *job = getenv("SLURM_JOB_ID");
  /* It becomes part of a command: digits alone. */
  if (job && *job && strspn(job, "0123456789") == strlen(job)) snprintf(a->job, sizeof a->job, "%s", job);
  if (*a->job) {
    a->restarts = number_of("SLURM_RESTART_COUNT");
    a->cores    = cores_of_task();
    a->memory   = memory_of_task(a->cores);
  }
  a->memory = least(a->memory, allocation_group_memory("/sys/fs/cgroup", "/proc/self/cgroup"));
}

/* --- time ---------------------------------------------------------------------------------------------------------- */

double allocation_parse_time(const char *text)
{
  double days = 0.0, seconds = 0.0;
  for (const char *at = text;; ++at) {
    char *end;
    if (*at < '0' || *at > '9') return INFINITY;
    const double value = (double)strtoll(at, &end, 10);
    at                 = end;
    if (*at == '-') {
      days = value;
    } else {
      seconds = 60.0 * seconds + value;
      if (*at != ':') return *at == '\0' || *at == '\n' ? 86400.0 * days + seconds : INFINITY;
    }
  }
}

double allocation_time_left(const allocation *a)
{
  char command[160], answer[64] = "";
  if (!*a->job) return INFINITY;
  const int64_t end = number_of("SLURM_JOB_END_TIME");
  if (end) return fmax(0.0, (double)(end - (int64_t)time(NULL)));
  snprintf(command, sizeof command, "timeout 10 squeue -h -j %s -o %%L 2>/dev/null", a->job);
  FILE *in = popen(command, "re");
  if (!in) return INFINITY;
  if (!fgets(answer, sizeof answer, in)) *answer = '\0';
  pclose(in);
  return allocation_parse_time(answer);
}

void allocation_share_time(void)
{
  allocation a;
  char       end[40];
  allocation_read(&a);
  const double left = allocation_time_left(&a);
  if (!isfinite(left)) return;
  snprintf(end, sizeof end, "%lld", (long long)time(NULL) + (long long)left);
  setenv("SLURM_JOB_END_TIME", end, 0);
}

/* --- requeue ------------------------------------------------------------------------------------------------------ */

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
