/* The folder of a sweep, `sweep/NAME` or the folder given by --out:
 *
 *   sweep.yaml       the sweep file        base.yaml   the base job with included files inserted and absolute paths
 *   cases.csv        number, id, one column per parameter and per other job key that is set; rows are never changed
 *   cases/000001/    run directory of case 1 (run.h), and log.txt with its output
 *   results.csv, results.h5, report.html            written by gather and report
 *   slurm/           scripts, job numbers, logs (sweep_slurm.h)
 *
 * Called by the sweep commands and by the other files of this folder. */
#ifndef SS_APP_SWEEP_SWEEP_FOLDER_H
#define SS_APP_SWEEP_SWEEP_FOLDER_H
#include "app/sweep/sweep_plan.h"

/* Creates or extends the folder. Cases of `plan` whose id is not in cases.csv are added with the next numbers; existing cases
 * keep their numbers and results. Locks the folder during the update. If the base job, the parameters or the settings
 * differ, each difference is added to `d` and nothing is written. */
PetscErrorCode sweep_folder_update(const char *dir, const sweep_plan *plan, diagnostics *d, int64_t *n_new);
/* The same without writing: returns the number of new cases and adds the differences to `d`. */
PetscErrorCode sweep_folder_compare(const char *dir, const sweep_plan *plan, diagnostics *d, int64_t *n_new);
/* True if `dir` contains a sweep. */
bool sweep_folder_exists(const char *dir);
/* Reads the sweep; case numbers as in cases.csv, `base` and `base_text` from DIR/base.yaml. */
PetscErrorCode sweep_folder_read(const char *dir, sweep_plan **out);
void           sweep_folder_case(const char *dir, int64_t number, size_t size, char *path); /* DIR/cases/000001 */

/* waiting: not started; running: a process holds its lock; stopped: can be resumed (signal, time limit, killed); failed;
 * finished. */
typedef enum { CASE_WAITING, CASE_RUNNING, CASE_STOPPED, CASE_FAILED, CASE_FINISHED } case_state;
/* The state of a case, from its result.yaml and the lock of its run directory. `why`: the reason for users, or "". */
PetscErrorCode sweep_folder_state(const char *dir, int64_t number, case_state *state, char *why, size_t size);
/* The error of the last start of a case that is in its log.txt: the last error message of the program or of a crash; otherwise the first diagnostic of
 * the job. "" if there is none. Other lines, such as progress, are no errors. */
void sweep_folder_error(const char *dir, int64_t number, size_t size, char *words);
#endif
