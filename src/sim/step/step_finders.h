/* What `check` says of how contacts are found where contact is rigid. */
#ifndef SS_SIM_STEP_STEP_FINDERS_H
#define SS_SIM_STEP_STEP_FINDERS_H
#include <stdio.h>
#include "sim/scene/scene.h"

/* A line for each way in which contacts are found, with the pairs of bodies that are looked at so. */
PetscErrorCode step_finders_describe(const scene *s, FILE *out);
#endif
