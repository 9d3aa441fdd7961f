/* Eigenvalues and eigenvectors of symmetric 3x3 matrices, A = Q diag(lambda) Q^T. Row-major, no state. */
#ifndef SS_CORE_EIGEN3_H
#define SS_CORE_EIGEN3_H

/* Of the symmetric part of A: lambda[0] >= lambda[1] >= lambda[2], Q a rotation with the eigenvectors as columns.
 * Two-sided Jacobi: errors of machine precision times |A|, orthogonal Q also for repeated eigenvalues; a diagonal A gives
 * a signed permutation. Works for every finite A of any size. */
void eigen3_symmetric(const double A[9], double lambda[3], double Q[9]);
#endif
