/* Contact of solid boundaries through a grid, the augury iteration [MarquezRazonEtAl2023, sec. 6]. The velocities v of boundary
 * nodes and their affine matrices A are transferred to the grid and back. Boundaries close to each other share grid nodes, at which they
 * receive a common velocity.
 *
 *   RSA = G2P o DS o P2G o RS     RS: velocities of sample points on the elements (boundary_samples.h); P2G: APIC transfer to the grid;
 *                                 DS: downsampling; the grid momentum of each element gives a rigid motion of its corners;
 *                                 G2P: transfer from the grid to the nodes
 *
 * RSA is linear. It conserves linear momentum, and the sum of the angular momenta of nodes and affine matrices, to round-off. The
 * augury iteration [TupekEtAl2021] removes velocity changes that oppose separation and, optionally, sliding. Only elements close to
 * others are active (augury_near.h). A node with active and inactive elements is transferred with the fraction of its mass that belongs
 * to active elements; the new velocity of the node is the mass-weighted mean of this fraction and the rest, which conserves momentum.
 * All positions are those at the beginning of the step. The bits do not depend on the number of threads.
 *
 * Extensions of the paper:
 * - Changes that oppose separation can be evaluated along the direction to the nearest point of other bodies. At corners, edges and
 *   thin bodies this direction differs from the node normal, which the paper uses.
 * - A continuum on the same grid (augury_continuum.h) adds its nodal masses and momenta to those of the boundary in P2G, and again
 *   after DS. Its nodes receive the common velocity; nodes that share no grid node with an active element do not change. The sum of
 *   the linear momenta is conserved, and the sum of the angular momenta, with sum m x x u for the continuum.
 * - Open surfaces have no outside: the inward direction depends on the positions of the other surfaces (augury_near_sides).
 * - Nodes of rigid bodies have the masses computed by rigid_weight.h. They need not move rigidly within the operator; the body
 *   receives the momentum that its nodes gain: sum m v, and sum m (r x v + dx^2/4 spin(A)).
 * - Nodes with prescribed motion have their own masses. A caller that restores their velocities afterwards must apply the momentum
 *   that they gained to the rest of the body, as the reaction of the constraint.
 *
 * Caller: the `hybrid` step. */
#ifndef SS_CONTACT_AUGURY_AUGURY_H
#define SS_CONTACT_AUGURY_AUGURY_H
#include "contact/augury/augury_continuum.h"
#include "contact/augury/boundary_samples.h"
#include "discretize/body/step_status.h"

typedef struct augury augury;
/* Create with grid cells of dx [m]. The boundary is borrowed; its elements are sampled at the node positions x [n_nodes][3] [m]. Errors:
 * those of boundary_samples_create. */
PetscErrorCode augury_create(const augury_boundary *b, const double *x, double dx, augury **out);
void           augury_destroy(augury **a);
/* Couple the continuum c from the next augury_begin on. The struct is copied, its arrays are borrowed. NULL (initial state): none. */
void augury_set_continuum(augury *a, const augury_continuum *c);
/* Begin a step at the positions x [n_nodes][3] with the current masses. If masses have changed since the last step, the factor must be the
 * same for all corners of an element (rigid_weight.h). is_active [n_elements]; NULL: all elements are active. Active elements whose area
 * has doubled since they were sampled are resampled; errors as in augury_create. If the coordinates of a node are not finite or are too
 * large, *status is negative and its `where` is the node. */
PetscErrorCode augury_begin(augury *a, const double *x, const bool *is_active, step_status *status);
/* Apply RSA in place to v [n_nodes][3], A [n_nodes][9] (row-major, v(y) = v + A (y - x)) and the velocities of the continuum. */
PetscErrorCode augury_apply(augury *a, double *v, double *A);

typedef struct {
  /* true: at nodes where the change is inwards, its tangential part is kept as well (variant NF of the paper); this reduces sliding and
   * prevents collisions better. false: only the normal part is kept. */
  bool    accepts_sliding_change;
  int64_t max_iterations;
  double  tolerance; /* the iteration ends if the correction is below tolerance * (largest initial |v|) */
  /* [n_nodes] 1: inwards is opposite to the normal; -1: along the normal; 0: others approach from both sides, and both directions are
   * regarded as inwards. NULL: 1 for all. Borrowed. */
  const int8_t *side;
  /* [n_nodes][3], length 1 or 0: direction along which the change of a node is evaluated, instead of its normal times its side. A
   * change along this direction acts as cohesion (augury_near_towards). NULL: the normal, as in the paper. Borrowed. */
  const double *towards;
} augury_options;
typedef struct {
  int64_t iterations;
  double  left; /* largest remaining correction [m/s] */
} augury_result;
/* Compute v, A and the velocities of the continuum after contact, in place. normal [n_nodes][3]: outward unit normals. If the outward
 * direction of the continuum at a node is unknown (augury_continuum.h), it is opposite to the normal of the boundary. */
PetscErrorCode augury_solve(augury *a, const augury_options *o, const double *normal, double *v, double *A, augury_result *out);

/* Number of points that the last augury_begin placed on the grid, including nodes. */
int64_t augury_n_points(const augury *a);
/* Number of continuum nodes that share grid nodes with the boundary, from the last augury_begin. */
int64_t augury_n_met(const augury *a);
#endif
