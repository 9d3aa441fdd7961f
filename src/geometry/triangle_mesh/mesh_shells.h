/* Shells of a closed surface: connected components, nested correctly or not. Called for imported meshes.
 *
 * A solid may have several outer shells, and cavities, whose shells have the opposite orientation. Just below every shell, against its normal,
 * the winding number of the complete surface must be 1. It is 2 or more in a shell that is duplicated, or nested in another with the same
 * orientation: its mass would count twice. It is 0 or less below a shell that is inside out. */
#ifndef SS_GEOMETRY_TRIANGLE_MESH_MESH_SHELLS_H
#define SS_GEOMETRY_TRIANGLE_MESH_MESH_SHELLS_H
#include "geometry/triangle_mesh/triangle_mesh.h"

/* Number of shells of m below which the winding number is not 1. m must be sound (triangle_mesh_check) and without crossings. If it is positive:
 * at [3] is a point on the first such shell, and *winding the winding number below it. */
PetscErrorCode mesh_shells_check(const triangle_mesh *m, int64_t *n_wrong, double at[3], int64_t *winding);
/* The result of mesh_shells_check as one line for users; "" if all shells are correct. */
PetscErrorCode mesh_shells_text(const triangle_mesh *m, size_t size, char *text);
#endif
