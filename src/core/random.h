/* Random numbers without state. Each number is computed from (seed, id, stream) alone. It does not depend on the order of calls, the number of threads or
 * the step at which a run was resumed. `id` is usually an index; different uses have different values of `stream`.
 *
 * Philox4x32-10 of Salmon, Moraes, Dror & Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011. All inline.  */
#ifndef SS_CORE_RANDOM_H
#define SS_CORE_RANDOM_H
#include <math.h>
#include <stdint.h>

/* The bijection of Philox: out = philox(counter, key). */
static inline void random_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
  uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3], k0 = key[0], k1 = key[1];
  for (int round = 0; round < 10; ++round) {
    const uint64_t p = (uint64_t)0xD2511F53u * c0, q = (uint64_t)0xCD9E8D57u * c2;
    c0 = (uint32_t)(q >> 32) ^ c1 ^ k0;
    c2 = (uint32_t)(p >> 32) ^ c3 ^ k1;
    c1 = (uint32_t)q;
    c3 = (uint32_t)p;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  out[0] = c0;
  out[1] = c1;
  out[2] = c2;
  out[3] = c3;
}

/* 128 random bits as two words. */
static inline void random_bits(uint64_t seed, uint64_t id, uint64_t stream, uint64_t out[2])
{
  const uint32_t key[2]     = {(uint32_t)seed, (uint32_t)(seed >> 32)};
  const uint32_t counter[4] = {(uint32_t)id, (uint32_t)(id >> 32), (uint32_t)stream, (uint32_t)(stream >> 32)};
  uint32_t       r[4];
  random_philox(counter, key, r);
  out[0] = (uint64_t)r[1] << 32 | r[0];
  out[1] = (uint64_t)r[3] << 32 | r[2];
}

/* The upper 53 of 64 random bits as a number in [0, 1), a multiple of 2^-53. */
static inline double random_unit_interval(uint64_t bits) { return (double)(bits >> 11) * 0x1p-53; }

/* Uniformly distributed in [0, 1). */
static inline double random_u01(uint64_t seed, uint64_t id, uint64_t stream)
{
  uint64_t b[2];
  random_bits(seed, id, stream, b);
  return random_unit_interval(b[0]);
}

/* Uniformly distributed in [lo, hi). */
static inline double random_range(uint64_t seed, uint64_t id, uint64_t stream, double lo, double hi)
{
  return lo + (hi - lo) * random_u01(seed, id, stream);
}

/* Uniformly distributed integer in 0 ... n - 1; the probability of each value has a relative error below n / 2^64. */
static inline uint64_t random_index(uint64_t seed, uint64_t id, uint64_t stream, uint64_t n)
{
  uint64_t b[2];
  random_bits(seed, id, stream, b);
  return (uint64_t)((unsigned __int128)b[0] * n >> 64);
}

/* Normally distributed with mean 0 and variance 1 (Box-Muller method). */
static inline double random_normal(uint64_t seed, uint64_t id, uint64_t stream)
{
  uint64_t b[2];
  random_bits(seed, id, stream, b);
  const double u = 1.0 - random_unit_interval(b[0]); /* in (0, 1]: its logarithm is finite */
  return sqrt(-2.0 * log(u)) * cos(2.0 * M_PI * random_unit_interval(b[1]));
}

/* Unit vector, uniformly distributed on the sphere: its z component is uniform in [-1, 1] (Archimedes). */
static inline void random_direction(uint64_t seed, uint64_t id, uint64_t stream, double out[3])
{
  uint64_t b[2];
  random_bits(seed, id, stream, b);
  const double z = 2.0 * random_unit_interval(b[0]) - 1.0, phi = 2.0 * M_PI * random_unit_interval(b[1]);
  const double r = sqrt(fmax(0.0, 1.0 - z * z));
  out[0]         = r * cos(phi);
  out[1]         = r * sin(phi);
  out[2]         = z;
}
#endif
