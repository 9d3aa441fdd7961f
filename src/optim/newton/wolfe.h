/* Strong Wolfe line search on a function phi(alpha) of one variable. Used by snes_stabilized.c.
 *
 * Accepts alpha with   phi(alpha) <= phi(0) + c1 alpha phi'(0)   and   |phi'(alpha)| <= c2 |phi'(0)| .
 *
 * The first trial is `start`. The step is doubled while it is too short. Then safeguarded quadratic interpolation narrows the bracket, with
 * bisection every third time. Kinks and jumps of phi can make the second condition (curvature) impossible. Therefore, when the bracket is narrower
 * than `narrow` or after max_trials, the search accepts the trial with the lowest phi among those that satisfy the first condition (Armijo). A step
 * to an inadmissible state, where phi is +infinity or NaN, counts as too long. Source: [NocedalWright2006], alg. 3.5 and 3.6. */
#ifndef SS_OPTIM_NEWTON_WOLFE_H
#define SS_OPTIM_NEWTON_WOLFE_H
#include "core/error.h"

/* phi(alpha). */
typedef PetscErrorCode (*wolfe_value)(void *ctx, double alpha, double *phi);
/* Derivative phi'(alpha) at the alpha of the last call of wolfe_value. NaN: no derivative exists; the step counts as too long. */
typedef PetscErrorCode (*wolfe_slope)(void *ctx, double alpha, double *slope);

typedef struct {
  double c1, c2;     /* 0 < c1 < c2 < 1 */
  double start;      /* first trial alpha */
  double longest;    /* largest alpha */
  double narrow;     /* width of the bracket over its upper end at which the Armijo condition alone is accepted */
  int    max_trials; /* largest number of evaluations of phi */
} wolfe_options;
#define WOLFE_DEFAULTS ((wolfe_options){.c1 = 1e-4, .c2 = 0.9, .start = 1.0, .longest = 1e3, .narrow = 1e-3, .max_trials = 40})

typedef enum {
  WOLFE_ACCEPTED,    /* both conditions are satisfied */
  WOLFE_ARMIJO_ONLY, /* only the first condition is satisfied */
  WOLFE_FAILED       /* no trial lowered phi enough: alpha = 0 */
} wolfe_outcome;

typedef struct {
  wolfe_outcome outcome;
  double        alpha, phi; /* accepted step length and phi(alpha); 0 and phi0 after a failure */
  bool          is_last;    /* alpha is the last trial, and its slope was evaluated: the caller's state is that of alpha */
  int           n_values, n_slopes;
} wolfe_result;

/* Search from phi0 = phi(0), slope0 = phi'(0) < 0. Errors: those of the callbacks; PETSC_ERR_ARG_OUTOFRANGE if slope0 >= 0 or NaN. */
PetscErrorCode wolfe_search(const wolfe_options *options, wolfe_value value, wolfe_slope slope, void *ctx, double phi0, double slope0,
                            wolfe_result *result);
#endif
