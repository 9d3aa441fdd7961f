/* Lanes: short vectors of doubles for the MPM kernels, one particle per lane.
 *
 * GCC's and clang's vector types: plain C operators, no intrinsics; the width follows the instruction set. A lane never
 * sees its neighbours, so a particle's result does not depend on which lane it sits in.                              */
#ifndef SS_DISCRETIZE_MPM_LANES_H
#define SS_DISCRETIZE_MPM_LANES_H
#include <stdint.h>
#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
enum { LANES = 8 };
#elif defined(__AVX__)
enum { LANES = 4 };
#else
enum { LANES = 2 };
#endif
/* Everything here is inlined, so how vectors would be passed does not matter. For those who include this from elsewhere;
 * our own profiles say -Wno-psabi, as gcc also asks at the end of the file, where pragmas no longer reach.            */
#pragma GCC diagnostic ignored "-Wpsabi"
#define LANES_INLINE static inline __attribute__((always_inline))

typedef double lanes __attribute__((vector_size(8 * LANES)));
typedef double lanes_unaligned __attribute__((vector_size(8 * LANES), aligned(8), may_alias));
typedef double row4 __attribute__((vector_size(32))); /* four nodes in z */
typedef double row4_unaligned __attribute__((vector_size(32), aligned(8), may_alias));

/* Four nodes in z for ROW_PARTICLES particles at once: with vectors of eight, two particles interleaved, z0 z0' z1 z1' ... */
#if defined(__AVX512DQ__) /* gcc 12 takes plain shuffles apart, element by element: intrinsics */
enum { ROW_PARTICLES = 2 };
typedef double rowz __attribute__((vector_size(64)));
#define ROWZ(a, b, c, d) ((rowz){a, a, b, b, c, c, d, d})
/* The factors of these particles, next to each other in memory, spread over their nodes. */
LANES_INLINE rowz rowz_spread(const double *p) { return _mm512_broadcast_f64x2(_mm_loadu_pd(p)); }
LANES_INLINE row4 rowz_fold(rowz x)
{
  const __m512i even = _mm512_setr_epi64(0, 2, 4, 6, 0, 2, 4, 6);
  return _mm512_castpd512_pd256(_mm512_permutexvar_pd(even, x + _mm512_permute_pd(x, 0x55)));
}
#else
enum { ROW_PARTICLES = 1 };
typedef row4 rowz;
#define ROWZ(a, b, c, d) ((rowz){a, b, c, d})
LANES_INLINE rowz rowz_spread(const double *p) { return (rowz){*p, *p, *p, *p}; }
LANES_INLINE row4 rowz_fold(rowz x) { return x; }
#endif

/* Ask for particles to come, in one array: many short streams at once are more than the hardware looks ahead for. */
enum { MPM_LOOK_AHEAD = 64 }; /* particles; 24 ... 96 measure the same, Zen 5, 2026-11 */
#define MPM_PREFETCH(array, i) __builtin_prefetch((array) + (i) + MPM_LOOK_AHEAD)

LANES_INLINE lanes lanes_load(const double *p) { return *(const lanes_unaligned *)p; }
LANES_INLINE void  lanes_store(double *p, lanes x) { *(lanes_unaligned *)p = x; }
LANES_INLINE row4  row4_load(const double *p) { return *(const row4_unaligned *)p; }
LANES_INLINE void  row4_store(double *p, row4 x) { *(row4_unaligned *)p = x; }

/* x in the first n lanes, 0 in the others, whatever they held. */
LANES_INLINE lanes lanes_first(lanes x, int n)
{
  typedef int64_t mask __attribute__((vector_size(8 * LANES)));
#if defined(__AVX512F__)
  const mask lane = {0, 1, 2, 3, 4, 5, 6, 7};
#elif defined(__AVX__)
  const mask lane = {0, 1, 2, 3};
#else
  const mask lane = {0, 1};
#endif
  return (lanes)((mask)x & (lane < (int64_t)n));
}

/* The first n lanes to p[0 ... n - 1]: lanes beyond the end of a group would overwrite particles still to be read. */
LANES_INLINE void lanes_store_first(double *p, lanes x, int n)
{
#if defined(__AVX512F__)
  _mm512_mask_storeu_pd(p, (__mmask8)(0xFFu >> (LANES - n)), x);
#else
  for (int l = 0; l < n; ++l) p[l] = x[l];
#endif
}

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
