/* Linear corotated elasticity about the rotation R0 of the deformation gradient at the start of the step. The energy is quadratic in the
 * gradient F, and its second derivative is constant during the step. Source: [ZongJiangHan2024], eq. 19.
 *
 *   psi = mu |eps|^2 + lambda/2 (tr eps)^2,  eps = sym(R0^T F) - 1,  P = R0 (2 mu eps + lambda tr(eps) 1)
 *
 * dP = R0 (2 mu sym(M) + lambda tr(M) 1) with M = R0^T dF: the spectral tangent (material_stress) with U = R0, V = 1, a = 2 mu, b = 0. A
 * rotation by the angle w within a step causes a strain of cos w - 1 perpendicular to its axis. Used by linear_corotated and von_mises. */
#ifndef SS_DISCRETIZE_MATERIAL_LINEAR_COROTATED_H
#define SS_DISCRETIZE_MATERIAL_LINEAR_COROTATED_H
#include "discretize/material/elastic.h"
#include "discretize/material/material.h"

/* R [9]: rotation of the polar decomposition of F [9], for n points. */
void lagged_rotation(int64_t n, const material_row *F, material_row *R);
/* Function material_step.stress of this law, with elastic_constants. */
void lagged_stress(const void *constants, int64_t n, const material_row *start, const material_row *F, const material_row *state,
                   material_row *P, material_row *U, material_row *dp, material_row *a, material_row *b);
void lagged_chord(int64_t n, const material_row *R, const material_row *R0, double *chord); /* |R - R0|_F */
/* Function material_law.energy of linear_corotated: mu |sigma - 1|^2 + lambda/2 (sum (sigma - 1))^2, sigma: principal stretches. */
void linear_corotated_energy(const void *constants, int64_t n, const material_row *sigma, const material_row *state, double *psi);
#endif
