/* Find the active boundary elements for augury contact: those near others, within reach of the grid, and approaching them. All
 * other elements keep every bit of their velocity (the contact mask of [MarquezRazonEtAl2023]). Caller: the `hybrid` step. */
#ifndef SS_CONTACT_AUGURY_AUGURY_NEAR_H
#define SS_CONTACT_AUGURY_AUGURY_NEAR_H
#include "contact/augury/augury_continuum.h"
#include "contact/augury/boundary_samples.h"

typedef struct augury_near augury_near;
/* Which elements within the grid's reach of each other are active. */
typedef enum {
  AUGURY_ALL,         /* all, also separating ones, as published */
  AUGURY_APPROACHING, /* elements with a corner that approaches a corner of the other */
  AUGURY_COLLIDING,   /* of those, elements whose nearest places would be within a distance of each other after a time at constant
                   * velocity */
} augury_choice;
/* body [n_nodes]: body of each node, the same at all corners of an element. Borrowed, like the boundary. */
PetscErrorCode augury_near_create(const augury_boundary *b, const int32_t *body, double dx, augury_near **out);
void           augury_near_destroy(augury_near **a);
/* Effective from the next augury_near_find. distance [m] and time [s] are those of AUGURY_COLLIDING, which tests the continuum for
 * approach only. Initially AUGURY_APPROACHING. */
void augury_near_set_choice(augury_near *a, augury_choice choice, double distance, double time);
/* is_open [n_nodes], borrowed: nodes of open surfaces (cloth), which have no outside. NULL, the initial state: none. */
void augury_near_set_open(augury_near *a, const bool *is_open);
/* can_touch [n_bodies][n_bodies], borrowed: which bodies can touch; the diagonal enables self-contact. Initially NULL: all. */
void augury_near_set_can_touch(augury_near *a, int64_t n_bodies, const bool *can_touch);
/* Include this continuum from the next augury_near_find on (copied, its arrays are borrowed). NULL, the initial state: none. */
void augury_near_set_continuum(augury_near *a, const augury_continuum *c);
/* Compute is_active [n_elements] at x, v [n_nodes][3]; *n is their number. Elements of one body interact if they face each other:
 * outward sides towards each other (either side of an open surface), and no common node. An element interacts with the continuum
 * where a corner moves against the continuum's outward direction. Where that is unknown, the corner must move along the element's
 * own outward normal; for an open element any motion counts. Neighbours of active elements are active, too. */
PetscErrorCode augury_near_find(augury_near *a, const double *x, const double *v, bool *is_active, int64_t *n);
/* Return the body of the element whose centre is nearest to that of e, among the candidates within reach; elements of the own body
 * count only if they face e. -1: none, e is in contact with the continuum. Call after augury_near_find, for its configuration.
 * Thread-safe. */
int32_t augury_near_other(const augury_near *a, int64_t e);
/* Compute the inward sides for augury_options.side, after augury_near_find at the same x, v. side [n_nodes] = 1 for nodes of closed
 * surfaces. For nodes of open surfaces, normal [n_nodes][3] is one of the two normals, and the side is that of approaching others,
 * or of any close others if none approaches: 1 where the normal points to them, -1 where it points away. 0: others are on both
 * sides, the farther ones at most a cell behind, or on neither side, at an edge. A surface is its own neighbour only where it
 * approaches itself face to face. */
void augury_near_sides(const augury_near *a, const double *x, const double *v, const double *normal, int8_t *side);
/* Compute the directions along which attraction would be cohesion, after augury_near_find at the same x. towards [n_nodes][3],
 * length 1, points from a node to the nearest place of another body within reach of the grid; inwards where the node has penetrated
 * its surface. If only a continuum is in reach and the normal points out of it: the direction into the continuum. Nodes of open
 * surfaces, nodes without others in reach, and nodes without active elements have their normal. Thus corners of thin bars and
 * slabs, and nodes of their sides, are stopped by bodies ahead, although their normals point sideways. */
void augury_near_towards(const augury_near *a, const double *x, const double *normal, const bool *is_active, double *towards);
#endif
