/* Boundary elements that the grid may keep from colliding: near others, within the grid's reach, and closing in on them. The rest
 * of a boundary is left alone: what is far apart or parts keeps every bit of its velocity [hybrid, sec. 8: the contact mask]. */
#ifndef SS_CONTACT_AUGURY_AUGURY_NEAR_H
#define SS_CONTACT_AUGURY_AUGURY_NEAR_H
#include "contact/augury/augury_continuum.h"
#include "contact/augury/boundary_samples.h"

typedef struct augury_near augury_near;
/* body [n_nodes] of each node, of elements the same at all corners. Borrowed, as the boundary is. */
PetscErrorCode augury_near_create(const augury_boundary *b, const int32_t *body, double dx, augury_near **out);
void           augury_near_destroy(augury_near **a);
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
#endif
