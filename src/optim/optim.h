/* Registers the PETSc types of stickslip. Jobs and options such as -snes_type and -pc_type can then select them by name.
 *
 *   Vec  "threaded"      vector operations on the team of threads, sums in a fixed order (linear/vec_threaded.h)
 *   Mat  "block3"        compressed rows of 3x3 blocks, threaded (linear/mat_block3.h)
 *   PC   "blockdiagonal", "metisschwarz"  inverse diagonal blocks; Schwarz with ILU(0) (linear/pc_block_diagonal.h, pc_metis_schwarz.h)
 *   PC   types of LINEAR_PC_TABLE  preconditioners that a linear system provides itself (linear/linear_solver.h)
 *   KSP  "weightedcg", "facecg"  conjugate gradients (sap/sap_cg.h, bounds/bounds_cg.h)
 *   SNES "stabilized"    Newton's method with a strong Wolfe line search [DingSchroeder2020, sec. 3] (newton/snes_stabilized.h)
 *   Tao  "mprgp", "mprgporiginal", "activeset"  quadratic programs with bounds (bounds/bounds_tao.h)                                  */
#ifndef SS_OPTIM_OPTIM_H
#define SS_OPTIM_OPTIM_H
#include <petscsnes.h>

PetscErrorCode optim_register_all(void); /* called by main and by the formulations; repeated calls have no effect */
#endif
