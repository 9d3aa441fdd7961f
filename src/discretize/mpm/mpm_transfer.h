/* Transfers between particles and grid.
 *
 * apic: the affine particle-in-cell method [Jiang2015]: momentum and angular momentum are conserved both ways, for both
 * kernels. pic_flip: v_p = (1 - flip) w v + flip (v_p + w (v - v0)). Positions always move with the interpolated velocity. */
#ifndef SS_DISCRETIZE_MPM_MPM_TRANSFER_H
#define SS_DISCRETIZE_MPM_MPM_TRANSFER_H
#include "discretize/mpm/mpm_grid.h"

typedef struct {
  bool   is_apic;
  double flip; /* 0: pure PIC ... 1: pure FLIP; only if !is_apic */
} mpm_transfer;

/* Acceleration a [3][n] at particles x [3][n] with identities id [n], n <= MATERIAL_BATCH, at time t. Called in parallel. */
typedef void (*mpm_body_force)(void *context, double t, int64_t n, const double *const x[3], const int64_t *id, double *const a[3]);

/* Sorted particles -> tiles of momentum and mass -> dofs with mass and velocity. */
PetscErrorCode mpm_transfer_to_grid(mpm_grid *g, particles *const *bodies, mpm_transfer transfer);
/* v [n_dofs][3] -> velocity, affine velocity and position of every particle. */
void mpm_transfer_to_particles(const mpm_grid *g, particles *const *bodies, mpm_transfer transfer, const double *v, double dt);
/* Would a particle move farther than h? Then *status = STEP_CFL_VIOLATED with the smallest index of the first such body. */
void mpm_transfer_check_cfl(const mpm_grid *g, int n_bodies, particles *const *bodies, const char *const *names, const double *v, double dt,
                            step_status *status);
/* f [n_dofs][3] = sum_p w_ip m_p a_p, with a = force(x, t). */
PetscErrorCode mpm_transfer_body_force(mpm_grid *g, particles *const *bodies, mpm_body_force force, void *context, double t, double *f);
/* gradient [n_dofs][3] = sum_p m_p grad w_i(x_p) [kg/m], with the gradients of the splines. Uses the grid's tiles. */
PetscErrorCode mpm_transfer_mass_gradient(mpm_grid *g, particles *const *bodies, double *gradient);
#endif
