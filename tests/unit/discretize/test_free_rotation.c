/* Tests of free_rotation.h: exact solutions, conservation, order, limits. */
#include "discretize/rigid/free_rotation.h"
#include "core/math3.h"
#include "core/quaternion.h"
#include "test.h"

static const double none[9];

static void diagonal(double a, double b, double c, double M[9], double inverse[9])
{
  const double m[3] = {a, b, c};
  m3_copy(M, none), m3_copy(inverse, none);
  for (int k = 0; k < 3; ++k) M[4 * k] = m[k], inverse[4 * k] = 1.0 / m[k];
}

/* Tolerance 1e-9: error of the substeps per radian (free_rotation.h).
 * Symmetric top, I = (a, a, c): in body axes W precesses about axis 3 at (c - a)/a W3; in space the body rotates about its momentum at L/a
 * and about its own axis at -(c - a)/a W3. */
static void test_symmetric_top(void **state)
{
  (void)state;
  const double a = 2.0, c = 3.0, W0[3] = {0.4, -0.3, 1.1}, dt = 1.7;
  double       M[9], inverse[9], theta[3], W[3], l[3], about_l[3], about_axis[3], A[9], B[9], Q[9], expected[9];
  diagonal(a, a, c, M, inverse);
  assert_true(free_rotation(M, inverse, W0, dt, theta, W));
  const double rate = (c - a) / a * W0[2], phase = rate * dt;
  assert_close(W[0], W0[0] * cos(phase) - W0[1] * sin(phase), 1e-9);
  assert_close(W[1], W0[1] * cos(phase) + W0[0] * sin(phase), 1e-9);
  assert_close(W[2], W0[2], 1e-9);
  m3_mulv(l, M, W0);
  v3_scale(about_l, dt / a, l);
  v3_set(about_axis, 0.0, 0.0, -phase);
  rotation_exp(A, about_l);
  rotation_exp(B, about_axis);
  m3_mul(expected, A, B);
  rotation_exp(Q, theta);
  for (int i = 0; i < 9; ++i) assert_close(Q[i], expected[i], 1e-9);
}

/* A body with equal moments, or one that rotates about a principal axis, keeps its angular velocity to round-off. */
static void test_steady(void **state)
{
  (void)state;
  const double w[3] = {3.0, -20.0, 7.0}, y[3] = {0.0, 25.0, 0.0};
  double       M[9], inverse[9], theta[3], W[3];
  diagonal(0.7, 0.7, 0.7, M, inverse);
  assert_true(free_rotation(M, inverse, w, 0.1, theta, W));
  for (int k = 0; k < 3; ++k) {
    assert_close(W[k], w[k], 1e-13);
    assert_close(theta[k], 0.1 * w[k], 1e-13);
  }
  diagonal(1.0, 2.0, 3.0, M, inverse);
  assert_true(free_rotation(M, inverse, y, 0.1, theta, W));
  for (int k = 0; k < 3; ++k) {
    assert_close(W[k], y[k], 1e-13);
    assert_close(theta[k], 0.1 * y[k], 1e-13);
  }
}

/* Momentum I W1 = Q^T I W0 to round-off for a full inertia matrix; energy to the error of the substeps; one step equals two of half the
 * length; rotation backwards returns to the start. */
static void test_conservation(void **state)
{
  (void)state;
  const double M[9] = {2.0, 0.3, -0.2, 0.3, 1.5, 0.1, -0.2, 0.1, 2.6}, W0[3] = {1.0, -2.0, 0.5};
  double       inverse[9], theta[3], W[3], Q[9], l0[3], l1[3], turned[3], first[3], second[3], W1[3], W2[3], Q1[9], Q2[9], both[9];
  (void)m3_inverse(inverse, M);
  assert_true(free_rotation(M, inverse, W0, 1.0, theta, W));
  rotation_exp(Q, theta);
  m3_mulv(l0, M, W0);
  m3_mulv(l1, M, W);
  m3_mulv(turned, Q, l1);
  for (int k = 0; k < 3; ++k) assert_close(turned[k], l0[k], 1e-14);
  assert_close(v3_dot(W, l1), v3_dot(W0, l0), 1e-8);
  assert_true(free_rotation(M, inverse, W0, 0.5, first, W1));
  assert_true(free_rotation(M, inverse, W1, 0.5, second, W2));
  rotation_exp(Q1, first);
  rotation_exp(Q2, second);
  m3_mul(both, Q1, Q2);
  for (int i = 0; i < 9; ++i) assert_close(both[i], Q[i], 1e-8);
  for (int k = 0; k < 3; ++k) assert_close(W2[k], W[k], 1e-8);
  double back[3] = {-W[0], -W[1], -W[2]}, returned[3], W3[3];
  assert_true(free_rotation(M, inverse, back, 1.0, returned, W3));
  for (int k = 0; k < 3; ++k) assert_close(W3[k], -W0[k], 1e-8);
}

/* dW/dt = -I^-1 (W x I W): the lead of rigid_body.c, W1 - theta/dt, is dt/2 of it; the error falls as dt^2. */
static void test_second_order(void **state)
{
  (void)state;
  const double W0[3] = {1.0, -2.0, 0.5};
  double       M[9], inverse[9], l[3], moment[3], rate[3], error[2];
  diagonal(1.0, 2.0, 2.5, M, inverse);
  m3_mulv(l, M, W0);
  v3_cross(moment, l, W0);
  m3_mulv(rate, inverse, moment);
  for (int pass = 0; pass < 2; ++pass) {
    const double dt = pass ? 0.005 : 0.01;
    double       theta[3], W[3], lead[3];
    assert_true(free_rotation(M, inverse, W0, dt, theta, W));
    for (int k = 0; k < 3; ++k) lead[k] = W[k] - theta[k] / dt - 0.5 * dt * rate[k];
    error[pass] = v3_norm(lead);
  }
  assert_close(error[0] / error[1], 4.0, 0.1);
}

static void test_limits(void **state)
{
  (void)state;
  const double fast[3] = {0.0, 1000.0, 0.1}, rest[3] = {0}, nan[3] = {NAN, 0, 0}, tiny[3] = {1e-200, -3e-200, 1e-201};
  double       M[9], inverse[9], theta[3], W[3];
  diagonal(1.0, 2.0, 3.0, M, inverse);
  assert_false(free_rotation(M, inverse, fast, 0.01, theta, W)); /* 10 rad */
  assert_false(free_rotation(M, inverse, nan, 0.01, theta, W));
  assert_true(free_rotation(M, inverse, fast, 0.0029, theta, W));
  assert_true(free_rotation(M, inverse, rest, 0.01, theta, W));
  for (int k = 0; k < 3; ++k) assert_true(W[k] == 0.0 && theta[k] == 0.0);
  assert_true(free_rotation(M, inverse, tiny, 0.01, theta, W));
  for (int k = 0; k < 3; ++k) assert_close(W[k] * 1e200, tiny[k] * 1e200, 1e-14);
}

TEST_MAIN(cmocka_unit_test(test_symmetric_top), cmocka_unit_test(test_steady), cmocka_unit_test(test_conservation),
          cmocka_unit_test(test_second_order), cmocka_unit_test(test_limits))
