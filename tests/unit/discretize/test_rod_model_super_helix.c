/* Super-helices: their kinematics against the differential equation, derivatives against finite differences, linear-time products
 * against dense matrices. */
#include "test.h"
#include "core/math3.h"
#include "discretize/rod/cayley.h"
#include "discretize/rod/super_helix.h"
#include "discretize/rod/super_helix_element.h"
#include <float.h>
#include <stdio.h>

static uint64_t state = 7;
static double   uniform(double lo, double hi) /* splitmix64 */
{
  uint64_t x = (state += 0x9e3779b97f4a7c15ull);
  x          = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x          = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return lo + (hi - lo) * (double)((x ^ (x >> 31)) >> 11) * 0x1p-53;
}
static void random_vector(double *x, int n, double size)
{
  for (int i = 0; i < n; ++i) x[i] = size * uniform(-1.0, 1.0);
}

enum { N = 7, LINKS = N + 2, UNKNOWNS = 3 * LINKS, POINTS = 4 * N };

typedef struct {
  super_helix h;
  double      r[3], R0[9], theta[3], kappa[3 * N];
} strand;

static void make(strand *s, double curvature)
{
  double length[N], turn[3];
  for (int e = 0; e < N; ++e) length[e] = uniform(0.1, 0.3);
  assert_ok(super_helix_create(N, length, 0.7, 0.03, &s->h));
  random_vector(s->r, 3, 1.0), random_vector(turn, 3, 2.0), random_vector(s->theta, 3, 0.5);
  rotation_exp(s->R0, turn);
  random_vector(s->kappa, 3 * N, curvature);
  super_helix_shape(&s->h, s->r, s->R0, s->theta, s->kappa);
}
/* Move along u by h and take the shape. */
static void move(strand *s, double h, const double *u)
{
  for (int k = 0; k < 3; ++k) s->r[k] += h * u[k], s->theta[k] += h * u[3 + k];
  for (int k = 0; k < 3 * N; ++k) s->kappa[k] += h * u[6 + k];
  super_helix_shape(&s->h, s->r, s->R0, s->theta, s->kappa);
}

/* C_k = int_0^1 (1 - t)^(k - 1) / (k - 1)! cos-like ... by recursion from k = 0, 1 in long double where that does not cancel, and at 0 by definition. */
static void test_stumpff(void **unused)
{
  (void)unused;
  double C[STUMPFF_COUNT];
  stumpff(0.0, C);
  double factorial = 1.0;
  for (int k = 2; k < STUMPFF_COUNT; ++k) assert_close(C[k], 1.0 / (factorial *= k), 0.0);
  const double places[] = {1e-12, 1e-3, 0.5, 3.9999, 4.0001, 11.0, 200.0};
  for (size_t i = 0; i < sizeof places / sizeof *places; ++i) {
    const double y = places[i];
    stumpff(y, C);
    for (int k = 2; k < STUMPFF_COUNT; ++k) {
      long double term = 1.0L, sum = 0.0L;
      for (int j = 1; j <= k; ++j) term /= j;
      for (int j = 0; j < 120; ++j) sum += term, term *= -(long double)y / ((2 * j + k + 1) * (2 * j + k + 2));
      assert_close(C[k], (double)sum, (y < 100.0 ? 5e-14 : 1e-12) * fabs((double)sum));
    }
  }
}

/* r' = d_0, R' = R [kappa]x by Runge-Kutta in the element's frame. */
static void test_kinematics(void **unused)
{
  (void)unused;
  const double sizes[] = {0.0, 1e-9, 1e-3, 1.0, 12.0};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    double        k[3], K[9], R[9], r[3] = {0.0};
    const int     steps = 2000;
    const double  s = 0.8, d = s / steps;
    helix_element here;
    random_vector(k, 3, sizes[i]);
    helix_element_at(&here, k, s);
    m3_skew(K, k);
    m3_identity(R);
    for (int n = 0; n < steps; ++n) { /* the exponential of a small step by its series; the place by Simpson's rule */
      double half[9], next[9], P[9] = {0}, power[9], more[9];
      m3_identity(half), m3_identity(next), m3_identity(power);
      double a = 1.0, b = 1.0;
      for (int j = 1; j <= 8; ++j) {
        m3_mul(more, power, K), m3_copy(power, more);
        a *= d / j, b *= 0.5 * d / j;
        m3_axpy(next, a, power), m3_axpy(half, b, power);
      }
      m3_mul(P, R, half);
      m3_mul(more, R, next);
      for (int c = 0; c < 3; ++c) r[c] += d / 6.0 * (R[3 * c] + 4.0 * P[3 * c] + more[3 * c]);
      m3_copy(R, more);
    }
    for (int c = 0; c < 3; ++c) assert_close(here.place[c], r[c], 1e-12);
    for (int c = 0; c < 9; ++c) assert_close(here.frame[c], R[c], 1e-12);
  }
}

static void test_element_derivatives(void **unused)
{
  (void)unused;
  const double sizes[] = {0.0, 1e-4, 0.5, 3.0, 15.0}, h = 1e-5;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    const double  s = 0.6;
    double        k[3], w[3], f[3], B[9], Q[9], H[9] = {0.0};
    helix_element here;
    random_vector(k, 3, sizes[i]), random_vector(w, 3, 1.0), random_vector(f, 3, 1.0);
    helix_element_at(&here, k, s);
    helix_element_derivative(&here, w, B);
    helix_element_second(&here, f, H);
    for (int j = 0; j < 3; ++j) {
      double        at[2][3], g[2][3], spin[9];
      helix_element side[2];
      for (int p = 0; p < 2; ++p) {
        double moved[3];
        v3_copy(moved, k);
        moved[j] += p ? h : -h;
        helix_element_at(&side[p], moved, s);
        m3_mulv(at[p], side[p].turn, w);
        helix_element_motion(&side[p], Q);
        m3_mulv_t(g[p], Q, f);
      }
      for (int c = 0; c < 3; ++c) {
        assert_close((at[1][c] - at[0][c]) / (2.0 * h), B[3 * c + j], 1e-9);
        assert_close((g[1][c] - g[0][c]) / (2.0 * h), H[3 * c + j], 1e-9);
      }
      /* dR R^T = [A e_j]x */
      double dR[9];
      for (int c = 0; c < 9; ++c) dR[c] = (side[1].frame[c] - side[0].frame[c]) / (2.0 * h);
      m3_mul_nt(spin, dR, here.frame);
      const double turned[3] = {spin[7], spin[2], spin[3]};
      for (int c = 0; c < 3; ++c) assert_close(turned[c], here.turn[3 * c + j], 1e-8);
    }
  }
}

static void test_cayley(void **unused)
{
  (void)unused;
  double       theta[3], m[3], J[9], H[9], R[2][9], g[2][3], back[3], q[4], A[9];
  const double h = 1e-6;
  random_vector(theta, 3, 1.5), random_vector(m, 3, 1.0);
  cayley_jacobian(J, theta), cayley_second(H, theta, m);
  cayley_quaternion(q, theta), cayley_inverse(back, q);
  cayley_rotation(A, theta);
  for (int j = 0; j < 3; ++j) {
    assert_close(back[j], theta[j], 1e-15);
    for (int p = 0; p < 2; ++p) {
      double moved[3], B[9];
      v3_copy(moved, theta);
      moved[j] += p ? h : -h;
      cayley_rotation(R[p], moved);
      cayley_jacobian(B, moved);
      m3_mulv_t(g[p], B, m);
    }
    double dR[9], spin[9];
    for (int c = 0; c < 9; ++c) dR[c] = (R[1][c] - R[0][c]) / (2.0 * h);
    m3_mul_nt(spin, dR, A);
    const double turned[3] = {spin[7], spin[2], spin[3]};
    for (int c = 0; c < 3; ++c) {
      assert_close(turned[c], J[3 * c + j], 1e-9);
      assert_close((g[1][c] - g[0][c]) / (2.0 * h), H[3 * c + j], 1e-9);
    }
  }
}

/* J u is how the points move; J^T is its transpose; both agree with the published integral of d_i x (r - r'). */
static void test_rates(void **unused)
{
  (void)unused;
  const double sizes[] = {0.0, 2.0, 8.0}, h = 1e-6;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    strand s;
    double u[UNKNOWNS], v[3 * POINTS], f[3 * POINTS], x[9], tip[9], back[UNKNOWNS] = {0.0}, place[2][3 * POINTS], power = 0.0, other = 0.0;
    make(&s, sizes[i]);
    random_vector(u, UNKNOWNS, 1.0), random_vector(f, 3 * POINTS, 1.0);
    super_helix_rates(&s.h, u, v);
    super_helix_load load = {.f = f};
    random_vector(load.tip, 3, 1.0);
    super_helix_forces(&s.h, &load, back);
    const int32_t e[3]   = {0, 3, N - 1};
    const double  arc[3] = {0.0, 0.04, s.h.length[N - 1]};
    super_helix_sample(&s.h, s.kappa, u, 3, e, arc, x, tip);
    for (int k = 0; k < 3; ++k) {
      assert_close(x[k], s.r[k], 1e-15);
      assert_close(tip[k], u[k], 1e-15);
      assert_close(x[6 + k], s.h.end[3 * (LINKS - 1) + k], 1e-14);
      power += load.tip[k] * tip[6 + k];
    }
    for (int k = 0; k < 3 * POINTS; ++k) power += f[k] * v[k];
    for (int k = 0; k < UNKNOWNS; ++k) other += u[k] * back[k];
    assert_close(power, other, 1e-13 * POINTS);
    move(&s, h, u), memcpy(place[1], s.h.point, sizeof place[1]);
    move(&s, -2.0 * h, u), memcpy(place[0], s.h.point, sizeof place[0]);
    for (int k = 0; k < 3 * POINTS; ++k) assert_close((place[1][k] - place[0][k]) / (2.0 * h), v[k], 1e-8);
    double side[9], unused_v[9];
    super_helix_sample(&s.h, s.kappa, u, 3, e, arc, side, unused_v);
    for (int k = 0; k < 9; ++k) assert_close((x[k] - side[k]) / h, tip[k], 2e-5);
    super_helix_destroy(&s.h);
  }
  assert_no_leak();
}

static void test_published_velocity(void **unused)
{
  (void)unused;
  enum { PARTS = 400 };
  strand s;
  double u[UNKNOWNS] = {0.0}, v[3 * POINTS];
  make(&s, 5.0);
  random_vector(u + 6, 3 * N, 1.0);
  super_helix_rates(&s.h, u, v);
  const double *x      = s.h.point + 3 * (POINTS - 1);
  double        sum[3] = {0.0};
  for (int e = 0; e < N; ++e) {
    const double end = e < N - 1 ? s.h.length[e] : 0.93056815579702628761 * s.h.length[e];
    for (int p = 0; p < PARTS; ++p) {
      double y[3], R[9], turn[3], arm[3], c[3];
      super_helix_at(&s.h, s.kappa, e, end * (p + 0.5) / PARTS, y, R);
      m3_mulv(turn, R, u + 6 + 3 * e);
      v3_sub(arm, x, y);
      v3_cross(c, turn, arm);
      v3_axpy(sum, end / PARTS, c);
    }
  }
  for (int k = 0; k < 3; ++k)
    assert_close(sum[k], v[3 * (POINTS - 1) + k], 1e-5); /* midpoint rule: (0.3 / 400)^2 times second derivatives of 50 */
  super_helix_destroy(&s.h);
  assert_no_leak();
}

/* Displacement of the curve and of a point off the axis that is fixed to a section. */
static void test_point_jacobian(void **unused)
{
  (void)unused;
  const double h = 1e-6, local[3] = {0.0, 0.05, -0.02}, at = 0.07;
  strand       s;
  double       u[UNKNOWNS], x[3][3], R[9], moved[3] = {0.0}, J[LINKS][9];
  make(&s, 4.0);
  random_vector(u, UNKNOWNS, 1.0);
  for (int p = 0; p < 3; ++p) {
    double arm[3];
    super_helix_at(&s.h, s.kappa, 3, at, x[p], R);
    m3_mulv(arm, R, local);
    v3_axpy(x[p], 1.0, arm);
    if (p == 0) super_helix_point_jacobian(&s.h, s.kappa, 3, at, x[0], J);
    move(&s, p == 0 ? h : -2.0 * h, u);
  }
  for (int a = 0; a <= 5; ++a) {
    double term[3];
    m3_mulv(term, J[a], u + 3 * a);
    v3_axpy(moved, 1.0, term);
  }
  for (int k = 0; k < 3; ++k) assert_close((x[1][k] - x[2][k]) / (2.0 * h), moved[k], 1e-8);
  super_helix_destroy(&s.h);
  assert_no_leak();
}

static void test_spin(void **unused)
{
  (void)unused;
  strand s;
  double u[UNKNOWNS], d[UNKNOWNS], g[UNKNOWNS] = {0.0}, slope = 0.0;
  make(&s, 4.0);
  random_vector(u, UNKNOWNS, 1.0), random_vector(d, UNKNOWNS, 1.0);
  super_helix_spin(&s.h, 2.0, u, g);
  for (int k = 0; k < UNKNOWNS; ++k) slope += 0.5 * g[k] * d[k], u[k] += d[k];
  const double up = super_helix_spin(&s.h, 0.0, u, NULL);
  for (int k = 0; k < UNKNOWNS; ++k) u[k] -= 2.0 * d[k];
  assert_close(0.5 * (up - super_helix_spin(&s.h, 0.0, u, NULL)), slope, 1e-14); /* quadratic */
  /* A straight strand that spins as a whole: j L w^2 / 2. */
  double length = 0.0, whole[UNKNOWNS] = {0.0};
  for (int e = 0; e < N; ++e) length += s.h.length[e];
  v3_scale(whole + 3, 3.0, s.h.axis);
  assert_close(super_helix_spin(&s.h, 0.0, whole, NULL), 0.5 * 0.03 * length * 9.0, 1e-15);
  super_helix_destroy(&s.h);
  assert_no_leak();
}

/* H = a (J^T m J + spin) + b d(J^T f): columns against products of J and finite differences; symmetric without a moment at the tip; blocks and the
 * transposed as in products. */
static void test_tangent(void **unused)
{
  (void)unused;
  const double sizes[] = {0.0, 1e-5, 2.0, 9.0}, h = 1e-6, a = 1.3, b = 0.4;
  for (size_t i = 0; i < 2 * sizeof sizes / sizeof *sizes; ++i) {
    const bool with_tip = i % 2;
    strand     s;
    double     f[3 * POINTS], H[UNKNOWNS][UNKNOWNS], T[UNKNOWNS][UNKNOWNS];
    make(&s, sizes[i / 2]);
    random_vector(f, 3 * POINTS, 1.0);
    super_helix_load load = {.f = f}, inertia = {.f = f};
    if (with_tip) random_vector(load.tip, 3, 5.0), random_vector(load.moment, 3, 5.0);
    super_helix_prepare(&s.h, s.kappa, a, b, &load);
    for (int j = 0; j < UNKNOWNS; ++j) {
      double u[UNKNOWNS] = {0.0}, expected[UNKNOWNS] = {0.0}, v[3 * POINTS], side[2][UNKNOWNS] = {{0.0}};
      u[j] = 1.0;
      memset(H[j], 0, sizeof H[j]), memset(T[j], 0, sizeof T[j]);
      super_helix_product(&s.h, u, H[j], false);
      super_helix_product(&s.h, u, T[j], true);
      super_helix_rates(&s.h, u, v);
      for (int k = 0; k < 3 * POINTS; ++k) v[k] *= a * s.h.point_mass[k / 3];
      inertia.f = v;
      super_helix_forces(&s.h, &inertia, expected);
      super_helix_spin(&s.h, a, u, expected);
      strand moved = s; /* the same arrays */
      move(&moved, h, u), super_helix_forces(&moved.h, &load, side[1]);
      move(&moved, -2.0 * h, u), super_helix_forces(&moved.h, &load, side[0]);
      super_helix_shape(&s.h, s.r, s.R0, s.theta, s.kappa);
      for (int k = 0; k < UNKNOWNS; ++k)
        assert_close(H[j][k], expected[k] + b * (side[1][k] - side[0][k]) / (2.0 * h), with_tip ? 2e-8 : 5e-9);
    }
    for (int p = 0; p < LINKS; ++p)
      for (int q = 0; q < LINKS; ++q) {
        double block[9];
        super_helix_block(&s.h, p, q, block);
        for (int k = 0; k < 9; ++k) {
          assert_close(block[k], H[3 * q + k % 3][3 * p + k / 3], 1e-13 * 5.0);
          assert_close(block[k], T[3 * p + k / 3][3 * q + k % 3], 1e-13 * 5.0);
          if (!with_tip) assert_close(block[k], H[3 * p + k / 3][3 * q + k % 3], 1e-13);
        }
      }
    super_helix_destroy(&s.h);
  }
  assert_no_leak();
}

/* A straight beam's mass: the last element's end moves by s^2/2 per unit of curvature of the only element, rho S L^5 / 20. */
static void test_mass_of_beam(void **unused)
{
  (void)unused;
  const double length = 2.0, none[3] = {0.0}, kappa[3] = {0.0};
  double       one[9], f[12] = {0.0}, block[9];
  super_helix  h;
  m3_identity(one);
  assert_ok(super_helix_create(1, &length, 0.5, 0.1, &h));
  super_helix_shape(&h, none, one, none, kappa);
  super_helix_prepare(&h, kappa, 1.0, 0.0, &(super_helix_load){.f = f});
  super_helix_block(&h, 2, 2, block);
  assert_close(block[4], 0.5 * 32.0 / 20.0, 1e-14);
  assert_close(block[8], 0.5 * 32.0 / 20.0, 1e-14);
  assert_close(block[0], 0.1 * 8.0 / 3.0, 1e-14);
  super_helix_block(&h, 0, 0, block);
  assert_close(block[0], 1.0, 1e-15);
  super_helix_destroy(&h);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_stumpff), cmocka_unit_test(test_kinematics), cmocka_unit_test(test_element_derivatives),
          cmocka_unit_test(test_cayley), cmocka_unit_test(test_rates), cmocka_unit_test(test_published_velocity),
          cmocka_unit_test(test_point_jacobian), cmocka_unit_test(test_spin), cmocka_unit_test(test_tangent),
          cmocka_unit_test(test_mass_of_beam))
