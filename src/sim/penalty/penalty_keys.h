/* Options of formulation penalty: solver.penalty of a job. */
#ifndef SS_SIM_PENALTY_PENALTY_KEYS_H
#define SS_SIM_PENALTY_PENALTY_KEYS_H
#include "sim/scene/scene_options.h"

enum { PENALTY_NORM_ACCELERATION, PENALTY_NORM_IMPULSE };
typedef struct penalty_options {
  int  norm;
  int  scheme; /* contact_scheme */
  bool edges;  /* contact between edges of surfaces */
} penalty_options;
extern const key_table penalty_options_table;

/* Unit of solver.newton.tolerance. Other formulations have the default norm. */
const char *penalty_norm_unit(const penalty_options *o);
/* Add entries on combinations of options and scene that are not supported. */
PetscErrorCode penalty_check(const scene *s, diagnostics *d);
#endif
