#define _GNU_SOURCE /* sched_getaffinity */
#include "app/sweep/sweep_cores.h"
#include <sched.h>
#include <stdlib.h>
#include "core/team.h"

/* One number of /sys/devices/system/cpu/cpuN/topology; `fallback` where there is none. */
static int topology_number(int cpu, const char *name, int fallback)
{
  char path[128];
  int  value;
  snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/%s", cpu, name);
  FILE *in = fopen(path, "re");
  if (!in) return fallback;
  if (fscanf(in, "%d", &value) != 1) value = fallback;
  fclose(in);
  return value;
}

/* The process may use all places, though its first thread is bound to the first of them. */
static void add_places(cpu_set_t *set)
{
  int       cpu[SWEEP_CORES_MAX];
  const int n = team_place_cpus(SWEEP_CORES_MAX, cpu);
  for (int i = 0; i < n && i < SWEEP_CORES_MAX; ++i)
    if (cpu[i] >= 0 && cpu[i] < CPU_SETSIZE) CPU_SET(cpu[i], set);
}

int sweep_cores_find(sweep_cpu *cpus)
{
  cpu_set_t set;
  int       n = 0;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set)) CPU_SET(0, &set);
  add_places(&set);
  for (int i = 0; i < CPU_SETSIZE && n < SWEEP_CORES_MAX; ++i) {
    if (!CPU_ISSET(i, &set)) continue;
    sweep_cpu *c = &cpus[n];
    *c = (sweep_cpu){i, topology_number(i, "physical_package_id", 0), topology_number(i, "core_id", i), 0};
    for (int k = 0; k < n; ++k) c->thread += cpus[k].package == c->package && cpus[k].core == c->core;
    ++n;
  }
  return n;
}

static int by_core(const void *a, const void *b)
{
  const sweep_cpu *x = a, *y = b;
  if (x->package != y->package) return x->package < y->package ? -1 : 1;
  if (x->core != y->core) return x->core < y->core ? -1 : 1;
  return (x->cpu > y->cpu) - (x->cpu < y->cpu);
}

static int by_thread(const void *a, const void *b)
{
  const sweep_cpu *x = a, *y = b;
  if (x->thread != y->thread) return x->thread < y->thread ? -1 : 1;
  return by_core(a, b);
}

bool sweep_cores_split(int n, sweep_cpu *cpus, int n_slots, int per_slot)
{
  int n_cores = 0;
  for (int i = 0; i < n; ++i) n_cores += cpus[i].thread == 0;
  const int64_t n_wanted = (int64_t)n_slots * per_slot;
  qsort(cpus, (size_t)n, sizeof *cpus, n_wanted <= n_cores ? by_thread : by_core);
  return n_wanted <= n;
}
