/* Check of the scenes of a sweep before its start: errors and warnings that only the construction of a scene finds. Called by the command sweep. */
#ifndef SS_APP_SWEEP_SWEEP_CHECK_H
#define SS_APP_SWEEP_SWEEP_CHECK_H
#include "app/sweep/sweep_plan.h"

/* Builds the scenes of cases until `seconds` of wall time have passed (at least one scene; INFINITY: all) and adds their errors to `d`. Cases that
 * together contain every value of every setting come first. Warnings are logged. *n_checked: number of scenes. */
PetscErrorCode sweep_check_scenes(const sweep_plan *plan, double seconds, diagnostics *d, int64_t *n_checked);
#endif
