#include "sim/formulations.h"
#include "sim/convex/convex_keys.h"
#include "sim/hybrid/hybrid_keys.h"
#include "sim/step/solver_options.h"
#include <math.h>

#define X(name) &name##_formulation,
const formulation_ops *const formulations[] = {FORMULATION_TABLE(X) NULL};
#undef X

#define X(name) #name,
const char *const formulation_names[] = {FORMULATION_TABLE(X) NULL};
#undef X

#define KEYS_END {.name = NULL}
static const key_spec solver_keys[] = {
  {.name = "newton", .type = KEY_TABLE, .offset = offsetof(solver_options, newton), .fallback = "{}", .table = &newton_table, .help = "nonlinear solver"},
  {.name = "linear", .type = KEY_TABLE, .offset = offsetof(solver_options, linear), .fallback = "{}", .table = &linear_table, .help = "linear solver"},
  {.name = "friction", .type = KEY_TABLE, .offset = offsetof(solver_options, friction), .fallback = "{}", .table = &friction_options_table,
   .help = "impulses of formulation exact"},
  {.name = "friction_stall_tolerance", .type = KEY_REAL, .offset = offsetof(solver_options, friction_stall_tolerance), .fallback = "1.0e-6", .min = 0, .max = INFINITY,
   .help = "formulation exact: impulses whose error is no worse than this are taken when the solver gets no further, else the step is retried smaller"},
  {.name = "flow", .type = KEY_TABLE, .offset = offsetof(solver_options, flow), .fallback = "{}", .table = &flow_options_table,
   .help = "pressure, friction and contact of formulation monolith"},
  {.name = "convex", .type = KEY_TABLE, .offset = offsetof(solver_options, convex), .fallback = "{}", .table = &convex_options_table,
   .help = "contact of formulation convex: its law, and how impulses are found"},
  {.name = "hybrid", .type = KEY_TABLE, .offset = offsetof(solver_options, hybrid), .fallback = "{}", .table = &hybrid_options_table,
   .help = "contact of formulation hybrid: through a grid, then by impulses"},
  {.name = "petsc", .type = KEY_TREE, .offset = offsetof(solver_options, petsc), .is_optional = true,
   .help = "any PETSc options, key by key, without the leading dash; nested keys join with _"},
  KEYS_END};
const key_table solver_table = {.name = "solver", .help = "How a step is solved.", .size = sizeof(solver_options), .keys = solver_keys};
