/* Diagnostics of many cases of a sweep: equal texts are reported once, with the number of cases and the first of them. Called by sweep_plan.c
 * (jobs) and sweep_check.c (scenes). */
#ifndef SS_APP_SWEEP_SWEEP_ERRORS_H
#define SS_APP_SWEEP_SWEEP_ERRORS_H
#include "core/diagnostics.h"

enum { SWEEP_MAX_ERRORS = 40, SWEEP_WORDS = 200 };

/* Zero at first. */
typedef struct {
  int     n;
  int64_t first[SWEEP_MAX_ERRORS], n_cases[SWEEP_MAX_ERRORS];
  char   *text[SWEEP_MAX_ERRORS];
  char    words[SWEEP_MAX_ERRORS][SWEEP_WORDS];
} sweep_errors;

/* Collect the diagnostics of case i, counted from 0. words: its parameters (sweep_case_text). */
PetscErrorCode sweep_errors_collect(sweep_errors *c, const diagnostics *from, int64_t i, const char *words);
/* Add each collected text once to `d`, and free it. */
void sweep_errors_report(sweep_errors *c, int64_t n_cases, diagnostics *d);
#endif
