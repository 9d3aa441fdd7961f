/* Stiffness-proportional damping of linear tetrahedra: f = -K v, with K >= 0 symmetric and fixed for a step, of what elements are at
 * its start.
 *
 *   spatial  f_a = -beta v (2 mu D + lambda tr(D) 1) grad n_a    D = sym(sum_b v_b (x) grad n_b); v, n_a: of the element as it is
 *   polar    f   = -beta sum V G^T dP/dF(R) G v                  dP/dF(R) : X = R (2 mu sym(R^T X) + lambda tr(R^T X) 1)
 *   green    f   = -dE_v/dv, E_v = beta/2 sum V E' : C : E'      E' = sym(F^T F'), F' = G v = sum_b v_b (x) grad N_b
 *
 * V, grad N_a are those of the undeformed element, R the rotation of the polar decomposition of F, mu and lambda of small strains,
 * C : E = 2 mu E + lambda tr(E) 1. All are beta K of the undeformed solid, turned with it, where F is a rotation; then a mode of
 * angular frequency omega has damping ratio beta omega / 2. All keep linear momentum and only lose energy. Spatial and green do
 * nothing to any rigid motion and keep angular momentum; polar does not where F is no rotation: its torque is linear in the strain.
 * Polar and green stay bounded where an element is flat, or inverted; spatial grows without bound as one is flattened.
 *
 * Source: [MarquezRazonEtAl2023, sec. 8] (polar, with the opposite sign of K: as printed it pumps energy); [hybrid, sec. 4]
 * (green). */
#ifndef SS_DISCRETIZE_FEM_TETRAHEDRA_DAMPING_H
#define SS_DISCRETIZE_FEM_TETRAHEDRA_DAMPING_H
#include "discretize/nodal/element_set.h"
#include "discretize/nodal/nodal_damping.h"

typedef struct {
  nodal_damping_form form;
  double             beta, mu, lambda; /* s, Pa, Pa; beta 0: no damping, and no arrays */
  int64_t            n;
  const double      *volume;       /* [n] at rest; borrowed */
  double *const     *gradient;     /* [9][n] the same of grad N of corners 1, 2, 3; borrowed */
  double            *start_volume; /* spatial: [n] at the start of the step */
  double            *start[9];     /* [n] at the start of the step: grad n_a (spatial), R grad N_a (polar), F (green) */
} tetrahedra_damping;

/* Form, beta, mu, lambda, n and what is borrowed are set in *d, the rest is zero. */
PetscErrorCode tetrahedra_damping_create(tetrahedra_damping *d);
void           tetrahedra_damping_destroy(tetrahedra_damping *d);
/* Take in where nodes x [..][3] of elements node [n][4] are. */
void tetrahedra_damping_begin(tetrahedra_damping *d, const int32_t *node, const double *x);
/* Add to forces and stiffness of a batch, of corners 1, 2, 3 (element_balance does the rest), as in element_ops.evaluate. */
void tetrahedra_damping_add(const tetrahedra_damping *d, int64_t first, int64_t n, double dt, const element_row *v, element_row *f,
                            element_row *S);
#endif
