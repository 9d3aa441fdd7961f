/* Sorting: a stable, parallel radix sort. Being stable, its result is unique, on any number of threads. */
#ifndef SS_CORE_SORT_H
#define SS_CORE_SORT_H
#include <stdint.h>
#include "core/error.h"

/* Sort keys upwards by their lowest n_bits (0 ... 64); equal keys keep their order.
 *
 *   key    [n] in: any order; out: sorted (all 64 bits travel along)
 *   perm   [n] out: perm[i] is where key[i] stood before
 *
 * n < 2^31. Bits that are equal in all keys cost nothing, so n_bits may be generous. Fails only when memory does. */
PetscErrorCode sort_keys(int64_t n, int n_bits, uint64_t *key, int32_t *perm);

/* The same with borrowed scratch of n entries each, for use in every step: cannot fail. */
void sort_keys_with(int64_t n, int n_bits, uint64_t *key, int32_t *perm, uint64_t *key_scratch, int32_t *perm_scratch);

/* Order statistics without sorting. */

/* The number that would stand at place k (0 ... n - 1) if x were sorted upwards; x is rearranged so that it does, with no larger
 * one before it and no smaller one behind it. Linear time in the mean. No NaN.
 * Source: [Hoare1961], with the median of three as pivot. */
double select_place(int64_t n, double *x, int64_t k);
#endif
