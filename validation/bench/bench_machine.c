/* This machine's limits, against which all other benchmarks are ratios: triad bandwidth and fused multiply-add peak. */
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include "core/memory.h"
#include "core/team.h"
#include "core/timer.h"

/* GB/s of a[i] = b[i] + s c[i], 24 bytes counted per entry, arrays far larger than the caches; best of several sweeps. */
static double triad(double *restrict a, const double *restrict b, const double *restrict c, int64_t n)
{
  double best = INFINITY;
  for (int repeat = 0; repeat < 8; ++repeat) {
    const double t = timer_now();
#pragma omp parallel for simd schedule(static)
    for (int64_t i = 0; i < n; ++i) a[i] = b[i] + 1.5 * c[i];
    best = fmin(best, timer_now() - t);
  }
  return 24.0 * (double)n / best * 1e-9;
}

/* GFLOP/s of independent chains of fused multiply-adds held in registers: enough of them to hide the latency. */
enum { CHAINS = 12, WIDTH = 8, ROUNDS = 4000000 };
typedef double vector __attribute__((vector_size(8 * WIDTH)));
static double  multiply_add_peak(void)
{
  double best = INFINITY, sink = 0.0;
  for (int repeat = 0; repeat < 3; ++repeat) {
    const double t = timer_now();
#pragma omp parallel reduction(+ : sink)
    {
      vector x[CHAINS];
      for (int k = 0; k < CHAINS; ++k) x[k] = (vector){0} + 1.0 + 0.01 * k;
      const vector m = (vector){0} + 0.999999, a = (vector){0} + 1e-6;
      for (int64_t r = 0; r < ROUNDS; ++r) {
#pragma GCC unroll 12
        for (int k = 0; k < CHAINS; ++k) x[k] = x[k] * m + a;
      }
      for (int k = 0; k < CHAINS; ++k) sink += x[k][0];
    }
    best = fmin(best, timer_now() - t);
  }
  if (sink == 1.0) printf(" "); /* the compiler must believe that the result matters */
  return 2.0 * CHAINS * WIDTH * (double)ROUNDS * team_threads() / best * 1e-9;
}

int main(void)
{
  enum { N = 1 << 25 };
  double *a, *b, *c;
  if (memory_alloc("bench", N, sizeof *a, &a) || memory_alloc("bench", N, sizeof *b, &b) || memory_alloc("bench", N, sizeof *c, &c))
    return 1;
  const int all = omp_get_num_procs();
  printf("%8s %14s %14s\n", "threads", "triad GB/s", "FMA GFLOP/s");
  for (int n = 1; n <= all; n *= 2) {
    team_set_threads(n);
    printf("%8d %14.1f %14.1f\n", n, triad(a, b, c, N), multiply_add_peak());
  }
  memory_free(&a);
  memory_free(&b);
  memory_free(&c);
  return 0;
}
