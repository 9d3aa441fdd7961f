/* Between block3 and PETSc's own matrix formats: the bodies of MatConvert. */
#ifndef SS_OPTIM_LINEAR_MAT_BLOCK3_CONVERT_H
#define SS_OPTIM_LINEAR_MAT_BLOCK3_CONVERT_H
#include <petscmat.h>

/* block3 to seqbaij directly, to anything else by way of it. */
PetscErrorCode MatConvert_Block3(Mat A, MatType type, MatReuse reuse, Mat *B);
/* Any matrix with MatGetRow to block3; a scalar entry makes its whole block part of the pattern. */
PetscErrorCode MatConvertFrom_Block3(Mat A, MatType type, MatReuse reuse, Mat *B);
#endif
