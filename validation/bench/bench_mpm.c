/* How fast the MPM kernels are, against streaming the same particle arrays through memory in the same run.
 *
 *   bench_mpm [particles=200000] [repeats=15]
 *
 * A jittered bed, 8 particles per cell, quadratic and cubic kernel, 1 and 2 threads (more with OMP_NUM_THREADS). Stages are
 * interleaved and the fastest of all repeats counts, because other programs share the machine. GB/s counts the particle
 * arrays a stage must read and write once; GFLOP/s counts multiply-adds of real particles, not of empty lanes.            */
#include <omp.h>
#include <string.h>
#include "bench_mpm_memory.h"
#include "bench_particles.h"
#include "core/math3.h"
#include "core/memory.h"
#include "core/team.h"
#include "core/timer.h"
#include "discretize/material/material_registry.h"
#include "discretize/mpm/mpm_domain.h"

/* Dry sand, every key by its default except these. */
static PetscErrorCode make_sand(material **out)
{
  static const struct {
    const char *key;
    double      value;
  } given[]               = {{"density", 1600.0}, {"youngs_modulus", 3.537e7}, {"poisson_ratio", 0.3}, {"friction_angle_deg", 30.0}};
  const material_law *law = NULL;
  char               *parameters;

  PetscFunctionBeginUser;
  for (int i = 0; material_laws[i]; ++i)
    if (strcmp(material_laws[i]->name, "drucker_prager") == 0) law = material_laws[i];
  PetscCheck(law, PETSC_COMM_SELF, PETSC_ERR_PLIB, "no law drucker_prager");
  PetscCall(memory_alloc("bench", 1, law->keys->size, &parameters));
  for (const key_spec *k = law->keys->keys; k->name; ++k) {
    double *at = (double *)(void *)(parameters + k->offset);
    if (k->type == KEY_REAL) *at = k->fallback ? strtod(k->fallback, NULL) : NAN;
    for (int c = 0; k->type == KEY_REALS && c < k->count; ++c) at[c] = NAN;
    for (size_t g = 0; g < sizeof given / sizeof *given; ++g)
      if (strcmp(given[g].key, k->name) == 0) *at = given[g].value;
  }
  PetscCall(material_create("sand", law, parameters, given[0].value, out));
  memory_free(&parameters);
  PetscFunctionReturn(PETSC_SUCCESS);
}

enum { SORT, SORT_MOVED, P2G, G2P, RESIDUAL, TANGENT, PRODUCT, TRANSPOSED, DIAGONAL, TRIAD, N_STAGES };
static const char *const stage_name[N_STAGES] = {"sort (in order)", "sort (2 % moved)", "P2G",         "G2P",
                                                 "residual",        "residual+tangent", "product H x", "product H^T x",
                                                 "block diagonal",  "triad (3 arrays)"};
/* doubles per particle read and written */
static const double stage_doubles[N_STAGES] = {
    3, 3 + 2 * 27, 16, 3 + 15, 13, 13 + MPM_TANGENT, MPM_TANGENT + 3, MPM_TANGENT + 3, MPM_TANGENT + 3, 3};

static PetscErrorCode make_bed(int64_t n, mpm_kernel kernel, const material *m, mpm_domain **out)
{
  const double h = 0.02, gravity[3] = {0, 0, -9.81};
  double      *x;
  int          index;

  PetscFunctionBeginUser;
  PetscCall(mpm_domain_create(h, kernel, (mpm_transfer){.is_apic = true}, gravity, out));
  PetscCall(bench_particles_bed(n, h, &x));
  const particle_seed seed = {
      .n = n, .x = x, .volume_each = h * h * h / 8.0, .velocity = {0.1, 0.0, -0.2}, .angular_velocity = {0.1, 0.2, 0.3}};
  PetscCall(mpm_domain_add_body(*out, "bed", m, &seed, &index));
  memory_free(&x);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode time_stages(mpm_domain *d, double *best)
{
  body       *b      = &d->base;
  particles  *p      = d->bodies.particles[0];
  step_status status = {STEP_OK, NULL, -1};
  int64_t     n;
  double     *v, *y, *z, t[N_STAGES + 1];

  PetscFunctionBeginUser;
  PetscCall(b->ops->begin_step(b, 0.0, 1e-3, &n, &status));
  PetscCall(memory_alloc("bench", 3 * n, sizeof *v, &v));
  PetscCall(memory_alloc("bench", 3 * n, sizeof *y, &y));
  PetscCall(memory_alloc("bench", 9 * n, sizeof *z, &z));
  PetscCall(b->ops->velocity(b, v));
  for (int64_t i = 0; i < 3 * n; ++i) v[i] += 0.01 * random_u01(2, (uint64_t)i, 0);
  t[0] = timer_now();
  PetscCall(mpm_grid_build(d->grid, 1, d->bodies.particles, d->bodies.names, &status));
  t[1] = timer_now();
  /* every 50th particle goes to another cell */
  int32_t *order;
  PetscCall(memory_alloc("bench", p->n, sizeof *order, &order));
  for (int64_t i = 0; i < p->n; ++i) order[i] = (int32_t)i;
  for (int64_t i = 0; i + 50 < p->n; i += 50) order[i] = (int32_t)(i + 25), order[i + 25] = (int32_t)i;
  particles_permute(p, order);
  memory_free(&order);
  const double start = timer_now();
  PetscCall(mpm_grid_build(d->grid, 1, d->bodies.particles, d->bodies.names, &status));
  t[2]             = timer_now();
  best[SORT_MOVED] = fmin(best[SORT_MOVED], t[2] - start);
  PetscCall(mpm_transfer_to_grid(d->grid, d->bodies.particles, d->transfer));
  t[3] = timer_now();
  mpm_transfer_to_particles(d->grid, d->bodies.particles, d->transfer, v, 0.0);
  t[4] = timer_now();
  PetscCall(mpm_force_residual(d->grid, 1, d->bodies.particles, d->bodies.materials, d->bodies.names, 1e-3, v, y, NULL, &status));
  t[5] = timer_now();
  PetscCall(mpm_force_residual(d->grid, 1, d->bodies.particles, d->bodies.materials, d->bodies.names, 1e-3, v, y, &d->tangent, &status));
  t[6] = timer_now();
  PetscCall(mpm_force_product(d->grid, d->bodies.particles, &d->tangent, false, v, y));
  t[7] = timer_now();
  PetscCall(mpm_force_product(d->grid, d->bodies.particles, &d->tangent, true, v, y));
  t[8] = timer_now();
  PetscCall(mpm_force_block_diagonal(d->grid, d->bodies.particles, &d->tangent, z));
  t[9] = timer_now();
  PetscCheck(status.code == STEP_OK, PETSC_COMM_SELF, PETSC_ERR_PLIB, "the benchmark's bed is not healthy: %s",
             step_code_text(status.code));
  /* Triad over the arrays of the particles, together larger than the caches: C, which the next G2P overwrites, from F, x and v. */
  for (int k = 0; k < 9; ++k) {
    double *restrict to         = p->C[k];
    const double *restrict from = p->F[k], *restrict other = k % 6 < 3 ? p->x[k % 3] : p->v[k % 3];
#pragma omp parallel for simd schedule(static)
    for (int64_t i = 0; i < p->n; ++i) to[i] = from[i] + 0.5 * other[i];
  }
  t[10]       = timer_now();
  best[TRIAD] = fmin(best[TRIAD], (t[10] - t[9]) / 9.0);
  for (int s = 0; s < TRIAD; ++s)
    if (s != SORT_MOVED) best[s] = fmin(best[s], t[s + 1] - t[s]);
  memory_free(&v);
  memory_free(&y);
  memory_free(&z);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode run(int64_t n, int repeats)
{
  material *sand;
  const int max = omp_get_max_threads() > 2 ? omp_get_max_threads() : 2;

  PetscFunctionBeginUser;
  PetscCall(make_sand(&sand));
  for (int c = 0; c < 2; ++c) {
    const mpm_kernel kernel = c ? MPM_CUBIC : MPM_QUADRATIC;
    double           best[2][N_STAGES], state, work;
    mpm_domain      *d;
    PetscCall(make_bed(n, kernel, sand, &d));
    for (int k = 0; k < 2 * N_STAGES; ++k) best[k / N_STAGES][k % N_STAGES] = INFINITY;
    for (int r = 0; r < repeats; ++r)
      for (int k = 0; k < 2; ++k) {
        team_set_threads(k ? max : 1);
        PetscCall(time_stages(d, best[k]));
      }
    bench_mpm_memory(d, &state, &work);
    const double fill = (double)d->bodies.particles[0]->n / (double)(d->bodies.particles[0]->n_groups * LANES);
    printf("%s kernel, %lld particles, %lld nodes, %d lanes %.0f %% full; %.0f B/particle state, %.0f B/particle solver\n",
           c ? "cubic" : "quadratic", (long long)n, (long long)d->grid->n_dofs, LANES, 100.0 * fill, state, work);
    printf("  %-18s %21s %27s %9s\n", "", "1 thread", max == 2 ? "2 threads" : "all threads", "speed-up");
    for (int s = 0; s < N_STAGES; ++s) {
      printf("  %-18s", stage_name[s]);
      for (int k = 0; k < 2; ++k)
        printf(" %9.2f ns %7.2f GB/s   ", 1e9 * best[k][s] / (double)n, 8e-9 * stage_doubles[s] * (double)n / best[k][s]);
      printf(" %6.2f", best[0][s] / best[1][s]);
      if (s == PRODUCT)
        printf("   %.1f, %.1f GFLOP/s", 1e-9 * mpm_force_product_flops(kernel) * (double)n / best[0][s],
               1e-9 * mpm_force_product_flops(kernel) * (double)n / best[1][s]);
      printf("\n");
    }
    for (int k = 0; k < 2; ++k) {
      const double stream = (stage_doubles[P2G] + stage_doubles[G2P]) / stage_doubles[TRIAD] * best[k][TRIAD];
      printf("  (P2G + G2P) / streaming their arrays, %s: %.2f   (aim: at most 4)\n", k ? "all threads" : "1 thread",
             (best[k][P2G] + best[k][G2P]) / stream);
    }
    mpm_domain_destroy(&d);
  }
  material_destroy(&sand);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv) { return bench_particles_main(argc, argv, "bench_mpm", run); }
