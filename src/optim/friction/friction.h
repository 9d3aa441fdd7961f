/* Solvers of exact Coulomb friction (friction_problem.h): their table, the keys of their options, and the function that runs one. A new
 * solver is a file, a line of FRICTION_SOLVER_TABLE and an include in friction.c. */
#ifndef SS_OPTIM_FRICTION_FRICTION_H
#define SS_OPTIM_FRICTION_FRICTION_H
#include "core/key_table.h"
#include "optim/friction/friction_problem.h"

extern const key_table friction_options_table; /* of struct friction_options: the same keys in jobs and on the command line */
/* The defaults, which stand in the tables alone. `owner` owns the storage. */
PetscErrorCode friction_options_defaults(document *owner, const friction_options **out);

/* Solve by o->method.
 *   r [n][3] in: guess (0 is one); out: impulses inside the cones
 *   u [n][3] out: W r + q
 * The verdict is FRICTION_OK only if the error asked for, evaluated afresh, is at most the tolerance. Fails on bad input and when
 * memory does; then r is what it was. */
PetscErrorCode friction_solve(const friction_problem *p, const friction_options *o, double *r, double *u, friction_result *out);

#define FRICTION_SOLVER_TABLE(X)                                                                                                     \
  X(SPLITTING, "splitting", friction_solve_splitting,                                                                                \
    "block Gauss-Seidel, one contact after the other solved exactly [Daviet2011]: robust, slow at tight tolerances on stacks")         \
  X(NEWTON, "newton", friction_solve_newton,                                                                                         \
    "Newton's method on the function of Alart and Curnier, as published [BertailsEtAl2011]: fast where contacts are not redundant") \
  X(NEWTON_PROX, "newton_prox", friction_solve_newton_prox,                                                                          \
    "the same on a sequence of regularised problems whose fixed point is the answer: for redundant contacts, too")                     \
  X(INTERIOR_POINT, "interior_point", friction_solve_interior_point,                                                                 \
    "primal-dual interior-point method on the second-order cones [AcaryEtAl2024]: a few tens of steps, redundant contacts or not") \
  X(ADMM, "admm", friction_solve_admm,                                                                                               \
    "alternating directions, one factorisation for many iterations: good to 1e-4, unreliable at tight tolerances")                    \
  X(GRADIENT, "gradient", friction_solve_gradient,                                                                                    \
    "accelerated projected gradient: products with W alone, nothing is assembled or factored")                                         \
  X(AUTOMATIC, "automatic", friction_solve_automatic,                                                                                \
    "sweeps of splitting (gradient first where many bodies hold each other loosely) while they promise to end soon, then newton_prox, then interior_point, then all of them in turn")
enum {
#define X(symbol, name, solve, help) FRICTION_METHOD_##symbol,
  FRICTION_SOLVER_TABLE(X)
#undef X
  FRICTION_N_METHODS
};
typedef struct {
  const char             *name, *help;
  friction_solve_function solve;
} friction_solver;
extern const friction_solver friction_solvers[FRICTION_N_METHODS + 1]; /* name NULL ends it */
#endif
