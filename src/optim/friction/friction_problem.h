/* Exact Coulomb friction at n contacts: find impulses r and relative velocities u with
 *
 *   u = W r + q,   (u_a, r_a) in C(mu_a) for every contact a,   W = H M^-1 H^T
 *
 * where C(mu) holds: take-off r = 0, u_N >= 0; stick |r_T| <= mu r_N, u = 0; slide |r_T| = mu r_N > 0, u_N = 0, u_T = -alpha r_T with
 * alpha >= 0 [BertailsEtAl2011, sec. 3]. Vectors of contacts are [n][3], normal first; u_N >= 0 separates, r_N >= 0 pushes apart.
 *                                                                       */
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

/* Why a solver came back. Not errors: r holds the best iterate in every case. */
#define FRICTION_VERDICT_TABLE(X)                                               \
  X(FRICTION_OK, "solved")                                                      \
  X(FRICTION_ITERATIONS, "too many iterations")                                 \
  X(FRICTION_TIME, "out of time")                                               \
  X(FRICTION_STALLED, "no further progress")                                    \
  X(FRICTION_NOT_FINITE, "a value became infinite or not a number")             \
  X(FRICTION_STOPPED, "asked to stop")
typedef enum {
#define X(name, text) name,
  FRICTION_VERDICT_TABLE(X)
#undef X
} friction_verdict;
const char *friction_verdict_text(friction_verdict v);

/* Natural-map errors, all zero exactly at solutions: with û = u + (mu |u_T|, 0, 0), P the projection on the cones |r_T| <= mu r_N
 *   absolute  e = |F|, F = r - P(r - û)
 *   siconos   e / max(|q|, |r|, |u|)
 *   scaled    |D^1/2 F_rho| / max(|D^1/2 r|, |D^-1/2 q|), F_rho = r - P(r - rho_a û), rho_a = 3/trace(W_aa), D = diag(1/rho_a): does not
 *             change with the unit of mass                                                                                             */
typedef enum { FRICTION_ERROR_BOTH /* the larger of scaled and siconos */, FRICTION_ERROR_SCALED, FRICTION_ERROR_SICONOS, FRICTION_ERROR_ABSOLUTE } friction_error_kind;

typedef struct friction_options {
  int     method;         /* index into friction_solvers */
  double  tolerance;      /* on the error of kind `error` */
  int     error;          /* friction_error_kind */
  int64_t max_iterations; /* 0: the method's own */
  double  time_limit;     /* [s] 0: none */
  double  enough;         /* error at which `automatic` gives up trying harder once its quick methods have stalled; not a key; 0: never */
  const struct friction_splitting_options *splitting;
  const struct friction_newton_options    *newton;
  const struct friction_newton_prox_options *newton_prox;
  const struct friction_admm_options      *admm;
  const struct friction_gradient_options  *gradient;
} friction_options;
typedef struct {
  friction_verdict verdict;
  const char      *method; /* that produced the answer */
  int64_t          iterations, inner_iterations, linear_solves;
  double           absolute, siconos, scaled; /* natural-map errors of the answer */
  double           seconds;
} friction_result;

/* The error of the answer that `kind` names. */
double friction_result_error(const friction_result *answer, int kind);

/* Problem and guess as a solver may take them for granted: sizes agree, everything finite, mu >= 0, every contact can be pushed apart
 * (W_NN > 0). PETSC_ERR_USER_INPUT names the first contact that breaks a rule, its value, and what to do. */
PetscErrorCode friction_problem_check(const friction_problem *p, const double *r);
/* Any of the outputs may be NULL; per_contact [n] gets each contact's share of the scaled error. u as given. */
void friction_errors(const friction_problem *p, const double *r, const double *u, double *absolute, double *siconos, double *scaled,
                     double *per_contact);
/* The one of these that `kind` names. */
double friction_error(const friction_problem *p, int kind, const double *r, const double *u);

/* For those who combine methods: asked after every look at the error, it may end a method with FRICTION_STALLED; r is the best seen. */
typedef bool (*friction_judge)(void *ctx, int64_t iterations, double error);
/* A solver: brings r to o->tolerance if it can, leaves u = W r + q, and says verdict, iterations, inner_iterations and linear_solves;
 * friction_solve does the rest. */
typedef PetscErrorCode (*friction_solve_function)(const friction_problem *p, const friction_options *o, double *r, double *u, friction_result *out);
#endif
