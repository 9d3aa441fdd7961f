/* Assembles the tangent of an MPM domain as a matrix, for preconditioners. mpm_force_product computes products with the same derivative.
 * Caller: mpm_domain.c. */
#ifndef SS_DISCRETIZE_MPM_MPM_ASSEMBLE_H
#define SS_DISCRETIZE_MPM_MPM_ASSEMBLE_H
#include "discretize/body/body.h"
#include "discretize/mpm/mpm_force.h"
#include "discretize/mpm/mpm_wall.h"

/* other: the dofs within K - 1 nodes of a dof along every axis (K nodes per axis of the kernel), ascending, itself included. With walls also
 * their images, and dofs across periodic planes. Returns their number, at most BODY_MAX_COUPLINGS. */
int mpm_couplings(const mpm_grid *g, const mpm_walls *walls, int64_t dof, int32_t *other);
/* H += M + R^T K R (M: masses, K: see mpm_force_product, R: see mpm_wall.h) in the rows and columns from first_block on. The pattern of H
 * contains all couplings or a part of them; a row that has only its diagonal may then be incomplete. Same bits on any number of threads. */
PetscErrorCode mpm_assemble(const mpm_grid *g, int n_bodies, particles *const *bodies, const mpm_tangent *tangent, const mpm_walls *walls,
                            int64_t first_block, const block_rows *H);
#endif
