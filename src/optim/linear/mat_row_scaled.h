/* D^-1 A for a diagonal D, without touching A: an operator for Krylov methods and a matrix for their preconditioners. */
#ifndef SS_OPTIM_LINEAR_MAT_ROW_SCALED_H
#define SS_OPTIM_LINEAR_MAT_ROW_SCALED_H
#include <petscmat.h>

/* Shell for x -> dinv .* (A x), with transpose, diagonal, and (if `pre` has them) the 3x3 diagonal blocks of D^-1 pre.
 * References A, pre and dinv. The caller destroys *out. */
PetscErrorCode mat_row_scaled_create(Mat A, Mat pre, Vec dinv, Mat *out);

/* A scaled copy of an assembled matrix, and what it was copied from. Start from zeros; destroy with MatDestroy(&copy). */
typedef struct {
  Mat              copy;
  PetscObjectId    source;
  PetscObjectState pattern;
} row_scaled_copy;

/* The matrix a preconditioner of D^-1 pre should be built from. Assembled matrices: a scaled copy, made or refreshed in
 * *copy; shells: `shell`, as made above, so that blocks and diagonal are those of D^-1 pre. *out is borrowed. */
PetscErrorCode mat_row_scaled_for_preconditioner(Mat shell, Mat pre, Vec dinv, row_scaled_copy *copy, Mat *out);
#endif
