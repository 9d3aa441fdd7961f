/* Tetrahedral meshes of level sets by isosurface stuffing. Called for FEM bodies whose shape has no structured mesh. */
#ifndef SS_GEOMETRY_TET_MESH_TET_MESH_STUFFING_H
#define SS_GEOMETRY_TET_MESH_TET_MESH_STUFFING_H
#include "geometry/level_set/level_set.h"
#include "geometry/tet_mesh/tet_mesh.h"

/* Uniform isosurface stuffing [LabelleShewchuk2007]: the part of a body-centred cubic lattice of tetrahedra where phi < 0.
 *
 *   phi         continuous; the mesh depends only on its sign and zeros
 *   min, max    bounds of {phi < 0}
 *   spacing     edge of the lattice cubes [m], which are the long edges; the short edges have sqrt(3)/2 of this length
 *   shift       [3] offset of the lattice in units of the spacing; NULL: a lattice point at `min`
 *
 * All dihedral angles are between 10.7 and 164.8 degrees for any phi. Boundary vertices lie on {phi = 0}; sharp edges are cut off
 * by up to the spacing. Parts of the solid thinner than the spacing may be missing or joined. PETSC_ERR_USER_INPUT if the mesh is not
 * sound (one component, a surface that does not touch itself), or beyond 40 million lattice points. *out is owned by the caller. */
PetscErrorCode tet_mesh_from_level_set(const level_set *phi, const double min[3], const double max[3], double spacing, const double *shift,
                                       tet_mesh **out);
#endif
