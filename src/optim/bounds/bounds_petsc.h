/* PETSc's solvers with bounds as methods of box_solve: `tao` (mprgp, activeset, bnls, bntr, gpcg, blmvm, bqpip, ...) and
 * `snesvi` (vinewtonrsls, vinewtonssls). All their options are available with the prefix of box_options. A is passed as an
 * assembled matrix if the grid matrix is all of A or if n is small, else as a shell; some types cannot extract submatrices from
 * a shell. The convergence test is that of box_qp: |nu|_D. */
#ifndef SS_OPTIM_BOUNDS_BOUNDS_PETSC_H
#define SS_OPTIM_BOUNDS_BOUNDS_PETSC_H
#include "optim/bounds/bounds_problem.h"

/* A box_solve_function each. */
PetscErrorCode box_solve_tao(const box_qp *q, const box_options *o, double *x, box_result *r);
PetscErrorCode box_solve_snesvi(const box_qp *q, const box_options *o, double *x, box_result *r);
#endif
