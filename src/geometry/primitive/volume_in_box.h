/* Volume of the part of a solid that lies inside a box with edges along the axes: of balls in closed form, and of solids with a closed
 * triangle surface. Used by the measure packing_fraction. */
#ifndef SS_GEOMETRY_PRIMITIVE_VOLUME_IN_BOX_H
#define SS_GEOMETRY_PRIMITIVE_VOLUME_IN_BOX_H
#include <stdint.h>

/* Ball of radius `radius` > 0 at `center` [m]; the error is round-off of the volume of the ball. min <= max; infinite bounds are allowed. */
double ball_volume_in_box(const double center[3], double radius, const double min[3], const double max[3]);
/* Solid with the closed surface of n triangles with corners x[tri[3 i + k]] (outward orientation); x [][3] in the coordinates of the box [m]. */
double mesh_volume_in_box(int64_t n, const int32_t *tri, const double *x, const double min[3], const double max[3]);
#endif
