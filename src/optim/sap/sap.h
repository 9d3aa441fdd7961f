/* Semi-analytic primal (SAP) solver of convex contact [CastroEtAl2022, sec. IV-V]: the velocities v that minimise
 *
 *   l(v) = 1/2 |v - v_free|_A^2 + sum_a l_a(u_a),   u = J v + known,   r = -dl/du
 *
 * with potentials l_a of contacts (sap_law.h) and of stops, motors, dry friction and closed loops (joint_constraint.h). l is strictly
 * convex and once differentiable, and v is unconstrained. Newton's method with H = A + J^T G J and an exact line search converges to the
 * unique solution from any initial guess. A connected component of A without terms keeps v_free. A large component is reduced by a Schur
 * complement to the unknowns of the terms, or to those that depend on them in the factor, whichever costs less. The result is
 * bit-identical for any number of threads. Called by sim/convex. */
#ifndef SS_OPTIM_SAP_SAP_H
#define SS_OPTIM_SAP_SAP_H
#include "core/key_table.h"
#include "optim/sap/sap_system.h"
#include <math.h>

enum { SAP_SEARCH_EXACT, SAP_SEARCH_BACKTRACKING };
typedef struct sap_options {
  int     search;    /* SAP_SEARCH_... */
  double  tolerance; /* |D g| <= tolerance max(|D A v|, |D J^T r|), g = dl/dv, D = diag(A)^-1/2: relative error of momentum */
  int64_t max_iterations;
} sap_options;
/* The tolerance of o, 1e-10 if it is not given (NaN). */
static inline double sap_tolerance(const sap_options *o) { return isnan(o->tolerance) ? 1e-10 : o->tolerance; }
/* clang-format off */
#define SAP_OPTIONS_KEYS(T, member)                                                                                                \
  {.name = "tolerance", .type = KEY_REAL, .offset = offsetof(T, member.tolerance), .is_optional = true, .min = 0, .max = 1,       \
   .is_open = true, .help = "convergence tolerance of the contact problem: momentum error relative to momentum or impulse, whichever is larger. 1e-10 if not given; "  \
           "if it is not given, scenes of rigid bodies without joints that have more than 128 contacts are solved to max_creep instead, see solver.exact.max_creep"}
#define SAP_EXPERT_KEYS(T, member)                                                                                                 \
  {.name = "max_iterations", .type = KEY_INT, .offset = offsetof(T, member.max_iterations), .fallback = "200", .min = 1,           \
   .max = 1000000, .help = "largest number of Newton iterations of a contact problem, usually 5 to 30"},                                           \
  {.name = "search", .type = KEY_ENUM, .offset = offsetof(T, member.search), .choices = sap_searches,                      \
   .choice_help = sap_search_help, .fallback = "exact", .help = "line search"}
/* clang-format on */
extern const char *const sap_searches[], *const sap_search_help[];

typedef enum {
  SAP_OK,
  SAP_ROUND_OFF,       /* the error is above the tolerance, but at the level of rounding errors */
  SAP_ITERATIONS,      /* max_iterations reached */
  SAP_ILL_CONDITIONED, /* no descent direction was found */
  SAP_STOPPED          /* stopped by a signal */
} sap_status;

typedef struct {
  sap_status status;
  int64_t    inner;                /* total number of conjugate-gradient iterations */
  int64_t    iterations, searches; /* Newton iterations; evaluations of all terms in line searches */
  int64_t    n_unknowns;           /* size of the reduced system that Newton's method solves */
  double     error, cost;          /* relative error, to be compared with the tolerance; l [J] of the reduced system */
} sap_result;

/* Solve the convex contact problem.
 *   v [n]           in: initial guess; out: v_free + A^-1 J^T r, for every status
 *   r, u [n_terms][3]  out: impulses; relative velocities at v
 * v satisfies this equation up to rounding, so momentum is conserved. With p->operator it does so up to the tolerance, and only linear
 * momentum is conserved up to rounding. Error: out of memory. */
PetscErrorCode sap_solve(const sap_problem *p, const sap_options *o, double *v, double *r, double *u, sap_result *out);
/* *error of given velocities v [n] and impulses r [n_terms][3], evaluated independently of the solver: the larger of
 *   |D (A (v - v_free) - J^T r)| / max(|D A v|, |D J^T r|)    equations of motion
 *   |R^1/2 (r + dl/du)| / |R^1/2 r|                           contact law, R: compliances of the terms; lagged contacts do not count */
PetscErrorCode sap_error(const sap_problem *p, const double *v, const double *r, double *error);
#endif
