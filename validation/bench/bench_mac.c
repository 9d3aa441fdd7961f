/* How fast particles go to the staggered grid and back, against streaming the same arrays through memory in the same run.
 *
 *   bench_mac [particles=200000] [repeats=15]
 *
 * A jittered bed, 8 particles per cell, on the floor of a box twice as wide, affine transfer, 1 and 2 threads (more with OMP_NUM_THREADS). Stages
 * are interleaved and the fastest of all repeats counts, because other programs share the machine. GB/s counts the particle arrays that a
 * stage must read and write once. Back means velocity, affine velocity, and positions by the midpoint rule, that is two looks at the grid.
 *
 * Measured in user cycles per particle (perf), AVX-512, AMD EPYC shared with other work, 2026-11-21: P2G 47 (9 of them sums of tiles), G2P and
 * positions 74 (11 of them tiles), a round of the correction 265, sort and grid 90.                                                     */
#include <omp.h>
#include "bench_particles.h"
#include "core/math3.h"
#include "core/memory.h"
#include "core/team.h"
#include "core/timer.h"
#include "discretize/mac/mac_domain.h"
#include "discretize/mac/mac_transfer.h"
#include "discretize/mac/mac_system.h"

enum { SORT, P2G, SYSTEM, G2P, CORRECTION, TRIAD, N_STAGES };
static const char *const stage_name[N_STAGES] = {"grid and sort",   "P2G", "system", "G2P and positions", "correction (1 round)",
                                                 "triad (3 arrays)"};
/* doubles per particle read and written */
/* (8 particles per cell; a cell has 3 rows of G^T of 2 entries, one of G of 6, 5 of D and 3 of D^T of 40 in all; 12 bytes to an entry) */
static const double stage_doubles[N_STAGES] = {3, 16, 1.5 * (6 + 6 + 40 + 40) / 8, 3 + 17, 6, 3};

static mac_box         box;
static const mac_walls walls = {{{0}}};

static PetscErrorCode make_bed(int64_t n, const mac_options *o, const material *m, mac_domain **out)
{
  const double gravity[3] = {0, 0, -9.81}, h = o->spacing;
  double      *x;
  int          index;

  PetscFunctionBeginUser;
  PetscCall(mac_domain_create(o, gravity, out));
  PetscCall(bench_particles_bed(n, h, &x));
  const particle_seed seed = {
      .n = n, .x = x, .volume_each = h * h * h / 8.0, .velocity = {0.1, 0.0, -0.2}, .angular_velocity = {0.1, 0.2, 0.3}};
  PetscCall(mac_domain_add_body(*out, "bed", m, &seed, &index));
  memory_free(&x);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode time_stages(mac_domain *d, mac_system *y, double *best)
{
  particles *p = d->bodies.particles[0];
  double     t[N_STAGES + 1];

  PetscFunctionBeginUser;
  d->dt = 1e-4;
  t[0]  = timer_now();
  PetscCall(mac_layout(d));
  t[1] = timer_now();
  PetscCall(mac_to_grid(d));
  t[2] = timer_now();
  PetscCall(mac_system_assemble(&d->state, d->options, 0, NULL, d->dt, y));
  t[3] = timer_now();
  mac_to_particles(d);
  t[4] = timer_now();
  PetscCall(mac_domain_correct_positions(d, 0, NULL, true, NULL));
  t[5] = timer_now();
  /* Triad over arrays of the particles, together larger than the caches: C, which the next step overwrites, from x and v. */
  for (int k = 0; k < 9; ++k) {
    double *restrict to         = p->C[k];
    const double *restrict from = p->x[k % 3], *restrict other = p->v[k / 3];
#pragma omp parallel for simd schedule(static)
    for (int64_t i = 0; i < p->n; ++i) to[i] = 1e-3 * from[i] + 0.5 * other[i];
  }
  t[6]        = timer_now();
  best[TRIAD] = fmin(best[TRIAD], (t[6] - t[5]) / 9.0);
  for (int s = 0; s < TRIAD; ++s) best[s] = fmin(best[s], t[s + 1] - t[s]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode run(int64_t n, int repeats)
{
  const double h   = 0.02;
  const int    max = omp_get_max_threads() > 2 ? omp_get_max_threads() : 2;
  double       best[2][N_STAGES];
  material    *sand;
  mac_domain  *d;
  mac_system   y = {0};

  PetscFunctionBeginUser;
  PetscCall(material_create("sand", NULL, NULL, 1600.0, &sand));
  PetscCall(memory_alloc("bench", 1, sizeof *sand->flow, &sand->flow));
  *sand->flow = (material_flow){.friction = 0.5};
  for (int a = 0; a < 3; ++a) box.max[a] = h * (2.0 * ceil(0.5 * ceil(cbrt((double)n))));
  const mac_options o = {.domain = &box, .spacing = h, .walls = &walls, .wall_friction = NAN, .cfl = 2.0, .position_correction = 1};
  PetscCall(make_bed(n, &o, sand, &d));
  for (int k = 0; k < 2 * N_STAGES; ++k) best[k / N_STAGES][k % N_STAGES] = INFINITY;
  for (int r = 0; r < repeats; ++r)
    for (int k = 0; k < 2; ++k) {
      team_set_threads(k ? max : 1);
      PetscCall(mac_reserve_samples(d));
      PetscCall(time_stages(d, &y, best[k]));
    }
  printf("staggered grid, %lld particles, %lld blocks\n", (long long)n, (long long)d->state.grid.n_blocks);
  printf("  %-20s %21s %27s %9s\n", "", "1 thread", max == 2 ? "2 threads" : "all threads", "speed-up");
  for (int s = 0; s < N_STAGES; ++s) {
    printf("  %-20s", stage_name[s]);
    for (int k = 0; k < 2; ++k)
      printf(" %9.2f ns %7.2f GB/s   ", 1e9 * best[k][s] / (double)n, 8e-9 * stage_doubles[s] * (double)n / best[k][s]);
    printf(" %6.2f\n", best[0][s] / best[1][s]);
  }
  for (int k = 0; k < 2; ++k) {
    const double stream = (stage_doubles[P2G] + stage_doubles[G2P]) / stage_doubles[TRIAD] * best[k][TRIAD];
    printf("  (P2G + G2P) / streaming their arrays, %s: %.2f\n", k ? "all threads" : "1 thread", (best[k][P2G] + best[k][G2P]) / stream);
  }
  mac_system_destroy(&y);
  mac_domain_destroy(&d);
  material_destroy(&sand);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv) { return bench_particles_main(argc, argv, "bench_mac", run); }
