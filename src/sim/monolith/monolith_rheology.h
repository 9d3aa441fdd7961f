/* Friction that grows with the rate of shear: mu(I) [JopForterrePouliquen2006] in the normalisation of the theory note,
 *
 *   M(I) = M + (M_2 - M) I / (I_0 + I),   I = rate d sqrt(rho_grain / p),   rate = sqrt(2 e:e), e the deviatoric rate of strain
 *
 * M_2, I_0, the grain's diameter d and density are constants of the particles, averaged in each cell like M. The rate is what the
 * operator D of the stresses says, so that it is the rate that friction works against.
 *
 * Friction follows the velocities of one outer iteration and sets those of the next. Where dt p dM/drate / (rho h^2) is large that
 * overshoots, by ever more on finer grids: after the first iteration of a step each cell takes 1 / (1 + 4 of that) of the change.
 * */
#ifndef SS_SIM_MONOLITH_MONOLITH_RHEOLOGY_H
#define SS_SIM_MONOLITH_MONOLITH_RHEOLOGY_H
#include "discretize/mac/mac_system.h"

typedef struct {
  const mac_system *system;              /* borrowed */
  const double     *constant[MAC_MU_I_CONSTANTS]; /* [n_slots] of the state, borrowed; cell_slot of the system leads there */
  double           *d;                   /* [n_stress] D u */
  double           *square, *count;      /* [n_cells][5] by cell: its normal components, and sums of the squares of the others; their samples */
  double           *rate;                /* [n_cells] 1/s */
  bool              is_begun;            /* M has been set in this step */
} monolith_rheology;

/* In place, zeros before; both must outlive it. state->mu_i must be there. */
PetscErrorCode monolith_rheology_create(const mac_system *y, const mac_state *state, monolith_rheology *r);
void           monolith_rheology_destroy(monolith_rheology *r);
/* rate [n_cells] of shear [1/s] at velocities u of the faces. */
void monolith_rheology_rate(const monolith_rheology *r, const double *u, double *rate);
/* flow_problem.update_alpha; context is a monolith_rheology; alpha as the call before left it. */
void monolith_rheology_alpha(void *context, const double *p, const double *u, double *alpha);
#endif
