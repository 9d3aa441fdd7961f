/* The CPUs of this process, split between cases that run side by side, so that no two of them sit on the same core. */
#ifndef SS_APP_SWEEP_SWEEP_CORES_H
#define SS_APP_SWEEP_SWEEP_CORES_H
#include "core/error.h"

enum { SWEEP_CORES_MAX = 1024 }; /* what a cpu_set_t holds */

/* One CPU as the kernel counts them: hyperthreads of a core share package and core. */
typedef struct {
  int cpu, package, core, thread; /* thread: 0 for the first hyperthread of its core */
} sweep_cpu;

/* The CPUs that this process may use (its affinity; all places together where OMP_PLACES is set): their number, at most
 * SWEEP_CORES_MAX. */
int sweep_cores_find(sweep_cpu *cpus);
/* Order them so that slot i takes cpus[i * per_slot] to cpus[(i + 1) * per_slot - 1]: neighbours together; hyperthreads stay free as long as
 * there are cores enough, else the two of a core stand together, so that they go to the same case where that is possible. False, and
 * nobody is to be bound, if n_slots * per_slot is more than n. */
bool sweep_cores_split(int n, sweep_cpu *cpus, int n_slots, int per_slot);
#endif
