/* Newton systems of friction solvers: for given blocks A_a, B_a of every contact find d with
 *
 *   A_a sum_b (W_ab + alpha delta_ab) d_b + B_a d_a = -f_a
 *
 * Contacts that are not active (A = 0, B = -I) are eliminated, d_a = f_a. What is left is solved directly, in one of two forms:
 * the blocks of A W + B (3x3-block LU under minimum degree), or, for systems whose W is much fuller than M and H, the saddle
 * form with those (newton_saddle.h). The ordering is kept while the active contacts are about the same. Pivots of the block LU
 * are taken within blocks alone: residuals are checked, refined once, and what is still inexact is factored again with full
 * pivoting. That factor's package is chosen by the PETSc option -friction_lu_type, which, if given, replaces the block LU, too. */
#ifndef SS_OPTIM_FRICTION_NEWTON_MATRIX_H
#define SS_OPTIM_FRICTION_NEWTON_MATRIX_H
#include "optim/friction/friction_problem.h"

typedef struct newton_matrix newton_matrix;

PetscErrorCode newton_matrix_create(const friction_problem *p, newton_matrix **out); /* borrows p */
void           newton_matrix_destroy(newton_matrix **m);
/* A, B [n][9], f, d [n][3]. *is_solved false: singular to working precision, d is not to be used. */
PetscErrorCode newton_matrix_factor(newton_matrix *m, double alpha, const double *A, const double *B, const bool *is_active,
                                    bool *is_solved);
PetscErrorCode newton_matrix_solve(newton_matrix *m, const double *f, double *d, bool *is_solved);
#endif
