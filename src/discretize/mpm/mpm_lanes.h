/* Lanes: short vectors of doubles for the MPM kernels, one particle per lane. A file that defines MPM_SINGLE before it includes
 * anything gets the same kernels in single precision, twice as many lanes.
 *
 * GCC's and clang's vector types: plain C operators, no intrinsics; the width follows the instruction set. A lane never
 * sees its neighbours, so a particle's result does not depend on which lane it sits in.                              */
#ifndef SS_DISCRETIZE_MPM_MPM_LANES_H
#define SS_DISCRETIZE_MPM_MPM_LANES_H
#include <stdbool.h>
#include <stdint.h>
#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#ifdef MPM_SINGLE
typedef float   lanes_real;
typedef int32_t lanes_index;
#else
typedef double  lanes_real;
typedef int64_t lanes_index;
#endif
#if defined(__AVX512F__)
enum { LANES_BYTES = 64 };
#elif defined(__AVX__)
enum { LANES_BYTES = 32 };
#else
enum { LANES_BYTES = 16 };
#endif
enum { LANES = LANES_BYTES / (int)sizeof(lanes_real), LANES_DOUBLE = LANES_BYTES / (int)sizeof(double) };
/* Everything here is inlined, so the calling convention of vectors does not matter. This pragma is for files outside the build
 * that include this one; the build itself uses -Wno-psabi, because gcc also warns at the end of the file, after pragmas. */
#pragma GCC diagnostic ignored "-Wpsabi"
#define LANES_INLINE static inline __attribute__((always_inline))

typedef lanes_real lanes __attribute__((vector_size(LANES_BYTES)));
typedef lanes_real lanes_unaligned __attribute__((vector_size(LANES_BYTES), aligned(sizeof(lanes_real)), may_alias));
typedef lanes_real row4 __attribute__((vector_size(4 * sizeof(lanes_real)))); /* four nodes in z */
typedef lanes_real row4_unaligned __attribute__((vector_size(4 * sizeof(lanes_real)), aligned(sizeof(lanes_real)), may_alias));

/* Four nodes in z for ROW_PARTICLES particles at once: with vectors of eight, two particles interleaved, z0 z0' z1 z1' ... */
#if defined(__AVX512DQ__) && defined(MPM_SINGLE)
enum { ROW_PARTICLES = 4 };
typedef float rowz __attribute__((vector_size(64)));
#define ROWZ(a, b, c, d) ((rowz){a, a, a, a, b, b, b, b, c, c, c, c, d, d, d, d})
LANES_INLINE rowz rowz_spread(const float *p) { return _mm512_broadcast_f32x4(_mm_loadu_ps(p)); }
LANES_INLINE row4 rowz_fold(rowz x)
{
  const __m512i first = _mm512_setr_epi32(0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12);
  x += _mm512_permute_ps(x, 0xb1);
  return _mm512_castps512_ps128(_mm512_permutexvar_ps(first, x + _mm512_permute_ps(x, 0x4e)));
}
#elif defined(__AVX512DQ__) /* gcc 12 takes plain shuffles apart, element by element: intrinsics */
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
typedef row4      rowz;
#define ROWZ(a, b, c, d) ((rowz){a, b, c, d})
LANES_INLINE rowz rowz_spread(const lanes_real *p) { return (rowz){*p, *p, *p, *p}; }
LANES_INLINE row4 rowz_fold(rowz x) { return x; }
#endif

/* Prefetch particles of one array: the hardware does not prefetch many short streams at once. */
enum { MPM_LOOK_AHEAD = 64 }; /* particles; 24 ... 96 measure the same, Zen 5, 2026-11 */
#define MPM_PREFETCH(array, i) __builtin_prefetch((array) + (i) + MPM_LOOK_AHEAD)

LANES_INLINE lanes lanes_load(const lanes_real *p) { return *(const lanes_unaligned *)p; }
LANES_INLINE void  lanes_store(lanes_real *p, lanes x) { *(lanes_unaligned *)p = x; }
LANES_INLINE row4  row4_load(const lanes_real *p) { return *(const row4_unaligned *)p; }
LANES_INLINE void  row4_store(lanes_real *p, row4 x) { *(row4_unaligned *)p = x; }

/* x in the first n lanes, 0 in the others. */
LANES_INLINE lanes lanes_first(lanes x, int n)
{
  typedef lanes_index mask __attribute__((vector_size(LANES_BYTES)));
  mask                lane = {0};
#pragma GCC unroll 16
  for (int l = 0; l < LANES; ++l) lane[l] = l;
  return (lanes)((mask)x & (lane < (lanes_index)n));
}

/* The first n lanes to p[0 ... n - 1]: lanes beyond the end of a group would overwrite particles still to be read. */
LANES_INLINE void lanes_store_first(lanes_real *p, lanes x, int n)
{
#if defined(__AVX512F__) && !defined(MPM_SINGLE)
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
    for (int j = 0; j < 3; ++j) o[3 * i + j] = a[3 * i] * b[3 * j] + a[3 * i + 1] * b[3 * j + 1] + a[3 * i + 2] * b[3 * j + 2];
}
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
