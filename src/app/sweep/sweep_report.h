/* The report of a sweep: one HTML page without references to other files or the network. Called by the sweep commands. */
#ifndef SS_APP_SWEEP_SWEEP_REPORT_H
#define SS_APP_SWEEP_SWEEP_REPORT_H
#include "core/error.h"

/* Writes the page of the sweep in `dir` to `path` (NULL: DIR/report.html), replacing the file as a whole: number of cases by
 * state, diagrams of measures against parameters, all cases. The diagrams show finished cases and mark failed ones. The table
 * links to the reports of single cases if these exist. Requires gnuplot: see plot_sheet.h. */
PetscErrorCode sweep_report(const char *dir, const char *path);
#endif
