/* Runs the cases of a sweep as a SLURM job array. Task k runs cases (k-1) K + 1 to k K in sequence. The batch script contains
 * K, so that a task keeps its cases if the sweep is extended later. Only tasks with waiting or stopped cases are submitted.
 * Called by the sweep commands.
 *
 *   SWEEP/slurm/1.sh          batch script of the first submission      SWEEP/slurm/1-17.log   output of its task 17
 *   SWEEP/slurm/submitted.csv number, job, cases per task: one row per submission */
#ifndef SS_APP_SWEEP_SWEEP_SLURM_H
#define SS_APP_SWEEP_SWEEP_SLURM_H
#include "app/sweep/sweep_folder.h"

typedef struct {
  sweep_resources resources; /* from the command line; 0 or NULL: use the value of the sweep file */
  int             n_more;    /* number of further options of sbatch */
  const char    **more;      /* [n_more] "--qos=night" */
  bool            has_picture;
  bool            is_strict; /* run the cases with --strict */
} sweep_slurm_options;

/* *text: the batch script of a submission; NULL, with a log message, if no case can be submitted. The caller frees it with memory_free. */
PetscErrorCode sweep_slurm_script(const char *dir, const sweep_slurm_options *o, char **text);
/* Submits the waiting and stopped cases that are not queued yet, and a job that gathers the results after all tasks. Logs the
 * job number. PETSC_ERR_USER_INPUT with the message of sbatch if it rejects the job. */
PetscErrorCode sweep_slurm_submit(const char *dir, const sweep_slurm_options *o);
/* Prints the number of running and waiting tasks and why they wait; prints nothing if no task is queued or SLURM is not
 * available. */
PetscErrorCode sweep_slurm_status(const char *dir, FILE *out);
#endif
