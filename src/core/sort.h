/* A stable, parallel radix sort, and selection of the k-th smallest number. The sort is stable, so its result does not depend on the number of
 * threads. */
#ifndef SS_CORE_SORT_H
#define SS_CORE_SORT_H
#include <stdint.h>
#include "core/error.h"

/* Sort keys in ascending order of their lowest n_bits bits (0 ... 64); equal keys keep their order.
 *
 *   key    [n] in: any order; out: sorted, with all 64 bits
 *   perm   [n] out: perm[i] is the input index of key[i]
 *
 * n < 2^31. Bits that are equal in all keys are skipped, so n_bits may be larger than necessary. Fails only if memory is exhausted. */
PetscErrorCode sort_keys(int64_t n, int n_bits, uint64_t *key, int32_t *perm);

/* As sort_keys, with scratch arrays of n entries each from the caller. Cannot fail. Called in every step. */
void sort_keys_with(int64_t n, int n_bits, uint64_t *key, int32_t *perm, uint64_t *key_scratch, int32_t *perm_scratch);

/* Return the element with index k (0 ... n - 1) of x in ascending order. x is reordered: x[k] is this element, no element before it is larger, and no
 * element after it is smaller. Linear time on average. x must not contain NaN.
 * Source: [Hoare1961], with the median of three as pivot. */
double select_kth_smallest(int64_t n, double *x, int64_t k);
/* For qsort and bsearch: ascending order of int32_t. */
int sort_compare_int32(const void *a, const void *b);

#endif
