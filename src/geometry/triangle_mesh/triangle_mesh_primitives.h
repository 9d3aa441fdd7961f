/* Tessellations of boxes, spheres, cylinders, capsules, tori, ellipsoids and solids of revolution. Called by shape_primitives. */
#ifndef SS_GEOMETRY_TRIANGLE_MESH_TRIANGLE_MESH_PRIMITIVES_H
#define SS_GEOMETRY_TRIANGLE_MESH_TRIANGLE_MESH_PRIMITIVES_H
#include "geometry/triangle_mesh/triangle_mesh.h"

/* All vertices lie exactly on the surface, and those of a smooth face represent equal areas (ring_mesh.h); edges are not much longer than `spacing`
 * [m]. spacing <= 0 gives the coarsest mesh (box: 8 vertices). *out is owned by the caller. PETSC_ERR_USER_INPUT beyond 10 million vertices. */
PetscErrorCode triangle_mesh_box(const double min[3], const double max[3], double spacing, triangle_mesh **out);
PetscErrorCode triangle_mesh_sphere(const double center[3], double radius, double spacing, triangle_mesh **out); /* geodesic */
PetscErrorCode triangle_mesh_cylinder(const double a[3], const double b[3], double radius, double spacing, triangle_mesh **out);
PetscErrorCode triangle_mesh_capsule(const double a[3], const double b[3], double radius, double spacing, triangle_mesh **out);
PetscErrorCode triangle_mesh_torus(const double center[3], const double axis[3], double major, double minor, double spacing,
                                   triangle_mesh **out);
PetscErrorCode triangle_mesh_ellipsoid(const double center[3], const double radii[3], double spacing, triangle_mesh **out);
/* axis, along [n] and radius [n] as in level_set_revolution. */
PetscErrorCode triangle_mesh_revolution(const double center[3], const double axis[3], int n, const double *along, const double *radius,
                                        double spacing, triangle_mesh **out);
#endif
