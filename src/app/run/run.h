/* A run: one job advanced in time, with its files in one run directory.
 *
 *   DIR/job.yaml           the job with all defaults written out
 *   DIR/checkpoints/       the state; `resume` continues from the newest valid checkpoint
 *   DIR/frames/, DIR/frames.xmf   for ParaView and `render`
 *   DIR/history.csv, DIR/measure/NAME.csv
 *   DIR/result.yaml        status of the run and statistics of its measures, for programs (run_result.h)
 *   DIR/log.txt            messages of the program; a resumed run appends
 *   DIR/summary.txt        iterations, contacts and time by stage; written at the end
 *
 * Called by the commands run and resume. */
#ifndef SS_APP_RUN_RUN_H
#define SS_APP_RUN_RUN_H
#include "app/job/job.h"
#include "sim/scene/scene.h"

typedef struct {
  MPI_Comm    comm;           /* of the processes that run the job together */
  const char *dir;            /* run directory; NULL: run/NAME */
  bool        force;          /* start from time 0 although the directory contains a run */
  bool        accept_changes; /* run_continue: accept changes of any job key */
  bool        is_strict;      /* exit code 5 if the run finishes with a bad entry in its quality block, as with quality: strict */
  bool        is_check;       /* run_build for checks only: PETSc's options of the job are checked, but not set */
  bool        keeps_log;      /* run_create: append to log.txt instead of replacing it */
  int64_t     max_steps;      /* stop after this number of steps, with status `stopped` and exit code 0; 0: no limit */
} run_options;

typedef struct run run;
/* Create scene, formulation, measures and state in memory; write no files. Takes ownership of *j. Errors of the job are added to `d`;
 * then *out may be NULL. */
PetscErrorCode run_build(job **j, const run_options *options, diagnostics *d, run **out);
/* Create a run at time 0. Takes ownership of *j. PETSC_ERR_USER_INPUT if the directory already contains a run and options->force is
 * false. */
PetscErrorCode run_create(job **j, const run_options *options, diagnostics *d, run **out);
/* Create a run from the newest valid checkpoint in options->dir. `overrides` are applied to the job stored in the checkpoint. */
PetscErrorCode run_resume(const run_options *options, int n_overrides, const char *const *overrides, diagnostics *d, run **out);
/* Like run_resume, with *j in place of the stored job, in options->dir or in the job's own directory. Logs the keys that differ;
 * adds a diagnostic for each key that may not change (app/job/job_compare.h). Without a checkpoint: *out = NULL, no diagnostic,
 * and the caller still owns *j; otherwise the run owns it. */
PetscErrorCode run_continue(job **j, const run_options *options, diagnostics *d, run **out);
/* True if a continued run has no steps left; `why`: "end of time", or "until: CONDITION". */
bool run_is_finished(const run *r, size_t size, char *why);
/* Exit code of a finished run: 0, or 5 if it is strict and was finished with a bad entry in its quality block. */
exit_code run_finished_code(const run *r);
/* Step until the end time, a condition of until:, max_steps, a failed step, a signal (core/stop.h) or the end of the SLURM allocation.
 * Writes all outputs. *code: exit code of the program. */
PetscErrorCode run_loop(run *r, exit_code *code);
int64_t        run_memory_before(const run *r); /* size of all arrays before run_build, memory_live() [byte] */
int64_t        run_steps(const run *r);         /* steps done by run_loop */
void           run_destroy(run **r);
const char    *run_directory(const run *r);
const job     *run_job(const run *r);   /* with all values of `auto` resolved */
const scene   *run_scene(const run *r); /* its field table includes the fields of formulation and run */
#endif
