/* Merging of points that coincide within a tolerance. Used by the STL reader and by the check of tetrahedral meshes. */
#ifndef SS_GEOMETRY_PRIMITIVE_VERTEX_MERGE_H
#define SS_GEOMETRY_PRIMITIVE_VERTEX_MERGE_H
#include "core/error.h"

/* Number the distinct points among x [n][3].
 *   kept [n]   per point, the number of the first kept point within `tolerance` > 0 of it in every coordinate; if there is none, the
 *              point itself is kept under a new number. Kept points are numbered 0 ... *n_kept - 1 in the order of x.
 * |x| / tolerance must stay below 2^62. Fails only if memory is exhausted. */
PetscErrorCode vertex_merge(int64_t n, const double *x, double tolerance, int32_t *kept, int64_t *n_kept);
#endif
