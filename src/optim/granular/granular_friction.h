/* Solvers of the tangential contact forces z: projected gradient, and projected Newton on an augmented Lagrangian. */
#ifndef SS_OPTIM_GRANULAR_GRANULAR_FRICTION_H
#define SS_OPTIM_GRANULAR_GRANULAR_FRICTION_H
#include "optim/granular/granular_state.h"

typedef struct flow_friction {
  flow_solver *S;
  int64_t      n;
  double      *base;            /* [n][2] gradient without z */
  double      *z, *y, *next, *step; /* [n][2] */
  double      *g, *gy, *g_old;  /* gradients at next, y, z */
  double      *radius;          /* [n] mu lambda */
  double       scale;           /* of z [N] */
  double      *multiplier, *hessian; /* newton: [n], [n][3] of the discs' penalty, xx xy yy */
} flow_friction;

PetscErrorCode flow_friction_create(flow_solver *S, flow_friction *t);
/* y = A_zz x */
void flow_friction_product(flow_friction *t, const double *restrict x, double *restrict y);
/* Minimise over z with the other unknowns fixed; updates v and counts iterations. */
PetscErrorCode flow_solve_z(flow_solver *S);
#endif
