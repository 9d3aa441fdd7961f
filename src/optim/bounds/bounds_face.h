/* Preconditioners restricted to the free unknowns ("face") of a bound-constrained quadratic program. They are symmetric positive
 * definite on the free unknowns and zero elsewhere, and stay constant until the free set changes. */
#ifndef SS_OPTIM_BOUNDS_BOUNDS_FACE_H
#define SS_OPTIM_BOUNDS_BOUNDS_FACE_H
#include "optim/bounds/bounds_problem.h"

typedef struct bounds_face bounds_face;
/* Borrows q. A preconditioner that needs q->grid is replaced by jacobi if there is none. No unknown is free before the first
 * update. Preconditioners of one grid matrix share its coarse levels: use one at a time. Fails only if memory allocation fails. */
PetscErrorCode bounds_face_create(const bounds_qp *q, int preconditioner, bounds_face **out);
void           bounds_face_destroy(bounds_face **f);
/* Set the free set, is_free [n], 1 or 0. Returns at once if it has not changed. */
void bounds_face_update(bounds_face *f, const uint8_t *is_free);
/* Call this after changes of the coefficients of q->grid or q->diagonal; the next update rebuilds the preconditioner. */
void bounds_face_reset(bounds_face *f);
/* z = M_F^-1 r for an r that is zero at unknowns that are not free. r and z must differ. The same bits on any number of threads. */
void bounds_face_apply(bounds_face *f, const double *restrict r, double *restrict z);
#endif
