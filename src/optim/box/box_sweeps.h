/* SSOR and modified incomplete Cholesky MIC(0) of a grid matrix within a face: one lower and one upper sweep, serial by nature. */
#ifndef SS_OPTIM_BOX_SWEEPS_H
#define SS_OPTIM_BOX_SWEEPS_H
#include "optim/box/grid_matrix.h"

/* inverse [n]: 1/e_i of M = (E + L) E^-1 (E + L^T) on the free cells, 0 elsewhere. For SSOR E = diagonal/1.2; for MIC
 *   e_i = a_ii - sum_j a_ij^2/e_j - 0.97 sum_j a_ij (sum of a_jk over upper k other than i)/e_j over lower j,
 * or a_ii where that is below a quarter of it [Bridson2015]. */
void box_sweeps_ssor(const grid_matrix *a, const uint8_t *is_free, double *inverse);
void box_sweeps_mic(const grid_matrix *a, const uint8_t *is_free, double *inverse);
/* z = M^-1 r. No aliasing. */
void box_sweeps_apply(const grid_matrix *a, const double *inverse, const double *restrict r, double *restrict z);
#endif
