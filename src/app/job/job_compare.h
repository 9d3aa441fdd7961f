/* Two jobs of one run: the one it was started with, and what a job file says now. */
#ifndef SS_APP_JOB_JOB_COMPARE_H
#define SS_APP_JOB_JOB_COMPARE_H
#include "app/job/job.h"

/* Shows every key that differs, with both values: changes that are taken over in the log, those that are refused as complaints to `d`.
 * Refused are keys without may_change (core/key_table.h): they say what is simulated, not for how long, how exactly, and what is written
 * of it. accept_all: nothing is refused. `dir` is named in messages. *n_changes counts all. */
PetscErrorCode job_compare(const job *before, const job *after, const char *dir, bool accept_all, diagnostics *d, int *n_changes);
#endif
