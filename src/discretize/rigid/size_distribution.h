/* Random sizes of many bodies of one shape: the block `sizes:` under `copies:` of a job. A size is a factor of the shape's lengths.
 *
 * Distributions are given by number or by mass. The mass of a body is proportional to size^3, so that the density by number is the density
 * by mass divided by size^3; all cases have closed forms. Caller: rigid_copies.c. */
#ifndef SS_DISCRETIZE_RIGID_SIZE_DISTRIBUTION_H
#define SS_DISCRETIZE_RIGID_SIZE_DISTRIBUTION_H
#include "core/diagnostics.h"
#include "core/key_table.h"

/* One size of a list. */
typedef struct {
  double size, share; /* share: weight of this size, by number or by mass; any unit */
} size_share;
/* The block `sizes`; exactly one of the first three is given. */
typedef struct {
  double   uniform[2];    /* smallest and largest size; NaN: not given */
  double   log_normal[2]; /* median, and standard deviation of the logarithm; NaN: not given */
  key_list list;          /* of size_share */
  double   limits[2];     /* of log_normal: other sizes are drawn again; NaN: none */
  bool     by_mass;
} size_distribution;
extern const key_table size_distribution_table;

/* Add errors to `d`; node: the block, at `path`. */
void size_distribution_check(const size_distribution *s, const document_node *node, const char *path, diagnostics *d);
/* Size of body i; depends on (seed, i) alone. s NULL: 1. s must have passed the check. NaN: no size within the limits in 1000 attempts. */
double size_distribution_draw(const size_distribution *s, uint64_t seed, int64_t i);
/* Upper bound of all sizes; INFINITY: none. */
double size_distribution_largest(const size_distribution *s);
#endif
