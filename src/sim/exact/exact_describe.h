/* What `check` says of the contacts of a scene under `exact`. */
#ifndef SS_SIM_EXACT_DESCRIBE_H
#define SS_SIM_EXACT_DESCRIBE_H
#include <stdio.h>
#include "sim/scene/scene.h"

/* A line for each way in which contacts are found, with the pairs of bodies that are looked at so. */
PetscErrorCode exact_describe(const scene *s, FILE *out);
#endif
