/* PC type "blockdiagonal": the inverse of the 3x3 diagonal blocks of Pmat, applied on the team of threads.
 *
 * Works on every Mat that composes SS_MAT_GET_BLOCK_DIAGONAL3 (mat_block3.h): block3 matrices and shells with this operation; and
 * slowly on others with MatGetValues and a size divisible by 3.
 * Blocks are inverted robustly (block3_inverse.h); blocks that are not finite fail the set-up (KSP_DIVERGED_PC_FAILED). */
#ifndef SS_OPTIM_LINEAR_PC_BLOCK_DIAGONAL_H
#define SS_OPTIM_LINEAR_PC_BLOCK_DIAGONAL_H
#include <petscpc.h>

#define PCBLOCKDIAGONAL "blockdiagonal"
PetscErrorCode PCCreate_BlockDiagonal(PC pc); /* for PCRegister */
#endif
