/* ILU(0) of a sparse matrix of 3x3 blocks: A ~ (I + L) U on the pattern of A. Runs on one thread and does not use PETSc. pc_metis_schwarz.c
 * calls it for each subdomain. Source: Saad, Iterative Methods for Sparse Linear Systems, 2nd ed., alg. 10.4, with blocks as entries. */
#ifndef SS_OPTIM_LINEAR_BLOCK3_ILU_H
#define SS_OPTIM_LINEAR_BLOCK3_ILU_H
#include <stdint.h>

/* The matrix A, later its factors. The caller owns the arrays and fills `value` with A before block3_ilu_factor. */
typedef struct {
  int64_t  n;         /* block rows */
  int64_t *row_start; /* [n+1] */
  int32_t *col;       /* [row_start[n]] block columns, ascending within a row */
  int64_t *diagonal;  /* [n] index of block (i,i), which must exist */
  double  *value;     /* [row_start[n]][9] row-major; after factorisation: L below, U above, inverse blocks of U on the diagonal */
} block3_ilu;

/* Factorise `value` in place. Singular pivot blocks are regularised (block3_inverse.h). scale > 0: norm of a typical block.
 * Returns the number of regularised pivots, or -1 if a pivot block is not finite. */
int64_t block3_ilu_factor(block3_ilu *f, double scale);
/* x <- U^-1 (I + L)^-1 x; x [n][3] */
void block3_ilu_solve(const block3_ilu *f, double *x);
#endif
