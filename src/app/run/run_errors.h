/* Search for all errors of a job that has errors: the entries with errors are removed from a copy of the job, and the remaining job is checked like a
 * complete one, so that one call of `check` reports the errors of keys, scene, measures, fields and options of PETSc together. */
#ifndef SS_APP_RUN_RUN_ERRORS_H
#define SS_APP_RUN_RUN_ERRORS_H
#include "core/diagnostics.h"

/* Add to `d` all errors of the job `given` (root of its document, borrowed) that it does not contain yet. Does nothing if `given` is no mapping. */
PetscErrorCode run_find_errors(MPI_Comm comm, const document_node *given, diagnostics *d);
#endif
