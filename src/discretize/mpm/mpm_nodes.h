/* The nodes of an MPM domain as others on the same grid see them: where they are, how heavy, and which way the material ends. */
#ifndef SS_DISCRETIZE_MPM_MPM_NODES_H
#define SS_DISCRETIZE_MPM_MPM_NODES_H
#include "discretize/mpm/mpm_domain.h"

/* Between begin_step and end_step, by block of the domain's body: node [n][3], at h (i, j, k), mass [n] kg; and outward [n][3] =
 * sum_p m_p grad w_i(x_p) kg/m, minus the gradient of the mass at the node: out of the material where that ends. Velocities are those of the
 * body. Where walls mirror the domain, mass and gradient are those with the images. Uses the grid's tiles. */
PetscErrorCode mpm_nodes_get(mpm_domain *d, int32_t (*node)[3], double *mass, double (*outward)[3]);
#endif
