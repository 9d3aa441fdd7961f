/* Structured tetrahedral meshes of boxes, spheres, cylinders and tori. Called for FEM bodies with such a shape. */
#ifndef SS_GEOMETRY_TET_MESH_TET_MESH_PRIMITIVES_H
#define SS_GEOMETRY_TET_MESH_TET_MESH_PRIMITIVES_H
#include "geometry/tet_mesh/tet_mesh.h"

/* Edges are about `spacing` long (diagonals up to 1.7 of it). Boundary vertices lie exactly on the surface, and sharp edges are
 * preserved. Each hexahedral cell ("brick") is cut into five tetrahedra; adjacent bricks have mirrored cuts, so that no direction is
 * preferred. Dihedral angles: 54.7 to 90 degrees for a box of cubes, above 15 degrees otherwise (see the tests). A
 * spacing larger than the shape gives the coarsest possible mesh. *out is owned by the caller. PETSC_ERR_USER_INPUT for sizes that
 * are not positive, or beyond 40 million tetrahedra. The bits do not depend on the number of threads. */
PetscErrorCode tet_mesh_box(const double min[3], const double max[3], double spacing, tet_mesh **out);
PetscErrorCode tet_mesh_sphere(const double center[3], double radius, double spacing, tet_mesh **out);
PetscErrorCode tet_mesh_cylinder(const double a[3], const double b[3], double radius, double spacing, tet_mesh **out);
PetscErrorCode tet_mesh_torus(const double center[3], const double axis[3], double major, double minor, double spacing, tet_mesh **out);

/* Grade the mesh of a ball: edges become shorter by `factor` >= 1 at the pole in `direction` (of any length), and longer by the
 * same factor at the opposite pole. The map is conformal, so that dihedral angles are preserved if edges are short compared with
 * the ball. Check the mesh (tet_mesh_require) if they are not. */
PetscErrorCode tet_mesh_grade_sphere(const double center[3], double radius, const double direction[3], double factor, tet_mesh *m);
#endif
