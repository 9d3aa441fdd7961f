#include "optim/box/box_levels.h"
#include "core/memory.h"

void box_levels_destroy(grid_levels **l) { memory_free(l); }
