/* Primitive shapes (sphere, box, cylinder, capsule, torus, ellipsoid, revolution, plane, rabbit): level set, surface and mass
 * properties from their specification. Called by shape.c. */
#ifndef SS_GEOMETRY_SHAPE_SHAPE_PRIMITIVES_H
#define SS_GEOMETRY_SHAPE_SHAPE_PRIMITIVES_H
#include "geometry/level_set/level_set.h"
#include "geometry/shape/shape_spec.h"
#include "geometry/triangle_mesh/triangle_mesh.h"

/* Valid for sphere, box, cylinder, capsule, torus, ellipsoid and revolution; the level set also for plane and rabbit. The rigid motion of
 * the specification is not applied. Surface: vertices lie on the exact surface, edges have the length `spacing` [m]; NaN: a default for the
 * shape. Mass properties: closed forms, for unit density. *out is owned by the caller. */
PetscErrorCode  shape_primitive_level_set(const shape_spec *s, level_set **out);
PetscErrorCode  shape_primitive_surface(const shape_spec *s, double spacing, triangle_mesh **out);
mass_properties shape_primitive_mass(const shape_spec *s);
#endif
