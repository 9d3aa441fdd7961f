/* Reads SLURM_* variables, /proc/self/cgroup and the output of squeue and scontrol. */
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
#include "core/process.h"

/* An environment variable as a non-negative integer; 0 if it is missing or malformed. */
static int64_t read_environment_number(const char *name)
{
  const char *text = getenv(name);
  char       *end;
  if (!text) return 0;
  errno             = 0;
  const long long n = strtoll(text, &end, 10);
  return errno || end == text || n < 0 ? 0 : n;
}

bool allocation_is_restart(void) { return read_environment_number("SLURM_RESTART_COUNT") > 0; }

/* --- cores --------------------------------------------------------------------------------------------------------- */

/* Without the option --cpus-per-task SLURM_CPUS_PER_TASK is not set; then the tasks share the job's cores on this node. */
static int64_t count_task_cores(void)
{
  const int64_t per_task = read_environment_number("SLURM_CPUS_PER_TASK"), here = read_environment_number("SLURM_CPUS_ON_NODE"),
                n_tasks = read_environment_number("SLURM_NTASKS");
  if (per_task || !here || n_tasks <= 1) return per_task ? per_task : here;
  const int64_t n_nodes    = read_environment_number("SLURM_JOB_NUM_NODES"),
                tasks_here = n_nodes > 1 ? (n_tasks + n_nodes - 1) / n_nodes : n_tasks;
  return here > tasks_here ? here / tasks_here : 1;
}

/* Number of cores with at least one hardware thread in `allowed`. */
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
    n += first == i || !CPU_ISSET(first, allowed); /* count each core once, by its first thread */
  }
  return n;
}

const char *allocation_places(const allocation *a, int64_t n_threads)
{
  cpu_set_t allowed;
  if (!*a->job || !a->cores || getenv("OMP_PLACES") || getenv("OMP_PROC_BIND") || getenv("GOMP_CPU_AFFINITY")) return NULL;
  if (sched_getaffinity(0, sizeof allowed, &allowed)) return NULL;
  const int64_t n_cpus = CPU_COUNT(&allowed), n_cores = count_cores(&allowed);
  /* Confined: the affinity mask has no more hardware threads than allocated, or no more cores if the only task received whole
   * cores. */
  const bool is_confined =
      n_cpus <= a->cores || (n_cores <= a->cores && read_environment_number("SLURM_NTASKS") <= 1 && n_cpus < sysconf(_SC_NPROCESSORS_ONLN));
  if (!is_confined || n_threads > n_cpus) return NULL;
  return n_threads > n_cores ? "threads" : "cores";
}

/* --- memory -------------------------------------------------------------------------------------------------------- */

static int64_t smaller_limit(int64_t a, int64_t b) { return a == 0 || (b > 0 && b < a) ? b : a; }

/* The smallest limit of a control group and its parents; `file`: name of the limit. */
static int64_t read_group_limit(const char *root, const char *group, const char *file)
{
  char    path[4096];
  int64_t limit = 0;
  snprintf(path, sizeof path, "%s%s", root, group);
  for (;;) {
    char      name[4200];
    long long n;
    snprintf(name, sizeof name, "%s/%s", path, file);
    FILE *in = fopen(name, "re");
    /* no limit: "max", or a number close to 2^63 in control groups v1 */
    if (in && fscanf(in, "%lld", &n) == 1 && n > 0 && n < INT64_MAX / 2) limit = smaller_limit(limit, n);
    if (in) fclose(in);
    char *slash = strrchr(path, '/');
    if (!slash || (size_t)(slash - path) < strlen(root)) return limit;
    *slash = '\0';
  }
}

/* Lines "0::/path" of control groups v2, "9:memory:/path" of v1. */
int64_t allocation_group_memory(const char *root, const char *membership)
{
  int64_t limit = 0;
  char    line[4096], old_root[4096];
  FILE   *in = fopen(membership, "re");
  if (!in) return 0;
  snprintf(old_root, sizeof old_root, "%s/memory", root);
  while (fgets(line, sizeof line, in)) {
    line[strcspn(line, "\n")] = '\0';
    char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group) continue;
    *group++ = '\0';
    if (strcmp(group, "/") == 0) group = "";
    if (controllers[1] == '\0') limit = smaller_limit(limit, read_group_limit(root, group, "memory.max"));
    else if (strcmp(controllers + 1, "memory") == 0)
      limit = smaller_limit(limit, read_group_limit(old_root, group, "memory.limit_in_bytes"));
  }
  fclose(in);
  return limit;
}

/* SLURM's unit is 2^20 bytes. */
static int64_t read_task_memory(int64_t cores)
{
  const int64_t node = read_environment_number("SLURM_MEM_PER_NODE"), core = read_environment_number("SLURM_MEM_PER_CPU");
  return smaller_limit(node << 20, (core * (cores > 0 ? cores : 1)) << 20);
}

void allocation_read(allocation *a)
{
  memset(a, 0, sizeof *a);
  const char *job = getenv("SLURM_JOB_ID");
  /* The number becomes part of a shell command: accept digits only. */
  if (job && *job && strspn(job, "0123456789") == strlen(job)) snprintf(a->job, sizeof a->job, "%s", job);
  if (*a->job) {
    a->restarts = read_environment_number("SLURM_RESTART_COUNT");
    a->cores    = count_task_cores();
    a->memory   = read_task_memory(a->cores);
  }
  a->memory = smaller_limit(a->memory, allocation_group_memory("/sys/fs/cgroup", "/proc/self/cgroup"));
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

double allocation_parse_request(const char *text)
{
  static const double units[2][3] = {{60.0, 1.0, 0.0}, {3600.0, 60.0, 1.0}}; /* of M:S; of H:M:S, or of D-H:M:S after the days */
  double              part[3], seconds = 0.0;
  int                 n  = 0;
  const char         *at = text, *dash = strchr(text, '-');
  if (dash) {
    char *end;
    seconds = 86400.0 * (double)strtoll(text, &end, 10);
    if (*text < '0' || *text > '9' || end != dash) return INFINITY;
    at = dash + 1;
  }
  for (;; ++at) {
    char *end;
    if (*at < '0' || *at > '9' || n == 3) return INFINITY;
    part[n++] = (double)strtoll(at, &end, 10);
    at        = end;
    if (*at == '\0') break;
    if (*at != ':') return INFINITY;
  }
  for (int i = 0; i < n; ++i) seconds += units[dash || n == 3][i] * part[i];
  return seconds;
}

double allocation_parse_lead(const char *text)
{
  const char *at = strchr(text, '@');
  return at ? (double)strtoll(at + 1, NULL, 10) : 60.0;
}

void allocation_warn_lead(const char *option, double limit, double lead)
{
  if (!(limit <= lead)) return;
  log_warn("%s: the time limit of %.0f s does not exceed the lead time of the warning signal (--signal, %.0f s before the end): the job is "
           "stopped as soon "
           "as it starts; request more time, or a shorter lead time",
           option, limit, lead);
}

double allocation_time_left(const allocation *a)
{
  char command[160], output[64] = "";
  if (!*a->job) return INFINITY;
  const int64_t end = read_environment_number("SLURM_JOB_END_TIME");
  if (end) return fmax(0.0, (double)(end - (int64_t)time(NULL)));
  snprintf(command, sizeof command, "timeout 10 squeue -h -j %s -o %%L 2>/dev/null", a->job);
  FILE *in = popen(command, "re");
  if (!in) return INFINITY;
  if (!fgets(output, sizeof output, in)) *output = '\0';
  pclose(in);
  return allocation_parse_time(output);
}

void allocation_share_time(void)
{
  allocation a;
  char       end[40];
  allocation_read(&a);
  const double remaining = allocation_time_left(&a);
  if (!isfinite(remaining)) return;
  snprintf(end, sizeof end, "%lld", (long long)time(NULL) + (long long)remaining);
  setenv("SLURM_JOB_END_TIME", end, 0);
}

/* --- requeue ------------------------------------------------------------------------------------------------------ */

bool allocation_can_requeue(const char *command)
{
  allocation a;
  allocation_read(&a);
  if (*a.job) return true;
  fprintf(stderr, "stickslip %s: --requeue requires a SLURM job (SLURM_JOB_ID is not set)\n", command);
  return false;
}

/* The command line of this process, with the resolved path of the program. */
static PetscErrorCode append_command_line(text_buffer *b)
{
  PetscFunctionBegin;
  char          self[4096];
  const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
  PetscCheck(n > 0, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "cannot read /proc/self, so the job cannot be submitted again");
  self[n] = '\0';
  text_printf(b, "exec ");
  shell_append_word(b, self);
  process_append_arguments(b);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* " --option=value", unless the value is empty. */
static void append_option(text_buffer *b, const char *option, const char *value)
{
  if (!value || !*value) return;
  text_printf(b, " %s=", option);
  shell_append_word(b, value);
}

/* The same with the first line that a command prints. */
static PetscErrorCode append_command_output(text_buffer *b, const char *option, const char *command)
{
  PetscFunctionBegin;
  char *output;
  int   code;
  PetscCall(shell_run(command, &code, &output));
  shell_first_line(output);
  if (code == 0 && strcmp(output, "(null)") != 0 && strcmp(output, "UNLIMITED") != 0) append_option(b, option, output);
  memory_free(&output);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The sbatch command that submits this process again. `job`: number of this job, with the task of an array. */
static PetscErrorCode write_sbatch_command(const allocation *a, const char *job, char **out)
{
  PetscFunctionBegin;
  static const struct {
    const char *option, *format; /* format letters of squeue */
  } settings[] = {{"--partition", "%P"}, {"--account", "%a"},  {"--qos", "%q"},
                  {"--time", "%l"},      {"--job-name", "%j"}, {"--constraint", "%f"}};
  char        command[200];
  text_buffer b = {0}, wrapped = {0};
  PetscCall(append_command_line(&wrapped));
  text_printf(&b, "sbatch --parsable --dependency=afterany:%s --ntasks=1 --signal=B:USR1@%d", job, ALLOCATION_SIGNAL_LEAD);
  for (size_t i = 0; i < sizeof settings / sizeof *settings; ++i) {
    snprintf(command, sizeof command, "squeue -h -j %s -o %s 2>/dev/null", a->job, settings[i].format);
    PetscCall(append_command_output(&b, settings[i].option, command));
  }
  append_option(&b, "--cpus-per-task", getenv("SLURM_CPUS_PER_TASK"));
  append_option(&b, "--mem", getenv("SLURM_MEM_PER_NODE"));
  append_option(&b, "--mem-per-cpu", getenv("SLURM_MEM_PER_CPU"));
  snprintf(command, sizeof command, "scontrol show job %s 2>/dev/null | sed -n 's/^ *StdOut=//p'", a->job);
  PetscCall(append_command_output(&b, "--open-mode=append --output", command));
  append_option(&b, "--wrap", wrapped.data);
  text_printf(&b, " 2>&1");
  if (!b.code) b.code = wrapped.code;
  text_clear(&wrapped);
  PetscCall(text_take(&b, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- requeue, or a new job ------------------------------------------------------------------------------------------- */

static PetscErrorCode submit_again(const allocation *a, const char *job, const char *error)
{
  PetscFunctionBegin;
  char *command, *output;
  int   code;
  PetscCall(write_sbatch_command(a, job, &command));
  PetscCall(shell_run(command, &code, &output));
  shell_first_line(output);
  if (code == 0) log_info("requeueing failed (%s); job %s continues when this job has ended", error, output);
  else log_warn("job %s can neither be requeued (%s) nor submitted again (%s); submit it yourself to continue", job, error, output);
  MEMORY_FREE(&output, &command);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode requeue_or_submit(void)
{
  PetscFunctionBegin;
  allocation  a;
  char        job[200], command[300], *error;
  int         code;
  const char *array = getenv("SLURM_ARRAY_JOB_ID"), *task = getenv("SLURM_ARRAY_TASK_ID");
  allocation_read(&a);
  /* The job number of the last task of an array denotes the whole array; requeueing it would stop the tasks that are still
   * running. */
  if (array && task && strspn(array, "0123456789") == strlen(array) && strspn(task, "0123456789") == strlen(task))
    snprintf(job, sizeof job, "%s_%s", array, task);
  else snprintf(job, sizeof job, "%s", a.job);
  snprintf(command, sizeof command, "scontrol requeue %s 2>&1", job);
  log_info("requeueing job %s", job); /* before the command, which may end this process */
  PetscCall(shell_run(command, &code, &error));
  shell_first_line(error);
  if (code != 0) PetscCall(submit_again(&a, job, error));
  memory_free(&error);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void allocation_requeue(void)
{
  if (!requeue_or_submit()) return;
  log_warn("the job was not requeued: %s", error_message());
  error_clear();
}
