#define _GNU_SOURCE /* sched_setaffinity */
#include "core/team.h"
#include <omp.h>
#include <sched.h>

int team_place_cpus(int most, int *cpu)
{
  int n = 0;
  for (int p = 0; p < omp_get_num_places(); ++p) {
    int id[CPU_SETSIZE];
    const int n_here = omp_get_place_num_procs(p);
    if (n_here > CPU_SETSIZE) continue;
    omp_get_place_proc_ids(p, id);
    for (int i = 0; i < n_here; ++i, ++n)
      if (n < most) cpu[n] = id[i];
  }
  return n;
}

void team_leave_place(void)
{
  int       cpu[CPU_SETSIZE];
  cpu_set_t set;
  const int n = team_place_cpus(CPU_SETSIZE, cpu);
  CPU_ZERO(&set);
  for (int i = 0; i < n && i < CPU_SETSIZE; ++i)
    if (cpu[i] >= 0 && cpu[i] < CPU_SETSIZE) CPU_SET(cpu[i], &set);
  if (CPU_COUNT(&set) > 0) (void)sched_setaffinity(0, sizeof set, &set); /* refused: we run as we were put */
}
