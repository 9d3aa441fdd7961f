/* Level sets sampled on a regular grid, interpolated by C2 cubic B-splines. */
#ifndef SS_GEOMETRY_LEVEL_SET_LEVEL_SET_SAMPLED_H
#define SS_GEOMETRY_LEVEL_SET_LEVEL_SET_SAMPLED_H
#include "geometry/level_set/level_set.h"
#include "geometry/triangle_mesh/triangle_mesh.h"

/* n [3] nodes per direction (each >= 4) at origin + spacing * (i, j, k); phi [n0][n1][n2] their values, interpolated
 * exactly (natural end conditions). Outside the stored box the value is sqrt(phi(p)^2 + |x - p|^2), p the nearest point
 * of the box: never more than the true distance if phi is one and positive on the border, so that culling by it is safe,
 * but only continuous across the border. phi must therefore be positive on the border: PETSC_ERR_USER_INPUT if it is not. */
PetscErrorCode level_set_sampled(const int64_t n[3], const double origin[3], double spacing, const double *phi, level_set **out);

/* Signed distance to a sound closed mesh (triangle_mesh_check; else PETSC_ERR_USER_INPUT), sampled in its bounds and
 * LEVEL_SET_MARGIN cells around them. At most 64 million nodes. The mesh is borrowed for the call. */
enum { LEVEL_SET_MARGIN = 5 };
PetscErrorCode level_set_from_mesh(const triangle_mesh *mesh, double spacing, level_set **out);

/* How nearly a distance a level set is: |grad phi| at points `step` apart where |phi| < band, within the bounds given.
 * Exact level sets have errors only beyond sharp edges' medial axes. */
typedef struct {
  int64_t n, n_bad;    /* points looked at, and those with | |grad phi| - 1 | > 1e-2 */
  double  rms, worst;  /* of |grad phi| - 1 */
} level_set_quality;
level_set_quality level_set_measure(const level_set *s, const double min[3], const double max[3], double step, double band);
#endif
