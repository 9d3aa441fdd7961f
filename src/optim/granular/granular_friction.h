/* Solvers of the tangential contact forces z of the granular problem (granular_problem.h): minimise J over z subject to
 * |z_j| <= mu_j lambda_j, with all other unknowns constant. Methods: accelerated projected gradient, and projected Newton on an augmented
 * Lagrangian. Called by granular.c in every outer iteration. */
#ifndef SS_OPTIM_GRANULAR_GRANULAR_FRICTION_H
#define SS_OPTIM_GRANULAR_GRANULAR_FRICTION_H
#include "optim/granular/granular_state.h"

typedef struct granular_friction {
  granular_solver *S;
  int64_t          n;
  double          *base;                 /* [n][2] gradient of J at z = 0 [m/s] */
  double          *z, *y, *next, *step;  /* [n][2] iterate, extrapolated point, next iterate, next - y [N] */
  double          *g, *gy, *g_old;       /* [n][2] gradients of J at next, y, z */
  double          *radius;               /* [n] mu lambda [N] */
  double           scale;                /* reference value of z [N]: mu_max lambda_ref */
  double          *multiplier, *hessian; /* newton only: [n] multipliers, [n][3] Hessian of the penalty of the friction discs, xx xy yy */
} granular_friction;

/* Allocate the vectors of t in the arena of S. */
PetscErrorCode granular_friction_create(granular_solver *S, granular_friction *t);
/* y [n][2] = A_zz x: change of the tangential contact velocities by tangential forces x [n][2]. */
void granular_friction_product(granular_friction *t, const double *restrict x, double *restrict y);
/* Set S->x->z to the minimiser; updates v and adds iterations to the report. Error: out of memory. */
PetscErrorCode granular_solve_z(granular_solver *S);
#endif
