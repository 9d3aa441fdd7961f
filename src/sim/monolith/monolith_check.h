/* What `monolith` refuses of a scene, and what `check` says of one. */
#ifndef SS_SIM_MONOLITH_MONOLITH_CHECK_H
#define SS_SIM_MONOLITH_MONOLITH_CHECK_H
#include "sim/scene/scene.h"

/* Complaints with their places: bodies that start outside the grid's box, rigid bodies that start in each other, laws one grid
 * cannot keep. */
PetscErrorCode monolith_check(const scene *s, diagnostics *d);
/* Grid, estimated unknowns, solids, the ways contacts are found. */
PetscErrorCode monolith_describe(const scene *s, FILE *out);
#endif
