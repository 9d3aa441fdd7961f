/* Dense operations on one front, which eliminates k unknowns and updates r others. Storage, by columns: columns [k][k + r], the lower
 * trapezoid of the factor (L11 above L21); update [r][r], the lower triangle that the front passes to its parent. Computed by LAPACK;
 * large fronts are factored in tiles, as OpenMP tasks of the calling team. Used by multifrontal.c. */
#ifndef SS_OPTIM_MULTIFRONTAL_MULTIFRONTAL_DENSE_H
#define SS_OPTIM_MULTIFRONTAL_MULTIFRONTAL_DENSE_H
#include <stdbool.h>
#include <stdint.h>

/* columns <- L11 and L21, update <- update - L21 L21^T. Returns false if the front is not positive definite. */
bool multifrontal_dense_factor(int64_t k, int64_t r, double *columns, double *update);
/* Forward substitution, x [k + r]: the first k entries become y = L11^-1 x, and L21 y is subtracted from the others. */
void multifrontal_dense_forward(int64_t k, int64_t r, const double *columns, double *x);
/* The same for n vectors, x [n][k + r]. */
void multifrontal_dense_forward_many(int64_t k, int64_t r, const double *columns, int64_t n, double *x);
/* Backward substitution, x [k + r]: the first k entries become L11^-T (x - L21^T x_below), x_below the last r entries. */
void multifrontal_dense_backward(int64_t k, int64_t r, const double *columns, double *x);
/* y += L (L^T x), L = columns, x and y [k + r]. */
void multifrontal_dense_product(int64_t k, int64_t r, const double *columns, const double *x, double *y);
/* sum += J^T G J. sum [n][n]: lower triangle by columns; J [n][3]: by columns; G [9]: symmetric. */
void multifrontal_dense_term(int64_t n, const double *J, const double G[9], double *sum);
#endif
