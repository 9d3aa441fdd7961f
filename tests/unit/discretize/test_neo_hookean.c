/* Neo-Hookean elasticity against closed forms: simple shear, uniaxial tension, compression of the volume. */
#include "material_fixture.h"

static const double E = 1e5, NU = 0.3;

static material *make(void)
{
  material *m;
  assert_ok(material_from_text("neo_hookean", "density: 1000 youngs_modulus: 1e5 poisson_ratio: 0.3 ", &m));
  return m;
}

/* J = 1: the Cauchy stress is mu (F F^T - 1), so that shear stress is mu times the shear at any size and the normal stress along it
 * mu times its square. */
static void simple_shear(void **state)
{
  (void)state;
  material    *m  = make();
  const double mu = E / (2.0 * (1.0 + NU));
  for (double shear = -2.0; shear <= 2.0; shear += 0.25) {
    const double   F[9] = {1, shear, 0, 0, 1, 0, 0, 0, 1}, cauchy[9] = {mu * shear * shear, mu * shear, 0, mu * shear, 0, 0, 0, 0, 0};
    const response r = respond(m, F, NULL);
    double         sigma[9], psi;
    m3_mul_nt(sigma, r.P, F); /* P F^T/J */
    for (int k = 0; k < 9; ++k) assert_close(sigma[k], cauchy[k], 1e-13 * E * (1.0 + shear * shear));
    material_energy(m, 1, 1, F, NULL, &psi);
    assert_close(psi, 0.5 * mu * shear * shear, 1e-13 * E * (1.0 + shear * shear));
  }
  material_destroy(&m);
}

/* A bar with free sides: its stretches a along and b across satisfy mu (b^2 - 1) + lambda log(a b^2) = 0 at the sides. By bisection
 * in b. The stress per undeformed area is mu (a - b^2/a), the tangent at small strain Young's modulus. */
static void uniaxial_tension(void **state)
{
  (void)state;
  material    *m  = make();
  const double mu = E / (2.0 * (1.0 + NU)), lambda = E * NU / ((1.0 + NU) * (1.0 - 2.0 * NU)), e = 1e-4;
  const double stretch[] = {0.2, 0.5, 1.0 - e, 1.0 + e, 1.5, 3.0};
  double       pull[6];
  for (int i = 0; i < 6; ++i) {
    const double a  = stretch[i];
    double       lo = 0.01, hi = 10.0;
    for (int k = 0; k < 200; ++k) {
      const double b                                                    = 0.5 * (lo + hi);
      *(mu * (b * b - 1.0) + lambda * log(a * b * b) > 0.0 ? &hi : &lo) = b;
    }
    const response r = respond(m, (const double[9]){a, 0, 0, 0, lo, 0, 0, 0, lo}, NULL);
    pull[i]          = r.P[0];
    assert_close(r.P[4], 0.0, 1e-12 * E / lo);
    assert_close(r.P[8], 0.0, 1e-12 * E / lo);
    assert_close(r.P[0], mu * (a - lo * lo / a), 1e-12 * E / a);
    if (i == 3) assert_close((lo - 1.0) / e, -NU, e);
  }
  assert_close((pull[3] - pull[2]) / (2.0 * e), E, 2.0 * e * e * E);
  material_destroy(&m);
}

/* The same stretch s along all axes: p = mu (s - 1/s) + 3 lambda log(s)/s, without bound as s -> 0. Inverted states are rejected. */
static void volume_has_a_barrier(void **state)
{
  (void)state;
  material    *m  = make();
  const double mu = E / (2.0 * (1.0 + NU)), lambda = E * NU / ((1.0 + NU) * (1.0 - 2.0 * NU));
  double       last = 0.0;
  for (double s = 4.0; s > 1e-8; s *= 0.5) {
    const double   F[9] = {s, 0, 0, 0, s, 0, 0, 0, s}, p = mu * (s - 1.0 / s) + 3.0 * lambda * log(s) / s;
    const response r = respond(m, F, NULL);
    for (int k = 0; k < 9; ++k) assert_close(r.P[k], k % 4 ? 0.0 : p, 1e-13 * (fabs(p) + E));
    if (s < 1.0) assert_true(r.P[0] < last);
    last = r.P[0];
  }
  const double inverted[9] = {1, 0, 0, 0, 1, 0, 0, 0, -1e-3};
  double       P[9];
  assert_int_equal(material_stress(m, 1, 1, NULL, inverted, NULL, P, NULL, NULL, NULL, NULL, NULL), 0);
  material_destroy(&m);
}

TEST_MAIN(cmocka_unit_test(simple_shear), cmocka_unit_test(uniaxial_tension), cmocka_unit_test(volume_has_a_barrier))
