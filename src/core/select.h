/* Order statistics without sorting. */
#ifndef SS_CORE_SELECT_H
#define SS_CORE_SELECT_H
#include <stdint.h>

/* The number that would stand at place k (0 ... n - 1) if x were sorted upwards; x is rearranged so that it does, with no larger
 * one before it and no smaller one behind it. Linear time in the mean. No NaN.
 * Source: [Hoare1961], with the median of three as pivot. */
double select_place(int64_t n, double *x, int64_t k);
#endif
