/* Disjoint sets of the numbers 0 ... n - 1 (union-find with path halving), for connected components. The representative of a set is its smallest member, so
 * the result does not depend on the order of the joins. All inline; `up` [n] is owned by the caller. */
#ifndef SS_CORE_DISJOINT_SETS_H
#define SS_CORE_DISJOINT_SETS_H
#include <stdint.h>

/* Every number is a set of its own. */
static inline void disjoint_sets_init(int64_t n, int64_t *up)
{
  for (int64_t i = 0; i < n; ++i) up[i] = i;
}
/* The smallest member of the set of i. */
static inline int64_t disjoint_sets_find(int64_t *up, int64_t i)
{
  while (up[i] != i) i = up[i] = up[up[i]];
  return i;
}
/* Join the sets of i and j. */
static inline void disjoint_sets_join(int64_t *up, int64_t i, int64_t j)
{
  const int64_t a = disjoint_sets_find(up, i), b = disjoint_sets_find(up, j);
  if (a < b) up[b] = a;
  else up[a] = b;
}
#endif
