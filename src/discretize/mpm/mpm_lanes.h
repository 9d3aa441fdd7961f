/* Lanes: short vectors of doubles for the MPM kernels, one particle per lane. If a file defines MPM_SINGLE before its first #include, the
 * same kernels are compiled in single precision, with twice as many lanes.
 *
 * Lanes are vector types of GCC and clang with the usual operators of C. Their width depends on the instruction set. Operations on one
 * lane do not depend on the other lanes, so the result of a particle is the same in every lane.                       */
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
/* All functions are inlined, so the calling convention of vectors is not used. This pragma suppresses the warning in files outside the
 * build; the build uses -Wno-psabi, because gcc also warns at the end of a file, where pragmas have no effect. */
#pragma GCC diagnostic ignored "-Wpsabi"
#define LANES_INLINE static inline __attribute__((always_inline))

typedef lanes_real lanes __attribute__((vector_size(LANES_BYTES)));
typedef lanes_real lanes_unaligned __attribute__((vector_size(LANES_BYTES), aligned(sizeof(lanes_real)), may_alias));
typedef lanes_real row4 __attribute__((vector_size(4 * sizeof(lanes_real)))); /* four nodes in z */
typedef lanes_real row4_unaligned __attribute__((vector_size(4 * sizeof(lanes_real)), aligned(sizeof(lanes_real)), may_alias));

/* rowz: values at four nodes in z for ROW_PARTICLES particles, interleaved: z0 z0' z1 z1' ... for two particles. ROWZ: constants.
 * rowz_spread: repeats the factor of each particle for its nodes. rowz_fold: sum over the particles. */
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
#elif defined(__AVX512DQ__) /* intrinsics, because gcc 12 compiles vector shuffles to moves of single elements */
enum { ROW_PARTICLES = 2 };
typedef double    rowz __attribute__((vector_size(64)));
#define ROWZ(a, b, c, d) ((rowz){a, a, b, b, c, c, d, d})
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

/* Prefetch the particles of one array, because the hardware does not prefetch many short streams at once. */
enum { MPM_LOOK_AHEAD = 64 }; /* distance in particles; 24 to 96 give the same speed, Zen 5, 2026-11 */
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

/* Store the first n lanes to p[0 ... n - 1]. The other lanes would overwrite particles that have not been read yet. */
LANES_INLINE void lanes_store_first(lanes_real *p, lanes x, int n)
{
#if defined(__AVX512F__) && !defined(MPM_SINGLE)
  _mm512_mask_storeu_pd(p, (__mmask8)(0xFFu >> (LANES - n)), x);
#else
  for (int l = 0; l < n; ++l) p[l] = x[l];
#endif
}

/* o = a b, a^T b, a b^T for row-major 3x3 matrices, one matrix per lane; o must differ from a and b. */
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
/* S = S(M) of mpm_force.h, or its transpose. t [15]: dp by rows, then (a + b)/2 and (a - b)/2 of the pairs (1,2), (0,2), (0,1). */
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
