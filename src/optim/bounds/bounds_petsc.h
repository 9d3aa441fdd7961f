/* Any of PETSc's solvers with bounds as a method: `tao` (mprgp, activeset, bnls, bntr, gpcg, blmvm, bqpip, ...) and `snesvi`
 * (vinewtonrsls, vinewtonssls), with all of their options under the prefix. They get A as compressed rows where its part on the
 * grid is all of it or it is small, else as a shell, which some of them cannot cut submatrices from. They stop by our measure:
 * |nu|_D. */
#ifndef SS_OPTIM_BOUNDS_BOUNDS_PETSC_H
#define SS_OPTIM_BOUNDS_BOUNDS_PETSC_H
#include "optim/bounds/bounds_problem.h"

/* box_solve_functions */
PetscErrorCode box_solve_tao(const box_qp *q, const box_options *o, double *x, box_result *r);
PetscErrorCode box_solve_snesvi(const box_qp *q, const box_options *o, double *x, box_result *r);
#endif
