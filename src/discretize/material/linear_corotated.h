/* Linear corotated elasticity about the rotation R0 of the deformation gradient that the step started from: quadratic in F, with
 * the same second derivative all through the step. Source: [ZongJiangHan2024], eq. 19.
 *
 *   psi = mu |eps|^2 + lambda/2 (tr eps)^2,  eps = sym(R0^T F) - 1,  P = R0 (2 mu eps + lambda tr(eps) 1)
 *
 * dP = R0 (2 mu sym(M) + lambda tr(M) 1) with M = R0^T dF: the spectral tangent with U = R0, V = 1, a = 2 mu, b = 0. A turn by the
 * angle w within the step is a strain of cos w - 1 across its axis. */
#ifndef SS_DISCRETIZE_MATERIAL_LINEAR_COROTATED_H
#define SS_DISCRETIZE_MATERIAL_LINEAR_COROTATED_H
#include "discretize/material/elastic.h"
#include "discretize/material/material.h"

/* The linear corotated law about the rotation R0 of the gradient that the step started from, with elastic_constants. */
void lagged_rotation(int64_t n, const material_row *F, material_row *R); /* of F's polar decomposition */
void lagged_stress(const void *constants, int64_t n, const material_row *start, const material_row *F, const material_row *state,
                   material_row *P, material_row *U, material_row *dp, material_row *a, material_row *b);
void lagged_chord(int64_t n, const material_row *R, const material_row *R0, double *chord); /* |R - R0|_F */
/* material_law.energy of linear_corotated, in the stretches: mu |sigma - 1|^2 + lambda/2 (sum (sigma - 1))^2. */
void linear_corotated_energy(const void *constants, int64_t n, const material_row *sigma, const material_row *state, double *psi);
#endif
