/* Eigenvalues and eigenvectors of symmetric 3x3 matrices, A = Q diag(lambda) Q^T. Row-major, no state. */
#ifndef SS_CORE_EIGEN3_H
#define SS_CORE_EIGEN3_H

/* Eigenvalues lambda[0] >= lambda[1] >= lambda[2] of the symmetric part of A; Q is a rotation with the eigenvectors as columns. Two-sided Jacobi method:
 * errors are machine precision times |A|, Q is orthogonal also for repeated eigenvalues, and a diagonal A gives a signed permutation. A may be any
 * finite matrix of any magnitude. */
void eigen3_symmetric(const double A[9], double lambda[3], double Q[9]);
#endif
