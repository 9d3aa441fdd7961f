/* The contact problem with exact Coulomb friction: find impulses r and relative velocities u of n contacts with
 *
 *   u = W r + q,   (u_a, r_a) in C(mu_a) for every contact a,   W = H M^-1 H^T
 *
 * where C(mu) is the set of: separation r = 0, u_N >= 0; stick |r_T| <= mu r_N, u = 0; slip |r_T| = mu r_N > 0, u_N = 0,
 * u_T = -alpha r_T with alpha >= 0 [BertailsEtAl2011, sec. 3]. Contact vectors are [n][3], normal first; u_N > 0 separates,
 * r_N >= 0 is compressive.
 *
 * This header defines problem, options, result and errors, which all solvers share. Solvers are called through friction.h. */
#ifndef SS_OPTIM_FRICTION_FRICTION_PROBLEM_H
#define SS_OPTIM_FRICTION_FRICTION_PROBLEM_H
#include "core/key_table.h"
#include "optim/friction/delassus.h"

typedef struct {
  delassus     *W;  /* borrowed; solvers may assemble its blocks */
  int64_t       n;  /* contacts */
  const double *q;  /* [n][3] relative velocity without contact impulses, q = w - H M^-1 f */
  const double *mu; /* [n] >= 0 */
} friction_problem;

/* Outcome of a solve. These are not errors: r contains the best iterate in every case. */
/* clang-format off */
#define FRICTION_STATUS_TABLE(X)                                               \
  X(FRICTION_OK, "solved")                                                      \
  X(FRICTION_ITERATIONS, "too many iterations")                                 \
  X(FRICTION_TIME, "out of time")                                               \
  X(FRICTION_STALLED, "no further progress")                                    \
  X(FRICTION_NOT_FINITE, "a value became infinite or not a number")             \
  X(FRICTION_STOPPED, "stopped by a signal")
/* clang-format on */
typedef enum {
#define X(name, text) name,
  FRICTION_STATUS_TABLE(X)
#undef X
} friction_status;
const char *friction_status_text(friction_status v);

/* Errors, all zero exactly at solutions. With û = u + (mu |u_T|, 0, 0) and P the projection onto the cones |r_T| <= mu r_N:
 *   absolute  e = |F|, F = r - P(r - û), the natural map
 *   siconos   e / max(|q|, |r|, |u|)
 *   scaled    |D^1/2 F_rho| / max(|D^1/2 r|, |D^-1/2 q|), F_rho = r - P(r - rho_a û), rho_a = 3/trace(W_aa), D = diag(1/rho_a):
 *             independent of the unit of mass */
/* clang-format off */
typedef enum { FRICTION_ERROR_BOTH /* the larger of scaled and siconos */, FRICTION_ERROR_SCALED, FRICTION_ERROR_SICONOS, FRICTION_ERROR_ABSOLUTE } friction_error_kind;
/* clang-format on */

typedef struct friction_options {
  int     method;         /* FRICTION_METHOD_..., index into friction_solvers */
  double  tolerance;      /* on the error of kind `error` */
  int     error;          /* friction_error_kind */
  int64_t max_iterations; /* 0: default of the method */
  double  time_limit;     /* [s] 0: none */
  int     line_search;    /* newton_line_search; method newton */
  double  merit;          /* [(N s)^2] method newton also stops at this value of 1/2 |f|^2; 0: does not */
  int     local_solver;   /* splitting_local_solver; method splitting */
  double  enough;         /* error at which `automatic` stops once its first-order methods have stalled; not a key; 0: never */
} friction_options;
typedef struct {
  friction_status status;
  const char     *method; /* name of the method, or methods, that ran */
  int64_t         iterations, inner_iterations, linear_solves;
  double          absolute, siconos, scaled; /* errors of the returned r and u */
  double          seconds;
} friction_result;

/* The error of kind `kind` (friction_error_kind) in a result. */
double friction_result_error(const friction_result *answer, int kind);

/* Check what solvers assume: sizes agree, all values are finite, mu >= 0, W_NN > 0 at every contact. PETSC_ERR_USER_INPUT names
 * the first invalid contact, its value and the remedy. */
PetscErrorCode friction_problem_check(const friction_problem *p, const double *r);
/* u = W r + q, [n][3]; u and r must differ. */
void friction_velocity(const friction_problem *p, const double *r, double *u);
/* Errors of given r and u. Outputs may be NULL; per_contact [n] receives each contact's share of the scaled error. */
void friction_errors(const friction_problem *p, const double *r, const double *u, double *absolute, double *siconos, double *scaled,
                     double *per_contact);
/* The error of kind `kind` of given r and u. */
double friction_error(const friction_problem *p, int kind, const double *r, const double *u);

/* Stop test for combinations of methods: called after every evaluation of the error. If it returns true, the method stops with
 * FRICTION_STALLED and returns the best r so far. */
typedef bool (*friction_stop_test)(void *ctx, int64_t iterations, double error);
/* Interface of a solver: reduce the error of r to o->tolerance, set u = W r + q, and set status, iterations, inner_iterations
 * and linear_solves. friction_solve evaluates the final error. */
typedef PetscErrorCode (*friction_solve_function)(const friction_problem *p, const friction_options *o, double *r, double *u,
                                                  friction_result *out);
#endif
