/* The registry of formulations, and the key table of `solver:`, which contains the keys of each. Only app uses it. */
#ifndef SS_SIM_FORMULATIONS_H
#define SS_SIM_FORMULATIONS_H
#include "sim/step/formulation.h"

/* A new formulation is a folder of its own and an entry here. job.formulation is the index. */
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
extern const formulation_ops *const formulations[];
extern const char *const            formulation_names[]; /* for KEY_ENUM, NULL-terminated */
extern const key_table              solver_table;        /* of solver_options */
#endif
