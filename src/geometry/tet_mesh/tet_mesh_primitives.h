/* Tetrahedral meshes of simple solids. */
#ifndef SS_GEOMETRY_TET_MESH_TET_MESH_PRIMITIVES_H
#define SS_GEOMETRY_TET_MESH_TET_MESH_PRIMITIVES_H
#include "geometry/tet_mesh/tet_mesh.h"

/* ---- generators ----
 *
 * Edges are about `spacing` long (up to 1.7 of it, diagonals); surfaces are sampled exactly, sharp edges kept. Bricks are cut into five tetrahedra each, in
 * mirror images that alternate like a chessboard, so that no direction is preferred. Dihedral angles: box of cubes 54.7 to 90
 * degrees; others above 15, see the tests. Fail with PETSC_ERR_USER_INPUT for sizes that are not positive, or beyond 40 million
 * tetrahedra; spacing larger than the shape gives the coarsest mesh there is. Bits do not depend on the number of threads. */
PetscErrorCode tet_mesh_box(const double min[3], const double max[3], double spacing, tet_mesh **out);
PetscErrorCode tet_mesh_sphere(const double center[3], double radius, double spacing, tet_mesh **out);
PetscErrorCode tet_mesh_cylinder(const double a[3], const double b[3], double radius, double spacing, tet_mesh **out);
PetscErrorCode tet_mesh_torus(const double center[3], const double axis[3], double major, double minor, double spacing, tet_mesh **out);

/* Draw the vertices of a ball's mesh together where `direction` (of any length) leaves it: edges there become shorter, and opposite longer, by
 * `factor` >= 1. Conformal, so that angles stay where edges are short against the ball; check the mesh where they are not. */
PetscErrorCode tet_mesh_grade_sphere(const double center[3], double radius, const double direction[3], double factor, tet_mesh *m);
#endif
