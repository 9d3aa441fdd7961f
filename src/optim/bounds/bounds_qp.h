/* Solvers of bound-constrained quadratic programs (bounds_problem.h): their table, the keys of their options, and the function
 * that runs the selected one. Used by the granular solver, sim/monolith and the benches.
 *
 * To add a solver, write a file, add a line to BOX_SOLVER_TABLE and include its header in bounds_qp.c. To add a preconditioner,
 * add a line to BOX_PRECONDITIONER_TABLE and implement it in bounds_face.c. */
#ifndef SS_OPTIM_BOUNDS_BOUNDS_QP_H
#define SS_OPTIM_BOUNDS_BOUNDS_QP_H
#include "core/key_table.h"
#include "optim/bounds/bounds_problem.h"

extern const key_table box_options_table; /* of struct box_options */
/* Default options; the values are stored in the key table only. `owner` owns the memory. */
PetscErrorCode box_options_defaults(document *owner, const box_options **out);

/* Solve by o->method. x [n]: initial guess on entry (need not be feasible); solution on return. The solution is always feasible,
 * except for `cg`, which ignores the bounds. The result is BOX_OK only if the projected gradient (for `cg` the gradient),
 * recomputed at the end, is within the tolerance. Errors: invalid input (lo > hi, diagonal not above 0, values that are not finite; x is
 * then unchanged) and out of memory. */
PetscErrorCode box_solve(const box_qp *q, const box_options *o, double *x, box_result *r);
#define BOX_SOLVER_TABLE(X)                                                                                                            \
  X(MPRGP, "mprgp", box_solve_mprgp, "modified proportioning with reduced gradient projections: the active set changes by whole conjugate gradient steps while |nu| is above ten times its target [TakahashiBatty2021]") \
  X(MPRGP_ORIGINAL, "mprgp_original", box_solve_mprgp_original, "the same with fixed short steps only [DostalSchoeberl2005]") \
  X(ACTIVE_SET, "active_set", box_solve_active_set, "primal-dual active sets with conjugate gradients on the free unknowns: fastest with a good initial guess; continues with mprgp if the sets cycle") \
  X(CG, "cg", box_solve_cg, "conjugate gradients, ignoring the bounds, for comparison") \
  X(ADMM, "admm", box_solve_admm, "alternating direction method of multipliers [BoydEtAl2011], for comparison: at most 100 outer iterations by default") \
  X(INTERIOR_POINT, "interior_point", box_solve_interior_point, "primal interior point with a logarithmic barrier [ForsgrenEtAl2002], for comparison: at most 100 outer iterations by default") \
  X(AUGMENTED_LAGRANGIAN, "augmented_lagrangian", box_solve_augmented_lagrangian, "multipliers and penalties, with Newton steps [NocedalWright2006], for comparison: at most 100 outer iterations by default") \
  X(TAO, "tao", box_solve_tao, "PETSc's Tao; <prefix>tao_type in the block petsc selects the type: bnls by default, bntr, gpcg, blmvm, bqpip, mprgp, activeset") \
  X(SNESVI, "snesvi", box_solve_snesvi, "PETSc's SNES for variational inequalities: Newton on reduced spaces; by default its linear systems are solved by cg with icc to a relative residual of 0.1")
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
extern const box_solver box_solvers[BOX_N_METHODS + 1]; /* terminated by a row with name NULL */
#endif
