/* Assemble the tangent of an MPM domain as a matrix, for preconditioners: the same derivative that mpm_force_product applies.
 * Caller: mpm_domain.c. */
#ifndef SS_DISCRETIZE_MPM_MPM_ASSEMBLE_H
#define SS_DISCRETIZE_MPM_MPM_ASSEMBLE_H
#include "discretize/body/body.h"
#include "discretize/mpm/mpm_force.h"
#include "discretize/mpm/mpm_wall.h"

/* Dofs within K - 1 nodes of a dof along every axis, ascending, itself included; with walls also the images of these, and across
 * periodic planes. Returns how many, at most BODY_MAX_COUPLINGS. */
int mpm_couplings(const mpm_grid *g, const mpm_walls *walls, int64_t dof, int32_t *other);
/* H += M + R^T K R (R: mirrors, see mpm_wall.h) in the rows and columns from first_block on. The pattern contains all couplings,
 * or only the required ones; a row with only its diagonal may then be incomplete. Same bits on any number of threads. */
PetscErrorCode mpm_assemble(const mpm_grid *g, int n_bodies, particles *const *bodies, const mpm_tangent *tangent, const mpm_walls *walls,
                            int64_t first_block, const block_rows *H);
#endif
