/* Solvers of quadratic programs with bounds (bounds_problem.h): their table, the keys of their options, and the function that runs one. A
 * new solver is a file, a line of BOX_SOLVER_TABLE and an include in bounds_qp.c; a new preconditioner a line of
 * BOX_PRECONDITIONER_TABLE. */
#ifndef SS_OPTIM_BOUNDS_BOUNDS_QP_H
#define SS_OPTIM_BOUNDS_BOUNDS_QP_H
#include "core/key_table.h"
#include "optim/bounds/bounds_problem.h"

extern const key_table box_options_table; /* of struct box_options */
/* The defaults, which stand in the table alone. `owner` owns the storage. */
PetscErrorCode box_options_defaults(document *owner, const box_options **out);

/* Solve by o->method. x [n]: in any start, feasible or not; out the answer, feasible always (but for `cg`, which knows no bounds).
 * The verdict is BOX_OK only if the projected gradient, evaluated afresh, is small enough; of `cg` the gradient. Fails on bad input
 * (sizes, lo > hi, values that are not finite; x is then what it was) and when memory does. */
PetscErrorCode box_solve(const box_qp *q, const box_options *o, double *x, box_result *r);
#define BOX_SOLVER_TABLE(X)                                                                                                            \
  X(MPRGP, "mprgp", box_solve_mprgp, "modified proportioning with reduced gradient projections: faces change by whole steps of conjugate gradients while |nu| is above ten times its target [TakahashiBatty2021]") \
  X(MPRGP_ORIGINAL, "mprgp_original", box_solve_mprgp_original, "the same with fixed short steps throughout [DostalSchoeberl2005]") \
  X(ACTIVE_SET, "active_set", box_solve_active_set, "primal-dual active sets, conjugate gradients on the rest: the quickest from a good start; mprgp takes over if the sets cycle") \
  X(CG, "cg", box_solve_cg, "conjugate gradients without any bounds, for comparison") \
  X(ADMM, "admm", box_solve_admm, "alternating direction method of multipliers [BoydEtAl2011], for comparison: 100 outer iterations unless told otherwise") \
  X(INTERIOR_POINT, "interior_point", box_solve_interior_point, "primal interior point with a logarithmic barrier [ForsgrenEtAl2002], for comparison: 100 outer iterations unless told otherwise") \
  X(AUGMENTED_LAGRANGIAN, "augmented_lagrangian", box_solve_augmented_lagrangian, "multipliers and penalties, a Newton step each [NocedalWright2006], for comparison: 100 outer iterations unless told otherwise") \
  X(TAO, "tao", box_solve_tao, "PETSc's Tao, of the type that <prefix>tao_type of the block petsc picks: bnls by default, bntr, gpcg, blmvm, bqpip, mprgp, activeset") \
  X(SNESVI, "snesvi", box_solve_snesvi, "PETSc's SNES for variational inequalities: Newton on reduced spaces, its systems solved by cg and icc to a tenth unless the block petsc says otherwise")
enum {
#define X(symbol, name, solve, help) BOX_METHOD_##symbol,
  BOX_SOLVER_TABLE(X)
#undef X
  BOX_N_METHODS
};
typedef struct {
  const char        *name, *help;
  box_solve_function solve;
} box_solver;
extern const box_solver box_solvers[BOX_N_METHODS + 1]; /* name NULL ends it */
#endif
