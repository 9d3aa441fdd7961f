/* Solvers of the tangential contact forces z of the granular problem: minimise J over z with |z_j| <= mu_j lambda_j, all other
 * unknowns fixed. Methods: accelerated projected gradient, and projected Newton on an augmented Lagrangian. Called by granular.c in
 * every outer iteration. */
#ifndef SS_OPTIM_GRANULAR_GRANULAR_FRICTION_H
#define SS_OPTIM_GRANULAR_GRANULAR_FRICTION_H
#include "optim/granular/granular_state.h"

typedef struct granular_friction {
  granular_solver *S;
  int64_t          n;
  double          *base;                 /* [n][2] gradient of J at z = 0 */
  double          *z, *y, *next, *step;  /* [n][2] iterate, extrapolated point, next iterate, next - y */
  double          *g, *gy, *g_old;       /* gradients at next, y, z */
  double          *radius;               /* [n] mu lambda */
  double           scale;                /* reference value of z [N]: mu_max lambda_ref */
  double          *multiplier, *hessian; /* newton only: [n] multipliers, [n][3] Hessian of the penalty of the friction discs, xx xy yy */
} granular_friction;

/* Allocate the vectors of t in the arena of S. */
PetscErrorCode granular_friction_create(granular_solver *S, granular_friction *t);
/* y = A_zz x: change of the tangential contact velocities by tangential forces x. x, y: [n][2]. */
void granular_friction_product(granular_friction *t, const double *restrict x, double *restrict y);
/* Minimise over z with the other unknowns fixed; updates v and counts iterations. */
PetscErrorCode granular_solve_z(granular_solver *S);
#endif
