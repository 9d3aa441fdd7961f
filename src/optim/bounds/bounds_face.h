/* Preconditioners restricted to the free unknowns ("face") of a bound-constrained quadratic program. They are symmetric positive
 * definite on the free unknowns and zero elsewhere, and stay constant until the free set changes. */
#ifndef SS_OPTIM_BOUNDS_BOUNDS_FACE_H
#define SS_OPTIM_BOUNDS_BOUNDS_FACE_H
#include "optim/bounds/bounds_problem.h"

typedef struct bounds_face bounds_face;
/* Create a preconditioner for q (borrowed). `preconditioner`: BOUNDS_PRECONDITIONER_...; if it needs q->grid and this is NULL, jacobi is
 * used. No unknown is free before the first bounds_face_update. Preconditioners of one grid matrix share its coarse levels: use only
 * one of them at a time. Fails only if memory allocation fails. */
PetscErrorCode bounds_face_create(const bounds_qp *q, int preconditioner, bounds_face **out);
void           bounds_face_destroy(bounds_face **f);
/* Set the free unknowns: is_free [n], 1 or 0. Does nothing if the free set has not changed. */
void bounds_face_update(bounds_face *f, const uint8_t *is_free);
/* Call this after changes of the coefficients of q->grid or q->diagonal; the next update rebuilds the preconditioner. */
void bounds_face_reset(bounds_face *f);
/* Apply the preconditioner: z = M_F^-1 r, both [n] and not the same array. r must be zero at unknowns that are not free. The same bits on any number of threads. */
void bounds_face_apply(bounds_face *f, const double *restrict r, double *restrict z);
#endif
