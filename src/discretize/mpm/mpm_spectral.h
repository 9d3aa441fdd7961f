/* The spectral tangent of a law as a linear map, for lanes of either precision. */
#ifndef SS_DISCRETIZE_MPM_MPM_SPECTRAL_H
#define SS_DISCRETIZE_MPM_MPM_SPECTRAL_H
#include <stdbool.h>
#include "discretize/mpm/mpm_lanes.h"

/* S(M) or its transpose; t [15]: p' by rows, then the pairs plus and minus of 12, 02, 01 (mpm_force.h). */
LANES_INLINE void spectral(const lanes t[15], const bool is_transposed, const lanes M[9], lanes S[9])
{
  for (int i = 0; i < 3; ++i) {
    S[4 * i] = (lanes){0};
    for (int j = 0; j < 3; ++j) S[4 * i] += t[is_transposed ? 3 * j + i : 3 * i + j] * M[4 * j];
    for (int j = 0; j < i; ++j) {
      const int k  = 3 - i - j;
      S[3 * i + j] = t[9 + k] * M[3 * i + j] + t[12 + k] * M[3 * j + i];
      S[3 * j + i] = t[9 + k] * M[3 * j + i] + t[12 + k] * M[3 * i + j];
    }
  }
}
#endif
