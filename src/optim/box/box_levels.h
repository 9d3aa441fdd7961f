/* Coarse cells of a grid matrix, for the multigrid of faces. */
#ifndef SS_OPTIM_BOX_LEVELS_H
#define SS_OPTIM_BOX_LEVELS_H
#include "core/error.h"

typedef struct grid_levels grid_levels;
void box_levels_destroy(grid_levels **l); /* accepts NULL */
#endif
