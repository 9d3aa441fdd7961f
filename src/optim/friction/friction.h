/* Solvers of contact problems with exact Coulomb friction (friction_problem.h): their table, the keys of their options, and the
 * function that runs the selected one. Called by sim/exact, by the granular solver and by `stickslip friction`.
 *
 * To add a solver, write a file, add a line to FRICTION_SOLVER_TABLE and include its header in friction.c. */
#ifndef SS_OPTIM_FRICTION_FRICTION_H
#define SS_OPTIM_FRICTION_FRICTION_H
#include "core/key_table.h"
#include "optim/friction/friction_problem.h"

extern const key_table friction_options_table; /* keys of struct friction_options, for jobs and for the command line */
/* *out: options with the default values of the key table. `owner` owns their memory. */
PetscErrorCode friction_options_defaults(document *owner, const friction_options **out);

/* The tolerance of o, 1e-8 if it is not given (NaN). */
double friction_tolerance(const friction_options *o);

/* Solve p with the method o->method.
 *   r [n][3] in: initial guess (0 is allowed); out: impulses inside the cones
 *   u [n][3] out: relative velocities W r + q
 * out->status is FRICTION_OK only if the error of kind o->error, recomputed at the end, is at most the tolerance. Errors: invalid input
 * (friction_problem_check), which leaves r unchanged; out of memory. */
PetscErrorCode friction_solve(const friction_problem *p, const friction_options *o, double *r, double *u, friction_result *out);

/* clang-format off */
#define FRICTION_SOLVER_TABLE(X)                                                                                                     \
  X(SPLITTING, "splitting", friction_solve_splitting,                                                                                \
    "block Gauss-Seidel with an exact solver for each contact [Daviet2011]: robust; slow for stacks at tight tolerances")         \
  X(NEWTON, "newton", friction_solve_newton,                                                                                         \
    "Newton's method on the function of Alart and Curnier, as published [BertailsEtAl2011]: fast where contacts are not redundant") \
  X(NEWTON_PROX, "newton_prox", friction_solve_newton_prox,                                                                          \
    "Newton's method on a sequence of regularised problems that converges to the solution: also for redundant contacts")                     \
  X(INTERIOR_POINT, "interior_point", friction_solve_interior_point,                                                                 \
    "primal-dual interior-point method on the second-order cones [AcaryEtAl2024]: a few tens of iterations, also for redundant contacts") \
  X(ADMM, "admm", friction_solve_admm,                                                                                               \
    "alternating direction method of multipliers, one factorisation for many iterations: suitable to 1e-4, unreliable at tight tolerances")                    \
  X(GRADIENT, "gradient", friction_solve_gradient,                                                                                    \
    "accelerated projected gradient: needs only products with W, no assembly and no factorisation")                                         \
  X(AUTOMATIC, "automatic", friction_solve_automatic,                                                                                \
    "gradient if products with W are cheap, otherwise splitting, while the convergence rate predicts an early end, then newton_prox, then interior_point, then all of them in turn")
/* clang-format on */
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
extern const friction_solver friction_solvers[FRICTION_N_METHODS + 1]; /* terminated by a row with name NULL */
#endif
