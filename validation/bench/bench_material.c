/* Nanoseconds per point of the 3x3 decomposition and of every law's stress, with and without tangent, return and energy.
 * One thread, 4096 points in batches; minimum of many repetitions. Prints a table; asserts nothing. */
#include "core/memory.h"
#include "core/svd3.h"
#include "core/timer.h"
#include "discretize/material/material_registry.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 4096, LD = N + MATERIAL_LANES, N_REPEAT = 50 }; /* LD: columns a power of two apart would share cache sets */

typedef struct {
  double F[9 * LD], P[9 * LD], U[9 * LD], V[9 * LD], dp[9 * LD], a[3 * LD], b[3 * LD], state[MATERIAL_MAX_STATE * LD], psi[LD];
} points;

static double noise(uint64_t *s) /* [-1, 1) */
{
  *s ^= *s << 13, *s ^= *s >> 7, *s ^= *s << 17;
  return (double)(*s >> 11) * 0x1p-52 - 1.0;
}

/* Compressed and sheared by about a per cent: elastic, yielding and free points mixed. */
static void fill(points *x, const material_law *law)
{
  uint64_t s = 88172645463325252u;
  for (int k = 0; k < 9; ++k)
    for (int i = 0; i < N; ++i) x->F[k * LD + i] = (k % 4 == 0 ? 0.99 : 0.0) + 0.01 * noise(&s);
  for (int k = 0; law && k < law->n_state; ++k)
    for (int i = 0; i < N; ++i) x->state[k * LD + i] = law->state_initial[k];
}

typedef enum { SVD, STRESS, TANGENT, RETURN, ENERGY, N_WHAT } what;

static double nanoseconds(points *x, const material *m, what w)
{
  double best = INFINITY;
  fill(x, m ? m->law : NULL);
  for (int repeat = 0; repeat < N_REPEAT; ++repeat) {
    if (w == RETURN) fill(x, m->law);
    const double start = timer_now();
    if (w == SVD) svd3_batch(N, LD, x->F, x->U, x->a, x->V);
    for (int i = 0; w != SVD && i < N; i += MATERIAL_BATCH) {
      double *F = x->F + i, *state = x->state + i, *P = x->P + i;
      if (w == STRESS) material_stress(m, MATERIAL_BATCH, LD, NULL, F, state, P, NULL, NULL, NULL, NULL, NULL);
      if (w == TANGENT) material_stress(m, MATERIAL_BATCH, LD, NULL, F, state, P, x->U + i, x->V + i, x->dp + i, x->a + i, x->b + i);
      if (w == RETURN) material_accept(m, MATERIAL_BATCH, LD, NULL, F, state, NULL);
      if (w == ENERGY) material_energy(m, MATERIAL_BATCH, LD, F, state, x->psi + i);
    }
    best = fmin(best, timer_now() - start);
  }
  return 1e9 * best / N;
}

/* The keys' defaults; sand with M = 0.6, dough that yields at 10 kPa. */
static void parameters_fill(const material_law *law, char *parameters)
{
  static const struct {
    const char *name;
    double      value;
  } given[] = {{"density", 1600.0}, {"youngs_modulus", 3.537e7}, {"poisson_ratio", 0.3}, {"shear_friction", 0.6}, {"yield_stress", 1e4}};
  for (const key_spec *k = law->keys->keys; k->name; ++k) {
    double *at = (double *)(void *)(parameters + k->offset);
    if (k->type == KEY_REAL) *at = k->fallback ? strtod(k->fallback, NULL) : NAN;
    if (k->type == KEY_REALS)
      for (int c = 0; c < k->count; ++c) at[c] = NAN;
    if (k->type == KEY_BOOL) *(bool *)(void *)at = strcmp(k->fallback, "true") == 0;
    for (int i = 0; i < (int)(sizeof given / sizeof *given); ++i)
      if (strcmp(k->name, given[i].name) == 0) *at = given[i].value;
  }
}

static PetscErrorCode bench(void)
{
  points *x;
  PetscFunctionBeginUser;
  PetscCall(memory_alloc("bench", 1, sizeof *x, &x));
  printf("ns per point, 1 thread\n%-18s %8.1f\n", "svd3_batch", nanoseconds(x, NULL, SVD));
  printf("%-18s %8s %8s %8s %8s\n", "law", "stress", "tangent", "return", "energy");
  for (int l = 0; material_laws[l]; ++l) {
    static _Alignas(64) char parameters[512];
    material                *m;
    memset(parameters, 0, sizeof parameters);
    parameters_fill(material_laws[l], parameters);
    PetscCall(material_create(material_laws[l]->name, material_laws[l], parameters, 1600.0, &m));
    printf("%-18s", material_laws[l]->name);
    for (int w = STRESS; w < N_WHAT; ++w) printf(" %8.1f", nanoseconds(x, m, (what)w));
    printf("\n");
    material_destroy(&m);
  }
  memory_free(&x);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  if (PetscInitialize(&argc, &argv, NULL, NULL)) return 1;
  const PetscErrorCode code = bench();
  if (PetscFinalize()) return 1;
  return code != 0;
}
