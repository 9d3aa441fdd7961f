/* Strong Wolfe line search on a function of one variable, without vectors. Used by snes_stabilized.c.
 *
 * Accepts alpha with   phi(alpha) <= phi(0) + c1 alpha phi'(0)   and   |phi'(alpha)| <= c2 |phi'(0)| .
 *
 * Starts at `start`, doubles while the step is too short, then narrows the bracket by safeguarded quadratic interpolation,
 * every third time by bisection. Kinks and jumps of phi can make the second condition impossible: when the bracket is
 * narrower than `narrow` (relative) or the trials are used up, the lowest point so far that satisfies the first one is accepted.
 * phi may be +infinity or NaN (an inadmissible state): such a step is too long.
 * Source: [NocedalWright2006], alg. 3.5 and 3.6.                              */
#ifndef SS_OPTIM_NEWTON_WOLFE_H
#define SS_OPTIM_NEWTON_WOLFE_H
#include "core/error.h"

/* phi(alpha). */
typedef PetscErrorCode (*wolfe_value)(void *ctx, double alpha, double *phi);
/* phi'(alpha) at the alpha that wolfe_value was last called with. NaN: no derivative there; the step counts as too long. */
typedef PetscErrorCode (*wolfe_slope)(void *ctx, double alpha, double *slope);

typedef struct {
  double c1, c2;  /* 0 < c1 < c2 < 1 */
  double start;   /* first trial */
  double longest; /* doubling ends here */
  double narrow;  /* relative width of the bracket at which the curvature condition is given up */
  int    max_trials;
} wolfe_options;
#define WOLFE_DEFAULTS ((wolfe_options){.c1 = 1e-4, .c2 = 0.9, .start = 1.0, .longest = 1e3, .narrow = 1e-3, .max_trials = 40})

typedef enum {
  WOLFE_ACCEPTED,    /* both conditions */
  WOLFE_ARMIJO_ONLY, /* the first one */
  WOLFE_FAILED       /* no trial lowered phi enough: alpha = 0 */
} wolfe_outcome;

typedef struct {
  wolfe_outcome outcome;
  double        alpha, phi; /* the step to take; phi0 and 0 if failed */
  bool          is_last;    /* alpha was the last trial and its slope was evaluated: the caller's state is that of alpha */
  int           n_values, n_slopes;
} wolfe_result;

/* phi0 = phi(0), slope0 = phi'(0) < 0. Fails only if a callback does, or (PETSC_ERR_ARG_OUTOFRANGE) if slope0 >= 0. */
PetscErrorCode wolfe_search(const wolfe_options *options, wolfe_value value, wolfe_slope slope, void *ctx, double phi0, double slope0,
                            wolfe_result *result);
#endif
