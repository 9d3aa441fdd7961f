/* Where particles were, by identity, and how far they are from where they should be. */
#include "core/memory.h"
#include "discretize/particles/particles.h"
#include "discretize/particles/particle_source.h"
#include "test.h"
#include "vector_field_fixture.h"

/* After a rigid move by u the displacement error against u is zero, against 0 it is |u|. */
static void displacement_from_origins(void **state)
{
  (void)state;
  const double        x[9] = {0.1, 0.1, 0.1, 0.2, 0.1, 0.1, 0.1, 0.3, 0.2}, u[3] = {0.01, -0.02, 0.02};
  const particle_seed seed = {.n = 3, .x = x, .volume_each = 1e-3};
  particle_origins    o;
  particles          *p;
  int64_t             next_id = 0;
  assert_ok(particles_create(NULL, &p));
  assert_ok(particle_seed_add(&seed, "b", 1000.0, true, &next_id, p));
  assert_int_equal(next_id, 3);
  assert_close(p->mass[2], 1.0, 1e-15);
  assert_ok(particle_origins_create(1, &p, &o));
  for (int64_t i = 0; i < p->n; ++i)
    for (int k = 0; k < 3; ++k) p->x[k][i] += u[k];
  vector_field *moved = field_of("0.01", "-0.02", "0.02"), *still = field_of("0", "0", "0");
  assert_close(particle_origins_error(p, moved, 0.0, false), 0.0, 1e-16);
  assert_close(particle_origins_error(p, still, 0.0, false), 0.03, 1e-16);
  assert_close(particle_origins_error(p, moved, 0.0, true), 0.03, 1e-16);
  vector_field_destroy(&moved), vector_field_destroy(&still);
  memory_free(&o.x);
  particles_destroy(&p);
  assert_no_leak();
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(displacement_from_origins)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
