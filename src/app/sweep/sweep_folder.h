/* A sweep on disk. SWEEP/ is `sweep/NAME` unless --out says otherwise:
 *
 *   sweep.yaml       the sweep file as given        base.yaml   the base job, includes written out, paths absolute
 *   cases.csv        number, id, a column a parameter, a column a job key that is set besides; rows are only ever added
 *   cases/000001/    the run directory of case 1 (run.h), and log.txt with all it printed
 *   results.csv, results.h5, report.html            made by gather and report
 *   slurm/           scripts, job numbers, logs                                                                        */
#ifndef SS_APP_SWEEP_SWEEP_FOLDER_H
#define SS_APP_SWEEP_SWEEP_FOLDER_H
#include "app/sweep/sweep_plan.h"

/* Make or extend: cases of `plan` that are not in cases.csv (by id) are added with the next numbers; those already there keep theirs and
 * their results. Holds the folder's lock meanwhile. Another base job, other parameters or other settings: every difference is a
 * complaint to `d`, and nothing is written. */
PetscErrorCode sweep_folder_update(const char *dir, const sweep_plan *plan, diagnostics *d, int64_t *n_new);
/* What an update would add, without writing; the same complaints. */
PetscErrorCode sweep_folder_compare(const char *dir, const sweep_plan *plan, diagnostics *d, int64_t *n_new);
/* Is there a sweep in `dir`? */
bool sweep_folder_exists(const char *dir);
/* The sweep as it is on disk, numbered as in cases.csv. `base` and `base_text` are those of DIR/base.yaml. */
PetscErrorCode sweep_folder_read(const char *dir, sweep_plan **out);
void           sweep_folder_case(const char *dir, int64_t number, size_t size, char *path); /* DIR/cases/000001 */

/* waiting: never begun; running: its lock is held; stopped: may be resumed (signal, time limit, killed); failed; finished. */
typedef enum { CASE_WAITING, CASE_RUNNING, CASE_STOPPED, CASE_FAILED, CASE_FINISHED } case_state;
PetscErrorCode sweep_folder_state(const char *dir, int64_t number, case_state *state, char *why, size_t size);
/* What its log has to say of how it ended: the program's last complaint, else the last line; "" if there is none. */
void sweep_folder_last_message(const char *dir, int64_t number, size_t size, char *words);
#endif
