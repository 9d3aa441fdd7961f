/* Bodies of kind mac for tests: a domain of given cells, particles in a box, jittered, with random velocities. */
#ifndef SS_TESTS_MAC_DOMAIN_FIXTURE_H
#define SS_TESTS_MAC_DOMAIN_FIXTURE_H
#include "core/math3.h"
#include "core/memory.h"
#include "core/random.h"
#include "discretize/mac/mac_domain.h"
#include "discretize/mac/mac_transfer.h"
#include "test.h"

static mac_box   fixture_box;
static mac_walls fixture_walls;

/* Cells of side h from the origin, all walls rough. */
static inline mac_options fixture_options(const int n[3], double h)
{
  fixture_walls = (mac_walls){{{0}}};
  for (int a = 0; a < 3; ++a) fixture_box.min[a] = 0.0, fixture_box.max[a] = n[a] * h;
  return (mac_options){
      .domain = &fixture_box, .spacing = h, .walls = &fixture_walls, .wall_friction = NAN, .cfl = 2.0, .position_correction = 3};
}

static inline material *fixture_sand(const char *name, double density, double angle_deg)
{
  const struct {
    double      density, angle, shear, cohesion;
    const void *inertial;
  } parameters = {density, angle_deg, NAN, 0.0, NULL};
  material *m;
  assert_ok(material_create(name, NULL, NULL, density, &m));
  assert_ok(memory_alloc("flow", 1, sizeof *m->flow, &m->flow));
  assert_ok(material_flow_create(false, &parameters, m->flow));
  return m;
}

/* Eight particles in each cell from lo to hi (in cells), shifted by up to half of `jitter` lattice constants; v = v0 + random of up to `speed`. */
static inline int fixture_fill(mac_domain *d, const char *name, const material *m, const int lo[3], const int hi[3], double jitter,
                               const double v0[3], double speed)
{
  const double  h = d->state.grid.h;
  const int64_t n = 8 * (int64_t)(hi[0] - lo[0]) * (hi[1] - lo[1]) * (hi[2] - lo[2]);
  double       *x, *v;
  int64_t       at = 0;
  int           index;
  assert_ok(memory_alloc("x", 3 * n, sizeof *x, &x));
  assert_ok(memory_alloc("v", 3 * n, sizeof *v, &v));
  for (int i = 2 * lo[0]; i < 2 * hi[0]; ++i)
    for (int j = 2 * lo[1]; j < 2 * hi[1]; ++j)
      for (int k = 2 * lo[2]; k < 2 * hi[2]; ++k, ++at)
        for (int a = 0; a < 3; ++a) {
          const int c   = a == 0 ? i : a == 1 ? j : k;
          x[3 * at + a] = 0.5 * h * (c + 0.5 + 0.5 * jitter * random_range(7, (uint64_t)at, (uint64_t)a, -1.0, 1.0));
          v[3 * at + a] = v0[a] + random_range(8, (uint64_t)at, (uint64_t)a, -speed, speed);
        }
  const particle_seed seed = {.n = n, .x = x, .v = v, .volume_each = h * h * h / 8.0};
  assert_ok(mac_domain_add_body(d, name, m, &seed, &index));
  memory_free(&x);
  memory_free(&v);
  particles *p = d->bodies.particles[index];
  for (int64_t i = 0; i < p->n; ++i)
    for (int q = 0; q < 9; ++q) p->C[q][i] = random_range(9, (uint64_t)i, (uint64_t)q, -speed / h, speed / h);
  return index;
}

static inline step_status fixture_begin(mac_domain *d, double dt)
{
  step_status status   = {STEP_OK, NULL, -1};
  int64_t     n_blocks = -1;
  body       *b        = &d->base;
  assert_ok(b->ops->begin_step(b, 0.0, dt, &n_blocks, &status));
  assert_int_equal(n_blocks, 0);
  return status;
}
static inline step_status fixture_end(mac_domain *d)
{
  step_status status = {STEP_OK, NULL, -1};
  body       *b      = &d->base;
  assert_ok(b->ops->end_step(b, NULL, &status));
  return status;
}
#endif
