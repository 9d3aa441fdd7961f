/* Symmetric positive definite bands of one shape, as the strands of a wisp have them, factored and solved BAND_LANES at a time: each recurrence is a chain of
 * dependent additions, and those of several matrices hide one another's latency. What is done to one of them is, operation by operation, what it would be
 * alone, so that its bits do not depend on the others. */
#ifndef SS_OPTIM_FRICTION_BAND_LANES_H
#define SS_OPTIM_FRICTION_BAND_LANES_H
#include <stdbool.h>
#include <stdint.h>

enum { BAND_LANES = 8, BAND_LANES_ROWS_MAX = 512 }; /* as many rows as a caller's vectors hold on its stack */

/* l [n][width + 1][BAND_LANES]: of row i the entries of columns i - width ... i, zero where there is none; becomes L, and D^-1 in the last place of each row.
 * False if a pivot of one of them is not above rounding. */
bool band_lanes_factor(int64_t n, int64_t width, double *l);
/* y [n][BAND_LANES] <- (L D L^T)^-1 y. */
void band_lanes_solve(int64_t n, int64_t width, const double *l, double *y);
#endif
