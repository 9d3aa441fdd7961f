/* Team of OpenMP threads and reductions in fixed order, see team.h. */
#define _GNU_SOURCE /* sched_setaffinity */
/* Each chunk is summed with 32 accumulators. Vectors of few chunks, and vectors in parallel regions, are summed serially in the same order. */
#include "core/team.h"
#include <math.h>
#include <omp.h>
#include <sched.h>
#include <stdlib.h>

/* Debian's PETSc is linked with OpenBLAS, whose threaded dot product depends on the number of threads; team_set_threads makes it serial. The symbol is
 * weak, because other BLAS libraries do not have this function. */
extern void openblas_set_num_threads(int n) __attribute__((weak));

enum { MOST_SPINS = 2000, LANES = 32, PARALLEL_CHUNKS = 16 }; /* fewer chunks are summed serially: starting a team takes longer */

void team_set_threads(int n)
{
  omp_set_dynamic(0);
  omp_set_num_threads(n > 0 ? n : omp_get_num_procs());
  if (openblas_set_num_threads) openblas_set_num_threads(1);
}

int team_threads(void) { return omp_get_max_threads(); }

void team_barrier_wait(team_barrier *b, int n)
{
  const unsigned phase = atomic_load_explicit(&b->phase, memory_order_acquire);
  if (atomic_fetch_add_explicit(&b->n_waiting, 1, memory_order_acq_rel) == n - 1) {
    atomic_store_explicit(&b->n_waiting, 0, memory_order_relaxed);
    atomic_store_explicit(&b->phase, phase + 1, memory_order_release);
    return;
  }
  for (int k = 0; atomic_load_explicit(&b->phase, memory_order_acquire) == phase; ++k)
    if (k >= MOST_SPINS) sched_yield(); /* more threads than processors */
}

/* Parallel regions of one thread. gcc compiles a parallel region into a call of GOMP_parallel(f, data, n, flags); n = 0: default number of threads. For
 * one thread libgomp allocates a team, makes a system call at its end, and frees the team. A step of a ball on a plane has 110 regions, and these calls
 * took 58 % of its CPU time. The linker replaces the calls (--wrap in config/profiles.mk). Outside of all regions the calling thread is
 * thread 0 of 1, so f can be called directly. The reference is weak for programs that link the library without --wrap. */
typedef void region(void *data);
extern void __real_GOMP_parallel(region *f, void *data, unsigned n, unsigned flags) __attribute__((weak)); /* NOLINT: name required by ld */
void        __wrap_GOMP_parallel(region *f, void *data, unsigned n, unsigned flags);                       /* NOLINT: name required by ld */
void        __wrap_GOMP_parallel(region *f, void *data, unsigned n, unsigned flags)                        /* NOLINT: name required by ld */
{
  if (omp_get_level() == 0 && (n == 1 || (n == 0 && omp_get_max_threads() == 1))) f(data);
  else __real_GOMP_parallel(f, data, n, flags);
}

/* Array for the partial sums, one per chunk. It grows and never shrinks, so that a sum needs no malloc, and exists until the program ends. Only serial
 * code calls this: inside a parallel region the reductions below run serially and need no partial sums. */
static double *reserve_partial_sums(int64_t n)
{
  static double *part;
  static int64_t size;
  if (n > size) {
    double *grown = realloc(part, sizeof *part * (size_t)(2 * n));
    if (!grown) return NULL; /* the caller then adds the chunks serially, in the same order */
    part = grown;
    size = 2 * n;
  }
  return part;
}

static inline int64_t chunk_length(int64_t c, int64_t n) { return n - c * TEAM_CHUNK < TEAM_CHUNK ? n - c * TEAM_CHUNK : TEAM_CHUNK; }

static inline double add_lanes(double *lane)
{
  for (int width = LANES / 2; width > 0; width /= 2)
    for (int k = 0; k < width; ++k) lane[k] += lane[k + width];
  return lane[0];
}

/* 32 accumulators: with a single one each addition waits for the previous one, which gives a third of the memory bandwidth. Their number is fixed, so
 * that the bits do not depend on the SIMD width. */
static double chunk_sum(int64_t n, const double *restrict x)
{
  double  lane[LANES] = {0.0}, rest = 0.0;
  int64_t i = 0;
  for (; i + LANES <= n; i += LANES) {
#pragma omp simd
    for (int k = 0; k < LANES; ++k) lane[k] += x[i + k];
  }
  for (; i < n; ++i) rest += x[i];
  return add_lanes(lane) + rest;
}

static double chunk_dot(int64_t n, const double *restrict x, const double *restrict y)
{
  double  lane[LANES] = {0.0}, rest = 0.0;
  int64_t i = 0;
  for (; i + LANES <= n; i += LANES) {
#pragma omp simd
    for (int k = 0; k < LANES; ++k) lane[k] += x[i + k] * y[i + k];
  }
  for (; i < n; ++i) rest += x[i] * y[i];
  return add_lanes(lane) + rest;
}

static double *partial_sums_for(int64_t n_chunks, int m)
{
  return n_chunks >= PARALLEL_CHUNKS && !omp_in_parallel() ? reserve_partial_sums(n_chunks * m) : NULL;
}

double team_sum(int64_t n, const double *x)
{
  const int64_t n_chunks = team_chunks(n);
  double       *part = partial_sums_for(n_chunks, 1), sum = 0.0;
  if (!part) {
    for (int64_t c = 0; c < n_chunks; ++c) sum += chunk_sum(chunk_length(c, n), x + c * TEAM_CHUNK);
    return sum;
  }
#pragma omp parallel for schedule(static)
  for (int64_t c = 0; c < n_chunks; ++c) part[c] = chunk_sum(chunk_length(c, n), x + c * TEAM_CHUNK);
  for (int64_t c = 0; c < n_chunks; ++c) sum += part[c];
  return sum;
}

double team_dot(int64_t n, const double *x, const double *y)
{
  double sum = 0.0;
  team_mdot(n, 1, &x, y, &sum);
  return sum;
}

void team_mdot(int64_t n, int m, const double *const *x, const double *y, double *out)
{
  const int64_t n_chunks = team_chunks(n);
  double       *part     = partial_sums_for(n_chunks, m);
  for (int k = 0; k < m; ++k) out[k] = 0.0;
  if (!part) {
    for (int64_t c = 0; c < n_chunks; ++c)
      for (int k = 0; k < m; ++k) out[k] += chunk_dot(chunk_length(c, n), x[k] + c * TEAM_CHUNK, y + c * TEAM_CHUNK);
    return;
  }
#pragma omp parallel for schedule(static)
  for (int64_t c = 0; c < n_chunks; ++c)
    for (int k = 0; k < m; ++k) part[c * m + k] = chunk_dot(chunk_length(c, n), x[k] + c * TEAM_CHUNK, y + c * TEAM_CHUNK);
  for (int64_t c = 0; c < n_chunks; ++c)
    for (int k = 0; k < m; ++k) out[k] += part[c * m + k];
}

double team_max_abs(int64_t n, const double *x)
{
  double max    = 0.0;
  int    is_nan = 0;
/* neither a maximum nor an "or" depends on the order */
#pragma omp parallel for simd schedule(static) reduction(max : max) reduction(| : is_nan) if (n >= PARALLEL_CHUNKS * TEAM_CHUNK)
  for (int64_t i = 0; i < n; ++i) {
    const double a = fabs(x[i]);
    max            = a > max ? a : max;
    is_nan |= a != a;
  }
  return is_nan ? NAN : max;
}

double team_max_difference(int64_t n, const double *x, const double *y)
{
  double max    = 0.0;
  int    is_nan = 0;
#pragma omp parallel for simd schedule(static) reduction(max : max) reduction(| : is_nan) if (n >= TEAM_CHUNK)
  for (int64_t i = 0; i < n; ++i) {
    const double a = fabs(x[i] - y[i]);
    max            = a > max ? a : max;
    is_nan |= a != a;
  }
  return is_nan ? NAN : max;
}

int64_t team_first_not_finite(int64_t n, const double *x)
{
  const int64_t n_chunks = team_chunks(n);
  int64_t       chunk    = n_chunks;
#pragma omp      parallel for schedule(static) reduction(min : chunk) if (n_chunks >= PARALLEL_CHUNKS)
  for (int64_t c = 0; c < n_chunks; ++c) {
         const double *restrict block = x + c * TEAM_CHUNK;
         const int64_t length         = chunk_length(c, n);
         int           is_bad         = 0;
#pragma omp simd reduction(| : is_bad)
    for (int64_t i = 0; i < length; ++i) is_bad |= !(fabs(block[i]) < INFINITY);
    if (is_bad && c < chunk) chunk = c;
  }
  for (int64_t i = chunk * TEAM_CHUNK; i < n; ++i)
    if (!isfinite(x[i])) return i;
  return n;
     }

int team_place_cpus(int most, int *cpu)
{
  int n = 0;
  for (int p = 0; p < omp_get_num_places(); ++p) {
    int       id[CPU_SETSIZE];
    const int n_here = omp_get_place_num_procs(p);
    if (n_here > CPU_SETSIZE) continue;
    omp_get_place_proc_ids(p, id);
    for (int i = 0; i < n_here; ++i, ++n)
      if (n < most) cpu[n] = id[i];
  }
  return n;
}

void team_leave_place(void)
{
  int       cpu[CPU_SETSIZE];
  cpu_set_t set;
  const int n = team_place_cpus(CPU_SETSIZE, cpu);
  CPU_ZERO(&set);
  for (int i = 0; i < n && i < CPU_SETSIZE; ++i)
    if (cpu[i] >= 0 && cpu[i] < CPU_SETSIZE) CPU_SET(cpu[i], &set);
  if (CPU_COUNT(&set) > 0) (void)sched_setaffinity(0, sizeof set, &set); /* if it fails, the binding remains */
}
