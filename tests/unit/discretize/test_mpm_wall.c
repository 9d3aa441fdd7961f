/* Periodic planes: a ring of material moves without resistance, and a wave in it crosses the seam with its momentum. */
#include "mpm_fixture.h"

static const double       no_gravity[3] = {0, 0, 0};
static const mpm_transfer apic          = {.is_apic = true};
static toy_constants      soft_constants;

/* n cells of 2 x 2 x 2 particles between `from` and from + n h, periodic along x, one cell wide between mirrors, v_x = u + a sin. */
static mpm_domain *ring(const material *m, int n, double from, double u, double a)
{
  const double h = 0.1;
  double      *x, *v;
  int          index;
  mpm_domain  *d;
  assert_ok(memory_alloc("x", 24 * n, sizeof *x, &x));
  assert_ok(memory_alloc("v", 24 * n, sizeof *v, &v));
  for (int i = 0; i < 8 * n; ++i) {
    x[3 * i]     = from + h * (0.25 + 0.5 * (i / 4));
    x[3 * i + 1] = h * (0.25 + 0.5 * (i / 2 % 2));
    x[3 * i + 2] = h * (0.25 + 0.5 * (i % 2));
    v[3 * i]     = u + a * sin(2.0 * M_PI * (x[3 * i] - from) / (n * h));
  }
  const particle_seed seed = {.n = 8 * n, .x = x, .v = v, .volume_each = h * h * h / 8.0};
  assert_ok(mpm_domain_create(h, MPM_QUADRATIC, apic, no_gravity, &d));
  assert_ok(mpm_domain_add_body(d, "ring", m, &seed, &index));
  assert_ok(mpm_domain_add_wall(d, 0, -1, from, MPM_WALL_PERIODIC));
  assert_ok(mpm_domain_add_wall(d, 0, 1, from + n * h, MPM_WALL_PERIODIC));
  for (int axis = 1; axis < 3; ++axis) {
    assert_ok(mpm_domain_add_wall(d, axis, -1, 0.0, MPM_WALL_SLIP));
    assert_ok(mpm_domain_add_wall(d, axis, 1, h, MPM_WALL_SLIP));
  }
  memory_free(&x);
  memory_free(&v);
  return d;
}

/* Several periods: velocity and strain are unchanged, and no particle is lost. */
static void periodic_motion_is_unchanged(void **state)
{
  (void)state;
  const material m = toy_material(1000.0, 2e4, 3e4, 0.0, &soft_constants);
  mpm_domain    *d = ring(&m, 6, -0.2, 1.7, 0.0);
  for (int s = 0; s < 80; ++s) fixture_step(&d->base, s * 0.01, 0.01, 1e-11);
  const particles *p     = d->bodies.particles[0];
  double           worst = 0.0;
  for (int64_t i = 0; i < p->n; ++i) {
    worst = fmax(worst, fmax(fabs(p->v[0][i] - 1.7), fabs(p->F[0][i] - 1.0)));
    assert_true(p->x[0][i] > -0.2 - 0.02 && p->x[0][i] < 0.4 + 0.02); /* they are put back when the next step begins */
  }
  assert_close(worst, 0.0, 1e-12);
  mpm_domain_destroy(&d);
  assert_no_leak();
}

/* Momentum stays while a wave runs over the seam, and energy only decays. */
static void wave_crosses_the_periodic_boundary(void **state)
{
  (void)state;
  const material m = toy_material(1000.0, 2e4, 3e4, 0.0, &soft_constants);
  mpm_domain    *d = ring(&m, 8, 0.0, 1.0, 0.2);
  body          *b = &d->base;
  body_totals    before, after;
  assert_ok(b->ops->totals(b, no_gravity, &before));
  for (int s = 0; s < 40; ++s) fixture_step(b, s * 2e-3, 2e-3, 1e-13);
  assert_ok(b->ops->totals(b, no_gravity, &after));
  assert_close(after.momentum[0] / before.momentum[0], 1.0, 1e-11);
  assert_true(after.kinetic + after.elastic < before.kinetic);
  assert_true(after.elastic > 0.02 * (before.kinetic - 0.5 * before.mass)); /* the wave is alive */
  mpm_domain_destroy(&d);
  assert_no_leak();
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(periodic_motion_is_unchanged), cmocka_unit_test(wave_crosses_the_periodic_boundary)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
