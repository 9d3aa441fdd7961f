/* PC type "metisschwarz": restricted additive Schwarz for block3 matrices [CaiSarkis1999], with ILU(0) of 3x3 blocks on each METIS part.
 *
 *   -pc_metisschwarz_parts N       number of parts; 0 (default): computed from the part size
 *   -pc_metisschwarz_part_size N   block rows per part, default 2048
 *   -pc_metisschwarz_overlap N     layers of neighbours added to each part, default 0. One layer saves a quarter of the iterations but
 *                                  doubles the work; larger parts are more effective
 *
 * Parts depend on the pattern alone, so the result has the same bits on any number of threads. They are reused until the pattern
 * changes. If values are not finite, the set-up fails and the solve ends with KSP_DIVERGED_PC_FAILED.                  */
#ifndef SS_OPTIM_LINEAR_PC_METIS_SCHWARZ_H
#define SS_OPTIM_LINEAR_PC_METIS_SCHWARZ_H
#include <petscpc.h>

#define PCMETISSCHWARZ "metisschwarz"
PetscErrorCode PCCreate_MetisSchwarz(PC pc); /* for PCRegister */
#endif
