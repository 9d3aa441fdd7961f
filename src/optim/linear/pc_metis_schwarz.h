/* PC type "metisschwarz": restricted additive Schwarz for block3 matrices, ILU(0) of 3x3 blocks on METIS parts [CaiSarkis1999].
 *
 *   -pc_metisschwarz_parts N       number of parts; 0 (default): from the part size
 *   -pc_metisschwarz_part_size N   blocks per part, default 2048
 *   -pc_metisschwarz_overlap N     layers of neighbours added to each part, default 0: with ILU(0) a layer saves a
 *                                  quarter of the iterations and doubles the work; larger parts do better
 *
 * Parts depend on the pattern, never on the number of threads, which only share them out: same bits on any team. They are
 * kept as long as the pattern stays the same. The set-up fails (KSP_DIVERGED_PC_FAILED) when values are not finite.   */
#ifndef SS_OPTIM_LINEAR_PC_METIS_SCHWARZ_H
#define SS_OPTIM_LINEAR_PC_METIS_SCHWARZ_H
#include <petscpc.h>

#define PCMETISSCHWARZ "metisschwarz"
PetscErrorCode PCCreate_MetisSchwarz(PC pc); /* for PCRegister */
#endif
