/* Linear systems of the Newton methods: for given blocks A_a, B_a of every contact find d with
 *
 *   A_a sum_b (W_ab + alpha delta_ab) d_b + B_a d_a = -f_a
 *
 * Inactive contacts (A = 0, B = -I) are eliminated, d_a = f_a. The remaining system is solved directly in one of two forms: the
 * blocks of A W + B (3x3-block LU under minimum degree); or, for systems whose W is much fuller than M and H, the saddle-point form
 * with M and H. The ordering is kept while the active contacts change little. The block LU pivots within blocks only. Therefore
 * residuals are checked and the solution is refined once; if it is still inexact, the matrix is factored again with full pivoting.
 * PETSc's option -friction_lu_type selects the package of that factorisation; if given, it replaces the block LU too. */
#ifndef SS_OPTIM_FRICTION_NEWTON_MATRIX_H
#define SS_OPTIM_FRICTION_NEWTON_MATRIX_H
#include "optim/friction/friction_problem.h"

typedef struct newton_matrix newton_matrix;

PetscErrorCode newton_matrix_create(const friction_problem *p, newton_matrix **out); /* borrows p */
void           newton_matrix_destroy(newton_matrix **m);
/* A, B [n][9], f, d [n][3]. *is_solved false: singular to working precision, d must not be used. */
PetscErrorCode newton_matrix_factor(newton_matrix *m, double alpha, const double *A, const double *B, const bool *is_active,
                                    bool *is_solved);
PetscErrorCode newton_matrix_solve(newton_matrix *m, const double *f, double *d, bool *is_solved);
#endif
