/* Inverse of one 3x3 block for preconditioners: exact where the block is well conditioned, bounded where it is not. */
#ifndef SS_OPTIM_LINEAR_BLOCK3_INVERSE_H
#define SS_OPTIM_LINEAR_BLOCK3_INVERSE_H

/* Directions in which the block is weaker than this times its own strength count as singular. */
#define BLOCK3_SINGULAR 1e-12

/* out <- inverse of a [9], row-major; no aliasing. Singular directions get 1/(largest singular value): the result stays
 * regular, so that a Krylov method loses no component of the residual. A zero block gets identity/scale, `scale` > 0 being
 * the size of a typical block (1 if there is none). A block that is not finite gives a zero inverse and returns -1;
 * else 0 for an exact inverse, 1 for a regularised one. */
int block3_inverse(const double a[9], double scale, double out[9]);
#endif
