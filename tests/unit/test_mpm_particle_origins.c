/* Where particles were, by identity, and how far they are from where they should be. */
#include "core/memory.h"
#include "discretize/mpm/particle_origins.h"
#include "test.h"
#include "vector_field_fixture.h"

/* After a rigid move by u the displacement error against u is zero, against 0 it is |u|. */
static void displacement_from_origins(void **state)
{
  (void)state;
  const material_law *law = material_laws[0];
  const struct { double density, E, nu; } parameters = {1000.0, 1e5, 0.3};
  const double   gravity[3] = {0, 0, 0}, x[9] = {0.1, 0.1, 0.1, 0.2, 0.1, 0.1, 0.1, 0.3, 0.2}, u[3] = {0.01, -0.02, 0.02};
  const mpm_seed seed = {.n = 3, .x = x, .volume_each = 1e-3};
  material      *m;
  mpm_domain    *d;
  int            b;
  assert_ok(material_create("m", law, &parameters, 1000.0, &m));
  assert_ok(mpm_domain_create(0.1, MPM_QUADRATIC, (mpm_transfer){true, 0.0}, gravity, &d));
  assert_ok(mpm_domain_add_body(d, "b", m, &seed, &b));
  particle_origins o;
  assert_ok(particle_origins_create(d, &o));
  mpm_particles *p = mpm_domain_particles(d, b);
  for (int64_t i = 0; i < p->n; ++i)
    for (int k = 0; k < 3; ++k) p->x[k][i] += u[k];
  vector_field *moved = field_of("0.01", "-0.02", "0.02"), *still = field_of("0", "0", "0");
  assert_close(particle_origins_error(&o, p, moved, 0.0, false), 0.0, 1e-16);
  assert_close(particle_origins_error(&o, p, still, 0.0, false), 0.03, 1e-16);
  assert_close(particle_origins_error(&o, p, moved, 0.0, true), 0.03, 1e-16);
  vector_field_destroy(&moved), vector_field_destroy(&still);
  memory_free(&o.x);
  mpm_domain_destroy(&d);
  material_destroy(&m);
  assert_no_leak();
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(displacement_from_origins)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
