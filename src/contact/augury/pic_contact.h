/* Contact through a grid by velocities of each body's own there [HegemannEtAl2013]: where the boundaries of several bodies share
 * a node, and the velocity that is common to them pushes one inwards, along the gradient of its own mass, it takes that, along
 * the gradient. What nodes gained goes back to the particles once. There is no iteration; momentum is kept only as far as
 * gradients oppose each other. To compare with augury. */
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
