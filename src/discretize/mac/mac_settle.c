#include "discretize/mac/mac_domain_impl.h"
PetscErrorCode mac_domain_settle(mac_domain *d, int n, const mac_solid *solids, bool is_frame_end)
{
  (void)d, (void)n, (void)solids, (void)is_frame_end;
  return PETSC_SUCCESS;
}
