/* Transfers between particles and grid. Caller: mpm_domain.c.
 *
 * apic: the affine particle-in-cell method [Jiang2015]. Both transfers conserve momentum and angular momentum, for both kernels.
 * pic_flip: v_p <- (1 - flip) v' + flip (v_p + v' - v0'), where v' and v0' are the grid velocities at the end and at the start of the
 * step, interpolated at the particle. Positions always move with v'. */
#ifndef SS_DISCRETIZE_MPM_MPM_TRANSFER_H
#define SS_DISCRETIZE_MPM_MPM_TRANSFER_H
#include "discretize/mpm/mpm_grid.h"

typedef struct {
  bool   is_apic;
  double flip; /* 0: pure PIC ... 1: pure FLIP; only if !is_apic */
} mpm_transfer;

/* Callback: acceleration a [3][n] [m/s^2] of particles at x [3][n] with identities id [n], n <= MATERIAL_BATCH, at time t. Called by several
 * threads. */
typedef void (*mpm_body_force)(void *context, double t, int64_t n, const double *const x[3], const int64_t *id, double *const a[3]);

/* Transfer mass and momentum of the particles, sorted by mpm_grid_build, to the grid: sets dofs, mass and velocity of g. */
PetscErrorCode mpm_transfer_to_grid(mpm_grid *g, particles *const *bodies, mpm_transfer transfer);
/* Update velocity, affine velocity and position of every particle from v [n_dofs][3]. */
void mpm_transfer_to_particles(const mpm_grid *g, particles *const *bodies, mpm_transfer transfer, const double *v, double dt);
/* If a particle would move farther than h, set *status to STEP_CFL_VIOLATED, with the first such body and the smallest such index in it. */
void mpm_transfer_check_cfl(const mpm_grid *g, int n_bodies, particles *const *bodies, const char *const *names, const double *v, double dt,
                            step_status *status);
/* f [n_dofs][3] = sum_p w_ip m_p a_p [N], with a = force(x, t). */
PetscErrorCode mpm_transfer_body_force(mpm_grid *g, particles *const *bodies, mpm_body_force force, void *context, double t, double *f);
/* gradient [n_dofs][3] = sum_p m_p grad w_i(x_p) [kg/m], with the gradients of the splines. Overwrites the grid's tiles. */
PetscErrorCode mpm_transfer_mass_gradient(mpm_grid *g, particles *const *bodies, double *gradient);
#endif
