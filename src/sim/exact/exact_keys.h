/* Options of formulation exact: solver.exact of a job. */
#ifndef SS_SIM_EXACT_EXACT_KEYS_H
#define SS_SIM_EXACT_EXACT_KEYS_H
#include "core/key_table.h"

typedef struct exact_options {
  double
      max_creep; /* [m/s] creep and approach velocity that the friction solver may leave at a contact; NaN: see step_creep.h; 0: solver.friction.tolerance */
  double
      friction_stall_tolerance; /* friction error accepted when the solver stalls, in the norm of solver.friction; NaN: see solver_stall_tolerance */
} exact_options;
extern const key_table exact_options_table;
#endif
