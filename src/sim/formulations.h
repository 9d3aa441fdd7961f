/* Registry of formulations, and the key table of `solver:` with the keys of all formulations. Used by app. */
#ifndef SS_SIM_FORMULATIONS_H
#define SS_SIM_FORMULATIONS_H
#include "sim/step/formulation.h"

/* To add a formulation, create its folder and add an entry here. job.formulation is the index. */
#define FORMULATION_TABLE(X) X(penalty) X(exact) X(monolith) X(convex) X(hybrid)
enum {
#define X(name) FORMULATION_##name,
  FORMULATION_TABLE(X)
#undef X
      N_FORMULATIONS
};
#define X(name) extern const formulation_ops name##_formulation;
FORMULATION_TABLE(X)
#undef X
extern const formulation_ops *const formulations[];      /* [N_FORMULATIONS] */
extern const char *const            formulation_names[]; /* values of `formulation:` in a job, NULL-terminated */
extern const key_table              solver_table;        /* of solver_options */
#endif
