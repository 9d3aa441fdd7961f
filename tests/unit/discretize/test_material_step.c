/* Laws that know where the step started: linear corotated about the lagged rotation, von Mises plasticity, liquid by an equation of
 * state. Oracles: finite differences, eigenvalues, the return that changes the gradient least. */
#include "core/eigen3.h"
#include "polar3.h"
#include "material_fixture.h"

#define ELASTIC "density: 1000 youngs_modulus: 1e5 poisson_ratio: 0.3 "
static const double E = 1e5, MU = 1e5 / 2.6, LAMBDA = 3e4 / (1.3 * 0.4), RADIUS = 4e3 / (2e5 / 2.6);

static material *make(const char *name, const char *text)
{
  material *m;
  assert_ok(material_from_text(name, text, &m));
  return m;
}
static material *make_lagged(void) { return make("linear_corotated", ELASTIC "rotation: lagged "); }
static material *make_dough(void) { return make("von_mises", ELASTIC "yield_stress: 4e3 "); }
static material *make_liquid(void) { return make("tait_liquid", "density: 1000 kappa: 2e3 gamma: 7 "); }

static response respond_from(const material *m, const double *start, const double *F, const double *state)
{
  response r;
  assert_int_equal(material_stress(m, 1, 1, start, F, state, r.P, r.U, r.V, r.dp, r.a, r.b), 1);
  return r;
}

/* A start that is turned and strained, and where a step may lead. */
static void random_step(double strain, double *start, double *F)
{
  const double s[3] = {1.0 + strain * random_unit(), 1.0 + strain * random_unit(), 1.0 + strain * random_unit()};
  random_gradient(s, start);
  for (int k = 0; k < 9; ++k) F[k] = start[k] + strain * random_unit();
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
  for (int i = 0; i < 2; ++i) { /* the projection finds nothing to do, and so may be left out */
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
    double       start[9] = {s, 0, 0, 0, s, 0, 0, 0, s}, L[9], F[9], dF[9], dP[9], div = 0.0, P[2][9], isotropic[9] = {0}, psi[2];
    for (int k = 0; k < 9; ++k) L[k] = (k % 4 == 0 ? 0.08 : 1.0) * random_unit(), dF[k] = random_unit(), F[k] = start[k] + s * L[k];
    for (int k = 0; k < 3; ++k) div += L[4 * k];
    const double   J = J0 * (1.0 + div), h = 1e-5;
    const response r = respond_from(m, start, F, NULL);
    for (int k = 0; k < 9; ++k) assert_close(r.P[k], k % 4 ? 0.0 : -2e3 * (pow(J, -7.0) - 1.0) * s * s, 1e-9);
    stress_differential(1, 0, r.U, r.V, r.dp, r.a, r.b, dF, false, dP);
    for (int e = 0; e < 2; ++e) {
      double G[9];
      for (int k = 0; k < 9; ++k) G[k] = F[k] + (e ? h : -h) * dF[k];
      assert_int_equal(material_stress(m, 1, 1, start, G, NULL, P[e], NULL, NULL, NULL, NULL, NULL), 1);
    }
    for (int k = 0; k < 9; ++k) assert_close(dP[k], (P[1][k] - P[0][k]) / (2.0 * h), 1e-3);
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

/* Same bits alone and anywhere in a batch, with and without tangent, before and after acceptance. */
static void place_does_not_matter(void **state)
{
  (void)state;
  enum { N = 61 };
  material *all[] = {make_lagged(), make_dough(), make_liquid()};
  for (int i = 0; i < 3; ++i) {
    material     *m = all[i];
    static double start[9 * N], F[9 * N], P[9 * N], Q[9 * N], U[9 * N], V[9 * N], dp[9 * N], a[3 * N], b[3 * N], G[9 * N], history[N];
    for (int j = 0; j < N; ++j) {
      double s[9] = {1.1, 0, 0, 0, 1.1, 0, 0, 0, 1.1}, f[9];
      if (i < 2) random_step(0.2, s, f);
      else
        for (int k = 0; k < 9; ++k) f[k] = s[k] + 0.2 * random_unit();
      for (int k = 0; k < 9; ++k) start[k * N + j] = s[k], F[k * N + j] = G[k * N + j] = f[k];
      history[j] = 0.0;
    }
    assert_int_equal(material_stress(m, N, N, start, F, history, P, U, V, dp, a, b), N);
    assert_int_equal(material_stress(m, N, N, start, F, history, Q, NULL, NULL, NULL, NULL, NULL), N);
    assert_memory_equal(P, Q, sizeof P);
    assert_int_equal(material_accept(m, N, N, start, G, history, NULL), N);
    for (int j = 0; j < N; ++j) {
      double s[9], f[9], zero = 0.0;
      for (int k = 0; k < 9; ++k) s[k] = start[k * N + j], f[k] = F[k * N + j];
      const response r = respond_from(m, s, f, &zero);
      for (int k = 0; k < 9; ++k)
        assert_true(r.P[k] == P[k * N + j] && r.dp[k] == dp[k * N + j] && r.U[k] == U[k * N + j] && r.V[k] == (k % 4 == 0));
      assert_int_equal(material_accept(m, 1, 1, s, f, &zero, NULL), 1);
      for (int k = 0; k < 9; ++k) assert_true(f[k] == G[k * N + j]);
      if (i == 1) assert_true(zero == history[j]);
    }
    material_destroy(&all[i]);
  }
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(lagged_is_quadratic), cmocka_unit_test(lagged_and_current), cmocka_unit_test(von_mises_returns),
          cmocka_unit_test(von_mises_limits_the_rotation_of_a_step), cmocka_unit_test(von_mises_bar_is_stretched),
          cmocka_unit_test(bad_parameters_are_rejected), cmocka_unit_test(liquid_pressure_is_that_of_the_law),
          cmocka_unit_test(liquid_discards_shear), cmocka_unit_test(place_does_not_matter))
