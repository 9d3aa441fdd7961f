/* The report of a sweep: one HTML page that holds all it shows; no network, no other file. */
#ifndef SS_APP_SWEEP_SWEEP_REPORT_H
#define SS_APP_SWEEP_SWEEP_REPORT_H
#include "core/error.h"

/* The page of the sweep in `dir`, into `path` (NULL: DIR/report.html), replaced as a whole: counts, diagrams of measures against parameters,
 * all cases. What has not finished is left out of the diagrams; failed cases are marked. Cases have pages of their own only where somebody
 * wrote them. Wants gnuplot: see plot_sheet.h. */
PetscErrorCode sweep_report(const char *dir, const char *path);
#endif
