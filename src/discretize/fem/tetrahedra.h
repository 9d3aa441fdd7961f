/* Linear tetrahedra of a hyperelastic material, as an element set (element_set.h). Deformation gradient F, force f_a on corner a:
 *
 *   F = sum_a x_a grad N_a,   f_a = -V P(F) grad N_a            V: volume, grad N_a: shape gradients, of the undeformed element
 *
 * Stiffness-proportional damping has one of the forms described in tetrahedra.c. Caller: fem_body.c.                                */
#ifndef SS_DISCRETIZE_FEM_TETRAHEDRA_H
#define SS_DISCRETIZE_FEM_TETRAHEDRA_H
#include "discretize/material/material.h"
#include "discretize/nodal/nodal_body.h"
#include "discretize/nodal/nodal_keys.h"

/* Add tetrahedra node [n][4], positively oriented at the rest positions of b, to an unfinished body. The material is borrowed and must have no
 * history (n_state 0). beta >= 0 [s]: stiffness damping in this form. PETSC_ERR_USER_INPUT with its number for an element without volume. */
PetscErrorCode tetrahedra_add(nodal_body *b, const material *m, nodal_damping_form form, double beta, int64_t n, const int32_t *node);
/* Cauchy stress sigma [9] [Pa] at a node for positions b->x, without damping: mean over the tetrahedra of the node, weighted with the
 * undeformed volume. Returns false if the node has no tetrahedra or the stress of one is not defined. */
bool tetrahedra_stress(const nodal_body *b, int64_t node, double sigma[9]);
/* Returns the element set of tetrahedra of b, borrowed; NULL if it has none. */
const element_set *tetrahedra_of(const nodal_body *b);
#endif
