/* Winding number of a closed triangle surface around a point: 1 inside a surface that is oriented outwards, 0 outside.
 *
 * A segment from the point to a point outside the bounds of the surface ("ray") is tested against every triangle with the exact predicates
 * of orient3d.h; the signed crossings are counted. Used by the search for intersections, to detect bodies inside bodies. */
#ifndef SS_GEOMETRY_PRIMITIVE_WINDING_H
#define SS_GEOMETRY_PRIMITIVE_WINDING_H
#include <stdbool.h>
#include <stdint.h>

/* triangle [n][3]: indices of vertices in x [][3]; the surface must be closed. Returns false, with *winding undefined, if the point lies
 * on the surface, or if each of WINDING_RAYS rays contains a border point of a triangle. */
enum { WINDING_RAYS = 16 };
bool winding_number(int64_t n, const int32_t *triangle, const double *x, const double p[3], int64_t *winding);
#endif
