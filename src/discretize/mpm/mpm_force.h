/* Internal forces of MPM bodies and their exact derivative, without a matrix.
 *
 *   F = (I + dt grad v) F0,   f_i = -sum_p V_p P(F) F0^T grad w_ip
 *
 * The derivative of dt f along dv is dt^2 sum_p V_p dP F0^T grad w, dP from the spectral tangent of the law: with G = sum x_i
 * grad w^T and W = F0 V:  M = U^T G W;  (U^T dP V) = S(M);  Q = U S(M) W^T;  y_i += Q grad w. So a product reads 33 doubles
 * per particle (U, W, p', and the pairs (a + b)/2, (a - b)/2, all scaled by dt^2 V_p) and positions. The
 * transposed product takes p' transposed. Caller: mpm_domain.c.                                    */
#ifndef SS_DISCRETIZE_MPM_MPM_FORCE_H
#define SS_DISCRETIZE_MPM_MPM_FORCE_H
#include "discretize/mpm/mpm_grid.h"

enum { MPM_TANGENT = 33, MPM_TANGENT_SINGLE = 3 + MPM_TANGENT };

/* Tangents of all bodies, in the order in which products read them: a group of n particles starts at 33 group.first, its
 * component k at k n. In single precision: from 36 group.first on, three positions in the cell first (mpm_grid_local). */
typedef struct {
  int      n_bodies;
  int64_t *capacity;     /* [n_bodies] particles */
  double **of;           /* [n_bodies] */
  float  **single;       /* [n_bodies] NULL before the first call of mpm_single.h */
  bool     wants_single; /* for mpm_single.h */
  bool     is_definite;  /* make it symmetric and positive semidefinite: material_tangent_project */
} mpm_tangent;

void mpm_tangent_free(mpm_tangent *t);

/* r [n_dofs][3] = -dt f_internal at v [n_dofs][3]; tangent may be NULL. An inverted or infinite particle: *status. */
PetscErrorCode mpm_force_residual(mpm_grid *g, int n_bodies, particles *const *bodies, const material *const *materials,
                                  const char *const *names, double dt, const double *v, double *r, mpm_tangent *tangent,
                                  step_status *status);
/* y [n_dofs][3] = K x or K^T x, K = d(-dt f_internal)/dv. */
PetscErrorCode mpm_force_product(mpm_grid *g, particles *const *bodies, const mpm_tangent *tangent, bool is_transposed, const double *x,
                                 double *y);
/* Floating-point operations of a product per particle: for benchmarks and timers. */
double mpm_force_product_flops(int nodes_per_axis);
/* d [n_dofs][9] = the diagonal blocks of K. */
PetscErrorCode mpm_force_block_diagonal(mpm_grid *g, particles *const *bodies, const mpm_tangent *tangent, double *d);
/* Check whether all laws can accept v, which has passed mpm_force_residual; if not, *status. */
PetscErrorCode mpm_force_check(const mpm_grid *g, particles *const *bodies, const material *const *materials, const char *const *names,
                               double dt, const double *v, step_status *status);
/* Accept v: F = (I + dt grad v) F0, then the plastic return. Must have passed both. marks [bodies] are raised. */
void mpm_force_advance(const mpm_grid *g, particles *const *bodies, const material *const *materials, double dt, const double *v,
                       material_step_maxima *marks);
#endif
