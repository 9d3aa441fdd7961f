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
 * threads.
 *
 * Past the paper:
 * - What the grid did against separation may be judged along the way to the nearest place of others instead of nodes' normals, which
 *   at corners, edges and thin bodies say little about where the others are.
 * - A continuum on the same grid (augury_continuum.h) adds its nodes' masses and momenta to those of the boundary, on the way to the
 *   grid and again when elements have been made rigid, and takes the common velocity of both; nodes that no active element reaches
 *   keep every bit. Linear momentum of both together is kept, and angular momentum with sum m x x u for the continuum.
 * - Open surfaces have no outside: which way is inwards depends on where the others are (augury_near_sides).
 * - Nodes of rigid bodies take part with whatever masses they are given (rigid_weight.h). They need not move as one within the operator;
 *   what augury_body_momenta says that they gained is what their body gains.
 * - Nodes with prescribed motion take part with their masses. Whoever restores their velocities afterwards owes the rest the momentum
 *   that they gained, by the same function: the reaction of what prescribes. */
#ifndef SS_CONTACT_AUGURY_AUGURY_H
#define SS_CONTACT_AUGURY_AUGURY_H
#include "contact/augury/augury_continuum.h"
#include "contact/augury/boundary_samples.h"
#include "discretize/body/step_status.h"

typedef struct augury augury;
/* Cells of dx [m]; the boundary is borrowed and its elements are sampled in the shape x [n_nodes][3]. Fails as
 * boundary_samples_create does. */
PetscErrorCode augury_create(const augury_boundary *b, const double *x, double dx, augury **out);
void           augury_destroy(augury **a);
/* From the next augury_begin on, with this continuum (copied, its arrays borrowed); NULL: without, as at first. */
void           augury_set_continuum(augury *a, const augury_continuum *c);
/* A step at x [n_nodes][3] with the masses as they are now, which may have changed by one factor for all corners of an element (rigid_weight.h), and whose elements [n_elements] are active or not; NULL: all are. Of these elements, those that have grown far
 * beyond what their points are for are sampled anew, and fail as at first. Not finite, or too far out: *verdict, with where = a node. */
PetscErrorCode augury_begin(augury *a, const double *x, const bool *is_active, step_verdict *verdict);
/* v [n_nodes][3], A [n_nodes][9] row by row, v(y) = v + A (y - x): RSA of them, in place, and of the continuum's velocities. */
PetscErrorCode augury_apply(augury *a, double *v, double *A);

typedef struct {
  /* Where the change pushes inwards its tangential part is kept: sliding is hindered, collisions are better prevented (NF of the
   * paper). Else only its normal part is. */
  bool    accepts_sliding_change;
  int64_t max_iterations;
  double  tolerance;              /* of what is still to be taken back, over the largest |v| before */
  /* [n_nodes] 1: inwards is against the normal; -1: along it; 0: others close in from both sides, and either way is inwards. NULL: 1
   * for all. Borrowed. */
  const int8_t *side;
  /* [n_nodes][3], of length 1 or 0: the way along which the change of a node is judged instead of its normal, times its side: what goes along it
   * holds together (augury_near_towards). NULL: the normal, as published. Borrowed. */
  const double *towards;
} augury_options;
typedef struct {
  int64_t iterations;
  double  left; /* largest change still to be taken back [m/s] */
} augury_result;
/* (v, A) after contact through the grid, in place, and the continuum's velocities. normal [n_nodes][3]: outwards, of length 1. Where the
 * continuum does not know its own outside (augury_continuum.h), it is opposite to that of the boundary there. */
PetscErrorCode augury_solve(augury *a, const augury_options *o, const double *normal, double *v, double *A, augury_result *out);

/* Momentum P and angular momentum L about the origin that the boundary's nodes carry, L with the affine parts' share. */
void augury_momentum(const augury *a, const double *v, const double *A, double P[3], double L[3]);
/* The same for each of n_bodies, about origin [n_bodies][3]: P, L [n_bodies][3] of the nodes with body [n_nodes] = 0 ... n_bodies - 1; others
 * (-1) belong to none. */
void augury_body_momenta(const augury *a, const int32_t *body, int64_t n_bodies, const double *origin, const double *v, const double *A,
                         double (*P)[3], double (*L)[3]);
/* Points that the last augury_begin laid on the grid, nodes among them. */
int64_t augury_n_points(const augury *a);
/* Nodes of the continuum that the last augury_begin found to share nodes of the grid with the boundary. */
int64_t augury_n_met(const augury *a);
#endif
