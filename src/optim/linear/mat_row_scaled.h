/* The product D^-1 A for a diagonal matrix D, without changing A: a shell for Krylov methods and a scaled copy for their preconditioners.
 * Used by snes_stabilized.c. */
#ifndef SS_OPTIM_LINEAR_MAT_ROW_SCALED_H
#define SS_OPTIM_LINEAR_MAT_ROW_SCALED_H
#include <petscmat.h>

/* Create a shell for y = D^-1 A x. dinv: the diagonal of D^-1. pre: matrix from which preconditioners of A are built. The shell supports
 * the transposed product, the diagonal of D^-1 pre, and its 3x3 diagonal blocks if `pre` provides them (SS_MAT_GET_BLOCK_DIAGONAL3).
 * It references A, pre and dinv. The caller destroys *out. */
PetscErrorCode mat_row_scaled_create(Mat A, Mat pre, Vec dinv, Mat *out);

/* A scaled copy of an assembled matrix, and identity and pattern state of the source. Initialise to zeros; destroy with MatDestroy(&copy). */
typedef struct {
  Mat              copy;
  PetscObjectId    source;
  PetscObjectState pattern;
} row_scaled_copy;

/* *out (borrowed): the matrix from which a preconditioner of D^-1 pre is built. If `pre` is assembled: a scaled copy, created or updated
 * in *copy. If it is a shell: `shell`, which mat_row_scaled_create returned for `pre`. */
PetscErrorCode mat_row_scaled_for_preconditioner(Mat shell, Mat pre, Vec dinv, row_scaled_copy *copy, Mat *out);
#endif
