/* Vector fields over matter: values and gradients against closed forms, and errors. */
#include "core/math3.h"
#include "test.h"
#include "vector_field_fixture.h"

static void values_and_gradients(void **state)
{
  (void)state;
  vector_field *f    = field_of("x*y + t", "sin(X)*z", "3");
  const double  X[3] = {0.3, 0.1, -0.4}, x[3] = {0.5, -2.0, 0.7};
  const double  F[9]        = {1.0, 2.0, 0.0, 0.0, 1.0, 0.0, 0.5, 0.0, 3.0};
  const double  expected[9] = {-2.0, -4.0 + 0.5, 0.0, cos(0.3) * 0.7 + 0.5 * sin(0.3), 0.0, 3.0 * sin(0.3), 0.0, 0.0, 0.0};
  double        v[3], gradient[9];
  vector_field_at(f, X, x, 4.0, v);
  vector_field_gradient(f, X, x, 4.0, F, gradient);
  assert_close(v[0], 3.0, 1e-15);
  assert_close(v[1], sin(0.3) * 0.7, 1e-15);
  assert_close(v[2], 3.0, 0.0);
  for (int k = 0; k < 9; ++k) assert_close(gradient[k], expected[k], 1e-15);
  vector_field_destroy(&f);
  assert_no_leak();
}

static void mistakes_are_named(void **state)
{
  (void)state;
  key_item      items[3] = {{.value = "x"}, {.value = "y +"}, {.value = "q"}};
  diagnostics  *d;
  vector_field *f;
  assert_ok(diagnostics_create(&d));
  assert_ok(vector_field_create(&(key_list){3, items}, &nowhere, "field", d, &f));
  assert_null(f);
  assert_int_equal(diagnostics_count(d), 2);
  assert_ok(vector_field_create(&(key_list){2, items}, &nowhere, "field", d, &f));
  assert_null(f);
  assert_int_equal(diagnostics_count(d), 3);
  diagnostics_destroy(&d);
  assert_no_leak();
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(values_and_gradients), cmocka_unit_test(mistakes_are_named)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
