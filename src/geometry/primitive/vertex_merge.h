/* Merging of points that coincide within a tolerance. Used by the STL reader and by the check of tetrahedral meshes. */
#ifndef SS_GEOMETRY_PRIMITIVE_VERTEX_MERGE_H
#define SS_GEOMETRY_PRIMITIVE_VERTEX_MERGE_H
#include "core/error.h"

/* Number the distinct points among x [n][3], in the order of x. A point with a kept point within `tolerance` > 0 in every coordinate is
 * merged with the first such point; otherwise the point is kept and has the next number 0 ... *n_kept - 1.
 *   kept [n]   for each point, the number of the kept point that represents it
 * |x| / tolerance must stay below 2^62. Fails only if memory is exhausted. */
PetscErrorCode vertex_merge(int64_t n, const double *x, double tolerance, int32_t *kept, int64_t *n_kept);
#endif
