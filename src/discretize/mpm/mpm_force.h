/* Internal forces of MPM bodies, and products with their exact derivative without a matrix. For particle p with undeformed volume V_p, the
 * gradient F0 at the start of the step, the stress P and the weight w_ip of node i:
 *
 *   F = (I + dt grad v) F0,   f_i = -sum_p V_p P(F) F0^T grad w_ip
 *
 * A change x of the velocities changes -dt f_i by y_i = dt^2 sum_p V_p dP F0^T grad w_ip, with dP from the spectral tangent of the law
 * (material_stress). With G = sum_i x_i grad w_ip^T and W = F0 V:  M = U^T G W;  U^T dP V = S(M);  Q = U S(M) W^T;  y_i += Q grad w_ip. A
 * product reads the positions and 33 doubles per particle: U [9], W [9], dp [9], (a + b)/2 [3], (a - b)/2 [3], scaled by dt^2 V_p. The
 * transposed product uses dp transposed. Caller: mpm_domain.c.                                    */
#ifndef SS_DISCRETIZE_MPM_MPM_FORCE_H
#define SS_DISCRETIZE_MPM_MPM_FORCE_H
#include "discretize/mpm/mpm_grid.h"

enum { MPM_TANGENT = 33, MPM_TANGENT_SINGLE = 3 + MPM_TANGENT };

/* Tangents of all bodies. For a group of n particles (particle_group), component k of the 33 doubles is at 33 group.first + k n. In
 * single precision: at 36 group.first + k n, with three more components first, the positions in the cell (mpm_grid_local). */
typedef struct {
  int      n_bodies;
  int64_t *capacity;     /* [n_bodies] particles */
  double **of;           /* [n_bodies] tangents in double precision */
  float  **single;       /* [n_bodies] in single precision, for mpm_single.h; NULL: not computed yet */
  bool     wants_single; /* compute `single` as well */
  bool     is_definite;  /* make the tangent symmetric and positive semidefinite (material_tangent_project) */
} mpm_tangent;

void mpm_tangent_free(mpm_tangent *t);

/* r [n_dofs][3] = -dt f at v [n_dofs][3]. Also sets *tangent, unless it is NULL. If F of a particle is inverted or not finite, *status is set
 * and r is undefined. */
PetscErrorCode mpm_force_residual(mpm_grid *g, int n_bodies, particles *const *bodies, const material *const *materials,
                                  const char *const *names, double dt, const double *v, double *r, mpm_tangent *tangent,
                                  step_status *status);
/* y [n_dofs][3] = K x or K^T x, x [n_dofs][3], K = d(-dt f)/dv. */
PetscErrorCode mpm_force_product(mpm_grid *g, particles *const *bodies, const mpm_tangent *tangent, bool is_transposed, const double *x,
                                 double *y);
/* Number of floating-point operations of a product per particle, for benchmarks and timers. */
double mpm_force_product_flops(int nodes_per_axis);
/* d [n_dofs][9] = diagonal blocks of K, row-major. */
PetscErrorCode mpm_force_block_diagonal(mpm_grid *g, particles *const *bodies, const mpm_tangent *tangent, double *d);
/* Check whether all laws accept the velocities v, for which mpm_force_residual has succeeded; if not, *status is set. */
PetscErrorCode mpm_force_check(const mpm_grid *g, particles *const *bodies, const material *const *materials, const char *const *names,
                               double dt, const double *v, step_status *status);
/* Accept v: set F = (I + dt grad v) F0, then apply the plastic return. mpm_force_residual and mpm_force_check must have succeeded for v.
 * marks [n_bodies]: raised to the maxima of the step. */
void mpm_force_advance(const mpm_grid *g, particles *const *bodies, const material *const *materials, double dt, const double *v,
                       material_step_maxima *marks);
#endif
