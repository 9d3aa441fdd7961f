/* PC type "blockdiagonal": the inverse of the 3x3 diagonal blocks of Pmat, applied on the team of threads.
 *
 * Pmat is a block3 matrix or a shell with the operation SS_MAT_GET_BLOCK_DIAGONAL3 (mat_block3.h). Other matrices of a size divisible by
 * 3 work through MatGetValues, which is slow. Singular blocks are regularised (block3_inverse.h). If a block is not finite, the set-up
 * fails and the solve ends with KSP_DIVERGED_PC_FAILED. */
#ifndef SS_OPTIM_LINEAR_PC_BLOCK_DIAGONAL_H
#define SS_OPTIM_LINEAR_PC_BLOCK_DIAGONAL_H
#include <petscpc.h>

#define PCBLOCKDIAGONAL "blockdiagonal"
PetscErrorCode PCCreate_BlockDiagonal(PC pc); /* for PCRegister */
#endif
