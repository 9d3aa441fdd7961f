/* What formulation hybrid cannot step, and what it says of a scene. */
#ifndef SS_SIM_HYBRID_HYBRID_CHECK_H
#define SS_SIM_HYBRID_HYBRID_CHECK_H
#include "sim/scene/scene.h"

/* formulation_ops.check, describe */
PetscErrorCode hybrid_check(const scene *s, diagnostics *d);
PetscErrorCode hybrid_describe(const scene *s, FILE *out);
/* The convex solids of an obstacle or rigid body whose solids are all half-spaces: *n of them, NULL: it is something else. */
const convex_solid *hybrid_half_spaces(const body *b, int *n);
#endif
