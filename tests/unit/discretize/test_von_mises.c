/* Von Mises plasticity: return mapping against eigenvalues and against the smallest change of the gradient, limit of the rotation in a
 * step, uniaxial loading, invalid parameters. */
#include "core/eigen3.h"
#include "material_step_fixture.h"

static double deviator(const double *B)
{
  double square = 0.0;
  for (int k = 0; k < 9; ++k) {
    const double d = B[k] - (k % 4 == 0 ? m3_trace(B) / 3.0 : 0.0);
    square += d * d;
  }
  return sqrt(square);
}
static void strain_of(const double *F, const double *R0, double *B) /* sym(F R0^T) */
{
  double T[9];
  m3_mul_nt(T, F, R0);
  for (int r = 0; r < 3; ++r)
    for (int c = 0; c < 3; ++c) B[3 * r + c] = 0.5 * (T[3 * r + c] + T[3 * c + r]);
}
/* Equation 25 with eigenvalues, as published. */
static void return_by_eigenvalues(const double *B, double *to)
{
  double sigma[3], Q[9], mean = 0.0, size = 0.0;
  eigen3_symmetric(B, sigma, Q);
  for (int k = 0; k < 3; ++k) mean += sigma[k] / 3.0;
  for (int k = 0; k < 3; ++k) size += (sigma[k] - mean) * (sigma[k] - mean);
  size = sqrt(size);
  m3_zero(to);
  for (int k = 0; k < 3; ++k) {
    const double s = size <= RADIUS ? sigma[k] : mean + RADIUS * (sigma[k] - mean) / size;
    for (int r = 0; r < 3; ++r)
      for (int c = 0; c < 3; ++c) to[3 * r + c] += s * Q[3 * r + k] * Q[3 * c + k];
  }
}

static void von_mises_returns(void **state)
{
  (void)state;
  material *m          = make_dough();
  int       n_yielding = 0, n_elastic = 0;
  assert_false(material_is_elastic(m));
  for (int repeat = 0; repeat < 400; ++repeat) {
    double               start[9], F[9], R0[9], R[9], B[9], wanted[9], got[9], S[9], least[9], strain = 0.25, before[9], trial[9];
    material_step_maxima marks = {0.0, 0.0};
    random_step(repeat % 4 == 0 ? 0.01 : 0.4, start, F);
    polar3(start, R0, NULL), polar3(F, R, NULL);
    strain_of(F, R0, B), return_by_eigenvalues(B, wanted);
    memcpy(trial, F, sizeof trial);
    memcpy(before, F, sizeof before);
    if (material_accept(m, 1, 1, start, F, &strain, &marks) != 1) continue; /* turned too far; see below */
    strain_of(F, R0, got);
    const double size = deviator(B);
    assert_close(marks.overshoot, size / RADIUS, 1e-12 * size / RADIUS);
    if (size <= RADIUS) {
      ++n_elastic;
      assert_memory_equal(F, before, sizeof F);
      assert_true(strain == 0.25);
      continue;
    }
    ++n_yielding;
    for (int k = 0; k < 9; ++k) assert_close(got[k], wanted[k], 1e-14);
    assert_close(deviator(got), RADIUS, 1e-14);
    assert_close(m3_trace(got), m3_trace(B), 1e-14);
    assert_close(strain, 0.25 + sqrt(2.0 / 3.0) * (size - RADIUS), 1e-13);
    m3_mul_tn(S, R, F); /* F' = R S' */
    for (int k = 0; k < 9; ++k) assert_close(S[k], S[k % 3 * 3 + k / 3], 1e-13);
    for (int k = 0; k < 9; ++k) wanted[k] -= B[k];
    m3_mul(least, wanted, R0); /* the smallest change of the gradient has the same B, and is at most as far from the trial gradient */
    double change = 0.0, far = 0.0;
    for (int k = 0; k < 9; ++k) change += least[k] * least[k], least[k] += trial[k], far += (F[k] - trial[k]) * (F[k] - trial[k]);
    strain_of(least, R0, wanted);
    for (int k = 0; k < 9; ++k) assert_close(got[k], wanted[k], 1e-14);
    assert_true(change <= far * (1.0 + 1e-12));
    memcpy(before, F, sizeof F); /* a second time from the same start: nothing more to return */
    const double once = strain;
    assert_int_equal(material_accept(m, 1, 1, start, F, &strain, NULL), 1);
    for (int k = 0; k < 9; ++k) assert_close(F[k], before[k], 1e-13);
    assert_close(strain, once, 1e-14);
  }
  assert_true(n_yielding > 200 && n_elastic > 20);
  material_destroy(&m);
}

/* A yielding step with rotation by w: accepted up to 80 degrees, rejected above without changes. */
static void von_mises_limits_the_rotation_of_a_step(void **state)
{
  (void)state;
  material *m = make_dough();
  enum { N = 3 };
  for (int repeat = 0; repeat < 30; ++repeat) {
    const double w       = (repeat % 6 == 5 ? 79.9 : 70.0 + 4.0 * (repeat % 5)) * M_PI / 180.0; /* 70 74 78 82 86 79.9 */
    double       axis[3] = {random_unit(), random_unit(), random_unit()}, Q[9], F[9], S[9], start[9 * N], step[9 * N], kept[9 * N],
           history[N]    = {0};
    const double s[3] = {1.4, 1.0, 0.8}, length = v3_norm(axis);
    for (int k = 0; k < 3; ++k) axis[k] *= w / length;
    rotation_exp(Q, axis);
    random_gradient(s, F), polar3(F, kept, S); /* any symmetric S */
    m3_mul(F, Q, S);
    for (int i = 0; i < N; ++i) /* only the second of three turns */
      for (int k = 0; k < 9; ++k) start[k * N + i] = k % 4 == 0, step[k * N + i] = i == 1 ? F[k] : S[k];
    memcpy(kept, step, sizeof kept);
    material_step_maxima marks = {0.0, 0.0};
    const int64_t        n     = material_accept(m, N, N, start, step, history, &marks);
    if (w > 80.0 * M_PI / 180.0) {
      assert_int_equal(n, 1);
      assert_memory_equal(step, kept, sizeof kept);
      assert_true(history[0] == 0.0 && history[1] == 0.0 && marks.turn == 0.0);
      continue;
    }
    assert_int_equal(n, N);
    assert_close(marks.turn, w, 1e-12);
    double B[9], got[9], wanted[9], f[9];
    for (int k = 0; k < 9; ++k) f[k] = step[k * N + 1];
    strain_of(F, (const double[9]){1, 0, 0, 0, 1, 0, 0, 0, 1}, B), return_by_eigenvalues(B, wanted);
    strain_of(f, (const double[9]){1, 0, 0, 0, 1, 0, 0, 0, 1}, got);
    for (int k = 0; k < 9; ++k) assert_close(got[k], wanted[k], 1e-13);
  }
  const double bad[4][9] = {
      {NAN, 0, 0, 0, 1, 0, 0, 0, 1}, {INFINITY, 0, 0, 0, 1, 0, 0, 0, 1}, {1, 0, 0, 0, -1, 0, 0, 0, -1}, {0, -1, 0, 1, 0, 0, 0, 0, 1}};
  const double one[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  for (int i = 0; i < 4; ++i) { /* not finite; turned by 180 degrees and by 90 */
    double F[9], zero = 0.0, P[9];
    memcpy(F, bad[i], sizeof F);
    assert_int_equal(material_stress(m, 1, 1, one, F, &zero, P, NULL, NULL, NULL, NULL, NULL), i < 2 ? 0 : 1);
    assert_int_equal(material_accept(m, 1, 1, one, F, &zero, NULL), 0);
    assert_memory_equal(F, bad[i], sizeof F);
  }
  double F[9] = {1, 0, 0, 0, 1, 0, 0, 0, -0.2}, zero = 0.0; /* compressed until inverted: it flows back, its volume is that of
                                                             * the trace */
  assert_int_equal(material_accept(m, 1, 1, one, F, &zero, NULL), 1);
  assert_close(m3_trace(F), 1.8, 1e-14);
  assert_true(m3_det(F) > 0.0);
  material_destroy(&m);
}

/* One particle drawn out along x, in steps: |dev tau| rises with slope 2 mu in |dev B|, stops at the yield stress, falls with the same
 * slope from where it has got to; what the volume does stays elastic. */
static void von_mises_bar_is_stretched(void **state)
{
  (void)state;
  material    *m    = make_dough();
  const double d    = 1e-3;
  double       F[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, strain = 0.0, total = 0.0, flow = 0.0;
  for (int step = 0; step < 200; ++step) {
    const double rate = step < 150 ? d : -d;
    double       start[9], P[9], T[9];
    memcpy(start, F, sizeof F);
    F[0] += rate, total += rate; /* constrained sides: dev B = 2/3, -1/3, -1/3 of the stretch */
    const double trial = sqrt(2.0 / 3.0) * fabs(total - flow), over = trial - RADIUS;
    if (over > 0.0) flow += over / sqrt(2.0 / 3.0) * (total > flow ? 1.0 : -1.0);
    assert_int_equal(material_accept(m, 1, 1, start, F, &strain, NULL), 1);
    assert_int_equal(material_stress(m, 1, 1, NULL, F, &strain, P, NULL, NULL, NULL, NULL, NULL), 1);
    m3_copy(T, P); /* R = 1: tau of equation 21 */
    assert_close(deviator(T), 2.0 * MU * sqrt(2.0 / 3.0) * fabs(total - flow), 1e-9 * E);
    assert_true(deviator(T) <= 4e3 * (1.0 + 1e-12));
    assert_close(m3_trace(F) - 3.0, total, 1e-13);
    if (step == 149) {
      assert_close(deviator(T), 4e3, 1e-9 * E);
      assert_true(flow > 0.05);
    }
  }
  assert_close(strain, sqrt(2.0 / 3.0) * sqrt(2.0 / 3.0) * flow, 1e-12); /* that was one way */
  material_destroy(&m);

  /* a bar yields at yield_stress_uniaxial: strained by e along, -nu e across */
  m = make("von_mises", ELASTIC "yield_stress_uniaxial: 5e3 ");
  for (int above = 0; above < 2; ++above) {
    const double         e = 5e3 / E * (above ? 1.0 + 1e-9 : 1.0 - 1e-9), one[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    double               bar[9] = {1.0 + e, 0, 0, 0, 1.0 - 0.3 * e, 0, 0, 0, 1.0 - 0.3 * e}, q = 0.0;
    material_step_maxima marks = {0.0, 0.0};
    assert_int_equal(material_accept(m, 1, 1, one, bar, &q, &marks), 1);
    assert_true((q > 0.0) == above && (marks.overshoot > 1.0) == above);
    assert_close(marks.overshoot, 1.0, 1e-8);
  }
  material_destroy(&m);
}

static void bad_parameters_are_rejected(void **state)
{
  (void)state;
  static const char *const texts[] = {ELASTIC, ELASTIC "yield_stress: 1 yield_stress_uniaxial: 1 "};
  for (int i = 0; i < 2; ++i) {
    material            *m;
    const PetscErrorCode code = material_from_text("von_mises", texts[i], &m);
    assert_int_equal(code, PETSC_ERR_USER_INPUT);
    assert_non_null(strstr(error_message(), "exactly one"));
    error_clear();
    assert_null(m);
  }
}

TEST_MAIN(cmocka_unit_test(von_mises_returns), cmocka_unit_test(von_mises_limits_the_rotation_of_a_step),
          cmocka_unit_test(von_mises_bar_is_stretched), cmocka_unit_test(bad_parameters_are_rejected))
