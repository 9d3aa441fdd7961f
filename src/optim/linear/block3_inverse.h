/* Inverse of one 3x3 block for preconditioners. A singular block is regularised, so that the result is finite and regular. */
#ifndef SS_OPTIM_LINEAR_BLOCK3_INVERSE_H
#define SS_OPTIM_LINEAR_BLOCK3_INVERSE_H

/* A singular value below this fraction of the largest singular value of the block counts as zero. */
#define BLOCK3_SINGULAR 1e-12

/* out <- inverse of a, both [9], row-major, not the same array. For zero singular values the inverse gets 1/(largest singular value). It
 * is therefore regular, and a Krylov method loses no component of the residual. A zero block gives identity/scale. `scale` > 0 is the
 * norm of a typical block of the matrix; pass 1 if it is unknown. Returns 0 for an exact inverse, 1 for a regularised inverse, and -1
 * for a block that is not finite (out is then zero). */
int block3_inverse(const double a[9], double scale, double out[9]);
#endif
