/* The report of a run: one HTML page without references to other files or the network. Called by the commands run, resume and
 * report. */
#ifndef SS_APP_REPORT_REPORT_RUN_H
#define SS_APP_REPORT_REPORT_RUN_H
#include "core/error.h"

/* Writes the page of the run in `dir` to `path` (NULL: DIR/report.html), replacing the file as a whole. Missing or damaged files
 * of the run are listed on the page. PETSC_ERR_USER_INPUT if `dir` contains no run. is_quick: checkpoints are not read
 * completely to find damage. Requires gnuplot: see plot_sheet.h. */
PetscErrorCode report_run(const char *dir, const char *path, bool is_quick);
#endif
