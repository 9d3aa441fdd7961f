/* Cases of a sweep on this machine: some at a time, in the order of their numbers, each on CPUs of its own. */
#ifndef SS_APP_SWEEP_SWEEP_LOCAL_H
#define SS_APP_SWEEP_SWEEP_LOCAL_H
#include "core/error.h"

/* Executes a command line in a process forked from this one, and returns its exit code. */
typedef exit_code case_executor(int argc, char **argv);

typedef struct {
  int64_t        n_at_once; /* cases at a time; 0: resources.concurrent, or as many as CPUs allow */
  int64_t        threads;   /* of each; 0: resources.cores, or the CPUs divided by n_at_once */
  int64_t        n;         /* of `numbers`; 0: all that are left */
  const int64_t *numbers;   /* [n] of the cases */
  int           *signal;    /* NULL, or: the first that asked to stop, 0 if none did */
  bool           has_picture;
  case_executor *execute;   /* of forked cases: given by the commands */
  bool           is_fresh;  /* start the program anew for each case, as by hand: slower by 50 ms and more */
} sweep_local_options;

/* Run what is waiting or stopped; finished and failed cases are left alone. INT, TERM, USR1, USR2 and HUP are passed on to the cases,
 * which write checkpoints. *code: EXIT_OK if all of the cases asked for are finished in the end,
 * EXIT_REQUEUE if some may be continued, EXIT_STEP_FAILED if some failed and nothing is left to do. */
PetscErrorCode sweep_local(const char *dir, const sweep_local_options *o, exit_code *code);
/* The numbers of the cases of task `task` (from 1): `size` at a time, 0: resources.cases_per_task. memory_free(*numbers). */
PetscErrorCode sweep_task_numbers(const char *dir, int64_t task, int64_t size, int64_t *n, int64_t **numbers);

/* --- CPUs between cases */

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
