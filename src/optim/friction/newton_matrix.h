/* Linear systems of the Newton methods. For given f_a [3] and blocks A_a, B_a [9] of every contact a, find the step d of the impulses:
 *
 *   A_a sum_b (W_ab + alpha delta_ab) d_b + B_a d_a = -f_a
 *
 * Inactive contacts (A = 0, B = -I) are eliminated: d_a = f_a. The system of the active contacts is solved directly in one of two forms.
 * Usually A (W + alpha I) + B is factored by 3x3-block LU in a minimum degree ordering. If W is much fuller than M and H, the saddle-point
 * form with M and H is factored. The ordering is reused while few contacts change. The block LU pivots only within blocks; therefore the
 * residual is checked and the solution refined once. If it is still inaccurate, the matrix is factored with full pivoting.
 * PETSc's option -friction_lu_type selects the package of that factorisation; if given, it replaces the block LU too. */
#ifndef SS_OPTIM_FRICTION_NEWTON_MATRIX_H
#define SS_OPTIM_FRICTION_NEWTON_MATRIX_H
#include "optim/friction/friction_problem.h"

typedef struct newton_matrix newton_matrix;

PetscErrorCode newton_matrix_create(const friction_problem *p, newton_matrix **out); /* borrows p */
void           newton_matrix_destroy(newton_matrix **m);
/* Factor the matrix for A, B [n][9] and is_active [n]; then solve for d with right-hand side f, both [n][3]. *is_solved false: the matrix is
 * singular to working precision, and d must not be used. */
PetscErrorCode newton_matrix_factor(newton_matrix *m, double alpha, const double *A, const double *B, const bool *is_active,
                                    bool *is_solved);
PetscErrorCode newton_matrix_solve(newton_matrix *m, const double *f, double *d, bool *is_solved);
#endif
