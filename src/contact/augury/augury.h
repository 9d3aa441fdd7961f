/* Contact through a grid for boundaries of solids [MarquezRazonEtAl2023, sec. 6; hybrid, sec. 7, 8]. Velocities of boundary nodes,
 * v and an affine part A each, go to the grid and back: what is about to collide there shares nodes and takes a common velocity.
 *
 *   RSA = G2P o DS o P2G o RS     boundary elements are resampled (boundary_samples.h), carried to the grid by APIC, each element's
 *                                 share of the grid's momentum made a rigid motion of its corners, and those carried back
 *
 * is linear and keeps linear momentum, and the angular one of nodes and affine parts together, to rounding. The augury iteration
 * [TupekEtAl2021] takes back what the grid did against separation, and if wanted against sliding. Both act on the elements that are
 * near others alone: of a node whose elements are active in part, the same part of its mass takes part and is blended with the
 * rest, so that momentum is kept still. All geometry is that of the beginning of the step. The same bits on any number of
 * threads. */
#ifndef SS_CONTACT_AUGURY_H
#define SS_CONTACT_AUGURY_H
#include "contact/augury/boundary_samples.h"
#include "core/verdict.h"

typedef struct augury augury;
/* Cells of dx [m]; the boundary is borrowed and its elements are sampled in the shape x [n_nodes][3]. Fails as
 * boundary_samples_create does. */
PetscErrorCode augury_create(const augury_boundary *b, const double *x, double dx, augury **out);
void           augury_destroy(augury **a);
/* A step at x [n_nodes][3], whose elements [n_elements] are active or not; NULL: all are. Elements that have grown far beyond what
 * their points are for are sampled anew. Not finite, or too far out: *verdict, with where = a node. */
PetscErrorCode augury_begin(augury *a, const double *x, const bool *is_active, step_verdict *verdict);
/* v [n_nodes][3], A [n_nodes][9] row by row, v(y) = v + A (y - x): RSA of them, in place. */
PetscErrorCode augury_apply(augury *a, double *v, double *A);

typedef struct {
  /* Where the change pushes inwards its tangential part is kept: sliding is hindered, collisions are better prevented (NF of the
   * paper). Else only its normal part is. */
  bool    accepts_sliding_change;
  int64_t max_iterations;
  double  tolerance;              /* of what is still to be taken back, over the largest |v| before */
} augury_options;
typedef struct {
  int64_t iterations;
  double  left; /* largest change still to be taken back [m/s] */
} augury_result;
/* (v, A) after contact through the grid, in place. normal [n_nodes][3]: outwards, of length 1. */
PetscErrorCode augury_solve(augury *a, const augury_options *o, const double *normal, double *v, double *A, augury_result *out);

/* Momentum P and angular momentum L about the origin that the boundary's nodes carry, L with the affine parts' share. */
void augury_momentum(const augury *a, const double *v, const double *A, double P[3], double L[3]);
/* Points that the last augury_begin laid on the grid, nodes among them. */
int64_t augury_n_points(const augury *a);
#endif
