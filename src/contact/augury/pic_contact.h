/* Grid contact with one velocity field per body [HegemannEtAl2013], for comparison with augury. At a grid node shared by several bodies, the
 * component of a body's velocity along its inward direction is replaced by that of the common velocity, if this moves the body inwards.
 * The inward direction is the gradient of the mass of the body. The changes of the nodes are transferred to the boundary once, without
 * iteration. Momentum is conserved only if the gradients are opposite. */
#ifndef SS_CONTACT_AUGURY_PIC_CONTACT_H
#define SS_CONTACT_AUGURY_PIC_CONTACT_H
#include "contact/augury/boundary_samples.h"
#include "core/pair_classes.h"

typedef struct pic_contact pic_contact;
/* body [n_nodes] in 0 ... n_bodies - 1; `can_touch` [n_slots] of `pairs` (NULL: [n_bodies][n_bodies]): pairs of bodies with contact. All are borrowed, as the boundary. x
 * [n_nodes][3]: positions for boundary_samples_create, whose errors are returned. */
PetscErrorCode pic_contact_create(const augury_boundary *b, const int32_t *body, int32_t n_bodies, const pair_classes *pairs,
                                  const bool *can_touch, const double *x, double dx, pic_contact **out);
void           pic_contact_destroy(pic_contact **p);
/* Update the velocities v [n_nodes][3] in place, at positions x [n_nodes][3], for the elements with is_active [n_elements].
 * PETSC_ERR_ARG_OUTOFRANGE if a coordinate is farther than 2^17 cells from the origin. */
PetscErrorCode pic_contact_solve(pic_contact *p, const double *x, const bool *is_active, double *v);
int64_t        pic_contact_n_points(const pic_contact *p); /* number of points, corners included, of the last solve */
#endif
