/* Points at the same place. */
#ifndef SS_GEOMETRY_PRIMITIVE_VERTEX_MERGE_H
#define SS_GEOMETRY_PRIMITIVE_VERTEX_MERGE_H
#include "core/error.h"

/* kept [n]: for each of the n points x [n][3] the number of the first kept point within `tolerance` > 0 of it in every coordinate, or, if
 * there is none, the number under which it is kept itself; the kept ones count up from 0 to *n_kept - 1 in the order of x.
 * |x| / tolerance must stay below 2^62. */
PetscErrorCode vertex_merge(int64_t n, const double *x, double tolerance, int32_t *kept, int64_t *n_kept);
#endif
