/* PETSc's solvers with bounds as methods of bounds_solve: `tao` (mprgp, activeset, bnls, bntr, gpcg, blmvm, bqpip, ...) and
 * `snesvi` (vinewtonrsls, vinewtonssls). All their options are available with the prefix pressure_. A is passed as an
 * assembled matrix if the grid matrix is all of A or if n is small, else as a shell; some types cannot extract submatrices from
 * a shell. The convergence test is that of bounds_qp: |nu|_D. */
#ifndef SS_OPTIM_BOUNDS_BOUNDS_PETSC_H
#define SS_OPTIM_BOUNDS_BOUNDS_PETSC_H
#include "optim/bounds/bounds_problem.h"

/* A bounds_solve_function each. */
PetscErrorCode bounds_solve_tao(const bounds_qp *q, const bounds_options *o, double *x, bounds_result *r);
PetscErrorCode bounds_solve_snesvi(const bounds_qp *q, const bounds_options *o, double *x, bounds_result *r);
/* Create the Tao or SNES for two unknowns, set it up with the options in PETSc's database and destroy it. */
PetscErrorCode bounds_petsc_probe(bool is_snes);
#endif
