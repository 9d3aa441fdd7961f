/* Tables of solvers and of job keys, and bounds_solve. */
#include "optim/bounds/bounds_qp.h"
#include "optim/bounds/active_set.h"
#include "optim/bounds/bounds_cg.h"
#include "optim/bounds/bounds_comparison.h"
#include "optim/bounds/bounds_nested.h"
#include "optim/bounds/bounds_petsc.h"
#include "optim/bounds/mprgp.h"
#include <stddef.h>

static const char *const methods[] = {
#define X(symbol, name, solve, help) name,
    BOUNDS_SOLVER_TABLE(X)
#undef X
        NULL};
static const char *const method_help[] = {
#define X(symbol, name, solve, help) help,
    BOUNDS_SOLVER_TABLE(X)
#undef X
        NULL};
static const char *const preconditioners[] = {
#define X(symbol, name, help) name,
    BOUNDS_PRECONDITIONER_TABLE(X)
#undef X
        NULL};
static const char *const preconditioner_help[] = {
#define X(symbol, name, help) help,
    BOUNDS_PRECONDITIONER_TABLE(X)
#undef X
        NULL};
const bounds_solver bounds_solvers[BOUNDS_N_METHODS + 1] = {
#define X(symbol, name, solve, help) {name, help, solve},
    BOUNDS_SOLVER_TABLE(X)
#undef X
        {NULL, NULL, NULL}};

/* clang-format off */
static const key_spec box_expert_keys[] = {
  {.name = "max_iterations", .type = KEY_INT, .offset = offsetof(bounds_options, max_iterations), .fallback = "0", .min = 0,
   .max = 1e9, .help = "largest number of iterations; 0: default of the method"},
  {.name = "trials", .type = KEY_INT, .offset = offsetof(bounds_options, trials), .fallback = "1", .min = 1, .max = 100,
   .only_if = {"^method", "interior_point augmented_lagrangian"},
   .help = "interior_point and augmented_lagrangian: largest number of step lengths tried"},
  {.name = NULL}};
static const key_table box_expert_table = {.name = "box.expert", .help = "Parameters of single methods.", .size = sizeof(bounds_options), .keys = box_expert_keys};

static const key_spec keys[] = {
  {.name = "method", .type = KEY_ENUM, .offset = offsetof(bounds_options, method), .choices = methods,
   .choice_help = method_help, .fallback = "active_set", .help = "solver of the bound-constrained quadratic program"},
  {.name = "preconditioner", .type = KEY_ENUM, .offset = offsetof(bounds_options, preconditioner), .choices = preconditioners,
   .choice_help = preconditioner_help, .fallback = "multigrid", .only_if = {"method", "!tao snesvi"},
   .help = "preconditioner of the unknowns that are not at a bound"},
  {.name = "tolerance", .type = KEY_REAL, .offset = offsetof(bounds_options, tolerance), .fallback = "1.0e-4", .min = 0,
   .max = 1,
   .help = "convergence tolerance: norm of the projected gradient relative to the right-hand side, both in the norm of the "
           "inverse diagonal"},
  {.name = "expert", .type = KEY_PART, .table = &box_expert_table, .fallback = "{}", .help = "keys for experts"},
    {.name = NULL}};
/* clang-format on */
const key_table bounds_options_table = {
    .name = "box", .help = "Quadratic programs with bounds, pressure among them.", .size = sizeof(bounds_options), .keys = keys};

PetscErrorCode bounds_solve(const bounds_qp *q, const bounds_options *o, double *x, bounds_result *r)
{
  const bool has_nested_start =
      o->preconditioner == BOUNDS_PRECONDITIONER_MULTIGRID && (o->method == BOUNDS_METHOD_MPRGP || o->method == BOUNDS_METHOD_ACTIVE_SET);
  PetscFunctionBegin;
  PetscCall(bounds_solve_with(has_nested_start ? bounds_nested_start : NULL, bounds_solvers[o->method].solve, o->method == BOUNDS_METHOD_CG,
                              q, o, x, r));
  PetscFunctionReturn(PETSC_SUCCESS);
}
