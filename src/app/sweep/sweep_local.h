/* Cases of a sweep on this machine: some at a time, in the order of their numbers, each on CPUs of its own. */
#ifndef SS_APP_SWEEP_SWEEP_LOCAL_H
#define SS_APP_SWEEP_SWEEP_LOCAL_H
#include "core/error.h"

typedef struct {
  int64_t        n_at_once; /* cases at a time; 0: resources.concurrent, or as many as CPUs allow */
  int64_t        threads;   /* of each; 0: resources.cores, or the CPUs divided by n_at_once */
  int64_t        n;         /* of `numbers`; 0: all that are left */
  const int64_t *numbers;   /* [n] of the cases */
  int           *signal;    /* NULL, or: the first that asked to stop, 0 if none did */
  bool           has_picture;
  bool           is_fresh;  /* start the program anew for each case, as by hand: slower by 50 ms and more */
} sweep_local_options;

/* Run what is waiting or stopped; finished and failed cases are left alone. INT, TERM, USR1, USR2 and HUP are passed on to the cases,
 * which write checkpoints. *code: EXIT_OK if all of the cases asked for are finished in the end,
 * EXIT_REQUEUE if some may be continued, EXIT_STEP_FAILED if some failed and nothing is left to do. */
PetscErrorCode sweep_local(const char *dir, const sweep_local_options *o, exit_code *code);
/* The numbers of the cases of task `task` (from 1): `size` at a time, 0: resources.cases_per_task. memory_free(*numbers). */
PetscErrorCode sweep_task_numbers(const char *dir, int64_t task, int64_t size, int64_t *n, int64_t **numbers);
#endif
