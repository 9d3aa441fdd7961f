/* Constitutive laws: properties of all laws, and the derivatives of the elastic ones. */
#include "core/eigen3.h"
#include "material_fixture.h"

#define ELASTIC "density: 1000 youngs_modulus: 1e5 poisson_ratio: 0.3 "
static const double E = 1e5;

/* name, further parameters, history */
static const struct {
  const char *name, *text;
  double      state[2];
} cases[] = {
    {"fixed_corotated", ELASTIC, {0, 0}},
    {"linear_corotated", ELASTIC, {0, 0}},
    {"neo_hookean", ELASTIC, {0, 0}},
    {"snow", ELASTIC "plasticity: explicit ", {0.97, 0}},
    {"snow", ELASTIC "critical_compression: 0.1 critical_stretch: 0.05 ", {0.97, 0}},
    {"drucker_prager", ELASTIC "friction_angle_deg: 30 ", {0, 0}},
    {"drucker_prager", ELASTIC "shear_friction: 0.6 ", {0, 0.01}},
    {"drucker_prager", ELASTIC "hardening_deg: 35,9,0.2,10 cohesion: 2000 ", {0.1, 0}},
};
enum { N_CASES = sizeof cases / sizeof *cases };
enum { FIXED_COROTATED, LINEAR_COROTATED, NEO_HOOKEAN, SNOW_EXPLICIT, SNOW, SAND, N_UNRETURNED = SNOW };

static material *make(int i)
{
  material *m;
  assert_ok(material_from_text(cases[i].name, cases[i].text, &m));
  return m;
}

/* Rotations cost nothing: stress and energy of F = R vanish to round-off, wherever there is no history. */
static void rest(void **state)
{
  (void)state;
  for (int i = 0; i < N_CASES; ++i) {
    material    *m        = make(i);
    const double fresh[2] = {m->law->state_initial[0], m->law->state_initial[1]};
    for (int repeat = 0; repeat < 20; ++repeat) {
      double R[9], psi;
      random_rotation(R);
      const response r = respond(m, R, fresh);
      for (int k = 0; k < 9; ++k) assert_close(r.P[k], 0.0, 64.0 * DBL_EPSILON * E);
      material_energy(m, 1, 1, R, fresh, &psi);
      assert_close(psi, 0.0, 64.0 * DBL_EPSILON * E); /* J loses half its digits to cancellation at most */
    }
    material_destroy(&m);
  }
}

/* P(Q F) = Q P(F) (objectivity), P(F Q) = P(F) Q (isotropy), and P F^T symmetric (angular momentum). */
static void objective_and_isotropic(void **state)
{
  (void)state;
  for (int i = 0; i < N_CASES; ++i) {
    material *m = make(i);
    for (int repeat = 0; repeat < 20; ++repeat) {
      const double s[3] = {1.0 + 0.2 * random_unit(), 1.0 + 0.2 * random_unit(), 1.0 + 0.2 * random_unit()};
      double       F[9], Q[9], QF[9], FQ[9], expected[9], T[9];
      random_gradient(s, F), random_rotation(Q);
      m3_mul(QF, Q, F), m3_mul(FQ, F, Q);
      const response r = respond(m, F, cases[i].state), left = respond(m, QF, cases[i].state), right = respond(m, FQ, cases[i].state);
      m3_mul(expected, Q, r.P);
      for (int k = 0; k < 9; ++k) assert_close(left.P[k], expected[k], 1e-12 * E);
      m3_mul(expected, r.P, Q);
      for (int k = 0; k < 9; ++k) assert_close(right.P[k], expected[k], 1e-12 * E);
      m3_mul_nt(T, r.P, F);
      assert_close(T[1], T[3], 1e-13 * E);
      assert_close(T[2], T[6], 1e-13 * E);
      assert_close(T[5], T[7], 1e-13 * E);
    }
    material_destroy(&m);
  }
}

/* a and b against their definition, where that does not cancel. */
static void spectral_quotients(void **state)
{
  (void)state;
  for (int i = 0; i < N_CASES; ++i) {
    material *m = make(i);
    for (int repeat = 0; repeat < 50; ++repeat) {
      const double s[3] = {1.02 + 0.1 * fabs(random_unit()), 0.98 + 0.01 * random_unit(), 0.93 - 0.3 * fabs(random_unit())};
      material_row sigma[3], history[2], p[3], dp[9], a[3], b[3];
      for (int j = 0; j < MATERIAL_LANES; ++j) {
        for (int k = 0; k < 3; ++k) sigma[k][j] = s[k];
        for (int k = 0; k < 2; ++k) history[k][j] = cases[i].state[k];
      }
      m->law->stress(m->constants, MATERIAL_LANES, sigma, history, p, dp, a, b);
      for (int k = 0; k < 3; ++k) {
        const int r = k == 0, c = k == 2 ? 1 : 2;
        assert_close(a[k][0], (p[r][0] - p[c][0]) / (s[r] - s[c]), 1e-12 * E);
        assert_close(b[k][0], (p[r][0] + p[c][0]) / (s[r] + s[c]), 1e-12 * E);
      }
    }
    material_destroy(&m);
  }
}

/* P = dpsi/dF: fourth-order differences of the energy in random directions. */
static void assert_stress_is_gradient(const material *m, const double s[3], const double *history, double h)
{
  double F[9], dF[9], work = 0.0, psi[4];
  random_gradient(s, F);
  for (int k = 0; k < 9; ++k) dF[k] = random_unit();
  const response r = respond(m, F, history);
  for (int k = 0; k < 9; ++k) work += r.P[k] * dF[k];
  const double steps[4] = {-2, -1, 1, 2};
  for (int e = 0; e < 4; ++e) {
    double G[9];
    for (int k = 0; k < 9; ++k) G[k] = F[k] + steps[e] * h * dF[k];
    material_energy(m, 1, 1, G, history, &psi[e]);
  }
  assert_close((8.0 * (psi[2] - psi[1]) - (psi[3] - psi[0])) / (12.0 * h), work, 1e-8 * E);
}

static void stress_is_energy_gradient(void **state)
{
  (void)state;
  for (int i = 0; i < N_UNRETURNED; ++i) { /* the elastic laws: no return within the step */
    material *m = make(i);
    for (int repeat = 0; repeat < 50; ++repeat) {
      const double s[3] = {1.3 + 0.2 * random_unit(), 1.0 + 0.2 * random_unit(), 0.7 + 0.2 * random_unit()};
      assert_stress_is_gradient(m, s, cases[i].state, 1e-3);
    }
    assert_stress_is_gradient(m, (const double[3]){1.1, 1.1, 1.1}, cases[i].state, 1e-3);
    if (m->law->accepts_inverted) assert_stress_is_gradient(m, (const double[3]){1.1, 0.9, -0.4}, cases[i].state, 1e-3);
    material_destroy(&m);
  }
  material *m = make(SNOW); /* snow and sand inside their elastic range */
  assert_stress_is_gradient(m, (const double[3]){1.03, 1.01, 0.95}, cases[SNOW].state, 1e-3);
  material_destroy(&m);
  m = make(SAND);
  assert_stress_is_gradient(m, (const double[3]){0.91, 0.9, 0.89}, cases[SAND].state, 1e-4);
  material_destroy(&m);
}

/* Stretches apart, close, equal to the last bit, all equal; and at rest. */
static const double stretches[][3] = {
    {1.4, 1.1, 0.7}, {1.2, 1.0 + 1e-3, 1.0}, {1.2, 1.0 + 1e-7, 1.0}, {1.2, 1.0 + 1e-12, 1.0},       {1.2, 1.0 + DBL_EPSILON, 1.0},
    {1.1, 0.8, 0.8}, {0.9, 0.9, 0.6},        {1.3, 1.3, 1.3},        {0.7, 0.7 - 1e-9, 0.7 - 2e-9}, {1.0, 1.0, 1.0},
    {3.0, 0.5, 0.1}};

static void derivative_elastic(void **state)
{
  (void)state;
  const int n = sizeof stretches / sizeof *stretches;
  for (int i = 0; i < N_UNRETURNED; ++i) {
    material *m = make(i);
    for (int j = 0; j < n; ++j) assert_derivative(m, stretches[j], cases[i].state, 1e-3 * stretches[j][2], 1e1 * E);
    material_destroy(&m);
  }
}

/* Inverted, where only these laws go; opposite stretches have no derivative. */
static void derivative_inverted(void **state)
{
  (void)state;
  static const double inverted[][3] = {{1.2, 0.8, -0.1}, {1.2, 0.8, -0.7}, {1.0, 1.0, -0.5}, {1.2, 0.3, 0.0}, {1.0, 1.0, 1e-9}};
  const double        flat[3]       = {1.0, 0.5, -0.5};
  for (int i = FIXED_COROTATED; i <= LINEAR_COROTATED; ++i) {
    material *m = make(i);
    double    F[9], dP[9];
    for (int j = 0; j < 5; ++j) assert_derivative(m, inverted[j], NULL, 2e-4, E);
    random_gradient(flat, F);
    const response r = respond(m, F, NULL);
    stress_differential(1, 0, r.U, r.V, r.dp, r.a, r.b, F, false, dP);
    for (int k = 0; k < 9; ++k) assert_true(isfinite(dP[k]));
    material_destroy(&m);
  }
}

static void elastic_states_keep_their_bits(void **state)
{
  (void)state;
  for (int i = SNOW; i < N_CASES; ++i) {
    material *m = make(i);
    for (int repeat = 0; repeat < 50; ++repeat) {
      const double s[3] = {0.96 + 2e-3 * random_unit(), 0.96 + 2e-3 * random_unit(), 0.96 + 2e-3 * random_unit()};
      double       F[9], G[9], history[2] = {m->law->state_initial[0], m->law->state_initial[1]};
      random_gradient(s, F);
      memcpy(G, F, sizeof G);
      assert_int_equal(material_accept(m, 1, 1, NULL, F, history, NULL), 1);
      for (int k = 0; k < 9; ++k) assert_true(F[k] == G[k]);
      for (int k = 0; k < m->law->n_state; ++k) assert_true(history[k] == m->law->state_initial[k]);
    }
    material_destroy(&m);
  }
}

/* The smallest bad index, for every entry point; a rejected return mapping changes nothing. */
static void first_bad_point_is_reported(void **state)
{
  (void)state;
  enum { N = 10 };
  static const double bad[][3] = {{1, 1, -0.5}, {1, 0.5, 0}, {NAN, 1, 1}, {INFINITY, 1, 1}};
  for (int i = 0; i < N_CASES; ++i) {
    material *m = make(i);
    for (int j = 0; j < 4; ++j) {
      double F[9 * N] = {0}, P[9 * N], before[9 * N], history[2 * N], history_before[2 * N], psi[N];
      for (int k = 0; k < N; ++k) {
        for (int c = 0; c < 3; ++c) F[4 * c * N + k] = k == 7 || k == 4 ? bad[j][c] : 1.2; /* would yield */
        for (int c = 0; c < 2; ++c) history[c * N + k] = m->law->state_initial[c];
      }
      memcpy(before, F, sizeof F), memcpy(history_before, history, sizeof history);
      const int64_t expected = j < 2 && m->law->accepts_inverted ? N : 4;
      assert_int_equal(material_stress(m, N, N, NULL, F, history, P, NULL, NULL, NULL, NULL, NULL), expected);
      material_energy(m, N, N, F, history, psi);
      assert_true(isnan(psi[4]) == (expected == 4) && isfinite(psi[0]));
      if (m->law->plastic_return) {
        assert_int_equal(material_accept(m, N, N, NULL, F, history, NULL), 4);
        assert_memory_equal(before, F, sizeof F);
        assert_memory_equal(history_before, history, sizeof history);
      }
    }
    material_destroy(&m);
  }
}

/* Same bits alone and anywhere in a batch, with and without tangent. */
static void place_does_not_matter(void **state)
{
  (void)state;
  enum { N = 61 };
  for (int i = 0; i < N_CASES; ++i) {
    material     *m = make(i);
    static double F[9 * N], P[9 * N], U[9 * N], V[9 * N], dp[9 * N], a[3 * N], b[3 * N], history[2 * N], Q[9 * N];
    for (int j = 0; j < N; ++j) {
      const double s[3] = {1.0 + 0.1 * random_unit(), 1.0 + 0.1 * random_unit(), 0.95 + 0.1 * random_unit()};
      double       f[9];
      random_gradient(s, f);
      for (int k = 0; k < 9; ++k) F[k * N + j] = f[k];
      for (int k = 0; k < 2; ++k) history[k * N + j] = cases[i].state[k];
    }
    assert_int_equal(material_stress(m, N, N, NULL, F, history, P, U, V, dp, a, b), N);
    assert_int_equal(material_stress(m, N, N, NULL, F, history, Q, NULL, NULL, NULL, NULL, NULL), N);
    assert_memory_equal(P, Q, sizeof P);
    for (int j = 0; j < N; ++j) {
      double f[9];
      for (int k = 0; k < 9; ++k) f[k] = F[k * N + j];
      const response r = respond(m, f, cases[i].state);
      for (int k = 0; k < 9; ++k) assert_true(r.P[k] == P[k * N + j] && r.dp[k] == dp[k * N + j] && r.U[k] == U[k * N + j]);
      for (int k = 0; k < 3; ++k) assert_true(r.a[k] == a[k * N + j] && r.b[k] == b[k * N + j]);
    }
    material_destroy(&m);
  }
}

/* Small strain: stress = lambda tr(e) + 2 mu e for every law, and the speed of pressure waves follows. */
static void small_strain(void **state)
{
  (void)state;
  const double nu = 0.3, mu = E / (2 * (1 + nu)), lambda = E * nu / ((1 + nu) * (1 - 2 * nu));
  for (int i = 0; i < N_CASES; ++i) {
    material      *m        = make(i);
    const double   fresh[2] = {m->law->state_initial[0], m->law->state_initial[1]}, e[3] = {-1e-6, -1.1e-6, -0.9e-6};
    double         F[9] = {1 + e[0], 0, 0, 0, 1 + e[1], 0, 0, 0, 1 + e[2]};
    const response r    = respond(m, F, fresh);
    for (int k = 0; k < 3; ++k) assert_close(r.P[4 * k], lambda * -3e-6 + 2 * mu * e[k], 1e-10 * E); /* e^2 and E eps */
    assert_close(m->law->wave_speed(m->constants, m->density), sqrt((lambda + 2 * mu) / 1000.0), 1e-12);
    material_destroy(&m);
  }
  assert_no_leak();
}

/* The nearest symmetric positive semidefinite tangent: A = Q diag(4, 1, -2) Q^T with a skew part becomes diag(4, 1, 0); a
 * definite one does not change. */
static void projected_tangent(void **state)
{
  (void)state;
  const double c = 0.8, s = 0.6, Q[9] = {c, 0, -s, 0, 1, 0, s, 0, c};
  double       dp[18], a[6] = {1, 1, -2, 1, 0, 1}, b[6] = {-3, 1, 0, 1, 2, 1}, wanted[9] = {0};
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      const double kept = 4 * Q[3 * i] * Q[3 * j] + Q[3 * i + 1] * Q[3 * j + 1], skew = i == j ? 0.0 : (i < j ? 5.0 : -5.0);
      wanted[3 * i + j]       = kept;
      dp[2 * (3 * i + j)]     = kept - 2 * Q[3 * i + 2] * Q[3 * j + 2] + skew;
      dp[2 * (3 * i + j) + 1] = i == j ? 3.0 : 1.0;
    }
  material *m = make(NEO_HOOKEAN);
  material_tangent_project(m, 2, 2, dp, a, b);
  material_destroy(&m);
  for (int k = 0; k < 9; ++k) {
    assert_close(dp[2 * k], wanted[k], 1e-14);
    assert_true(dp[2 * k + 1] == (k % 4 == 0 ? 3.0 : 1.0));
  }
  for (int k = 0; k < 3; ++k)
    assert_true(a[2 * k] == (k == 1 ? 0.0 : k == 0 ? 1.0 : 0.0) && b[2 * k] == (k == 0 ? 0.0 : k == 2 ? 2.0 : 0.0));
  for (int k = 0; k < 3; ++k) assert_true(a[2 * k + 1] == 1.0 && b[2 * k + 1] == 1.0);
}

/* Of random ones, many hardly definite: nothing negative is left, and no more than that was changed. */
static void projected_tangents_are_nearest(void **state)
{
  enum { N = MATERIAL_BATCH };
  int n_open = 0;
  (void)state;
  material *m = make(NEO_HOOKEAN);
  for (int round = 0; round < 50; ++round) {
    double dp[9 * N], before[9 * N], a[3 * N], b[3 * N];
    for (int k = 0; k < 3 * N; ++k) a[k] = b[k] = 1.0;
    for (int i = 0; i < N; ++i) {
      double X[9], shift = -0.75 + 1.25 * random_unit();
      if (i % 4 == 0) shift = 0.0;
      if (i % 4 == 1) shift = -1e-9;
      for (int k = 0; k < 9; ++k) X[k] = random_unit();
      for (int k = 0; k < 3 && i % 2 == 0; ++k) X[6 + k] = X[k] - 2.0 * X[3 + k]; /* of rank 2 */
      for (int r = 0; r < 3; ++r)
        for (int c = 0; c < 3; ++c)
          dp[(3 * r + c) * N + i] = X[r] * X[c] + X[3 + r] * X[3 + c] + X[6 + r] * X[6 + c] + (r == c ? shift : 0.0);
    }
    memcpy(before, dp, sizeof dp);
    material_tangent_project(m, N, N, dp, a, b);
    for (int i = 0; i < N; ++i) {
      double A[9], B[9], lambda[3], kept[3], Q[9], moved = 0.0, wanted = 0.0;
      for (int k = 0; k < 9; ++k) A[k] = before[k * N + i], B[k] = dp[k * N + i], moved += (A[k] - B[k]) * (A[k] - B[k]);
      eigen3_symmetric(A, lambda, Q);
      eigen3_symmetric(B, kept, Q);
      for (int k = 0; k < 3; ++k) wanted += lambda[k] < 0.0 ? lambda[k] * lambda[k] : 0.0;
      assert_true(kept[2] >= -1e-14 * (1.0 + kept[0]));
      assert_close(sqrt(moved), sqrt(wanted), 1e-14 * (1.0 + kept[0]));
      n_open += lambda[2] < -1e-14;
    }
  }
  assert_true(n_open > N * 50 / 4 && n_open < N * 50);
  material_destroy(&m);
}

TEST_MAIN(cmocka_unit_test(projected_tangent), cmocka_unit_test(projected_tangents_are_nearest), cmocka_unit_test(rest),
          cmocka_unit_test(objective_and_isotropic), cmocka_unit_test(spectral_quotients), cmocka_unit_test(stress_is_energy_gradient),
          cmocka_unit_test(derivative_elastic), cmocka_unit_test(derivative_inverted), cmocka_unit_test(elastic_states_keep_their_bits),
          cmocka_unit_test(first_bad_point_is_reported), cmocka_unit_test(place_does_not_matter), cmocka_unit_test(small_strain))
