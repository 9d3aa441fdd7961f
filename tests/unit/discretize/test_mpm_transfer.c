/* Particle-grid transfers against their definition, and conservation. */
#include "mpm_fixture.h"

static const double       no_gravity[3] = {0, 0, 0};
static const mpm_transfer apic = {.is_apic = true}, flip = {.is_apic = false, .flip = 0.95};
static const mpm_kernel   kernels[] = {MPM_QUADRATIC, MPM_CUBIC};
enum { N = 400 };
static toy_constants constants;
static material      stuff;

static int setup(void **state)
{
  (void)state;
  stuff = toy_material(1300.0, 1e5, 2e5, 0.0, &constants);
  return 0;
}

/* m and m v of every node straight from the definition. */
static void reference_to_grid(const mpm_domain *d, double *mass, double *velocity)
{
  const mpm_grid *g = d->grid;
  for (int64_t i = 0; i < g->n_dofs; ++i) {
    double m = 0.0, mv[3] = {0, 0, 0};
    for (int b = 0; b < d->bodies.n; ++b)
      for (int64_t q = 0; q < d->bodies.particles[b]->n; ++q) {
        const particles *p = d->bodies.particles[b];
        double           x[3], gradient[3], arm[3];
        particle_at(p, q, x);
        const double w = node_weight(g, i, x, gradient, arm) * p->mass[q];
        m += w;
        for (int k = 0; k < 3; ++k)
          mv[k] += w * (p->v[k][q] + p->C[3 * k][q] * arm[0] + p->C[3 * k + 1][q] * arm[1] + p->C[3 * k + 2][q] * arm[2]);
      }
    mass[i] = m;
    for (int k = 0; k < 3; ++k) velocity[3 * i + k] = mv[k] / m;
  }
}

static void to_grid_is_the_definition(void **state)
{
  (void)state;
  for (int c = 0; c < 4; ++c) {
    mpm_domain   *d = fixture_cloud(&stuff, 2, N, 0.1, kernels[c & 1], c & 2 ? flip : apic, no_gravity);
    const int64_t n = fixture_begin(&d->base, 0.0, 1e-3);
    double       *m = fixture_vector(n), *v = fixture_vector(3 * n);
    reference_to_grid(d, m, v);
    assert_close(distance(n, d->grid->mass, m), 0.0, 1e-14);
    /* near-empty nodes at the rim have velocities of few valid digits: compare momenta */
    double *a = fixture_vector(3 * n);
    for (int64_t i = 0; i < 3 * n; ++i) a[i] = d->grid->mass[i / 3] * d->grid->velocity[i], v[i] *= m[i / 3];
    assert_close(distance(3 * n, a, v), 0.0, 1e-14);
    memory_free(&a);
    memory_free(&m);
    memory_free(&v);
    mpm_domain_destroy(&d);
    assert_no_leak();
  }
}

static void to_particles_is_the_definition(void **state)
{
  (void)state;
  const double dt = 2e-3, h = 0.1;
  for (int c = 0; c < 4; ++c) {
    const mpm_transfer transfer = c & 2 ? flip : apic;
    mpm_domain        *d        = fixture_cloud(&stuff, 1, N, h, kernels[c & 1], transfer, no_gravity);
    const int64_t      n        = fixture_begin(&d->base, 0.0, dt);
    particles         *p        = d->bodies.particles[0];
    double            *v = fixture_vector(3 * n), *expected = fixture_vector(15 * N), *got = fixture_vector(15 * N);
    fixture_random(3 * n, v, 5, 1.0);
    const double inertia = c & 1 ? h * h / 3.0 : h * h / 4.0;
    for (int64_t q = 0; q < N; ++q) {
      double x[3], gradient[3], arm[3], *e = expected + 15 * q;
      particle_at(p, q, x);
      for (int64_t i = 0; i < n; ++i) {
        const double w = node_weight(d->grid, i, x, gradient, arm);
        for (int k = 0; k < 3; ++k) {
          e[k] += w * v[3 * i + k];
          e[3 + k] += transfer.is_apic ? w * v[3 * i + k] : w * (v[3 * i + k] - 0.95 * d->grid->velocity[3 * i + k]);
          for (int l = 0; l < 3; ++l) e[6 + 3 * k + l] += transfer.is_apic ? w * v[3 * i + k] * arm[l] / inertia : 0.0;
        }
      }
      for (int k = 0; k < 3; ++k) e[k] = x[k] + dt * e[k], e[3 + k] += transfer.is_apic ? 0.0 : 0.95 * p->v[k][q];
    }
    mpm_transfer_to_particles(d->grid, d->bodies.particles, transfer, v, dt);
    for (int64_t q = 0; q < N; ++q) {
      for (int k = 0; k < 3; ++k) got[15 * q + k] = p->x[k][q], got[15 * q + 3 + k] = p->v[k][q];
      for (int k = 0; k < 9; ++k) got[15 * q + 6 + k] = p->C[k][q];
    }
    assert_close(distance(15 * N, got, expected), 0.0, 1e-13);
    memory_free(&v);
    memory_free(&expected);
    memory_free(&got);
    mpm_domain_destroy(&d);
    assert_no_leak();
  }
}

static void grid_momenta(const mpm_grid *g, const double *v, double *mass, double momentum[3], double angular[3])
{
  *mass = 0.0;
  v3_set(momentum, 0, 0, 0);
  v3_set(angular, 0, 0, 0);
  for (int64_t i = 0; i < g->n_dofs; ++i) {
    int64_t node[3];
    double  x[3], l[3];
    mpm_grid_node(g, i, node);
    for (int k = 0; k < 3; ++k) x[k] = g->h * (double)node[k];
    v3_cross(l, x, v + 3 * i);
    *mass += g->mass[i];
    v3_axpy(momentum, g->mass[i], v + 3 * i);
    v3_axpy(angular, g->mass[i], l);
  }
}

/* E08: particles -> grid -> particles keeps mass, momentum and, with APIC, angular momentum to 1e-13 sqrt(N) of the sum of
 * magnitudes; advection included. */
static void apic_conserves(void **state)
{
  (void)state;
  const double dt = 3e-3;
  for (int c = 0; c < 2; ++c) {
    mpm_domain  *d = fixture_cloud(&stuff, 2, N, 0.1, kernels[c], apic, no_gravity);
    body_totals  before, after;
    double       mass, momentum[3], angular[3];
    const double tolerance = 1e-13 * sqrt(2.0 * N);
    assert_ok(d->base.ops->totals(&d->base, no_gravity, &before));
    const int64_t n = fixture_begin(&d->base, 0.0, dt);
    grid_momenta(d->grid, d->grid->velocity, &mass, momentum, angular);
    assert_close(mass / before.mass, 1.0, tolerance);
    for (int k = 0; k < 3; ++k) {
      assert_close(momentum[k], before.momentum[k], tolerance * before.mass);
      assert_close(angular[k], before.angular_momentum[k], tolerance * before.mass * 0.5);
    }
    double *v = fixture_vector(3 * n);
    fixture_random(3 * n, v, 6, 1.0);
    grid_momenta(d->grid, v, &mass, momentum, angular);
    mpm_transfer_to_particles(d->grid, d->bodies.particles, apic, v, dt);
    assert_ok(d->base.ops->totals(&d->base, no_gravity, &after));
    for (int k = 0; k < 3; ++k) {
      assert_close(after.momentum[k], momentum[k], tolerance * before.mass);
      assert_close(after.angular_momentum[k], angular[k], tolerance * before.mass * 0.5);
    }
    memory_free(&v);
    mpm_domain_destroy(&d);
    assert_no_leak();
  }
}

/* Splines reproduce affine fields: v = a + A x comes back as v(x_p) and C = A. */
static void affine_fields_are_reproduced(void **state)
{
  (void)state;
  const double a[3] = {0.3, -0.2, 0.5}, A[9] = {1.0, 2.0, -3.0, 0.5, -1.5, 2.5, -0.7, 0.9, 0.4};
  for (int c = 0; c < 2; ++c) {
    mpm_domain   *d = fixture_cloud(&stuff, 1, N, 0.1, kernels[c], apic, no_gravity);
    const int64_t n = fixture_begin(&d->base, 0.0, 0.0);
    double       *v = fixture_vector(3 * n);
    for (int64_t i = 0; i < n; ++i) {
      int64_t node[3];
      mpm_grid_node(d->grid, i, node);
      const double x[3] = {0.1 * (double)node[0], 0.1 * (double)node[1], 0.1 * (double)node[2]};
      m3_mulv(v + 3 * i, A, x);
      v3_add(v + 3 * i, v + 3 * i, a);
    }
    mpm_transfer_to_particles(d->grid, d->bodies.particles, apic, v, 0.0);
    const particles *p     = d->bodies.particles[0];
    double           worst = 0.0;
    for (int64_t q = 0; q < N; ++q) {
      double x[3], expected[3];
      particle_at(p, q, x);
      m3_mulv(expected, A, x);
      for (int k = 0; k < 3; ++k) worst = fmax(worst, fabs(p->v[k][q] - expected[k] - a[k]));
      for (int k = 0; k < 9; ++k) worst = fmax(worst, fabs(p->C[k][q] - A[k]));
    }
    assert_close(worst, 0.0, 1e-12); /* 1/h = 10 amplifies the rounding of weights */
    memory_free(&v);
    mpm_domain_destroy(&d);
    assert_no_leak();
  }
}

static void pure_flip_keeps_velocities(void **state)
{
  (void)state;
  mpm_domain *d = fixture_cloud(&stuff, 1, N, 0.1, MPM_QUADRATIC, (mpm_transfer){.is_apic = false, .flip = 1.0}, no_gravity);
  fixture_begin(&d->base, 0.0, 1e-3);
  particles *p      = d->bodies.particles[0];
  double    *before = fixture_vector(N);
  memcpy(before, p->v[1], N * sizeof *before);
  mpm_transfer_to_particles(d->grid, d->bodies.particles, d->transfer, d->grid->velocity, 1e-3);
  assert_close(distance(N, p->v[1], before), 0.0, 1e-15);
  memory_free(&before);
  mpm_domain_destroy(&d);
  assert_no_leak();
}

/* Another order of the same particles gives the same grid up to the rounding of sums. */
static void order_of_particles_does_not_matter(void **state)
{
  (void)state;
  mpm_domain *a = fixture_cloud(&stuff, 1, N, 0.1, MPM_QUADRATIC, apic, no_gravity),
             *b = fixture_cloud(&stuff, 1, N, 0.1, MPM_QUADRATIC, apic, no_gravity);
  int32_t *order;
  assert_ok(memory_alloc("order", N, sizeof *order, &order));
  for (int i = 0; i < N; ++i) order[i] = (int32_t)((i * 331 + 7) % N);
  assert_true(particles_permute(b->bodies.particles[0], order));
  const int64_t n = fixture_begin(&a->base, 0.0, 1e-3);
  assert_int_equal(n, fixture_begin(&b->base, 0.0, 1e-3));
  assert_memory_equal(a->grid->dof_node, b->grid->dof_node, (size_t)n * sizeof(int32_t));
  assert_close(distance(n, a->grid->mass, b->grid->mass), 0.0, 1e-15);
  for (int64_t i = 0; i < 3 * n; ++i)
    assert_close(a->grid->velocity[i] * a->grid->mass[i / 3], b->grid->velocity[i] * a->grid->mass[i / 3],
                 64 * 2.2e-16 * a->bodies.particles[0]->mass[0]);
  memory_free(&order);
  mpm_domain_destroy(&a);
  mpm_domain_destroy(&b);
  assert_no_leak();
}

/* A step is rejected if a particle moves farther than a cell: at the first such particle of the first such body. A node that moves faster, at the rim, is no reason. */
static void only_fast_particles_are_rejected(void **state)
{
  (void)state;
  static const char *const names[] = {"bed", "block"};
  const double             dt = 1e-3, h = 0.1;
  int                      n_rejected = 0, n_second = 0, n_fast_nodes = 0;
  for (int c = 0; c < 2; ++c) {
    mpm_domain   *d = fixture_cloud(&stuff, 2, 60, h, kernels[c], apic, no_gravity);
    const int64_t n = fixture_begin(&d->base, 0.0, dt);
    double       *v = fixture_vector(3 * n);
    for (int64_t i = 0; i < n; i += 3) /* one node moves by 0.99 or 3 cells */
      for (int is_fast = 0; is_fast < 2; ++is_fast) {
        const double speed  = (is_fast ? 3.0 : 0.99) * h / dt;
        step_status  status = {STEP_OK, NULL, -1};
        int          which  = -1;
        int64_t      first  = -1;
        for (int b = 0; b < 2 && which < 0; ++b)
          for (int64_t q = 0; q < d->bodies.particles[b]->n && which < 0; ++q) {
            double x[3], gradient[3], arm[3];
            particle_at(d->bodies.particles[b], q, x);
            if (node_weight(d->grid, i, x, gradient, arm) * speed * dt > h) which = b, first = q;
          }
        v[3 * i + i % 3] = i % 2 ? speed : -speed;
        mpm_transfer_check_cfl(d->grid, 2, d->bodies.particles, names, v, dt, &status);
        v[3 * i + i % 3] = 0.0;
        assert_int_equal(status.code, which < 0 ? STEP_OK : STEP_CFL_VIOLATED);
        if (which >= 0) assert_string_equal(status.body, names[which]);
        if (which >= 0) assert_int_equal(status.where, first);
        n_rejected += which >= 0, n_second += which == 1, n_fast_nodes += which < 0 && is_fast;
      }
    memory_free(&v);
    mpm_domain_destroy(&d);
  }
  assert_true(n_rejected > 5 && n_second > 2 && n_fast_nodes > 20);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test_setup(to_grid_is_the_definition, setup), cmocka_unit_test_setup(to_particles_is_the_definition, setup),
          cmocka_unit_test_setup(apic_conserves, setup), cmocka_unit_test_setup(affine_fields_are_reproduced, setup),
          cmocka_unit_test_setup(pure_flip_keeps_velocities, setup), cmocka_unit_test_setup(order_of_particles_does_not_matter, setup),
          cmocka_unit_test_setup(only_fast_particles_are_rejected, setup))
