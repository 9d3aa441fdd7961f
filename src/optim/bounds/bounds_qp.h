/* Solvers of bound-constrained quadratic programs (bounds_problem.h): their table, the keys of their options, and the function
 * that runs the selected one. Used by the granular solver, sim/monolith and the benches.
 *
 * To add a solver, write a file, add a line to BOUNDS_SOLVER_TABLE and include its header in bounds_qp.c. To add a preconditioner,
 * add a line to BOUNDS_PRECONDITIONER_TABLE and implement it in bounds_face.c. */
#ifndef SS_OPTIM_BOUNDS_BOUNDS_QP_H
#define SS_OPTIM_BOUNDS_BOUNDS_QP_H
#include "core/key_table.h"
#include "optim/bounds/bounds_problem.h"

extern const key_table bounds_options_table; /* job keys of struct bounds_options */

/* Solve by o->method. x [n] in: initial guess, not necessarily feasible; out: solution, feasible except for `cg`, which ignores the
 * bounds. r->status is BOUNDS_OK only if the projected gradient (for `cg` the gradient), recomputed at the end, is within the tolerance.
 * Errors: invalid input (lo > hi, diagonal not above 0, values that are not finite), which leaves x unchanged; out of memory. */
PetscErrorCode bounds_solve(const bounds_qp *q, const bounds_options *o, double *x, bounds_result *r);
/* clang-format off */
#define BOUNDS_SOLVER_TABLE(X)                                                                                                            \
  X(MPRGP, "mprgp", bounds_solve_mprgp, "modified proportioning with reduced gradient projections: the active set changes by whole conjugate gradient steps while |nu| is above ten times its target [TakahashiBatty2021]") \
  X(MPRGP_ORIGINAL, "mprgp_original", bounds_solve_mprgp_original, "the same with fixed short steps only [DostalSchoeberl2005]") \
  X(ACTIVE_SET, "active_set", bounds_solve_active_set, "primal-dual active sets with conjugate gradients on the free unknowns: fastest with a good initial guess; continues with mprgp if the sets cycle") \
  X(CG, "cg", bounds_solve_cg, "conjugate gradients, ignoring the bounds, for comparison") \
  X(ADMM, "admm", bounds_solve_admm, "alternating direction method of multipliers [BoydEtAl2011], for comparison: at most 100 outer iterations by default") \
  X(INTERIOR_POINT, "interior_point", bounds_solve_interior_point, "primal interior point with a logarithmic barrier [ForsgrenEtAl2002], for comparison: at most 100 outer iterations by default") \
  X(AUGMENTED_LAGRANGIAN, "augmented_lagrangian", bounds_solve_augmented_lagrangian, "multipliers and penalties, with Newton steps [NocedalWright2006], for comparison: at most 100 outer iterations by default") \
  X(TAO, "tao", bounds_solve_tao, "PETSc's Tao; pressure_tao_type in the block petsc selects the type: bnls by default, bntr, gpcg, blmvm, bqpip, mprgp, activeset") \
  X(SNESVI, "snesvi", bounds_solve_snesvi, "PETSc's SNES for variational inequalities: Newton on reduced spaces; by default its linear systems are solved by cg with icc to a relative residual of 0.1")
/* clang-format on */
enum {
#define X(symbol, name, solve, help) BOUNDS_METHOD_##symbol,
  BOUNDS_SOLVER_TABLE(X)
#undef X
      BOUNDS_N_METHODS
};
typedef struct {
  const char           *name, *help;
  bounds_solve_function solve;
} bounds_solver;
extern const bounds_solver bounds_solvers[BOUNDS_N_METHODS + 1]; /* terminated by a row with name NULL */
#endif
