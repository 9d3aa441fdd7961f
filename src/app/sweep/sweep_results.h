/* What became of every case of a sweep, as the cases wrote it down. */
#ifndef SS_APP_SWEEP_SWEEP_RESULTS_H
#define SS_APP_SWEEP_SWEEP_RESULTS_H
#include "app/run/run_result.h"
#include "app/sweep/sweep_folder.h"

enum { SWEEP_WHY = 256 };

typedef struct {
  sweep_plan        *plan;
  case_state        *state;                /* [plan->n_cases] */
  char             (*why)[SWEEP_WHY];      /* [plan->n_cases] for people; "" */
  const run_result **result;               /* [plan->n_cases] NULL: none that can be read */
  document         **owner;                /* [plan->n_cases] of the results */
  int64_t            n_state[CASE_FINISHED + 1];
} sweep_results;

extern const char *const case_state_names[]; /* by case_state, NULL-terminated */

/* Results that are damaged count as none, with a warning. */
PetscErrorCode sweep_results_read(const char *dir, sweep_results **out);
void           sweep_results_destroy(sweep_results **r);

/* `sweep status`: how many are in which state, what the failed ones died of; with `all`, a line a case. */
PetscErrorCode sweep_status(const char *dir, bool all, FILE *out);
/* `sweep gather`: DIR/results.csv and DIR/results.h5, a row a case. Columns: number, id, status, the parameters (real where all of their
 * values are numbers), NAME.last, .min, .max and .mean of every measure any case has, then reason, seconds and so on. */
PetscErrorCode sweep_gather(const char *dir, int64_t *n_cases, int64_t *n_finished);
/* `sweep retry`: failed cases (of these numbers; n = 0: all) may run again, from their newest checkpoint or, `from_start`, from nothing.
 * *n_marked: how many. Waiting and stopped cases need no mark: the next run takes them. */
PetscErrorCode sweep_retry(const char *dir, int64_t n, const int64_t *numbers, bool from_start, int64_t *n_marked);
#endif
