#define _GNU_SOURCE
#include "app/run/allocation.h"
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

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
