/* Active boundary elements for augury contact: elements that are within reach of the grid of others and approach them. The velocities of
 * all others do not change (contact mask of [MarquezRazonEtAl2023]). Reach: 3 cells along each axis. Caller: the `hybrid` step. */
#ifndef SS_CONTACT_AUGURY_AUGURY_NEAR_H
#define SS_CONTACT_AUGURY_AUGURY_NEAR_H
#include "contact/augury/augury_continuum.h"
#include "contact/augury/boundary_samples.h"
#include "core/pair_classes.h"

typedef struct augury_near augury_near;
/* Condition for two elements within reach of each other to be active. */
typedef enum {
  AUGURY_ALL,         /* none: separating elements are active as well, as published */
  AUGURY_APPROACHING, /* a corner of one approaches a corner of the other */
  AUGURY_COLLIDING,   /* in addition, their closest points are within `distance` of each other at some time up to `time`, at constant
                       * velocity */
} augury_choice;
/* body [n_nodes]: body of each node, the same at all corners of an element. Borrowed, like the boundary. */
PetscErrorCode augury_near_create(const augury_boundary *b, const int32_t *body, double dx, augury_near **out);
void           augury_near_destroy(augury_near **a);
/* Set the condition for the next augury_near_find; initially AUGURY_APPROACHING. distance [m] and time [s]: for AUGURY_COLLIDING. The
 * continuum is always tested for approach only. */
void augury_near_set_choice(augury_near *a, augury_choice choice, double distance, double time);
/* is_open [n_nodes], borrowed: nodes of open surfaces (cloth), which have no outside. NULL, the initial state: none. */
void augury_near_set_open(augury_near *a, const bool *is_open);
/* can_touch [n_slots] of `pairs` (NULL: [n_bodies][n_bodies]), both borrowed: pairs of bodies with contact, including self-contact. NULL (initial
 * state): all. */
void augury_near_set_can_touch(augury_near *a, int64_t n_bodies, const pair_classes *pairs, const bool *can_touch);
/* Include the continuum c from the next augury_near_find on. The struct is copied, its arrays are borrowed. NULL (initial state): none. */
void augury_near_set_continuum(augury_near *a, const augury_continuum *c);
/* Compute is_active [n_elements] at positions x and velocities v [n_nodes][3]; *n: number of active elements. Elements of one body
 * interact only if they have no common node and their outward sides (of an open surface either side) face each other. An element
 * interacts with a node of the continuum if a corner moves against the outward direction there. If that direction is unknown, the corner
 * must move along the outward normal of the element; for an open surface any motion suffices. Neighbours of active elements are active. */
PetscErrorCode augury_near_find(augury_near *a, const double *x, const double *v, bool *is_active, int64_t *n);
/* Return the body of the element whose centre is nearest to that of e, among the elements within reach; elements of the same body are
 * candidates only if they face e. -1: no such element, e is in contact with the continuum. Uses the positions of the last
 * augury_near_find. Thread-safe. */
int32_t augury_near_other(const augury_near *a, int64_t e);
/* Compute augury_options.side after augury_near_find at the same x, v. side [n_nodes] = 1 for nodes of closed surfaces. At nodes of open
 * surfaces, normal [n_nodes][3] is one of the two normals. side = 1 if the normal points to the other bodies that approach (or, if none
 * approaches, to any others within reach), -1 if it points away from them, and 0 if others are on both sides (the farther ones at most
 * one cell farther) or on neither side, at an edge. Elements of the same surface are others only if both face and approach each other. */
void augury_near_sides(const augury_near *a, const double *x, const double *v, const double *normal, int8_t *side);
/* Compute augury_options.towards after augury_near_find at the same x: the directions in which a velocity change acts as cohesion.
 * towards [n_nodes][3], unit vectors: from a node to the nearest point of another body within reach; into the surface of that body if
 * the node has penetrated it. If only a continuum is within reach and the normal points out of it, the direction into the continuum.
 * Otherwise, and for nodes of open surfaces or without active elements, the normal. Nodes at the corners and sides of thin bars and
 * slabs are thus stopped by bodies in front of them, although their normals point sideways. */
void augury_near_towards(const augury_near *a, const double *x, const double *normal, const bool *is_active, double *towards);
#endif
