/* Contact of solid boundaries through a grid, the augury iteration [MarquezRazonEtAl2023, sec. 6]. The velocities v of boundary
 * nodes and their affine matrices A are transferred to the grid and back. Features that are about to collide share grid nodes and
 * there take a common velocity.
 *
 *   RSA = G2P o DS o P2G o RS     RS: boundary elements are resampled (boundary_samples.h); P2G: APIC transfer to the grid;
 *                                 DS: each element's share of the grid's momentum becomes a rigid motion of its corners;
 *                                 G2P: transfer back
 *
 * RSA is linear. It conserves linear momentum, and the angular momentum of nodes and affine matrices together, to rounding. The
 * augury iteration [TupekEtAl2021] removes the changes that act against separation and, optionally, against sliding. Only elements
 * close to others are active. If some elements of a node are active, the corresponding fraction of its mass takes part and is
 * blended with the rest, which conserves momentum. All geometry is that of the beginning of the step. Same bits on any number of
 * threads.
 *
 * Extensions of the paper:
 * - Changes against separation can be evaluated along the direction to the nearest place of other bodies instead of the node
 *   normals, which say little about that direction at corners, edges and thin bodies.
 * - A continuum on the same grid (augury_continuum.h) adds its nodal masses and momenta to those of the boundary in P2G, and again
 *   after DS. It takes the common velocity of both. Nodes that no active element reaches keep every bit. The linear momentum of
 *   both together is conserved; so is the angular momentum, with sum m x x u for the continuum.
 * - Open surfaces have no outside: the inward direction depends on the places of the others (augury_near_sides).
 * - Nodes of rigid bodies take part with the masses that are given (rigid_weight.h). They need not move rigidly within the
 *   operator; the body gains the momentum of its nodes: sum m v, and sum m (r x v + dx^2/4 spin(A)).
 * - Nodes with prescribed motion take part with their masses. The caller that restores their velocities afterwards must apply the
 *   momentum that they gained to the rest of the body, as the reaction of the constraint.
 *
 * Caller: the `hybrid` step. */
#ifndef SS_CONTACT_AUGURY_AUGURY_H
#define SS_CONTACT_AUGURY_AUGURY_H
#include "contact/augury/augury_continuum.h"
#include "contact/augury/boundary_samples.h"
#include "discretize/body/step_status.h"

typedef struct augury augury;
/* Create with grid cells of dx [m]. The boundary is borrowed; its elements are sampled in the shape x [n_nodes][3]. Errors: those
 * of boundary_samples_create. */
PetscErrorCode augury_create(const augury_boundary *b, const double *x, double dx, augury **out);
void           augury_destroy(augury **a);
/* Couple this continuum from the next augury_begin on (copied, its arrays are borrowed). NULL, the initial state: no continuum. */
void augury_set_continuum(augury *a, const augury_continuum *c);
/* Begin a step at x [n_nodes][3] with the current masses. Since the last step, masses may have changed by one factor for all
 * corners of an element (rigid_weight.h). is_active [n_elements]; NULL: all elements are active. Active elements that have grown
 * far beyond their sampled size are resampled, which can fail as in augury_create. Coordinates that are not finite or too large:
 * *status, with where = a node. */
PetscErrorCode augury_begin(augury *a, const double *x, const bool *is_active, step_status *status);
/* Apply RSA in place to v [n_nodes][3], A [n_nodes][9] (row-major, v(y) = v + A (y - x)) and the continuum's velocities. */
PetscErrorCode augury_apply(augury *a, double *v, double *A);

typedef struct {
  /* true: where the change acts inwards, its tangential part is kept too; sliding is hindered, collisions are prevented better (NF
   * of the paper). false: only its normal part is kept. */
  bool    accepts_sliding_change;
  int64_t max_iterations;
  double  tolerance; /* bound of the remaining correction, relative to the largest |v| before */
  /* [n_nodes] 1: inwards is against the normal; -1: along the normal; 0: others approach from both sides, both directions count as
   * inwards. NULL: 1 for all. Borrowed. */
  const int8_t *side;
  /* [n_nodes][3], length 1 or 0: direction along which the change of a node is evaluated, instead of its normal times its side. A
   * change along it acts as cohesion (augury_near_towards). NULL: the normal, as in the paper. Borrowed. */
  const double *towards;
} augury_options;
typedef struct {
  int64_t iterations;
  double  left; /* largest remaining correction [m/s] */
} augury_result;
/* Compute (v, A) after contact through the grid, in place, and the continuum's velocities. normal [n_nodes][3]: outwards, length 1.
 * Where the continuum's own outward direction is unknown (augury_continuum.h), the opposite of the boundary's normal is used. */
PetscErrorCode augury_solve(augury *a, const augury_options *o, const double *normal, double *v, double *A, augury_result *out);

/* Number of points that the last augury_begin placed on the grid, including nodes. */
int64_t augury_n_points(const augury *a);
/* Number of continuum nodes that share grid nodes with the boundary, from the last augury_begin. */
int64_t augury_n_met(const augury *a);
#endif
