/* Rate-dependent friction mu(I) [JopForterrePouliquen2006] in the yield condition |s| <= alpha (p + cohesion), alpha = sqrt(2) M(I),
 * with s the deviatoric stress and p the pressure:
 *
 *    M(I) = M + (M_2 - M) I / (I_0 + I),   I = rate d sqrt(rho_grain / p),   rate = sqrt(2 e:e), e the deviatoric rate of strain
 *
 * M (slow flow), M_2, I_0, grain diameter d and grain density are constants of the particles, averaged in each cell. The rate is
 * computed from D u with the operator D of the stresses, so that the power of friction contains exactly this rate.
 *
 * Friction is evaluated at the velocities of one outer iteration and used in the next. This fixed-point iteration overshoots if
 * c = dt p dM/drate / (rho h^2) is large, as on fine grids. Therefore the change of alpha is multiplied by 1 / (1 + 4 c) after the
 * first iteration of a step. Used by monolith.c. */
#ifndef SS_SIM_MONOLITH_MONOLITH_RHEOLOGY_H
#define SS_SIM_MONOLITH_MONOLITH_RHEOLOGY_H
#include "discretize/mac/mac_system.h"

typedef struct {
  const mac_system *system;                       /* borrowed */
  const double     *constant[MAC_MU_I_CONSTANTS]; /* [n_slots] of the state, borrowed; indexed by cell_slot of the system */
  double           *d;                            /* [n_stress] D u */
  double           *square, *count;               /* [n_cells][5] per cell: normal components, and sums of squares of the others; number
                                          * of samples */
  double           *rate;                         /* [n_cells] 1/s */
  bool              is_begun;                     /* alpha has been set in this step */
} monolith_rheology;

/* Fill in *r, which is zero. system and state must outlive it; state->mu_i must exist. */
PetscErrorCode monolith_rheology_create(const mac_system *y, const mac_state *state, monolith_rheology *r);
void           monolith_rheology_destroy(monolith_rheology *r);
/* rate [n_cells] of shear [1/s] for face velocities u. */
void monolith_rheology_rate(const monolith_rheology *r, const double *u, double *rate);
/* Callback granular_problem.update_alpha; context is a monolith_rheology. alpha [n_cells], in: result of the previous call. */
void monolith_rheology_alpha(void *context, const double *p, const double *u, double *alpha);
#endif
