/* Liquid by an equation of state: pressure, energy and tangent against the formulas; shear is discarded. */
#include "material_step_fixture.h"

/* psi, psi' and psi'' of the volume, which is linear in the step. */
static void liquid_pressure_is_that_of_the_law(void **state)
{
  (void)state;
  material *m = make_liquid();
  assert_false(material_is_elastic(m));
  assert_close(m->law->wave_speed(m->constants, m->density), sqrt(2e3 * 7 / 1000.0), 1e-13);
  double mu, lambda;
  material_small_strain(m, &mu, &lambda);
  assert_true(mu == 0.0 && lambda == 14e3);
  for (int repeat = 0; repeat < 40; ++repeat) {
    const double s = cbrt(0.8 + 0.3 * fabs(random_unit())), J0 = s * s * s;
    double       start[9] = {s, 0, 0, 0, s, 0, 0, 0, s}, L[9], F[9], dF[9], dP[9], div = 0.0, P[4][9], isotropic[9] = {0}, psi[2];
    for (int k = 0; k < 9; ++k) L[k] = (k % 4 == 0 ? 0.08 : 1.0) * random_unit(), dF[k] = random_unit(), F[k] = start[k] + s * L[k];
    for (int k = 0; k < 3; ++k) div += L[4 * k];
    const double   J = J0 * (1.0 + div), h = 1e-5;
    const response r = respond_from(m, start, F, NULL);
    for (int k = 0; k < 9; ++k) assert_close(r.P[k], k % 4 ? 0.0 : -2e3 * (pow(J, -7.0) - 1.0) * s * s, 1e-9);
    stress_differential(1, 0, r.U, r.V, r.dp, r.a, r.b, dF, false, dP);
    for (int e = 0; e < 4; ++e) { /* differences of fourth order */
      double G[9];
      for (int k = 0; k < 9; ++k) G[k] = F[k] + (e < 2 ? e - 2 : e - 1) * 1e-4 * dF[k];
      assert_int_equal(material_stress(m, 1, 1, start, G, NULL, P[e], NULL, NULL, NULL, NULL, NULL), 1);
    }
    for (int k = 0; k < 9; ++k) assert_close(dP[k], (8.0 * (P[2][k] - P[1][k]) - (P[3][k] - P[0][k])) / 12e-4, 1e-4);
    for (int e = 0; e < 2; ++e) { /* dpsi/dJ */
      for (int k = 0; k < 3; ++k) isotropic[4 * k] = cbrt(J + (e ? h : -h));
      material_energy(m, 1, 1, isotropic, NULL, &psi[e]);
    }
    assert_close((psi[1] - psi[0]) / (2.0 * h), -2e3 * (pow(J, -7.0) - 1.0), 1e-4);
    assert_int_equal(material_accept(m, 1, 1, start, F, NULL, NULL), 1);
    for (int k = 0; k < 9; ++k) assert_close(F[k], k % 4 ? 0.0 : cbrt(J), 4.0 * DBL_EPSILON);
  }
  double one[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, zero;
  material_energy(m, 1, 1, one, NULL, &zero);
  assert_true(zero == 0.0);
  material_destroy(&m);
}

/* Shear leaves no trace and does not change a bit of the volume; a step that would lose all volume is rejected. */
static void liquid_discards_shear(void **state)
{
  (void)state;
  material *m = make_liquid();
  for (int repeat = 0; repeat < 50; ++repeat) {
    const double s = 1.0 + 0.1 * random_unit(), start[9] = {s, 0, 0, 0, s, 0, 0, 0, s};
    double       F[9] = {s, 3, 0, -2, s, 5, 1, 0, s}, P[9], Q[9];
    assert_int_equal(material_stress(m, 1, 1, start, F, NULL, P, NULL, NULL, NULL, NULL, NULL), 1);
    assert_int_equal(material_stress(m, 1, 1, start, start, NULL, Q, NULL, NULL, NULL, NULL, NULL), 1);
    assert_memory_equal(P, Q, sizeof P);
    assert_int_equal(material_accept(m, 1, 1, start, F, NULL, NULL), 1);
    for (int k = 0; k < 9; ++k) assert_true(F[k] == start[k]);
  }
  static const double bad[][3] = {{0.5, 0.5, 1.0}, {0.1, 0.1, 0.1}, {1, -0.5, 1.5}, {NAN, 1, 1}, {INFINITY, 1, 1}};
  for (int i = 0; i < 5; ++i) {
    const double one[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, F[9] = {bad[i][0], 0, 0, 0, bad[i][1], 0, 0, 0, bad[i][2]};
    double       P[9], G[9];
    memcpy(G, F, sizeof G);
    assert_int_equal(material_stress(m, 1, 1, one, F, NULL, P, NULL, NULL, NULL, NULL, NULL), 0);
    assert_int_equal(material_accept(m, 1, 1, one, G, NULL, NULL), 0);
    assert_memory_equal(F, G, sizeof G);
  }
  material_destroy(&m);
}

TEST_MAIN(cmocka_unit_test(liquid_pressure_is_that_of_the_law), cmocka_unit_test(liquid_discards_shear))
