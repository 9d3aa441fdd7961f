/* Reports: one HTML page that holds all it shows; no network, no other file. */
#ifndef SS_APP_REPORT_REPORT_RUN_H
#define SS_APP_REPORT_REPORT_RUN_H
#include "core/error.h"

/* The page of the run in `dir`, into `path` (NULL: DIR/report.html), replaced as a whole. Of what is missing or damaged in the run the
 * page says so; PETSC_ERR_USER_INPUT if there is no run. is_quick: checkpoints are not read in full to find damage.
 * Wants gnuplot: see plot_sheet.h. */
PetscErrorCode report_run(const char *dir, const char *path, bool is_quick);
#endif
