/* Boundary elements that the grid may keep from colliding: near others, within the grid's reach, and closing in on them. The rest
 * of a boundary is left alone: what is far apart or parts keeps every bit of its velocity [hybrid, sec. 8: the contact mask]. */
#ifndef SS_CONTACT_AUGURY_AUGURY_NEAR_H
#define SS_CONTACT_AUGURY_AUGURY_NEAR_H
#include "contact/augury/augury_continuum.h"
#include "contact/augury/boundary_samples.h"

typedef struct augury_near augury_near;
/* Which of the elements within the grid's reach of each other take part. */
typedef enum {
  AUGURY_ALL,     /* all, also what parts: as published, where nothing is left out */
  AUGURY_CLOSING, /* where a corner of one comes nearer to one of the other */
  AUGURY_MEETING, /* of those, where the nearest places will have come within a distance of each other after a time if they go on */
} augury_choice;
/* body [n_nodes] of each node, of elements the same at all corners. Borrowed, as the boundary is. */
PetscErrorCode augury_near_create(const augury_boundary *b, const int32_t *body, double dx, augury_near **out);
void           augury_near_destroy(augury_near **a);
/* From the next augury_near_find on; distance [m] and time [s] of AUGURY_MEETING, which asks the continuum for closing alone. As at first:
 * AUGURY_CLOSING. */
void           augury_near_set_choice(augury_near *a, augury_choice choice, double distance, double time);
/* is_open [n_nodes], borrowed: nodes of open surfaces, cloth, which have no outside; NULL: none, as at first. */
void           augury_near_set_open(augury_near *a, const bool *is_open);
/* meets [n_bodies][n_bodies], borrowed: which bodies meet, the diagonal says which meet themselves; NULL: all do, as at first. */
void           augury_near_set_meets(augury_near *a, int64_t n_bodies, const bool *meets);
/* From the next augury_near_find on, with this continuum (copied, its arrays borrowed); NULL: without, as at first. */
void           augury_near_set_continuum(augury_near *a, const augury_continuum *c);
/* is_active [n_elements] out, at x, v [n_nodes][3]; *n of them. Elements of one body meet if they face each other: outward sides
 * towards each other, either side of an open surface, without a common node. An element meets the continuum where a corner moves
 * against the way out of it; where that is not known, along the element's own outside, or in any way if it is open. Elements around
 * active ones are active, too. */
PetscErrorCode augury_near_find(augury_near *a, const double *x, const double *v, bool *is_active, int64_t *n);
/* The body of the element nearest to element e, by centres, among those within reach that it meets, its own body's only if they face it; -1:
 * there are none, what it met is the continuum. After augury_near_find, where that looked. Thread-safe. */
int32_t augury_near_other(const augury_near *a, int64_t e);
/* Which way inwards is, for augury_options.side, after augury_near_find at the same x, v: side [n_nodes] = 1 for nodes of closed
 * surfaces. For others normal [n_nodes][3] is either of the surface's, and the side is that on which others are that close in, or are
 * near at all if none does: 1 where the normal points to them, -1 where it points away; 0 if they are on both sides, the farther ones
 * no more than a cell behind, or on neither, at an edge. A surface is on its own side only where it closes in on itself, face to face. */
void augury_near_sides(const augury_near *a, const double *x, const double *v, const double *normal, int8_t *side);
/* Along which way pulling would be cohesion, after augury_near_find at the same x: towards [n_nodes][3], of length 1, out of a node to the
 * nearest place of what it meets within reach of the grid, into it where the node has got behind its surface. Where only a continuum is in
 * reach, and the normal points out of it: the way into it. A node of a surface that is open,
 * or without others in reach, or of no active element has its normal. Corners of thin bars and slabs, and nodes of their sides, are so
 * held back from what lies ahead, where their normals point aside. */
void augury_near_towards(const augury_near *a, const double *x, const double *normal, const bool *is_active, double *towards);
#endif
