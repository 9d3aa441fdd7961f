/* Sample points in the unit cube for parameter studies (app/sweep): Latin hypercube and Sobol sequence. */
#ifndef SS_CORE_SAMPLES_H
#define SS_CORE_SAMPLES_H
#include "core/error.h"

enum { SAMPLES_SOBOL_MAX = 21 }; /* largest dimension */

/* Latin hypercube: u [n][dim] in [0, 1). Each column has exactly one value, at a random position, in each of n equal intervals; the order of the
 * intervals is random. The result depends on seed, n and dim only, not on the machine. Fails only if memory is exhausted. */
PetscErrorCode samples_latin_hypercube(uint64_t seed, int64_t n, int dim, double *u);

/* The first n <= 2^32 points of Sobol's sequence, u [n][dim] in [0, 1) with 32 binary digits, in the order of Antonov & Saleev (1979); the first point
 * is 0. A larger n continues the same sequence. Direction numbers: [JoeKuo2008], table new-joe-kuo-6; dim <= SAMPLES_SOBOL_MAX.
 * seed >= 0: a random digital shift for each dimension, which preserves the equidistribution of the points; seed < 0: no shift. */
void samples_sobol(int64_t seed, int64_t n, int dim, double *u);
#endif
