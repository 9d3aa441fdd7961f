/* Tetrahedral meshes of level sets. */
#ifndef SS_GEOMETRY_TET_MESH_TET_MESH_STUFFING_H
#define SS_GEOMETRY_TET_MESH_TET_MESH_STUFFING_H
#include "geometry/level_set/level_set.h"
#include "geometry/tet_mesh/tet_mesh.h"

/* Isosurface stuffing, uniform [LabelleShewchuk2007]: the part of a body-centred cubic lattice of tetrahedra where phi < 0.
 *
 *   phi         must be continuous; its size does not matter
 *   min, max    bounds of {phi < 0}
 *   spacing     edge of the lattice's cubes [m]: the long edges; the short ones are sqrt(3)/2 of it
 *   shift       [3] of the lattice, in units of the spacing, or NULL: a lattice point at `min`
 *
 * Every dihedral angle lies between 10.7 and 164.8 degrees, whatever phi is. Vertices of the surface lie on {phi = 0}, sharp edges
 * are cut off by up to the spacing. Parts thinner than the spacing may vanish or touch: a mesh that is not sound (one part, a
 * surface that does not touch itself) is refused with PETSC_ERR_USER_INPUT, as is one beyond 40 million lattice points. */
PetscErrorCode tet_mesh_from_level_set(const level_set *phi, const double min[3], const double max[3], double spacing,
                                       const double *shift, tet_mesh **out);
#endif
