/* Grid contact with one velocity field per body [HegemannEtAl2013], to compare with augury. Where the boundaries of several bodies
 * share a grid node, the common velocity replaces a body's own velocity if it moves the body inwards. The inward direction is the
 * gradient of the body's own mass; only this component changes. The changes of the nodes are transferred to the particles once,
 * without iteration. Momentum is conserved only if the gradients are opposite. */
#ifndef SS_CONTACT_AUGURY_PIC_CONTACT_H
#define SS_CONTACT_AUGURY_PIC_CONTACT_H
#include "contact/augury/boundary_samples.h"

typedef struct pic_contact pic_contact;
/* body [n_nodes] in 0 ... n_bodies - 1. `meets` [n_bodies][n_bodies]: pairs of bodies with contact. Both borrowed, like the boundary. x
 * [n_nodes][3]: shape for sampling. Errors: those of boundary_samples_create. */
PetscErrorCode pic_contact_create(const augury_boundary *b, const int32_t *body, int32_t n_bodies, const bool *meets, const double *x,
                                  double dx, pic_contact **out);
void           pic_contact_destroy(pic_contact **p);
/* Update v [n_nodes][3] in place, at x [n_nodes][3], for active elements [n_elements]. Fails with PETSC_ERR_ARG_OUTOFRANGE
 * if a coordinate is farther out than 2^17 cells. */
PetscErrorCode pic_contact_solve(pic_contact *p, const double *x, const bool *is_active, double *v);
int64_t        pic_contact_n_points(const pic_contact *p); /* of the last solve */
#endif
