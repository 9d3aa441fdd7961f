/* Boundary elements that the grid may keep from colliding: near others, within the grid's reach, and closing in on them. The rest
 * of a boundary is left alone: what is far apart or parts keeps every bit of its velocity [hybrid, sec. 8: the contact mask]. */
#ifndef SS_CONTACT_AUGURY_NEAR_H
#define SS_CONTACT_AUGURY_NEAR_H
#include "contact/augury/boundary_samples.h"

typedef struct augury_near augury_near;
/* body [n_nodes] of each node, of elements the same at all corners. Borrowed, as the boundary is. */
PetscErrorCode augury_near_create(const augury_boundary *b, const int32_t *body, double dx, augury_near **out);
void           augury_near_destroy(augury_near **a);
/* is_active [n_elements] out, at x, v [n_nodes][3]; *n of them. Elements of one body meet if they face each other: outward sides
 * towards each other, without a common node. Elements around active ones are active, too. */
PetscErrorCode augury_near_find(augury_near *a, const double *x, const double *v, bool *is_active, int64_t *n);
#endif
