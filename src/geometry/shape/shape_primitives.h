/* Shapes that are one solid: their level sets, surfaces and closed forms of volume, centre and inertia. */
#ifndef SS_GEOMETRY_SHAPE_SHAPE_PRIMITIVES_H
#define SS_GEOMETRY_SHAPE_SHAPE_PRIMITIVES_H
#include "geometry/level_set/level_set.h"
#include "geometry/shape/shape_spec.h"
#include "geometry/triangle_mesh/triangle_mesh.h"

/* Of one of sphere, box, cylinder, capsule, torus, ellipsoid, revolution; the level set also of plane and rabbit. Their move is left out. The
 * surface has its vertices on the solid's; spacing NaN: a default fit for the shape. */
PetscErrorCode  shape_primitive_level_set(const shape_spec *s, level_set **out);
PetscErrorCode  shape_primitive_surface(const shape_spec *s, double spacing, triangle_mesh **out);
mass_properties shape_primitive_mass(const shape_spec *s);
#endif
