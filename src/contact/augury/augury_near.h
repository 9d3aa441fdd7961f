/* Select the active boundary elements for augury: those within the grid's reach of other elements and approaching them. All other elements
 * keep every bit of their velocities [MarquezRazonEtAl2023, contact mask]. Called by sim/hybrid before each augury solve. */
#ifndef SS_CONTACT_AUGURY_AUGURY_NEAR_H
#define SS_CONTACT_AUGURY_AUGURY_NEAR_H
#include "contact/augury/augury_continuum.h"
#include "contact/augury/boundary_samples.h"

typedef struct augury_near augury_near;
/* Which elements, of those within the grid's reach of each other, are active. */
typedef enum {
  AUGURY_ALL,     /* all of them, also separating ones: as published */
  AUGURY_CLOSING, /* those of which a corner approaches a corner of the other */
  AUGURY_MEETING, /* of those, the ones whose nearest points come within a distance after a time at constant velocity */
} augury_choice;
/* body [n_nodes]: body of each node, the same at all corners of an element. Borrowed, as the boundary is. */
PetscErrorCode augury_near_create(const augury_boundary *b, const int32_t *body, double dx, augury_near **out);
void           augury_near_destroy(augury_near **a);
/* From the next augury_near_find on. distance [m] and time [s] are for AUGURY_MEETING; contact with the continuum uses AUGURY_CLOSING
 * even then. Default: AUGURY_CLOSING. */
void           augury_near_set_choice(augury_near *a, augury_choice choice, double distance, double time);
/* is_open [n_nodes], borrowed: nodes of open surfaces (cloth), which have no outside; NULL (initially): none. */
void           augury_near_set_open(augury_near *a, const bool *is_open);
/* meets [n_bodies][n_bodies], borrowed: which bodies can collide, on the diagonal with themselves; NULL (initially): all. */
void           augury_near_set_meets(augury_near *a, int64_t n_bodies, const bool *meets);
/* Use this continuum from the next augury_near_find on (struct copied, arrays borrowed); NULL (initially): no continuum. */
void           augury_near_set_continuum(augury_near *a, const augury_continuum *c);
/* Fill is_active [n_elements] at x, v [n_nodes][3]; *n is their number. Two elements of one body collide only if they face each other
 * (outward sides, or either side of an open surface) and share no node. An element collides with the continuum if a corner moves against
 * the continuum's outward direction. Where that direction is unknown: along the element's own outward normal, or in any direction if the
 * element is open. Neighbours of active elements are active, too. */
PetscErrorCode augury_near_find(augury_near *a, const double *x, const double *v, bool *is_active, int64_t *n);
/* Body of the element nearest (by centres) to element e, among the elements within reach that can collide with it; its own body only if they
 * face each other; -1: none, e is active because of the continuum. Valid after augury_near_find. Thread-safe. */
int32_t augury_near_other(const augury_near *a, int64_t e);
/* Inward side of each node, for augury_options.side; after augury_near_find at the same x, v. side [n_nodes] is 1 for nodes of closed
 * surfaces. For nodes of open surfaces normal [n_nodes][3] is either normal, and the side is that of the approaching elements (or of all
 * near ones if none approaches): 1 where the normal points to them, -1 where it points away. It is 0 if they are on both sides, the farther
 * ones at most one cell behind, or on neither side, at an edge. An element of the same surface counts only where the two face each other and
 * approach. */
void augury_near_sides(const augury_near *a, const double *x, const double *v, const double *normal, int8_t *side);
/* Direction of cohesion of each node, for augury_options.towards; after augury_near_find at the same x. towards [n_nodes][3], of length 1,
 * points from the node to the nearest point of another element within the grid's reach, or from that point to the node if the node has
 * penetrated that element. If only a continuum is in reach and the normal points out of it: the direction into the continuum. Nodes
 * of open surfaces, without others in reach, or without active elements get their normal. Thus corners of thin bars and slabs, and nodes of
 * their sides, are kept from obstacles ahead although their normals point sideways. */
void augury_near_towards(const augury_near *a, const double *x, const double *normal, const bool *is_active, double *towards);
#endif
