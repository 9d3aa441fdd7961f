/* Points of the unit cube for parameter studies. */
#ifndef SS_CORE_SAMPLES_H
#define SS_CORE_SAMPLES_H
#include "core/error.h"

enum { SAMPLES_SOBOL_MAX = 21 }; /* dimensions */

/* A Latin hypercube: u [n][dim] in (0, 1), of which each column has one value in each of n equal parts, at a random place in it, the
 * parts in random order. The same for a seed on every machine; another n is another sample. Fails only when memory does. */
PetscErrorCode samples_latin_hypercube(uint64_t seed, int64_t n, int dim, double *u);

/* The first n <= 2^32 points of Sobol's sequence, u [n][dim] in [0, 1) with 32 binary digits, in the order of Antonov & Saleev (1979), the
 * first being 0. Direction numbers: [JoeKuo2008], the authors' table new-joe-kuo-6 up to dimension 21. More points continue the
 * same sequence. seed >= 0: each dimension's digits are flipped by a random pattern, which keeps every equidistribution property;
 * < 0: none. */
void samples_sobol(int64_t seed, int64_t n, int dim, double *u);
#endif
