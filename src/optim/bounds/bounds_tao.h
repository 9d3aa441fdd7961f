/* MPRGP and primal-dual active sets as types of PETSc's Tao: bounds, gradient and Hessian from Tao, the code from here.
 *
 *   -tao_type mprgp | mprgporiginal | activeset
 *   -tao_mprgp_gamma <1>            bounds are released when their share of the gradient exceeds so many times the free one
 *   -tao_mprgp_preconditioner <multigrid>  none | jacobi | ssor | mic | multigrid; the last three want a grid matrix, see below,
 * and are jacobi without
 *   -tao_max_it                     0 or PETSc's default: the method's own
 *
 * The objective must be quadratic: the Hessian is asked for once a solve. It need only multiply; a Hessian without
 * MATOP_GET_DIAGONAL counts as having the diagonal 1. The norm is that of box_qp.h, |nu|_D <= max(grtol |b|_D, gatol). */
#ifndef SS_OPTIM_BOUNDS_BOUNDS_TAO_H
#define SS_OPTIM_BOUNDS_BOUNDS_TAO_H
#include "optim/bounds/bounds_problem.h"
#include <petsctao.h>

#define TAOMPRGP         "mprgp"
#define TAOMPRGPORIGINAL "mprgporiginal"
#define TAOACTIVESET     "activeset"
PetscErrorCode box_tao_register(void); /* idempotent */
/* Tell a Hessian its part on a grid; borrowed for the life of the Mat. */
PetscErrorCode box_tao_set_grid(Mat hessian, grid_matrix *grid);
/* What the last TaoSolve of one of these types came to. */
PetscErrorCode box_tao_result(Tao tao, box_result *out);
#endif
