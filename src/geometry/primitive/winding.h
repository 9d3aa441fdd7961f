/* How often a closed surface of triangles goes around a point: 1 inside a surface that is oriented outwards, 0 outside. Exact
 * (geometry/primitive/orient3d.h): counted where a way from the point to beyond the surface goes through it. */
#ifndef SS_GEOMETRY_PRIMITIVE_WINDING_H
#define SS_GEOMETRY_PRIMITIVE_WINDING_H
#include <stdbool.h>
#include <stdint.h>

/* triangle [n][3], into x [][3]. False if the point lies on the surface, or each of WINDING_WAYS ways met a rim of a triangle: *winding then
 * means nothing. Of a surface with a border it means nothing either. */
enum { WINDING_WAYS = 16 };
bool winding_number(int64_t n, const int32_t *triangle, const double *x, const double p[3], int64_t *winding);
#endif
