/* The contact problem with exact Coulomb friction: find impulses r and relative velocities u of n contacts with
 *
 *   u = W r + q,   (u_a, r_a) in C(mu_a) for every contact a,   W = H M^-1 H^T
 *
 * where C(mu) is the set of: separation r = 0, u_N >= 0; stick |r_T| <= mu r_N, u = 0; slip |r_T| = mu r_N > 0, u_N = 0, u_T = -alpha r_T
 * with alpha >= 0 [BertailsEtAl2011, sec. 3]. Contact vectors are [n][3], normal first; u_N > 0 separates, r_N >= 0 is compressive.
 *
 * This header defines problem, options, result and errors, which all solvers share. Solvers are called through friction.h. */
#ifndef SS_OPTIM_FRICTION_FRICTION_PROBLEM_H
#define SS_OPTIM_FRICTION_FRICTION_PROBLEM_H
#include "core/key_table.h"
#include "optim/friction/delassus.h"

typedef struct {
  delassus     *W;  /* borrowed; solvers may assemble its blocks */
  int64_t       n;  /* contacts */
  const double *q;  /* [n][3] relative velocity without contact impulses [m/s]; for systems q = w - H M^-1 f (delassus.h) */
  const double *mu; /* [n] friction coefficients, >= 0 */
  /* Accepted residual speeds (friction_speed_ratio); only for FRICTION_ERROR_SPEED. */
  const double *speed_limit; /* [n] largest creep or approach velocity that may remain [m/s], > 0; NULL: none */
  /* Springs at the contacts, for body_sweeps.h only; NULL: none. The law holds for u_N + compliance_N r_N and u_T + (compliance_T + entry/r_N) r_T. A contact with
   * entry > 0 closes its gap during the step, and its tangential spring acts from then on: entry = gap/dt. */
  const double *compliance; /* [n][2] normal, tangents [1/kg] */
  const double *entry;      /* [n] [m/s] */
  double load_speed; /* velocity change by the external loads in the step [m/s]: the least scale of the impulses, > 0 with speed_limit */
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

/* Kinds of errors of given r and u, all zero exactly at solutions. û = u + (mu |u_T|, 0, 0); P: projection onto the cones |r_T| <= mu r_N:
 *   absolute  e = |F|, F = r - P(r - û), the natural map
 *   siconos   e / max(|q|, |r|, |u|)
 *   scaled    |D^1/2 F_rho| / max(|D^1/2 r|, |D^-1/2 q|), F_rho = r - P(r - rho_a û), rho_a = 3/trace(W_aa), D = diag(1/rho_a):
 *             independent of the unit of mass
 *   speed     max_a E_a/min(limit_a, 0.01 max(|r_a|/rho_a, load_speed)), E_a = |F_rho,a|/rho_a: a speed [m/s]. It is the creep and approach velocity
 *             that remain at a sticking contact, the missed approach at an open one. Only with friction_problem.speed_limit
 * For mu > CONE_STEEP, F and F_rho are the natural map by components (cone.h), which keeps errors of u_N while a contact slides. */
/* clang-format off */
typedef enum { FRICTION_ERROR_BOTH /* the larger of scaled and siconos */, FRICTION_ERROR_SCALED, FRICTION_ERROR_SICONOS, FRICTION_ERROR_ABSOLUTE, FRICTION_ERROR_SPEED /* friction_speed_ratio */ } friction_error_kind;
/* clang-format on */

typedef struct friction_options {
  int     method;         /* FRICTION_METHOD_..., index into friction_solvers */
  double  tolerance;      /* on the error of kind `error`; NaN: friction_tolerance */
  int     error;          /* friction_error_kind */
  int64_t max_iterations; /* 0: default of the method; none with a time limit */
  double  time_limit;     /* [s] 0: none */
  int     line_search;    /* newton_line_search; method newton */
  double  merit;          /* [(N s)^2] method newton also stops if 1/2 |f|^2 (alart_curnier.h) is below this value; 0: never */
  int     local_solver;   /* splitting_local_solver; method splitting */
  int64_t
         least_work; /* body_sweeps.h: an island of n contacts is swept least_work/n^2 times at least (500 times at most), unless its error is below 1e-8 of the tolerance. No job key */
  double enough;     /* `automatic` stops at this error after its first-order methods have stalled; 0: never. No job key */
} friction_options;
typedef struct {
  friction_status status;
  const char     *method; /* names of the methods that ran, in order */
  int64_t         iterations, inner_iterations, linear_solves;
  int64_t         n_above;                   /* contacts whose error of kind speed is above the tolerance; set by body_sweeps.h only */
  double          absolute, siconos, scaled; /* errors of the returned r and u */
  double          speed, residual_speed;     /* error of kind speed; largest E_a [m/s]; 0 without speed_limit */
  double          seconds;                   /* wall time */
} friction_result;

/* Returns the error of kind `kind` (friction_error_kind) of a result. */
double friction_result_error(const friction_result *answer, int kind);

/* The limit on iterations: that of the options if given; none (INT64_MAX) if the options limit the time; otherwise `most`, the default of the method. */
int64_t friction_most_iterations(const friction_options *o, int64_t most);
/* Check the assumptions of all solvers: sizes agree, all values are finite, mu >= 0, W_NN > 0 at every contact. If one is violated:
 * PETSC_ERR_USER_INPUT with the first invalid contact, its value and the remedy. */
PetscErrorCode friction_problem_check(const friction_problem *p, const double *r);
/* u = W r + q, [n][3]; u and r must differ. */
void friction_velocity(const friction_problem *p, const double *r, double *u);
/* Compute all errors of given r and u [n][3]. Outputs may be NULL. per_contact [n]: contribution of each contact to the scaled error. */
void friction_errors(const friction_problem *p, const double *r, const double *u, double *absolute, double *siconos, double *scaled,
                     double *per_contact);
/* Largest error of an impulse, relative to max(|r_a|, rho_a load_speed). */
#define FRICTION_IMPULSE_ACCURACY 0.01
/* The accepted residual speed of a contact [m/s]: min(limit_a, FRICTION_IMPULSE_ACCURACY max(|r_a|/rho_a, load_speed)). r [3]: its impulse. */
static inline double friction_speed_limit_of(double limit, double impulse_speed, double load_speed)
{
  const double own = FRICTION_IMPULSE_ACCURACY * (impulse_speed > load_speed ? impulse_speed : load_speed);
  return own < limit ? own : limit;
}
double friction_speed_limit(const friction_problem *p, int64_t a, double rho, const double r[3]);
/* Returns the error of kind speed of given r and u [n][3]; p->speed_limit must be given. *speed (may be NULL): largest E_a [m/s]. NaN if a value is NaN. */
double friction_speed_error(const friction_problem *p, const double *r, const double *u, double *speed);
/* Returns the error of kind `kind` (friction_error_kind) of given r and u [n][3]. */
double friction_error(const friction_problem *p, int kind, const double *r, const double *u);

/* Stop test that `automatic` passes to a method. The method calls it after every evaluation of the error. If it returns true, the method
 * stops with FRICTION_STALLED and returns the best r so far. */
typedef bool (*friction_stop_test)(void *ctx, int64_t iterations, double error);
/* Interface of a solver. r [n][3] in: initial guess; out: impulses with an error of at most o->tolerance, or the best iterate. u [n][3]
 * out: W r + q. Sets status, iterations, inner_iterations and linear_solves of *out; friction_solve sets the rest. Error: out of memory. */
typedef PetscErrorCode (*friction_solve_function)(const friction_problem *p, const friction_options *o, double *r, double *u,
                                                  friction_result *out);
#endif
