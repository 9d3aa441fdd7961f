/* Augmented Lagrangian solver of the stress. Energy and derivatives of the cone's penalty are public for the test. */
#ifndef SS_OPTIM_GRANULAR_GRANULAR_STRESS_LAGRANGIAN_H
#define SS_OPTIM_GRANULAR_GRANULAR_STRESS_LAGRANGIAN_H
#include "optim/granular/granular_component.h"

typedef struct flow_lagrangian {
  flow_component part[FLOW_COMPONENTS]; /* their hessian: of E_c */
  double *gradient[FLOW_COMPONENTS];    /* [n_cells] of E_c with respect to the five numbers of a cell */
  double *at_cells;                     /* [n_cells][5] */
  double *step;                         /* [n_stress] */
  double *multiplier, *stiffness;       /* [n_cells] g; mean diagonal of A_ss over that of N */
  double *trial;                        /* [n_stress] of the line search; NULL until there is one */
} flow_lagrangian;

/* at_cells from s; then E_c and its derivatives, for S->radius. */
void   flow_lagrangian_gather(flow_solver *S, const double *s);
double flow_lagrangian_energy(flow_solver *S);
void   flow_lagrangian_derivatives(flow_solver *S);
extern const flow_stress_solver flow_stress_lagrangian;
#endif
