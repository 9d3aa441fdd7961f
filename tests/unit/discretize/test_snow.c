/* Snow: derivative of the implicit return in each branch, return mapping and hardening by hand, explicit plasticity. */
#include "material_fixture.h"

#define SNOW "density: 1000 youngs_modulus: 1e5 poisson_ratio: 0.3 critical_compression: 0.1 critical_stretch: 0.05 "
static const double E = 1e5;

static material *make(const char *text)
{
  material *m;
  assert_ok(material_from_text("snow", text, &m));
  return m;
}

/* Implicit snow: none, one, two, three stretches limited, on either side, equal ones too. Limits 0.9 and 1.05. */
static void derivative_snow(void **state)
{
  (void)state;
  material           *m         = make(SNOW);
  static const double list[][3] = {{1.02, 1.0, 0.95},      {1.2, 1.0, 0.95},
                                   {1.02, 1.0, 0.7},       {1.2, 1.0, 0.7},
                                   {1.2, 1.1, 1.0},        {1.3, 1.2, 0.7},
                                   {1.3, 1.2, 1.1},        {0.8, 0.7, 0.6},
                                   {1.0, 1.0, 1.0},        {0.8, 0.8, 0.8},
                                   {1.2, 1.2, 0.8},        {1.2, 0.8, 0.8},
                                   {1.2, 1.2, 1.2 - 1e-9}, {1.05 + 1e-2, 1.05 - 1e-2, 1.0}};
  for (int j = 0; j < (int)(sizeof list / sizeof *list); ++j) {
    assert_derivative(m, list[j], (const double[]){0.97}, 5e-4, 2.0 * E);
    assert_derivative(m, list[j], (const double[]){1.1}, 5e-4, 2.0 * E); /* softer */
  }
  material_destroy(&m);
}

/* Limits, plastic volume and hardening of snow by hand; returning twice does nothing; elastic states keep every bit. */
static void snow_return(void **state)
{
  (void)state;
  material    *m    = make(SNOW);
  double       F[9] = {1.2, 0, 0, 0, 1.0, 0, 0, 0, 0.8}, packed = 1.0;
  const double expected[3] = {1.05, 1.0, 0.9};
  response     before      = respond(m, F, &packed);
  assert_int_equal(material_accept(m, 1, 1, NULL, F, &packed, NULL), 1);
  for (int k = 0; k < 9; ++k) assert_close(F[k], k % 4 ? 0.0 : expected[k / 4], 8 * DBL_EPSILON);
  assert_close(packed, 1.2 * 0.8 / (1.05 * 0.9), 8 * DBL_EPSILON);
  double unhardened = 1.0; /* the implicit stress, Kirchhoff, was that of the returned state with the history it had */
  for (int k = 0; k < 3; ++k)
    assert_close(before.P[4 * k] * (k == 0 ? 1.2 : k == 1 ? 1.0 : 0.8), respond(m, F, &unhardened).P[4 * k] * expected[k], 1e-12 * E);
  double again[9], volume = packed;
  memcpy(again, F, sizeof again);
  assert_int_equal(material_accept(m, 1, 1, NULL, again, &volume, NULL), 1);
  for (int k = 0; k < 9; ++k) assert_close(again[k], F[k], 8 * DBL_EPSILON);
  assert_close(volume, packed, 8 * DBL_EPSILON);

  const double soft = respond(m, (const double[9]){1.01, 0, 0, 0, 1, 0, 0, 0, 1}, (const double[]){1.0}).P[0];
  const double hard = respond(m, (const double[9]){1.01, 0, 0, 0, 1, 0, 0, 0, 1}, (const double[]){0.9}).P[0];
  assert_close(hard / soft, exp(10.0 * 0.1), 1e-12);
  material_destroy(&m);
}

/* With plasticity: explicit the stress of a step is that of the unlimited stretches: fixed-corotated elasticity with the stiffness
 * multiplied by exp(xi (1 - J_P)). The return of the accepted step is that of plasticity: implicit. */
static void explicit_plasticity_limits_accepted_steps(void **state)
{
  (void)state;
  const double s[3] = {1.3, 1.02, 0.6}, packed = 0.95, h = exp(10.0 * 0.05), mu = h * E / 2.6, lambda = h * 0.3 * E / (1.3 * 0.4),
               F[9] = {s[0], 0, 0, 0, s[1], 0, 0, 0, s[2]}, J = s[0] * s[1] * s[2];
  double    G[2][9], history[2]                               = {packed, packed};
  material *later = make(SNOW "plasticity: explicit "), *within = make(SNOW);
  response  r = respond(later, F, &packed);
  for (int k = 0; k < 3; ++k) assert_close(r.P[4 * k], 2.0 * mu * (s[k] - 1.0) + lambda * (J - 1.0) * J / s[k], 1e-13 * h * E);
  assert_true(fabs(respond(within, F, &packed).P[0]) < 0.5 * fabs(r.P[0])); /* limited within the step */
  for (int i = 0; i < 2; ++i) {
    memcpy(G[i], F, sizeof F);
    assert_int_equal(material_accept(i ? within : later, 1, 1, NULL, G[i], &history[i], NULL), 1);
  }
  assert_memory_equal(G[0], G[1], sizeof G[0]);
  assert_true(history[0] == history[1]);
  assert_close(history[0], packed * J / (1.05 * 1.02 * 0.9), 8 * DBL_EPSILON);
  material_destroy(&later), material_destroy(&within);
}

TEST_MAIN(cmocka_unit_test(derivative_snow), cmocka_unit_test(snow_return), cmocka_unit_test(explicit_plasticity_limits_accepted_steps))
