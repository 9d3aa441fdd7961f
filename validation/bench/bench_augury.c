/* Speed of contact through a grid: two wrinkled sheets of m x m quads, all of which takes part.
 *   bench_augury [largest number of triangles, default 50000]
 * For edges of one and two cells and 1, 2 threads: milliseconds of making it (points are drawn), of the beginning of a step, of an
 * application, each the best of several, for one thread of its own time; bytes held for a triangle. The answer's first bits tell if threads matter. */
#include "contact/augury/augury.h"
#include "core/math3.h"
#include "core/memory.h"
#include "core/random.h"
#include "core/team.h"
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef struct {
  augury_boundary b;
  int32_t        *element;
  double         *mass, *x, *v, *A;
} sheets;

static PetscErrorCode sheets_create(int64_t m, sheets *s)
{
  const int64_t own = (m + 1) * (m + 1), n = 2 * own;
  int64_t       t = 0;
  PetscFunctionBegin;
  PetscCall(memory_alloc("bench", 3 * 4 * m * m, sizeof *s->element, &s->element));
  PetscCall(memory_alloc("bench", n, sizeof *s->mass, &s->mass));
  PetscCall(memory_alloc("bench", 3 * n, sizeof *s->x, &s->x));
  PetscCall(memory_alloc("bench", 3 * n, sizeof *s->v, &s->v));
  PetscCall(memory_alloc("bench", 9 * n, sizeof *s->A, &s->A));
  for (int64_t i = 0; i < n; ++i) {
    const int64_t q = i % own;
    v3_set(s->x + 3 * i, (double)(q / (m + 1)), (double)(q % (m + 1)), i < own ? 0.0 : 0.5);
    for (int k = 0; k < 3; ++k) {
      s->x[3 * i + k] += 0.15 * random_range(1, (uint64_t)(3 * i + k), 0, -1.0, 1.0);
      s->v[3 * i + k] = random_normal(2, (uint64_t)(3 * i + k), 0);
    }
    s->mass[i] = random_range(3, (uint64_t)i, 0, 0.5, 1.5);
  }
  for (int64_t i = 0; i < 2 * m * m; ++i) {
    const int64_t q = i % (m * m), v = i / (m * m) * own + q / m * (m + 1) + q % m;
    const int32_t at[4] = {(int32_t)v, (int32_t)(v + m + 1), (int32_t)(v + m + 2), (int32_t)(v + 1)};
    memcpy(s->element + 3 * t++, (int32_t[]){at[0], at[1], at[2]}, 3 * sizeof(int32_t));
    memcpy(s->element + 3 * t++, (int32_t[]){at[0], at[2], at[3]}, 3 * sizeof(int32_t));
  }
  s->b = (augury_boundary){n, t, s->element, s->mass, false};
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void sheets_clear(sheets *s)
{
  memory_free(&s->element), memory_free(&s->mass), memory_free(&s->x), memory_free(&s->v), memory_free(&s->A);
}

/* One thread by its own clock, which others on the machine do not stop; more by that on the wall. */
static double now(int threads)
{
  struct timespec t;
  if (threads > 1) return omp_get_wtime();
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static PetscErrorCode measure(sheets *s, double dx)
{
  const int64_t before = memory_live();
  double        make;
  augury       *a;
  PetscFunctionBegin;
  team_set_threads(1);
  make = now(1);
  PetscCall(augury_create(&s->b, s->x, dx, &a));
  make = now(1) - make;
  for (int threads = 1; threads <= 2; ++threads) {
    double begin = INFINITY, apply = INFINITY, sum = 0.0;
    team_set_threads(threads);
    for (int k = 0; k < 5; ++k) {
      step_status  status = {STEP_OK, NULL, -1};
      const double t      = now(threads);
      PetscCall(augury_begin(a, s->x, NULL, &status));
      begin = fmin(begin, now(threads) - t);
      for (int64_t i = 0; i < 3 * s->b.n_nodes; ++i) s->v[i] = random_normal(2, (uint64_t)i, 0);
      memset(s->A, 0, (size_t)(9 * s->b.n_nodes) * sizeof *s->A);
      for (int j = 0; j < 4; ++j) {
        const double u = now(threads);
        PetscCall(augury_apply(a, s->v, s->A));
        apply = fmin(apply, now(threads) - u);
      }
    }
    for (int64_t i = 0; i < 3 * s->b.n_nodes; ++i) sum += s->v[i] * s->v[i];
    printf("%9lld %6.3g %9lld %8d %10.1f %10.2f %10.2f %12.0f   %.17g\n", (long long)s->b.n_elements, 1.0 / dx,
           (long long)augury_n_points(a), threads, 1e3 * make, 1e3 * begin, 1e3 * apply,
           (double)(memory_live() - before) / (double)s->b.n_elements, sum);
  }
  augury_destroy(&a);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const int64_t most   = argc > 1 ? atoll(argv[1]) : 50000;
  const int64_t side[] = {16, 50, 112};
  if (PetscInitialize(&argc, &argv, NULL, NULL)) return 1;
  PetscFunctionBegin;
  printf("triangles   h/dx    points  threads    make ms   begin ms   apply ms   bytes/triangle   sum of squares\n");
  for (int c = 0; c < 3; ++c) {
    sheets s;
    if (4 * side[c] * side[c] > most + most / 20) break;
    PetscCall(sheets_create(side[c], &s));
    for (int fine = 1; fine <= 2; ++fine) PetscCall(measure(&s, 1.0 / fine));
    sheets_clear(&s);
  }
  PetscFunctionReturn(PetscFinalize());
}
