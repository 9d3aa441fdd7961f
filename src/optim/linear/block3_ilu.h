/* ILU(0) of a sparse matrix of 3x3 blocks: A ~ (I + L) U on the pattern of A. One thread, no PETSc; pc_metisschwarz runs
 * one per subdomain. Source: Saad, Iterative Methods for Sparse Linear Systems, 2nd ed., alg. 10.4, with blocks as entries. */
#ifndef SS_OPTIM_LINEAR_BLOCK3_ILU_H
#define SS_OPTIM_LINEAR_BLOCK3_ILU_H
#include <stdint.h>

/* The caller owns the arrays, fills `value` with A and factorises in place. */
typedef struct {
  int64_t  n;
  int64_t *row_start; /* [n+1] */
  int32_t *col;       /* [row_start[n]] sorted within a row */
  int64_t *diagonal;  /* [n] index of block (i,i), which must exist */
  double  *value;     /* [row_start[n]][9]; after the factorisation: L left of the diagonal, the inverse of U's diagonal
                         block on it, U right of it */
} block3_ilu;

/* Factorise value in place. Weak pivots are regularised (block3_inverse.h). scale > 0: size of a typical block.
 * Returns the number of regularised pivots, or -1 if an entry is not finite. */
int64_t block3_ilu_factor(block3_ilu *f, double scale);
/* x <- (LU)^-1 x; x [n][3] */
void block3_ilu_solve(const block3_ilu *f, double *x);
#endif
