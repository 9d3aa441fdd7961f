/* Results of all cases of a sweep, read from the result.yaml files of their runs: status, table of results, retry.
 * Called by the sweep commands and the sweep report. */
#ifndef SS_APP_SWEEP_SWEEP_RESULTS_H
#define SS_APP_SWEEP_SWEEP_RESULTS_H
#include "app/run/run_result.h"
#include "app/sweep/sweep_folder.h"

enum { SWEEP_WHY = 256 };

typedef struct {
  sweep_plan *plan;
  case_state *state;         /* [plan->n_cases] */
  char (*why)[SWEEP_WHY];    /* [plan->n_cases] reason for users, or "" */
  const run_result **result; /* [plan->n_cases]; NULL: no readable result */
  document         **owner;  /* [plan->n_cases] documents that own the results */
  int64_t            n_state[CASE_FINISHED + 1];
} sweep_results;

extern const char *const case_state_names[]; /* index: case_state; NULL-terminated */

/* Status of case i for users: that of its result if it is finished, otherwise the name of its state. */
const char *sweep_results_status(const sweep_results *r, int64_t i);
bool        sweep_results_has_bad_quality(const sweep_results *r, int64_t i); /* finished, with a bad entry in its quality block */

/* Read the plan and all results of the sweep in folder dir. The caller owns *out. Damaged results are reported as warnings and
 * treated as missing. Fails if the folder is not a sweep. */
PetscErrorCode sweep_results_read(const char *dir, sweep_results **out);
void           sweep_results_destroy(sweep_results **r);

/* `sweep status`: prints the number of cases by state and the reasons of failures; with `all`, one line per case. */
PetscErrorCode sweep_status(const char *dir, bool all, FILE *out);
/* `sweep gather`: writes DIR/results.csv and DIR/results.h5 with one row per case. Columns: number, id, status, the parameters
 * (real if all values are numbers), NAME.last, .min, .max and .mean of each measure of any case, then reason, seconds and other
 * totals. */
PetscErrorCode sweep_gather(const char *dir, int64_t *n_cases, int64_t *n_finished);
/* `sweep retry`: marks failed cases (with these numbers; n = 0: all) to be run again from their newest checkpoint, or from time
 * 0 if `from_start`. *n_marked: their number. Waiting and stopped cases need no mark: the next run includes them. */
PetscErrorCode sweep_retry(const char *dir, int64_t n, const int64_t *numbers, bool from_start, int64_t *n_marked);
#endif
