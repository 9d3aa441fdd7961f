/* Polar decomposition of 3x3 matrices, F = R S with R a rotation (det +1) and S symmetric. Row-major, no state.
 *
 * From the singular values of svd3.h: R = U V^T, S = V diag(sigma) V^T. For det F > 0 S is positive definite; for an inverted F
 * the smallest eigenvalue of S is negative, so that R stays a rotation and is the one nearest to F.                    */
#ifndef SS_CORE_POLAR3_H
#define SS_CORE_POLAR3_H

/* S may be NULL. */
void polar3(const double F[9], double R[9], double S[9]);

/* dR when F changes by dF, from the factors of F: dR = U K V^T with the skew
 * K_ij = (W_ij - W_ji)/(sigma_i + sigma_j), W = U^T dF V.
 * Not defined where sigma_1 + sigma_2 = 0 (inverted, the two smaller ones opposite): fades to a finite value there, as in
 * svd3_differential. Source: from R^T dF = R^T dR S + dS with dS symmetric, written in the axes of V. */
void polar3_differential(const double U[9], const double sigma[3], const double V[9], const double dF[9], double dR[9]);
#endif
