/* Linear tetrahedra of a hyperelastic material, as an element set.
 *
 *   F = sum_a x_a grad N_a,   f_a = -V P(F) grad N_a            V, grad N_a of the undeformed element
 *
 * and stiffness-proportional damping, in one of the forms of tetrahedra.c. Caller: fem_body.c.                                      */
#ifndef SS_DISCRETIZE_FEM_TETRAHEDRA_H
#define SS_DISCRETIZE_FEM_TETRAHEDRA_H
#include "discretize/material/material.h"
#include "discretize/nodal/nodal_body.h"
#include "discretize/nodal/nodal_keys.h"

/* Add tetrahedra node [n][4], positively oriented at b's rest positions, to an unfinished body. The material is borrowed and must
 * have no history (n_state == 0); beta >= 0 [s]. Fails with PETSC_ERR_USER_INPUT for an element without volume, naming it. */
PetscErrorCode tetrahedra_add(nodal_body *b, const material *m, nodal_damping_form form, double beta, int64_t n, const int32_t *node);
/* Cauchy stress sigma [9] [Pa] of b at b->x around a node: the mean over its tetrahedra, weighted with the undeformed volume; without damping.
 * False if the node has no tetrahedra, or the stress of one is not defined. */
bool tetrahedra_stress(const nodal_body *b, int64_t node, double sigma[9]);
/* The tetrahedra of b; NULL: it has none. */
const element_set *tetrahedra_of(const nodal_body *b);
#endif
