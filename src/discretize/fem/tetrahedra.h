/* Linear tetrahedra of a hyperelastic material, as an element set.
 *
 *   F = sum_a x_a grad N_a,   f_a = -V P(F) grad N_a            V, grad N_a of the undeformed element
 *   f_a = -beta v (2 mu D + lambda tr(D) 1) grad n_a            stiffness-proportional damping
 *
 * D is the symmetric velocity gradient in the configuration at the start of the step (volume v, gradients grad n_a), mu and
 * lambda those of small strains. At rest this is Rayleigh's beta K of an isotropic solid; unlike beta K it does not resist rotations of a
 * deformed body, and it always dissipates.                                                                              */
#ifndef SS_DISCRETIZE_FEM_TETRAHEDRA_H
#define SS_DISCRETIZE_FEM_TETRAHEDRA_H
#include "discretize/material/material.h"
#include "discretize/nodal/nodal_body.h"

/* Add tetrahedra node [n][4], positively oriented at b's rest positions, to an unfinished body. The material is borrowed and must
 * have no history (n_state == 0); beta >= 0 [s]. Fails with PETSC_ERR_USER_INPUT for an element without volume, naming it. */
PetscErrorCode tetrahedra_add(nodal_body *b, const material *m, double beta, int64_t n, const int32_t *node);
/* Cauchy stress sigma [9] [Pa] of b at b->x around a node: the mean over its tetrahedra, by undeformed volume; without damping. False if it has
 * none, or one that the material cannot take. */
bool tetrahedra_stress(const nodal_body *b, int64_t node, double sigma[9]);
/* The tetrahedra of b; NULL: it has none. */
const element_set *tetrahedra_of(const nodal_body *b);
/* mass [n_nodes] += a quarter of each element's mass to each of its corners. */
void tetrahedra_lump(int64_t n, const int32_t *node, const double *x, double density, double *mass);
#endif
