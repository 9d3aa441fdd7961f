/* Preconditioners within a face of the box: symmetric positive definite on the free unknowns, zero outside, unchanged until the
 * face is. */
#ifndef SS_OPTIM_BOUNDS_BOUNDS_FACE_H
#define SS_OPTIM_BOUNDS_BOUNDS_FACE_H
#include "optim/bounds/bounds_problem.h"

typedef struct box_face box_face;
/* Borrows q. What the preconditioner needs of q->grid and q has not falls back to jacobi. Nothing is free until the first update.
 * Faces of one grid share its coarse levels: one of them at a time. */
PetscErrorCode box_face_create(const box_qp *q, int preconditioner, box_face **out);
void           box_face_destroy(box_face **f);
/* is_free [n], 1 or 0. Does nothing if it is what it was. */
void box_face_update(box_face *f, const uint8_t *is_free);
/* The coefficients of q->grid or q->diagonal have changed: the next update starts afresh. */
void box_face_renew(box_face *f);
/* z = M_F^-1 r for an r that is zero outside the free set. No aliasing. The same bits on any number of threads. */
void box_face_apply(box_face *f, const double *restrict r, double *restrict z);
#endif
