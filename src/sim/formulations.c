/* The only file that refers to the tables of all formulations. */
#include "sim/formulations.h"
#include "sim/convex/convex_keys.h"
#include "sim/exact/exact_keys.h"
#include "sim/hybrid/hybrid_keys.h"
#include "sim/penalty/penalty_keys.h"
#include "sim/step/solver_options.h"

#define X(name) &name##_formulation,
const formulation_ops *const formulations[] = {FORMULATION_TABLE(X) NULL};
#undef X

#define X(name) #name,
const char *const formulation_names[] = {FORMULATION_TABLE(X) NULL};
#undef X

/* clang-format off */
#define KEYS_END {.name = NULL}
static const key_spec solver_keys[] = {
  {.name = "newton", .type = KEY_TABLE, .offset = offsetof(solver_options, newton), .fallback = "{}", .table = &newton_table, .help = "nonlinear solver"},
  {.name = "linear", .type = KEY_TABLE, .offset = offsetof(solver_options, linear), .fallback = "{}", .table = &linear_table, .help = "linear solver of formulation penalty"},
  {.name = "penalty", .type = KEY_TABLE, .offset = offsetof(solver_options, penalty), .fallback = "{}", .table = &penalty_options_table,
   .help = "contact forces and residual norm of formulation penalty"},
  {.name = "friction", .type = KEY_TABLE, .offset = offsetof(solver_options, friction), .fallback = "{}", .table = &friction_options_table,
   .help = "contact impulses of formulation exact"},
  {.name = "exact", .type = KEY_TABLE, .offset = offsetof(solver_options, exact), .fallback = "{}", .table = &exact_options_table,
   .help = "step of formulation exact"},
  {.name = "monolith", .type = KEY_TABLE, .offset = offsetof(solver_options, monolith), .fallback = "{}", .table = &granular_options_table,
   .help = "pressure, friction and contact solvers of formulation monolith"},
  {.name = "convex", .type = KEY_TABLE, .offset = offsetof(solver_options, convex), .fallback = "{}", .table = &convex_options_table,
   .help = "contact law and solver of formulation convex"},
  {.name = "hybrid", .type = KEY_TABLE, .offset = offsetof(solver_options, hybrid), .fallback = "{}", .table = &hybrid_options_table,
   .help = "contact of formulation hybrid: transfer through a grid, then geometric impulses"},
  {.name = "petsc", .type = KEY_TREE, .offset = offsetof(solver_options, petsc), .is_optional = true,
   .help = "options of PETSc by name, without the dash; nested keys are joined with _; docs/reference/petsc.md lists the prefixes of the solvers. An option that no solver reads is an error"},
  KEYS_END};
const key_table solver_table = {.name = "solver", .help = "Solvers of a time step. Blocks that the formulation does not use are validated and reported as unused.", .size = sizeof(solver_options), .keys = solver_keys};
/* clang-format on */
