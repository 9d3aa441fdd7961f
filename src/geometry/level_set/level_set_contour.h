/* Triangle surface of a level set by dual contouring. Called for boolean combinations of shapes. */
#ifndef SS_GEOMETRY_LEVEL_SET_LEVEL_SET_CONTOUR_H
#define SS_GEOMETRY_LEVEL_SET_LEVEL_SET_CONTOUR_H
#include "geometry/level_set/level_set.h"
#include "geometry/triangle_mesh/triangle_mesh.h"

/* Create a closed surface of {phi < 0} within min, max [m] by dual contouring [JuLosassoSchaeferWarren2002] that does not intersect itself
 * [JuUdeshi2006]. In each cell of size `spacing` [m], each sheet of the surface has one vertex, at the least-squares intersection of its
 * tangent planes, so that sharp edges and corners are preserved. Vertices lie on the surface to 1e-5 of the spacing; where two sheets nearly touch,
 * to 0.4 of it. *out is owned by the caller. If the grid cannot resolve the topology, the mesh may have defects (triangle_mesh_check,
 * triangle_mesh_crossings). PETSC_ERR_USER_INPUT beyond 30 million cells, or if no surface is found. */
PetscErrorCode level_set_contour(const level_set *phi, const double min[3], const double max[3], double spacing, triangle_mesh **out);
#endif
