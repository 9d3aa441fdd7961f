/* The dense work in a front of k columns that are eliminated and r rows below: columns [k][k + r], column by column, lower
 * trapezoid; update [r][r], lower triangle. By LAPACK; large ones in tiles, as tasks of the team that calls. */
#ifndef SS_OPTIM_MULTIFRONTAL_MULTIFRONTAL_DENSE_H
#define SS_OPTIM_MULTIFRONTAL_MULTIFRONTAL_DENSE_H
#include <stdbool.h>
#include <stdint.h>

/* columns <- factor, update <- update - L21 L21^T. false: not positive definite. */
bool front_dense_factor(int64_t k, int64_t r, double *columns, double *update);
/* x [k + r]: the first k become L11^-1 x, the others lose L21 times that. */
void front_dense_forward(int64_t k, int64_t r, const double *columns, double *x);
/* The same for n of them side by side, [n][k + r]. */
void front_dense_forward_many(int64_t k, int64_t r, const double *columns, int64_t n, double *x);
/* x [k + r]: the first k become L11^-T (x - L21^T x below). */
void front_dense_backward(int64_t k, int64_t r, const double *columns, double *x);
/* y += L (L^T x), L = columns, x and y [k + r]. */
void front_dense_product(int64_t k, int64_t r, const double *columns, const double *x, double *y);
/* sum [n][n], lower triangle by columns, += J^T G J for J by columns [n][3] and symmetric G [9]. */
void front_dense_term(int64_t n, const double *J, const double G[9], double *sum);
#endif
