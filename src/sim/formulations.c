/* The only file that refers to the tables of all formulations. */
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
   .help = "contact impulses of formulation exact"},
  {.name = "friction_stall_tolerance", .type = KEY_REAL, .offset = offsetof(solver_options, friction_stall_tolerance), .fallback = "1.0e-6", .min = 0, .max = INFINITY,
   .help = "formulation exact: if the friction solver stalls, the step is accepted when its error is at most this; otherwise it "
           "is repeated with a smaller step"},
  {.name = "flow", .type = KEY_TABLE, .offset = offsetof(solver_options, flow), .fallback = "{}", .table = &granular_options_table,
   .help = "pressure, friction and contact solvers of formulation monolith"},
  {.name = "convex", .type = KEY_TABLE, .offset = offsetof(solver_options, convex), .fallback = "{}", .table = &convex_options_table,
   .help = "contact law and solver of formulation convex"},
  {.name = "hybrid", .type = KEY_TABLE, .offset = offsetof(solver_options, hybrid), .fallback = "{}", .table = &hybrid_options_table,
   .help = "contact of formulation hybrid: transfer through a grid, then geometric impulses"},
  {.name = "petsc", .type = KEY_TREE, .offset = offsetof(solver_options, petsc), .is_optional = true,
   .help = "options of PETSc by name, without the dash; nested keys are joined with _; docs/reference/petsc.md lists the prefixes of the solvers. An option that no solver reads is an error"},
  KEYS_END};
const key_table solver_table = {.name = "solver", .help = "How a step is solved.", .size = sizeof(solver_options), .keys = solver_keys};
