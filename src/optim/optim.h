/* Start-up of the numerics: registers stickslip's PETSc types so that jobs and -snes_type, -pc_type, -vec_type find them.
 *
 *   Vec  "threaded"      BLAS-1 and multi-vector kernels on the team, fixed-order sums (vec_threaded.c)
 *   Mat  "block3"        threaded 3x3-block CSR (mat_block3.c)
 *   PC   "blockdiagonal" inverse of the 3x3 diagonal blocks; works on any Mat that composes "SSMatGetBlockDiagonal3_C"
 *   PC   "metisschwarz"  ILU(0) on METIS parts of a block3 matrix, one part per thread-independent subdomain
 *   PC   "massfactor", "multifrontal", "sapblocks"  factorisations of linear systems (linear/linear_solver.h)
 *   SNES "stabilized"    Newton on E = 1/2|g|^2 with a strong Wolfe search [DingSchroeder2020, sec. 3]
 *   Tao  "mprgp", "mprgporiginal", "activeset"  quadratic programs with bounds (bounds/bounds_tao.h)                                  */
#ifndef SS_OPTIM_OPTIM_H
#define SS_OPTIM_OPTIM_H
#include <petscsnes.h>

PetscErrorCode optim_register_all(void); /* idempotent */
#endif
