/* Lanes: short vectors of doubles for the MPM kernels, one particle per lane.
 *
 * GCC's and clang's vector types: plain C operators, no intrinsics; the width follows the instruction set. A lane never
 * sees its neighbours, so a particle's result does not depend on which lane it sits in.                              */
#ifndef SS_DISCRETIZE_MPM_LANES_H
#define SS_DISCRETIZE_MPM_LANES_H

#if defined(__AVX512F__)
enum { LANES = 8 };
#elif defined(__AVX__)
enum { LANES = 4 };
#else
enum { LANES = 2 };
#endif
/* Everything here is inlined, so how vectors would be passed does not matter. */
#pragma GCC diagnostic ignored "-Wpsabi"
#define LANES_INLINE static inline __attribute__((always_inline))

typedef double lanes __attribute__((vector_size(8 * LANES)));
typedef double lanes_unaligned __attribute__((vector_size(8 * LANES), aligned(8), may_alias));
typedef double row4 __attribute__((vector_size(32))); /* four nodes in z */
typedef double row4_unaligned __attribute__((vector_size(32), aligned(8), may_alias));

LANES_INLINE lanes lanes_load(const double *p) { return *(const lanes_unaligned *)p; }
LANES_INLINE void  lanes_store(double *p, lanes x) { *(lanes_unaligned *)p = x; }
LANES_INLINE row4  row4_load(const double *p) { return *(const row4_unaligned *)p; }
LANES_INLINE void  row4_store(double *p, row4 x) { *(row4_unaligned *)p = x; }

/* o = a b, a^T b, a b^T for row-major 3x3 matrices, one matrix per lane; no aliasing. */
LANES_INLINE void lanes_mul(lanes *o, const lanes *a, const lanes *b)
{
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) o[3 * i + j] = a[3 * i] * b[j] + a[3 * i + 1] * b[3 + j] + a[3 * i + 2] * b[6 + j];
}
LANES_INLINE void lanes_mul_tn(lanes *o, const lanes *a, const lanes *b)
{
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) o[3 * i + j] = a[i] * b[j] + a[3 + i] * b[3 + j] + a[6 + i] * b[6 + j];
}
LANES_INLINE void lanes_mul_nt(lanes *o, const lanes *a, const lanes *b)
{
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j)
      o[3 * i + j] = a[3 * i] * b[3 * j] + a[3 * i + 1] * b[3 * j + 1] + a[3 * i + 2] * b[3 * j + 2];
}
#endif
