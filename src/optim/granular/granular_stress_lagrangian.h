/* Stress solver `augmented_lagrangian` of the granular problem, as published [TakahashiBatty2021, sec. 4.3.3-4.3.5]. Called by granular.c through
 * granular_stress_lagrangian. Energy and derivatives of the cone penalty E_c (formulas in granular_stress_lagrangian.c) are public for tests. */
#ifndef SS_OPTIM_GRANULAR_GRANULAR_STRESS_LAGRANGIAN_H
#define SS_OPTIM_GRANULAR_GRANULAR_STRESS_LAGRANGIAN_H
#include "optim/granular/granular_component.h"

typedef struct granular_lagrangian {
  granular_component part[GRANULAR_COMPONENTS];     /* their `hessian` is that of E_c */
  double            *gradient[GRANULAR_COMPONENTS]; /* [n_cells] derivative of E_c with respect to each component of a cell */
  double            *at_cells;                      /* [n_cells][5] stress at cells */
  double            *step;                          /* [n_stress] last Newton step */
  double            *multiplier, *stiffness;        /* [n_cells] multiplier g; mean A of A_ee/N_ee over the components */
  double            *trial;                         /* [n_stress] trial stress of the line search; NULL before the first one */
} granular_lagrangian;

/* granular_lagrangian_gather sets at_cells from s [n_stress]. The other two evaluate E_c and its derivatives at at_cells, for the current
 * S->radius. */
void                                granular_lagrangian_gather(granular_solver *S, const double *s);
double                              granular_lagrangian_energy(granular_solver *S);
void                                granular_lagrangian_derivatives(granular_solver *S);
extern const granular_stress_solver granular_stress_lagrangian;
#endif
