/* Linear corotated elasticity: Hooke's law about the current rotation, and the quadratic energy about the rotation at the start of the
 * step. */
#include "material_step_fixture.h"

/* Hooke's law at any stretch: s - 1 = p/E along a pull p per undeformed area, and -nu times that across it. */
static void linear_corotated_is_hooke(void **state)
{
  (void)state;
  material *m = make("linear_corotated", ELASTIC);
  for (int repeat = 0; repeat < 20; ++repeat) {
    const double e = 0.5 * random_unit(), pull = e * E;
    double       R[9], F[9], P[9];
    random_rotation(R);
    const double D[9] = {1.0 + e, 0, 0, 0, 1.0 - 0.3 * e, 0, 0, 0, 1.0 - 0.3 * e}, S[9] = {pull, 0, 0, 0, 0, 0, 0, 0, 0};
    m3_mul(F, R, D), m3_mul(P, R, S);
    const response r = respond(m, F, NULL);
    for (int k = 0; k < 9; ++k) assert_close(r.P[k], P[k], 64.0 * DBL_EPSILON * E);
  }
  material_destroy(&m);
}

/* sym(R0^T F) */
static void symmetric(const double *A, const double *B, double *S)
{
  double T[9];
  m3_mul_tn(T, A, B);
  for (int r = 0; r < 3; ++r)
    for (int c = 0; c < 3; ++c) S[3 * r + c] = 0.5 * (T[3 * r + c] + T[3 * c + r]);
}

/* Equation 19 as it is written. */
static double lagged_energy(const double *start, const double *F)
{
  double R0[9], e[9], square = 0.0;
  polar3(start, R0, NULL);
  symmetric(R0, F, e);
  for (int k = 0; k < 9; ++k) e[k] -= k % 4 == 0, square += e[k] * e[k];
  return MU * square + 0.5 * LAMBDA * m3_trace(e) * m3_trace(e);
}

/* A quadratic: differences of any width are exact. Its second derivative is that of equation 19, wherever F is. */
static void lagged_is_quadratic(void **state)
{
  (void)state;
  material *both[] = {make_lagged(), make_dough()};
  for (int repeat = 0; repeat < 40; ++repeat) {
    const material *m = both[repeat % 2];
    double          start[9], F[9], dF[9], G[9], dP[9], R0[9], T[9], wanted[9], P[9], work = 0.0, psi[2], zero = 0.0;
    random_step(0.3, start, F);
    polar3(start, R0, NULL);
    for (int k = 0; k < 9; ++k) dF[k] = random_unit();
    const response r = respond_from(m, start, F, &zero);
    for (int e = 0; e < 2; ++e) {
      for (int k = 0; k < 9; ++k) G[k] = F[k] + (e == 0 ? -0.5 : 0.5) * dF[k];
      psi[e] = lagged_energy(start, G);
    }
    for (int k = 0; k < 9; ++k) work += r.P[k] * dF[k];
    assert_close(psi[1] - psi[0], work, 1e-11 * E);
    m3_mul_tn(T, R0, dF); /* mu (dF + R0 dF^T R0) + lambda tr(R0^T dF) R0 */
    m3_mul_nt(G, R0, dF), m3_mul(wanted, G, R0);
    for (int k = 0; k < 9; ++k) wanted[k] = MU * (dF[k] + wanted[k]) + LAMBDA * m3_trace(T) * R0[k], G[k] = F[k] + dF[k];
    stress_differential(1, 0, r.U, r.V, r.dp, r.a, r.b, dF, false, dP);
    assert_int_equal(material_stress(m, 1, 1, start, G, &zero, P, NULL, NULL, NULL, NULL, NULL), 1);
    for (int k = 0; k < 9; ++k) {
      assert_close(dP[k], wanted[k], 1e-12 * E);
      assert_close(P[k] - r.P[k], wanted[k], 1e-11 * E);
    }
  }
  for (int i = 0; i < 2; ++i) { /* the projection changes nothing */
    double       dp[9], a[3], b[3];
    const double F[9] = {1.2, 0.3, 0, 0, 0.7, 0, 0.1, 0, 1}, zero = 0.0;
    response     r = respond(both[i], F, &zero);
    memcpy(dp, r.dp, sizeof dp), memcpy(a, r.a, sizeof a), memcpy(b, r.b, sizeof b);
    material *other = make("neo_hookean", ELASTIC);
    material_tangent_project(other, 1, 1, dp, a, b);
    for (int k = 0; k < 9; ++k) assert_close(dp[k], r.dp[k], 1e-12 * E);
    for (int k = 0; k < 3; ++k) assert_true(a[k] == r.a[k] && b[k] == r.b[k]);
    material_destroy(&other), material_destroy(&both[i]);
  }
}

/* Turning before the step changes nothing, in the step it costs strain; without a turn it is the law about the current rotation. */
static void lagged_and_current(void **state)
{
  (void)state;
  material *lagged = make_lagged(), *current = make("linear_corotated", ELASTIC);
  assert_true(current->law->step == NULL && lagged->law->step && strcmp(lagged->law->name, "linear_corotated") == 0);
  assert_true(material_is_elastic(lagged) &&
              lagged->law->wave_speed(lagged->constants, 1000) == current->law->wave_speed(current->constants, 1000));
  for (int repeat = 0; repeat < 20; ++repeat) {
    double       R[9], S[9], F[9], start[9], Q[9], QF[9], Qs[9], QP[9], psi[2];
    const double s[3] = {1.2, 1.0 + 0.1 * random_unit(), 0.8};
    random_gradient(s, start);
    polar3(start, R, S);
    for (int k = 0; k < 3; ++k) S[4 * k] += 0.1 * random_unit();
    m3_mul(F, R, S);
    const response a = respond_from(lagged, start, F, NULL), b = respond_from(current, NULL, F, NULL), c = respond(lagged, F, NULL);
    for (int k = 0; k < 9; ++k) {
      assert_close(a.P[k], b.P[k], 1e-12 * E);
      assert_close(c.P[k], b.P[k], 1e-12 * E);
    }
    for (int e = 0; e < 2; ++e) material_energy(e ? lagged : current, 1, 1, F, NULL, &psi[e]);
    assert_close(psi[0], psi[1], 1e-12 * E);
    random_step(0.2, start, F), random_rotation(Q);
    m3_mul(QF, Q, F), m3_mul(Qs, Q, start);
    const response before = respond_from(lagged, start, F, NULL), turned = respond_from(lagged, Qs, QF, NULL);
    m3_mul(QP, Q, before.P);
    for (int k = 0; k < 9; ++k) assert_close(turned.P[k], QP[k], 1e-12 * E);
  }
  /* a plain turn by w from rest: strain cos w - 1 in the two directions across the axis */
  const double   w = 0.1, e = cos(w) - 1.0, R[9] = {cos(w), -sin(w), 0, sin(w), cos(w), 0, 0, 0, 1}, one[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  const response r = respond_from(lagged, one, R, NULL);
  assert_close(r.P[0], 2.0 * MU * e + 2.0 * LAMBDA * e, 1e-13 * E);
  assert_close(r.P[8], 2.0 * LAMBDA * e, 1e-13 * E);
  double               F[9];
  material_step_maxima marks = {0.0, 0.0};
  memcpy(F, R, sizeof F);
  assert_int_equal(material_accept(lagged, 1, 1, one, F, NULL, &marks), 1);
  assert_memory_equal(F, R, sizeof F);
  assert_close(marks.turn, w, 1e-14);
  assert_true(marks.overshoot == 0.0);
  material_destroy(&lagged), material_destroy(&current);
}

TEST_MAIN(cmocka_unit_test(linear_corotated_is_hooke), cmocka_unit_test(lagged_is_quadratic), cmocka_unit_test(lagged_and_current))
