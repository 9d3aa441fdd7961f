/* Eigenvalues and eigenvectors of symmetric 3x3 matrices, A = Q diag(lambda) Q^T. Row-major, no state. */
#ifndef SS_CORE_EIGEN3_H
#define SS_CORE_EIGEN3_H

/* Eigenvalues lambda[0] >= lambda[1] >= lambda[2] and eigenvectors of the symmetric part of A, by the two-sided Jacobi method. Q is a rotation whose
 * columns are the eigenvectors, also for repeated eigenvalues. For a diagonal A it is a signed permutation. The error of lambda is machine precision
 * times |A|. A may be any finite matrix of any magnitude. */
void eigen3_symmetric(const double A[9], double lambda[3], double Q[9]);
#endif
