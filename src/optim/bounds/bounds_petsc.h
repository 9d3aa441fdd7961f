/* PETSc's solvers with bounds as methods of bounds_solve: `tao` (mprgp, activeset, bnls, bntr, gpcg, blmvm, bqpip, ...) and
 * `snesvi` (vinewtonrsls, vinewtonssls). All their options are available with the prefix pressure_. A is assembled if the grid matrix is
 * all of A or if n is small. Otherwise it is a shell, which types that extract submatrices do not support. The convergence test uses the
 * error norm |nu|_D of bounds_problem.h. */
#ifndef SS_OPTIM_BOUNDS_BOUNDS_PETSC_H
#define SS_OPTIM_BOUNDS_BOUNDS_PETSC_H
#include "optim/bounds/bounds_problem.h"

/* Each is a bounds_solve_function: arguments and errors as declared in bounds_problem.h. */
PetscErrorCode bounds_solve_tao(const bounds_qp *q, const bounds_options *o, double *x, bounds_result *r);
PetscErrorCode bounds_solve_snesvi(const bounds_qp *q, const bounds_options *o, double *x, bounds_result *r);
/* Check PETSc's options with prefix pressure_: set up a SNES (is_snes) or Tao for two unknowns, and destroy it. */
PetscErrorCode bounds_petsc_probe(bool is_snes);
#endif
