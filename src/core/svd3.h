/* Singular value decomposition of 3x3 matrices, F = U diag(sigma) V^T, with rotations U and V (det +1) and
 *
 *   sigma[0] >= sigma[1] >= |sigma[2]| ,   sign(sigma[2]) = sign(det F) .
 *
 * Defined for every finite F: singular, zero, with negative determinant, with repeated singular values, with magnitudes from 1e-290 to 1e300. If U and V
 * are not unique, one choice is returned. Entries that are not finite give results that are not finite. Matrices are row-major. No state,
 * no allocation. Called by the constitutive laws (discretize/material). */
#ifndef SS_CORE_SVD3_H
#define SS_CORE_SVD3_H
#include <stdint.h>

/* Decompose one matrix; Jacobi iteration until the columns are orthogonal to machine precision. Tests compare svd3_batch with this function. */
void svd3(const double F[9], double U[9], double sigma[3], double V[9]);

/* Decompose n matrices stored by component: component k of matrix i is F[k*ld + i], likewise U, V and sigma; ld >= n. Branch-free SIMD code on the
 * calling thread. The result for a matrix depends on that matrix alone, not on n or its position. It agrees with svd3 to 1e-14 |F|. F must not
 * overlap the results. */
void svd3_batch(int64_t n, int64_t ld, const double *F, double *U, double *sigma, double *V);
#endif
