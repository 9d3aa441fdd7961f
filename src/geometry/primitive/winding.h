/* Winding number of a closed triangle surface around a point: 1 inside a surface that is oriented outwards, 0 outside.
 *
 * A ray from the point to beyond the surface is tested against every triangle with the exact predicates of orient3d.h; the signed
 * crossings are counted. Used by the search for intersections, to detect bodies inside bodies. */
#ifndef SS_GEOMETRY_PRIMITIVE_WINDING_H
#define SS_GEOMETRY_PRIMITIVE_WINDING_H
#include <stdbool.h>
#include <stdint.h>

/* triangle [n][3] are indices into x [][3]. Returns false if the point lies on the surface, or if each of WINDING_RAYS rays touches
 * the border of a triangle; *winding is undefined then. The result is also undefined for a surface with a border. */
enum { WINDING_RAYS = 16 };
bool winding_number(int64_t n, const int32_t *triangle, const double *x, const double p[3], int64_t *winding);
#endif
