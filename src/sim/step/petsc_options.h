/* Options of PETSc in a job, `solver.petsc:`. Only options that a solver reads are valid: petsc_options_check creates the solvers of
 * the formulation for a few unknowns (formulation_ops.probe) and reports every option that PETSc rejects or that no solver has read.
 * Used by app wherever a scene is created from a job. */
#ifndef SS_SIM_STEP_PETSC_OPTIONS_H
#define SS_SIM_STEP_PETSC_OPTIONS_H
#include "core/diagnostics.h"
#include "sim/step/formulation.h"

/* Add an entry to d for each option of the job of s that the formulation does not read or that PETSc rejects. Does not change PETSc's
 * options database, writes nothing. Fails if the solvers cannot be created even without options. */
PetscErrorCode petsc_options_check(const formulation_ops *ops, const scene *s, diagnostics *d);
/* Enter the options of a checked job into PETSc's database. Borrows nothing. */
PetscErrorCode petsc_options_set(const document_node *petsc);
#endif
