/* What benches of particles on grids share: a jittered bed of 8 particles per cell, and how they are called. */
#ifndef SS_BENCH_PARTICLES_H
#define SS_BENCH_PARTICLES_H
#include <stdlib.h>
#include "core/memory.h"
#include "core/random.h"

/* *x [n][3], to be freed: in a cube from the origin, cells of side h. */
static inline PetscErrorCode bench_particles_bed(int64_t n, double h, double **x)
{
  const int64_t side = (int64_t)ceil(cbrt((double)n)); /* particles per edge */

  PetscFunctionBeginUser;
  PetscCall(memory_alloc("bench", 3 * n, sizeof **x, x));
  for (int64_t i = 0; i < n; ++i) {
    const int64_t c[3] = {i / (side * side), i / side % side, i % side};
    for (int k = 0; k < 3; ++k) (*x)[3 * i + k] = 0.5 * h * ((double)c[k] + random_range(1, (uint64_t)(3 * i + k), 0, 0.05, 0.95));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* main of NAME [particles=200000] [repeats=15] */
static inline int bench_particles_main(int argc, char **argv, const char *name, PetscErrorCode (*run)(int64_t n, int repeats))
{
  const int64_t n       = argc > 1 ? strtoll(argv[1], NULL, 10) : 200000;
  const int     repeats = argc > 2 ? atoi(argv[2]) : 15;
  int           none    = 0;
  if (n < 1 || repeats < 1) return fprintf(stderr, "usage: %s [particles] [repeats]\n", name), 2;
  if (PetscInitialize(&none, NULL, NULL, NULL) || error_install()) return 1;
  const PetscErrorCode code = run(n, repeats);
  if (code) error_report(stderr, code, true);
  return PetscFinalize() || code ? 1 : 0;
}
#endif
