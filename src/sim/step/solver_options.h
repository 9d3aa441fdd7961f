/* Options of the nonlinear and linear solvers, `solver:` of a job. app/job reads them with the key tables of sim/formulations.c. Each
 * formulation copies the options that it uses when it is created. */
#ifndef SS_SIM_STEP_SOLVER_OPTIONS_H
#define SS_SIM_STEP_SOLVER_OPTIONS_H
#include "optim/friction/friction.h"
#include "optim/granular/granular.h"

typedef struct {
  double  tolerance, stall_tolerance; /* residual norms in units of acceleration_scale; stall_tolerance NaN: see solver_stall_tolerance */
  double  acceleration_scale;         /* [m/s^2] */
  int64_t max_iterations;
} newton_options;
enum { LINEAR_PRECONDITIONER_AUTO, LINEAR_PRECONDITIONER_BLOCK_DIAGONAL, LINEAR_PRECONDITIONER_METIS_SCHWARZ, LINEAR_PRECONDITIONER_NONE };
enum { LINEAR_REFRESH_STEP, LINEAR_REFRESH_NEWTON };
enum { LINEAR_PRECISION_DOUBLE, LINEAR_PRECISION_SINGLE };
typedef struct {
  int     preconditioner, refresh, precision; /* LINEAR_... */
  double  tolerance;                          /* relative residual */
  int64_t restart, max_iterations;
} linear_options;
/* All pointers are borrowed from the job. */
typedef struct solver_options {
  const newton_options         *newton;
  const linear_options         *linear;
  const friction_options       *friction;
  const granular_options       *monolith;
  const struct penalty_options *penalty;
  const struct exact_options   *exact;
  const struct convex_options  *convex;
  const struct hybrid_options  *hybrid;
  const document_node          *petsc; /* block solver.petsc; NULL: not given */
} solver_options;
/* Largest error at which a result is accepted if its solver has stalled: `given`, or 10 * tolerance if it is NaN (not given). The factor
 * separates stagnation just above the tolerance, which changes no digit that the tolerance guarantees, from unsolved equations. */
double solver_stall_tolerance(double given, double tolerance);
/* The same for the relative errors of contact and friction solvers, at least 1e-7 (10 times the default tolerance). Their rounding errors reach
 * 1e-9 in contacts of bodies with very different masses. Halving the step does not reduce them, so a job with a tolerance of 1e-11 would stop. */
double solver_contact_stall_tolerance(double given, double tolerance);
/* solver.friction.tolerance, 1e-8 if it is not given. */
double                 solver_friction_tolerance(const friction_options *o);
extern const key_table newton_table, linear_table; /* `solver.newton:` and `solver.linear:`; each formulation declares its own
                                                    * keys */
#endif
