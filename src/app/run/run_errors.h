/* Search for all errors of a job that has errors. An error in one entry prevents the checks of later stages (scene, measures, fields,
 * options of PETSc). Therefore the entries with errors are removed from a copy of the job, and the rest is checked like a complete job.
 * One call of `check` then reports the errors of all stages. Called by `run`, `check` and `sweep` after the first errors. */
#ifndef SS_APP_RUN_RUN_ERRORS_H
#define SS_APP_RUN_RUN_ERRORS_H
#include "core/diagnostics.h"

/* Add all errors of the job `given` to `d`, except those that `d` already contains. `given`: root of the job's document, borrowed; the
 * function returns at once if it is not a mapping. Solvers of PETSc are created on `comm`. Error: out of memory. */
PetscErrorCode run_find_errors(MPI_Comm comm, const document_node *given, diagnostics *d);
#endif
