#include "optim/optim.h"
#include "core/error.h"
#include "optim/bounds/bounds_cg.h"
#include "optim/bounds/bounds_tao.h"
#include "optim/linear/linear_solver.h"
#include "optim/linear/mat_block3.h"
#include "optim/linear/pc_block_diagonal.h"
#include "optim/linear/pc_metis_schwarz.h"
#include "optim/newton/snes_stabilized.h"
#include "optim/sap/sap_cg.h"

PetscErrorCode optim_register_all(void)
{
  PetscFunctionBegin; /* registering a name again replaces it by the same function */
  PetscCall(MatRegister(MATBLOCK3, MatCreate_Block3));
  PetscCall(PCRegister(PCBLOCKDIAGONAL, PCCreate_BlockDiagonal));
  PetscCall(PCRegister(PCMETISSCHWARZ, PCCreate_MetisSchwarz));
  PetscCall(SNESRegister(SNESSTABILIZED, SNESCreate_Stabilized));
  PetscCall(linear_solver_register());
  PetscCall(sap_cg_register());
  PetscCall(bounds_cg_register());
  PetscCall(bounds_tao_register());
  PetscFunctionReturn(PETSC_SUCCESS);
}
