/* The tables of a run, read once from end to end, as figures and totals. */
#ifndef SS_APP_REPORT_REPORT_HISTORY_H
#define SS_APP_REPORT_REPORT_HISTORY_H
#include "app/report/figures.h"

/* What history.csv says of the whole run. */
typedef struct {
  int64_t     n_rows, n_retried, n_retries, n_fallbacks; /* rows; rows with retries; their sums */
  double      step, time;                                /* of the last row; NaN if there is none */
  double      first_retry;                               /* [s], NaN if none */
  double      most_left;                                 /* largest residual; NaN: no such column */
  double      seconds;                                   /* sum over rows */
  bool        is_finite;                                 /* every number in it */
  text_buffer constants;                                 /* what is not drawn because it never changes, as HTML; memory_free(&data) */
} report_history;

/* Figures of DIR/history.csv, in the sections "energy", "contact", "solver" and "time". No table: *h is empty. Of a damaged one what
 * stands before the damage; `warnings` gets an <li> that says so. */
PetscErrorCode report_history_read(const char *dir, figures *f, report_history *h, text_buffer *warnings);
/* Figures of DIR/measure/NAME.csv, in the section "measures". */
PetscErrorCode report_measures_read(const char *dir, figures *f, text_buffer *warnings);
#endif
