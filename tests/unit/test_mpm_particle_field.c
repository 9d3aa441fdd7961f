/* Vector fields over particles: values and gradients against closed forms, origins by identity, and refusals. */
#include "core/math3.h"
#include "core/memory.h"
#include "discretize/mpm/particle_field.h"
#include "test.h"

static const document_node nowhere;

static particle_field *field_of(const char *a, const char *b, const char *c)
{
  key_item        items[3] = {{.value = a}, {.value = b}, {.value = c}};
  const key_list  texts    = {3, items};
  diagnostics    *d;
  particle_field *f;
  assert_ok(diagnostics_create(&d));
  assert_ok(particle_field_create(&texts, &nowhere, "field", d, &f));
  assert_int_equal(diagnostics_count(d), 0);
  diagnostics_destroy(&d);
  return f;
}

static void values_and_gradients(void **state)
{
  (void)state;
  particle_field *f    = field_of("x*y + t", "sin(X)*z", "3");
  const double    X[3] = {0.3, 0.1, -0.4}, x[3] = {0.5, -2.0, 0.7};
  const double    expected[9] = {-2.0, 0.5, 0.0, cos(0.3) * 0.7, 0.0, sin(0.3), 0.0, 0.0, 0.0};
  double          v[3], gradient[9];
  particle_field_at(f, X, x, 4.0, v, gradient);
  assert_close(v[0], 3.0, 1e-15);
  assert_close(v[1], sin(0.3) * 0.7, 1e-15);
  assert_close(v[2], 3.0, 0.0);
  for (int k = 0; k < 9; ++k) assert_close(gradient[k], expected[k], 1e-15);
  particle_field_destroy(&f);
  assert_no_leak();
}

static void mistakes_are_named(void **state)
{
  (void)state;
  key_item        items[3] = {{.value = "x"}, {.value = "y +"}, {.value = "q"}};
  diagnostics    *d;
  particle_field *f;
  assert_ok(diagnostics_create(&d));
  assert_ok(particle_field_create(&(key_list){3, items}, &nowhere, "field", d, &f));
  assert_null(f);
  assert_int_equal(diagnostics_count(d), 2);
  assert_ok(particle_field_create(&(key_list){2, items}, &nowhere, "field", d, &f));
  assert_null(f);
  assert_int_equal(diagnostics_count(d), 3);
  diagnostics_destroy(&d);
  assert_no_leak();
}

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
  particle_field *moved = field_of("0.01", "-0.02", "0.02"), *still = field_of("0", "0", "0");
  assert_close(particle_field_error(moved, &o, p, 0.0, false), 0.0, 1e-16);
  assert_close(particle_field_error(still, &o, p, 0.0, false), 0.03, 1e-16);
  assert_close(particle_field_error(moved, &o, p, 0.0, true), 0.03, 1e-16);
  particle_field_destroy(&moved), particle_field_destroy(&still);
  memory_free(&o.x);
  mpm_domain_destroy(&d);
  material_destroy(&m);
  assert_no_leak();
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(values_and_gradients), cmocka_unit_test(mistakes_are_named), cmocka_unit_test(displacement_from_origins)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
