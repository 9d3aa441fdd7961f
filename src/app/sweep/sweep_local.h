/* Runs the cases of a sweep on this machine: several at a time, in the order of their numbers, each in its own process and on
 * its own CPUs. Cases are forked from this process, which has initialised MPI and PETSc, or started as new processes (is_fresh).
 * Called by the sweep commands. */
#ifndef SS_APP_SWEEP_SWEEP_LOCAL_H
#define SS_APP_SWEEP_SWEEP_LOCAL_H
#include "core/error.h"

/* Executes a command line in a process that was forked from this one; returns the exit code. */
typedef exit_code case_executor(int argc, char **argv);

typedef struct {
  int64_t        n_at_once; /* number of simultaneous cases; 0: resources.concurrent, or limited by the CPUs */
  int64_t        threads;   /* per case; 0: resources.cores, or the CPUs divided by n_at_once */
  int64_t        n;         /* length of `numbers`; 0: all cases that can run */
  const int64_t *numbers;   /* [n] case numbers */
  int           *signal;    /* NULL, or output: the first signal that requested a stop, 0: none */
  bool           has_picture;
  bool           is_strict; /* run the cases with --strict */
  case_executor *execute;   /* executes a forked case; given by the commands */
  bool           is_fresh;  /* start a new process for each case instead of forking: at least 50 ms per case slower */
} sweep_local_options;

/* Runs waiting and stopped cases; finished and failed cases are not run. SIGINT, SIGTERM, SIGUSR1, SIGUSR2 and SIGHUP are
 * forwarded to the cases, which write checkpoints. *code: SS_EXIT_OK if all requested cases are finished, SS_EXIT_REQUEUE if
 * some can be continued, SS_EXIT_STEP_FAILED if some failed and none can be continued, SS_EXIT_QUALITY if all are finished, and some strict
 * ones with a bad entry in their quality block. */
PetscErrorCode sweep_local(const char *dir, const sweep_local_options *o, exit_code *code);
/* The case numbers of task `task` (counted from 1) of a job array with `size` cases per task; 0: resources.cases_per_task.
 * memory_free(*numbers). */
PetscErrorCode sweep_task_numbers(const char *dir, int64_t task, int64_t size, int64_t *n, int64_t **numbers);

/* Distribution of CPUs among cases that run at the same time, so that no two cases share a core. */

enum { SWEEP_CORES_MAX = 1024 }; /* number of CPUs in a cpu_set_t */

/* One CPU in the numbering of the kernel. Hyperthreads of a core have equal package and core. */
typedef struct {
  int cpu, package, core, thread; /* thread: 0 for the first hyperthread of its core */
} sweep_cpu;

/* Lists the CPUs that this process may use (its affinity; all places together if OMP_PLACES is set). Returns their number, at most
 * SWEEP_CORES_MAX. */
int sweep_cores_find(sweep_cpu *cpus);
/* Sorts the CPUs so that slot i uses cpus[i * per_slot] to cpus[(i + 1) * per_slot - 1]. Neighbouring cores are in the same
 * slot. Second hyperthreads remain unused if there are enough cores; otherwise the two hyperthreads of a core are adjacent, so
 * that they belong to the same case if possible. False if n_slots * per_slot > n; then the cases must not be bound to CPUs. */
bool sweep_cores_split(int n, sweep_cpu *cpus, int n_slots, int per_slot);
#endif
