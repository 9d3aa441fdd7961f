/* Contact of solids through a grid with augury iteration [MarquezRazonEtAl2023, sec. 6; TupekEtAl2021]. The velocities of boundary nodes, v
 * and an affine matrix A each, are transferred to a grid and back. Boundaries that are about to collide share grid nodes and therefore
 * receive a common velocity.
 *
 *   RSA = G2P o DS o P2G o RS     boundary elements are resampled (boundary_samples.h, RS) and transferred to the grid by APIC (P2G); each
 *                                 element's share of the grid momentum becomes a rigid motion of its corners (DS), which is transferred
 *                                 back (G2P)
 *
 * RSA is linear. It conserves linear momentum, and the angular momentum of nodes and affine matrices together, to rounding. The augury
 * iteration [TupekEtAl2021] undoes the changes that prevent separation, and optionally those that prevent sliding. Only active elements
 * take part, those near others (augury_near.h). If only some elements at a node are active, the same fraction of its mass takes part and
 * the result is blended with the remaining fraction, so that momentum is conserved. The geometry is that of the start of the step. The
 * results have the same bits on any number of threads. Called by sim/hybrid.
 *
 * Extensions of the paper:
 * - A change by the grid can be tested along the direction to the nearest point of other bodies instead of the node's normal
 *   (augury_options.towards). At corners, edges and thin bodies the normal is a poor indicator of that direction.
 * - A continuum on the same grid (augury_continuum.h) adds the masses and momenta of its nodes to those of the boundary, both in the
 *   transfer to the grid and after elements were made rigid, and receives the common velocity. Nodes that no active element reaches keep
 *   their bits. The linear momentum of both is conserved, and the angular momentum, with sum m x x u for the continuum.
 * - Open surfaces have no outside: their inward direction depends on the position of the others (augury_near_sides).
 * - Nodes of rigid bodies take part with any given mass (rigid_weight.h). They need not move rigidly within the operator; the body
 *   receives the momentum that augury_body_momenta reports for its nodes.
 * - Nodes with prescribed motion take part with their masses. The caller restores their velocities and accounts for the momentum that they
 *   gained, by the same function, as the reaction of the constraint. */
#ifndef SS_CONTACT_AUGURY_AUGURY_H
#define SS_CONTACT_AUGURY_AUGURY_H
#include "contact/augury/augury_continuum.h"
#include "contact/augury/boundary_samples.h"
#include "discretize/body/step_status.h"

typedef struct augury augury;
/* Grid cells of dx [m]. The boundary is borrowed; its elements are sampled in the shape x [n_nodes][3]. Fails as boundary_samples_create does. */
PetscErrorCode augury_create(const augury_boundary *b, const double *x, double dx, augury **out);
void           augury_destroy(augury **a);
/* Use this continuum from the next augury_begin on (struct copied, arrays borrowed); NULL (initially): no continuum. */
void           augury_set_continuum(augury *a, const augury_continuum *c);
/* Begin a step at x [n_nodes][3] with the current masses, which may have changed by one factor for all corners of an element
 * (rigid_weight.h). is_active [n_elements]; NULL: all elements are active. Active elements that have grown far beyond the size for which
 * they were sampled are sampled again, with the same errors as at creation. *verdict, with a node as location: a position is not finite or
 * too far from the origin. */
PetscErrorCode augury_begin(augury *a, const double *x, const bool *is_active, step_verdict *verdict);
/* Apply RSA in place to v [n_nodes][3], A [n_nodes][9] (row-major, v(y) = v + A (y - x)), and to the velocities of the continuum. */
PetscErrorCode augury_apply(augury *a, double *v, double *A);

typedef struct {
  /* If the change of a node points inwards, keep its tangential part too (NF in the paper): sliding is hindered, collisions are prevented
   * better. Otherwise only its normal part is kept. */
  bool    accepts_sliding_change;
  int64_t max_iterations;
  double  tolerance;              /* largest change still to be undone, relative to the largest |v| before */
  /* [n_nodes] 1: inwards is opposite to the normal; -1: along the normal; 0: others approach from both sides, and both directions count as
   * inwards. NULL: 1 for all nodes. Borrowed. */
  const int8_t *side;
  /* [n_nodes][3], of length 1 or 0: direction along which the change of a node is tested instead of its normal (times its side); a change
   * along it would be cohesion (augury_near_towards). NULL: the normal, as published. Borrowed. */
  const double *towards;
} augury_options;
typedef struct {
  int64_t iterations;
  double  left; /* largest change still to be undone [m/s] */
} augury_result;
/* Compute (v, A) after contact through the grid, in place, and the velocities of the continuum. normal [n_nodes][3]: outward unit normals.
 * Where the outward direction of the continuum is not known (augury_continuum.h), it is opposite to the boundary's normal there. */
PetscErrorCode augury_solve(augury *a, const augury_options *o, const double *normal, double *v, double *A, augury_result *out);

/* Momentum P and angular momentum L about the origin of the boundary nodes; L includes the affine matrices. For checks of conservation. */
void augury_momentum(const augury *a, const double *v, const double *A, double P[3], double L[3]);
/* The same for each of n_bodies about origin [n_bodies][3]: P, L [n_bodies][3] of the nodes with body [n_nodes] = 0 ... n_bodies - 1; nodes
 * with -1 belong to no body. */
void augury_body_momenta(const augury *a, const int32_t *body, int64_t n_bodies, const double *origin, const double *v, const double *A,
                         double (*P)[3], double (*L)[3]);
/* Number of points (samples and nodes) that the last augury_begin placed on the grid. */
int64_t augury_n_points(const augury *a);
/* Number of continuum nodes that share grid nodes with the boundary since the last augury_begin. */
int64_t augury_n_met(const augury *a);
#endif
