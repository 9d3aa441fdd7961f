/* Sample points, see samples.h: random permutations by Fisher-Yates; each Sobol point is the previous one XOR one direction number. */
#include "core/samples.h"
#include "core/memory.h"
#include "core/random.h"

enum { STREAM_ORDER = 0, STREAM_POSITION = 1 << 20, STREAM_SHIFT = 2 << 20, BITS = 32 };

PetscErrorCode samples_latin_hypercube(uint64_t seed, int64_t n, int dim, double *u)
{
  int64_t *interval;

  PetscFunctionBegin;
  PetscCall(memory_alloc("latin hypercube", n, sizeof *interval, &interval));
  for (int k = 0; k < dim; ++k) {
    for (int64_t i = 0; i < n; ++i) { /* Fisher-Yates, inside-out variant */
      const int64_t j = (int64_t)random_index(seed, (uint64_t)i, STREAM_ORDER + (uint64_t)k, (uint64_t)i + 1);
      interval[i]     = interval[j];
      interval[j]     = i;
    }
    for (int64_t i = 0; i < n; ++i) {
      const double position = random_u01(seed, (uint64_t)i, STREAM_POSITION + (uint64_t)k);
      u[i * dim + k]        = ((double)interval[i] + position) / (double)n;
    }
  }
  memory_free(&interval);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Dimension 2 onwards: degree s of the primitive polynomial, its inner coefficients a as bits, m_1 ... m_s. */
/* clang-format off */
static const struct {
  int      s;
  unsigned a, m[7];
} joe_kuo[SAMPLES_SOBOL_MAX - 1] = {
  {1, 0, {1}},                     {2, 1, {1, 3}},                   {3, 1, {1, 3, 1}},
  {3, 2, {1, 1, 1}},               {4, 1, {1, 1, 3, 3}},             {4, 4, {1, 3, 5, 13}},
  {5, 2, {1, 1, 5, 5, 17}},        {5, 4, {1, 1, 5, 5, 5}},          {5, 7, {1, 1, 7, 11, 19}},
  {5, 11, {1, 1, 5, 1, 1}},        {5, 13, {1, 1, 1, 3, 11}},        {5, 14, {1, 3, 5, 5, 31}},
  {6, 1, {1, 3, 3, 9, 7, 49}},     {6, 13, {1, 1, 1, 15, 21, 21}},   {6, 16, {1, 3, 1, 13, 27, 49}},
  {6, 19, {1, 1, 1, 15, 7, 5}},    {6, 22, {1, 3, 1, 15, 13, 25}},   {6, 25, {1, 1, 5, 5, 19, 61}},
  {7, 1, {1, 3, 7, 11, 23, 15, 103}}, {7, 4, {1, 3, 7, 13, 13, 15, 69}}};
/* clang-format on */

/* v_j = m_j / 2^j as 32-bit fractions; the recurrence is [JoeKuo2008], eq. (2). */
static void compute_direction_numbers(int k, uint32_t v[BITS])
{
  for (int j = 0; j < BITS && k == 0; ++j) v[j] = 1u << (BITS - 1 - j);
  if (k == 0) return;
  const int s = joe_kuo[k - 1].s;
  for (int j = 0; j < s; ++j) v[j] = joe_kuo[k - 1].m[j] << (BITS - 1 - j);
  for (int j = s; j < BITS; ++j) {
    v[j] = v[j - s] ^ v[j - s] >> s;
    for (int i = 1; i < s; ++i)
      if (joe_kuo[k - 1].a >> (s - 1 - i) & 1u) v[j] ^= v[j - i];
  }
}

void samples_sobol(int64_t seed, int64_t n, int dim, double *u)
{
  for (int k = 0; k < dim; ++k) {
    uint32_t v[BITS], x = 0, shift = 0;
    uint64_t r[2];
    compute_direction_numbers(k, v);
    if (seed >= 0) {
      random_bits((uint64_t)seed, (uint64_t)k, STREAM_SHIFT, r);
      shift = (uint32_t)r[0];
    }
    for (int64_t i = 0; i < n; ++i) {
      u[i * dim + k] = (double)(x ^ shift) * 0x1p-32;
      x ^= v[__builtin_ctzll(~(uint64_t)i)]; /* the next point differs by the direction number of the lowest zero bit of i */
    }
  }
}
