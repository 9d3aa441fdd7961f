/* A closed triangle surface of a level set. */
#ifndef SS_GEOMETRY_LEVEL_SET_LEVEL_SET_CONTOUR_H
#define SS_GEOMETRY_LEVEL_SET_LEVEL_SET_CONTOUR_H
#include "geometry/level_set/level_set.h"
#include "geometry/triangle_mesh/triangle_mesh.h"

/* A closed surface by dual contouring [JuLosassoSchaeferWarren2002]: one vertex per cell of size `spacing` that the surface
 * crosses, where it best fits the tangent planes, so that sharp edges and corners stay sharp. Topology that a grid cannot
 * hold gives a mesh with defects: triangle_mesh_check. PETSC_ERR_USER_INPUT beyond 30 million cells or if nothing is found. */
PetscErrorCode level_set_contour(const level_set *phi, const double min[3], const double max[3], double spacing, triangle_mesh **out);
#endif
