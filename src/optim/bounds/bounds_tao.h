/* MPRGP and primal-dual active sets as Tao types: bounds, gradient and Hessian come from Tao, the solvers from this folder.
 *
 *   -tao_type mprgp | mprgporiginal | activeset
 *   -tao_mprgp_preconditioner <multigrid>  none | jacobi | ssor | mic | multigrid; the last three need a grid matrix
 *                                   (bounds_tao_set_grid) and are replaced by jacobi without one
 *   -tao_max_it N                   0 or PETSc's default value: the default of the method is used
 *
 * The objective must be quadratic: the Hessian is evaluated once per solve. It must provide MatMult; without MATOP_GET_DIAGONAL its
 * diagonal is assumed to be 1. A solve has converged if |nu|_D <= max(grtol |b|_D, gatol), with the norm of bounds_problem.h. */
#ifndef SS_OPTIM_BOUNDS_BOUNDS_TAO_H
#define SS_OPTIM_BOUNDS_BOUNDS_TAO_H
#include "optim/bounds/bounds_problem.h"
#include <petsctao.h>

#define TAOMPRGP "mprgp"
#define TAOMPRGPORIGINAL "mprgporiginal"
#define TAOACTIVESET "activeset"
PetscErrorCode bounds_tao_register(void); /* idempotent */
/* Attach a grid matrix to a Hessian, for the preconditioners (see bounds_qp.grid). It is borrowed for the lifetime of the Mat. */
PetscErrorCode bounds_tao_set_grid(Mat hessian, grid_matrix *grid);
/* Copy the result of the last TaoSolve of one of these types. */
PetscErrorCode bounds_tao_result(Tao tao, bounds_result *out);
#endif
