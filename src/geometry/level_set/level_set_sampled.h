/* Level sets sampled on a regular grid and interpolated by C2 cubic B-splines, so that the Hessian is continuous.
 *
 * level_set_from_mesh samples the signed distance to a closed triangle mesh. Used by shapes of kind mesh. */
#ifndef SS_GEOMETRY_LEVEL_SET_LEVEL_SET_SAMPLED_H
#define SS_GEOMETRY_LEVEL_SET_LEVEL_SET_SAMPLED_H
#include "geometry/level_set/level_set.h"
#include "geometry/triangle_mesh/triangle_mesh.h"

/* Level set from nodal values phi [n0][n1][n2] at origin + spacing * (i, j, k), with n[k] >= 4 nodes per direction. The spline
 * interpolates the values exactly (natural end conditions). Outside the grid the value is sqrt(phi(p)^2 + |x - p|^2) with p the
 * closest point of the grid. If phi is a distance, this value does not exceed the distance, so that contact detection with it misses no
 * contact. It is continuous across the border of the grid; its derivatives are not. PETSC_ERR_USER_INPUT unless phi > 0 on the border. */
PetscErrorCode level_set_sampled(const int64_t n[3], const double origin[3], double spacing, const double *phi, level_set **out);

/* Signed distance to a closed mesh, sampled in its bounds and LEVEL_SET_MARGIN cells around them. The mesh is borrowed for the
 * call. PETSC_ERR_USER_INPUT if the mesh has defects (triangle_mesh_check) or the grid would exceed 64 million nodes. */
enum { LEVEL_SET_MARGIN = 5 };
PetscErrorCode level_set_from_mesh(const triangle_mesh *mesh, double spacing, level_set **out);

/* Deviation of a level set from a distance: | |grad phi| - 1 | at the points of a grid of spacing `step` with |phi| < band, within min,
 * max. Exact level sets deviate only near the medial axis. */
typedef struct {
  int64_t n, n_bad;   /* sampled points, and those with | |grad phi| - 1 | > 1e-2 */
  double  rms, worst; /* root mean square and maximum of | |grad phi| - 1 | */
} level_set_quality;
level_set_quality level_set_measure(const level_set *s, const double min[3], const double max[3], double step, double band);
#endif
