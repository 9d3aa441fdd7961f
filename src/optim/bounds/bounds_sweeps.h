/* Preconditioners SSOR (symmetric successive over-relaxation) and MIC(0) (modified incomplete Cholesky) of a grid matrix restricted to
 * the free unknowns. Each application is one forward and one backward sweep on one thread.
 *
 * The sweeps read copies of the coefficients, lower and upper neighbours separately. The copies are in single precision, which is
 * accurate enough for a preconditioner. They reduce the memory traffic from 184 to 80 bytes per cell, which limits the speed of large
 * systems: MPRGP on 192,000 pressures takes 0.303 s instead of 0.415 s (68 iterations; Zen 4, 2026-11). */
#ifndef SS_OPTIM_BOUNDS_BOUNDS_SWEEPS_H
#define SS_OPTIM_BOUNDS_BOUNDS_SWEEPS_H
#include "optim/bounds/grid_matrix.h"

enum { SWEEP_SIDE = 3 };
typedef struct {
  int32_t n;
  double  unit;                 /* divisor of the coefficients, a power of 2 */
  double *inverse;              /* [n] unit/e_i, see bounds_sweeps_ssor */
  int32_t (*to[2])[SWEEP_SIDE]; /* [n] lower, upper neighbours; unused entries are any cell. NULL: a cell has more than SWEEP_SIDE
                                     * neighbours on a side, and the sweeps read the matrix */
  float (*off[2])[SWEEP_SIDE];  /* [n] coefficients over unit; 0 for unused entries */
} bounds_sweeps;

/* Create sweeps for a. No unknown is free before bounds_sweeps_ssor or _mic. Pass the same matrix to all functions below. They use the
 * coefficients of the last bounds_sweeps_load. */
PetscErrorCode bounds_sweeps_create(const grid_matrix *a, bounds_sweeps **out);
void           bounds_sweeps_destroy(bounds_sweeps **s); /* accepts NULL */
void           bounds_sweeps_load(bounds_sweeps *s, const grid_matrix *a);
/* Compute M = (E + L) E^-1 (E + L^T), E = diag(e_i), on the free cells (is_free [n]). For SSOR e_i = a_ii/1.2; for MIC
 *   e_i = a_ii - sum_j a_ij^2/e_j - 0.97 sum_j a_ij (sum of a_jk over upper neighbours k of j other than i)/e_j over lower neighbours j,
 * or e_i = a_ii if this is below a_ii/4 [Bridson2015]. */
void bounds_sweeps_ssor(bounds_sweeps *s, const grid_matrix *a, const uint8_t *is_free);
void bounds_sweeps_mic(bounds_sweeps *s, const grid_matrix *a, const uint8_t *is_free);
/* z = M^-1 r, both [n], not the same array. */
void bounds_sweeps_apply(const bounds_sweeps *s, const grid_matrix *a, const double *restrict r, double *restrict z);
#endif
