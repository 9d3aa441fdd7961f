/* The tangent of a penalty step as a matrix of type block3, for preconditioners. */
#ifndef SS_SIM_PENALTY_PENALTY_MATRIX_H
#define SS_SIM_PENALTY_PENALTY_MATRIX_H
#include <petscmat.h>
#include "sim/penalty/penalty_system.h"

/* After begin: give *P the pattern of this step. If *P has it already nothing changes, so that what preconditioners derived from it
 * stays good; else *P is destroyed and made anew, with zeros. */
PetscErrorCode penalty_matrix_lay_out(const penalty_system *p, Mat *P);
/* P = H at the last evaluation with tangent. */
PetscErrorCode penalty_matrix_assemble(const penalty_system *p, Mat P);
#endif
