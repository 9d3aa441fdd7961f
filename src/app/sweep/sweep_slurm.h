/* Cases of a sweep as one SLURM job array. Task k of an array runs cases (k-1) K + 1 to k K of the sweep, one after the other, K being written
 * in its script, so that a task means the same cases whatever is added to the sweep later. Only tasks that have something left are submitted.
 *
 *   SWEEP/slurm/1.sh          the script of the first submission      SWEEP/slurm/1-17.log   what its task 17 said
 *   SWEEP/slurm/submitted.csv number, job, cases a task: a row a submission                                                    */
#ifndef SS_APP_SWEEP_SWEEP_SLURM_H
#define SS_APP_SWEEP_SWEEP_SLURM_H
#include "app/sweep/sweep_folder.h"

typedef struct {
  sweep_resources resources; /* what the command line says; 0, NULL: what the sweep file says */
  int             n_more;    /* options for sbatch as they are: "--qos=night" */
  const char    **more;
  bool            has_picture;
} sweep_slurm_options;

/* The script that a submission would write and submit; NULL, after saying so, if nothing is left. memory_free(*text). */
PetscErrorCode sweep_slurm_script(const char *dir, const sweep_slurm_options *o, char **text);
/* Submit what is left and not queued already, and a job that gathers the results when all tasks have ended. Says what it did.
 * PETSC_ERR_USER_INPUT with sbatch's words if it refuses. */
PetscErrorCode sweep_slurm_submit(const char *dir, const sweep_slurm_options *o);
/* How many tasks of the sweep run and wait, and for what; nothing if none is queued or there is no SLURM here. */
PetscErrorCode sweep_slurm_status(const char *dir, FILE *out);
#endif
