/* A run: one job advancing in one directory, with everything it leaves there.
 *
 *   DIR/job.yaml           the job with every default written out
 *   DIR/checkpoints/       state; the newest valid one is what `resume` continues
 *   DIR/frames/, DIR/frames.xmf   for ParaView and `render`
 *   DIR/history.csv, DIR/measure/NAME.csv
 *   DIR/result.yaml        how it stands and what its measures came to, for programs (run_result.h)
 *   DIR/summary.txt        what the steps took and found, time by stage; written at the end                                                          */
#ifndef SS_APP_RUN_RUN_H
#define SS_APP_RUN_RUN_H
#include "app/job/job.h"

typedef struct {
  MPI_Comm    comm;    /* of the processes that run it together */
  const char *dir;     /* run directory */
  bool        force;   /* start over in a directory that already holds a run */
  bool        accept_changes; /* run_continue: of any key */
  int64_t     max_steps; /* stop (as finished) after so many steps; 0: no limit */
} run_options;

typedef struct run run;
/* Start at time 0. Takes the job over. PETSC_ERR_USER_INPUT if the directory already holds a run and not `force`. */
PetscErrorCode run_create(job **j, const run_options *options, diagnostics *d, run **out);
/* Continue from the newest valid checkpoint in options->dir. `overrides` apply to the embedded job. */
PetscErrorCode run_resume(const run_options *options, int n_overrides, const char *const *overrides, diagnostics *d, run **out);
/* Continue likewise, with this job instead of the embedded one, in options->dir or in the job's own directory. Keys that differ are shown; those
 * that may not change (app/job/job.h) are complaints. No checkpoint there: *out = NULL, no complaint, and *j is still the caller's;
 * else it has been taken over. */
PetscErrorCode run_continue(job **j, const run_options *options, diagnostics *d, run **out);
/* A run that was continued has nothing left to do; `why`: "end of time", or "until: ..." what. */
bool run_is_finished(const run *r, size_t size, char *why);
/* Step until the end, a failure, or until it has to leave (core/stop.h, run_leave.h); writes everything. */
PetscErrorCode run_loop(run *r, exit_code *code);
int64_t        run_steps(const run *r); /* done by run_loop */
void           run_destroy(run **r);
const char    *run_directory(const run *r);
#endif
