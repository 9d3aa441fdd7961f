/* Sums over all pairs of a rigid body: the force and torque of contact on its two blocks.
 *
 * A body may have thousands of pairs, so its list is divided into chunks of fixed length. Chunks are summed in parallel, and their sums
 * are added in order, so that the bits do not depend on the number of threads. Caller: rigid_sides.c. */
#ifndef SS_CONTACT_ROWS_WRENCHES_H
#define SS_CONTACT_ROWS_WRENCHES_H
#include "contact/detection/contact_search.h"

/* One of the two sides of a pair, an entry in the list of a rigid body. */
typedef struct {
  int32_t pair;
  int8_t  is_object; /* the body is the object of the pair, not the body of the point */
} wrench_side;

enum { WRENCH_MAX_SUMS = 18, WRENCH_CHUNK = 256 };

typedef struct contact_wrenches contact_wrenches;
PetscErrorCode                  contact_wrenches_create(contact_wrenches **out);
void                            contact_wrenches_destroy(contact_wrenches **w);

/* Build the list of every frame with unknowns (frames[i].block >= 0). source, object [n]: the frames of each pair, -1: not rigid. */
PetscErrorCode contact_wrenches_build(contact_wrenches *w, int64_t n, const int32_t *source, const int32_t *object, int n_frames,
                                      const rigid_frame *frames);
/* Sum over the sides of each frame. `term` adds the contributions of n sides to sum [n_sums], n_sums <= WRENCH_MAX_SUMS; it is called in
 * parallel. Then `done` is called once per frame with sides, serially and in order, and adds the total to `out`. */
typedef void (*wrench_term)(const void *context, const wrench_side *sides, int64_t n, double *sum);
typedef void (*wrench_done)(const void *context, int frame, const double *sum, double *out);
void contact_wrenches_sum(const contact_wrenches *w, int n_sums, const void *context, wrench_term term, wrench_done done, double *out);
#endif
