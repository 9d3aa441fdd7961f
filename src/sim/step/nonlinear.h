/* Nonlinear driver: the only loop that solves the nonlinear equations of a step, g(v) = H^T r with a contact law between H v + w and
 * the impulses r.
 *
 *   repeat   linearise g at v_k, if the last matrix is outdated
 *            solve the linearised problem, contact law included, to a tolerance that follows the residual (inexact Newton)
 *            evaluate the residual x = g - H^T r at the solution, with norm |D^-1 x| (step_layout.h)
 *   until    the norm is at most `tolerance`, or the iteration has stalled and the norm is at most `stall_tolerance`
 *
 * If the layout accepts unconverged steps, the state with the smallest norm is the result of an iteration that did not converge.
 *
 * The next linearisation point v_k+1 is one of: the solution; the point of the line search if the slope of work changes sign along the
 * full step (step_line_search.h); a point improved by the problem; Anderson's combination of earlier solutions in the norm of kinetic
 * energy [WalkerNi2011]. If the residual is not finite at the combination, the solution is used.
 *
 * With a contact law only solutions of linearised problems satisfy the law, so only these are accepted. Without a contact law
 * (is_smooth) points of the line search are accepted, too.
 *
 * Tolerances are root-mean-square acceleration errors of a body in units of acceleration_scale, in all formulations. Clients: exact.c,
 * convex.c (contact, and Newton's method between two contact problems), step_motion.c (free motion of convex and hybrid). */
#ifndef SS_SIM_STEP_NONLINEAR_H
#define SS_SIM_STEP_NONLINEAR_H
#include "sim/step/formulation.h"
#include "sim/step/solver_options.h"
#include "sim/step/step_line_search.h"
#include "sim/step/step_unknowns.h"

/* Tuning constants. nonlinear_defaults sets the common values; its comments state the measurements. Clients change single members and
 * state the reason. */
typedef struct {
  double  tolerance;       /* of the residual norm */
  double  stall_tolerance; /* of the residual norm, if the iteration has stalled */
  bool    stall_is_given;  /* the job gives it: it is also used if layout.repeats_stalled is set */
  int64_t max_iterations;
  bool    is_smooth;               /* no contact law: the residual is defined at every state */
  bool    is_linearised;           /* the problem is already linearised at the initial state; its residual is not evaluated there */
  bool    checks_start;            /* no iteration if the initial residual norm is within the tolerance */
  bool    accepts_first;           /* max_iterations 1: the first solution is accepted without a check */
  bool    is_monotone;             /* stop at the best state, without failure, when an iteration does not reduce the residual */
  int     idle, idle_far;          /* iterations without progress after which the iteration counts as stalled: if the norm is within
                            * stall_tolerance, and otherwise */
  double  progress;                /* an iteration makes progress if it reduces the smallest residual norm by this factor */
  double  linear;                  /* accept if one iteration reduced the residual by this factor: the problem is linear */
  double  renew;                   /* linearise again if the residual was not reduced by this factor */
  double  accelerate;              /* use Anderson's combination if the residual was not reduced by this factor; never if is_smooth */
  int     memory;                  /* number of earlier differences in Anderson's combination */
  double  forcing, least, loosest; /* tolerance of the linearised problem: forcing * norm, between `least` and `loosest`;
                                    * forcing 0: least. A solution is accepted if its error is at most `least` */
  double  accurate;                /* residual tolerance of linear systems whose solution is an input of the contact problem */
  int     trials;                  /* trial points of a line search; 0: no line search */
} nonlinear_options;
/* newton: borrowed for the call. */
nonlinear_options nonlinear_defaults(const newton_options *newton);

/* State of the iteration, for the functions of a problem. */
typedef struct {
  int64_t k;               /* iterations before this one */
  double  norm, before;    /* residual norm at the last solution and at the one before; infinite: none */
  double  tolerance;       /* of the linearised problem, in the unit of `least` */
  double  error;           /* set by solve: error of its solution, compared with `least` */
  bool    expects_tangent; /* set by solve: tangents are evaluated at the solution, because they will probably be needed */
} nonlinear_state;

/* An array that belongs to the solution of a problem, in addition to v: impulses, contact velocities. */
typedef struct {
  double *values;
  int64_t n;
} nonlinear_array;
enum { NONLINEAR_MAX_ARRAYS = 4 };

/* The equations of a step in free unknowns. Everything is borrowed. Functions whose status becomes negative end the iteration, or
 * the trial point of a line search. */
typedef struct {
  void                *context;
  step_layout         *layout; /* scaling; bodies that are named in a negative status */
  const step_unknowns *unknowns;
  double              *v, *direction; /* [n] current state; change from the linearisation point to the solution, for line searches */
  const double        *residual;      /* [n] of the last evaluation */
  const double        *full;          /* [n_full] the same for the global vector */
  step_line_search    *parts;         /* independent parts at the last linearisation; NULL: none */
  /* Evaluate `residual` and `full` at v with the impulses of the last solve. with_tangent: linearise may be called at this v. */
  PetscErrorCode (*evaluate)(void *context, const nonlinear_state *now, bool with_tangent, step_status *status);
  /* Linearise at v, where evaluate was called last. If that was without tangent, evaluate again with tangent. */
  PetscErrorCode (*linearise)(void *context, const nonlinear_state *now, step_status *status);
  /* Solve the linearised problem with the residual of the last evaluation at v. Set v to the solution. */
  PetscErrorCode (*solve)(void *context, nonlinear_state *now, step_status *status);
  /* Set `residual` to that of the linearisation point with the new impulses, for the slope at the start of a line search. NULL:
   * the residual does not depend on the last solve. */
  void (*combine_start)(void *context);
  /* Add contacts that the solution v would violate; *is_complete false: the problem has changed and is solved again. is_end: the
   * solution will be accepted if it is complete. NULL: contacts are fixed. */
  PetscErrorCode (*extend)(void *context, const nonlinear_state *now, bool is_end, bool *is_complete, step_status *status);
  /* Improve v, the solution, as the next linearisation point. *has_moved false: v is unchanged. NULL: none. */
  PetscErrorCode (*improve)(void *context, bool *has_moved, step_status *status);
  /* List the arrays that are stored and restored together with v; their sizes may change only if `extend` adds contacts. Returns their
   * number. NULL: none. */
  int (*list_arrays)(void *context, nonlinear_array out[NONLINEAR_MAX_ARRAYS]);
} nonlinear_problem;

typedef struct {
  double      first, norm, before; /* residual norm at the start (infinite: not evaluated), at the result, before the last iteration */
  int64_t     n_iterations;
  const char *body; /* with the largest part of the residual at the result; NULL: unknown */
} nonlinear_result;

/* Iterate p->v to the solution; initial guess p->v. Negative status: not converged (names the body of the largest residual),
 * interrupted, or the status of a function of the problem. Error: out of memory, or the error of such a function. */
PetscErrorCode nonlinear_solve(const nonlinear_problem *p, const nonlinear_options *o, nonlinear_result *out, step_status *status);
/* Record the residual of an accepted or rejected step. */
void nonlinear_record(const nonlinear_result *result, double tolerance, step_report *report);
/* Record the result of a solver for impulses. An unconverged solution is counted in *n_unfinished and accepted if its error is at
 * most `stall_tolerance`; otherwise the status becomes negative. is_short: another linearisation follows, nothing is recorded. */
void nonlinear_record_solver(bool is_solved, bool is_stopped, bool is_short, double error, double stall_tolerance, int64_t *n_unfinished,
                             step_status *status);
#endif
