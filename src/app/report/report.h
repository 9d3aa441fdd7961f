/* Reports: one HTML page that holds all it shows; no network, no other file. */
#ifndef SS_APP_REPORT_REPORT_H
#define SS_APP_REPORT_REPORT_H
#include "core/error.h"

/* The page of the run in `dir`, into `path` (NULL: DIR/report.html), replaced as a whole. Of what is missing or damaged in the run the
 * page says so; PETSC_ERR_USER_INPUT if there is no run. is_quick: checkpoints are not read in full to find damage.
 * Wants gnuplot: see plot_sheet.h. */
PetscErrorCode report_run(const char *dir, const char *path, bool is_quick);
/* The page of the sweep in `dir`, likewise: counts, diagrams of measures against parameters, all cases. What has not finished is left out of
 * the diagrams; failed cases are marked. Cases have pages of their own only where somebody wrote them. */
PetscErrorCode report_sweep(const char *dir, const char *path);
#endif
