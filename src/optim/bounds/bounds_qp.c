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
  BOX_SOLVER_TABLE(X)
#undef X
  NULL};
static const char *const method_help[] = {
#define X(symbol, name, solve, help) help,
  BOX_SOLVER_TABLE(X)
#undef X
  NULL};
static const char *const preconditioners[] = {
#define X(symbol, name, help) name,
  BOX_PRECONDITIONER_TABLE(X)
#undef X
  NULL};
static const char *const preconditioner_help[] = {
#define X(symbol, name, help) help,
  BOX_PRECONDITIONER_TABLE(X)
#undef X
  NULL};
const box_solver box_solvers[BOX_N_METHODS + 1] = {
#define X(symbol, name, solve, help) {name, help, solve},
  BOX_SOLVER_TABLE(X)
#undef X
  {NULL, NULL, NULL}};

static const key_spec keys[] = {
    {.name        = "method",
     .type        = KEY_ENUM,
     .offset      = offsetof(box_options, method),
     .choices     = methods,
     .choice_help = method_help,
     .fallback    = "active_set",
     .help        = "how the quadratic program with bounds is solved"},
    {.name        = "preconditioner",
     .type        = KEY_ENUM,
     .offset      = offsetof(box_options, preconditioner),
     .choices     = preconditioners,
     .choice_help = preconditioner_help,
     .fallback    = "multigrid",
     .help        = "of the unknowns between their bounds"},
    {.name     = "tolerance",
     .type     = KEY_REAL,
     .offset   = offsetof(box_options, tolerance),
     .fallback = "1.0e-4",
     .min      = 0,
     .max      = 1,
     .help     = "projected gradient over the right-hand side, in the norm of the inverse diagonal, at which it counts as solved"},
    {.name     = "absolute",
     .type     = KEY_REAL,
     .offset   = offsetof(box_options, absolute),
     .fallback = "0",
     .min      = 0,
     .max      = INFINITY,
     .help =
         "projected gradient at which it counts as solved whatever the right-hand side; in the square root of the unit of energy"},
    {.name     = "max_iterations",
     .type     = KEY_INT,
     .offset   = offsetof(box_options, max_iterations),
     .fallback = "0",
     .min      = 0,
     .max      = 1e9,
     .help     = "0: the method's own limit"},
    {.name     = "gamma",
     .type     = KEY_REAL,
     .offset   = offsetof(box_options, gamma),
     .fallback = "1",
     .min      = 0,
     .max      = INFINITY,
     .is_open  = true,
     .help     = "of mprgp: bounds are released when their share of the gradient exceeds gamma times the free one"},
    {.name     = "trials",
     .type     = KEY_INT,
     .offset   = offsetof(box_options, trials),
     .fallback = "1",
     .min      = 1,
     .max      = 100,
     .help     = "of interior_point and augmented_lagrangian: step lengths tried at most"},
    {.name     = "nested",
     .type     = KEY_BOOL,
     .offset   = offsetof(box_options, is_nested),
     .fallback = "true",
     .help = "with multigrid, mprgp and active_set start from the program on coarser grids where the start given is far from the "
             "answer"},
    {.name     = "prefix",
     .type     = KEY_STRING,
     .offset   = offsetof(box_options, prefix),
     .fallback = "pressure_",
     .help =
         "of PETSc's options that tao and snesvi read: with pressure_ the key pressure_tao_type of the block petsc picks its type"},
    {.name = NULL}};
const key_table box_options_table = {
    .name = "box", .help = "Quadratic programs with bounds, pressure among them.", .size = sizeof(box_options), .keys = keys};

PetscErrorCode box_options_defaults(document *owner, const box_options **out)
{
  diagnostics *d = NULL;
  const void  *read = NULL;
  PetscFunctionBegin;
  *out = NULL;
  PetscCall(diagnostics_create(&d));
  const PetscErrorCode code = key_table_read(&box_options_table, owner, NULL, "box", d, &read);
  diagnostics_destroy(&d);
  PetscCall(code);
  *out = read;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode box_solve(const box_qp *q, const box_options *o, double *x, box_result *r)
{
  const bool has_nested_start = o->is_nested && o->preconditioner == BOX_PRECONDITIONER_MULTIGRID &&
                                (o->method == BOX_METHOD_MPRGP || o->method == BOX_METHOD_ACTIVE_SET);
  PetscFunctionBegin;
  PetscCall(box_solve_with(has_nested_start ? box_nested_start : NULL, box_solvers[o->method].solve, o->method == BOX_METHOD_CG, q, o, x, r));
  PetscFunctionReturn(PETSC_SUCCESS);
}
