/* Contact through a grid with one velocity field per body [HegemannEtAl2013], for comparison with augury. Where the boundaries of several
 * bodies share a grid node and their common velocity moves one of them inwards, along the gradient of its own mass, that body receives the
 * common velocity component along the gradient. The velocity changes are transferred back to the particles once, without iteration. Momentum
 * is conserved only as far as the gradients are opposite. */
#ifndef SS_CONTACT_AUGURY_PIC_CONTACT_H
#define SS_CONTACT_AUGURY_PIC_CONTACT_H
#include "contact/augury/boundary_samples.h"

typedef struct pic_contact pic_contact;
/* body [n_nodes] of each, n_bodies of them; meets [n_bodies][n_bodies]; all borrowed, as the boundary is. x [n_nodes][3]: for
 * sampling; fails as boundary_samples_create does. */
PetscErrorCode pic_contact_create(const augury_boundary *b, const int32_t *body, int32_t n_bodies, const bool *meets,
                                  const double *x, double dx, pic_contact **out);
void           pic_contact_destroy(pic_contact **p);
/* v [n_nodes][3] in place, at x [n_nodes][3]; elements [n_elements] that are active take part. Fails with PETSC_ERR_ARG_OUTOFRANGE
 * farther out than 2^17 cells. */
PetscErrorCode pic_contact_solve(pic_contact *p, const double *x, const bool *is_active, double *v);
int64_t        pic_contact_n_points(const pic_contact *p); /* of the last solve */
#endif
