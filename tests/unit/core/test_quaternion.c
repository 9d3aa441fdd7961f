/* core/quaternion: the same rotation by every road; exponential map and left Jacobian down to zero angle. */
#include "core/quaternion.h"
#include "test.h"
#include <float.h>

#define ROUND_OFF (16.0 * DBL_EPSILON)

static uint64_t random_state = 88172645463325252u;
static double   random_unit(void) /* [-1, 1) */
{
  random_state ^= random_state << 13, random_state ^= random_state >> 7, random_state ^= random_state << 17;
  return (double)(random_state >> 11) * 0x1p-52 - 1.0;
}

static void random_vector(double *theta, double length)
{
  do {
    for (int k = 0; k < 3; ++k) theta[k] = random_unit();
  } while (v3_norm(theta) < 0.1);
  v3_scale(theta, length / v3_norm(theta), theta);
}

static const double angles[] = {0.0,  1e-300, 1e-160, 1e-20, 1e-12, 1e-8, 0.99e-4, 1.01e-4, 2.01e-4,     1e-3,
                                0.01, 0.1,    0.499,  0.501, 1.0,   2.0,  3.0,     3.14159, 3.1415926535};
enum { N_ANGLES = sizeof angles / sizeof *angles };

/* vector -> quaternion -> matrix = Rodrigues' formula; matrix -> quaternion -> vector returns the vector, small angles with
 * relative precision: an angular velocity of 1e-20 must not be lost. */
static void conversions_agree(void **state)
{
  (void)state;
  for (int i = 0; i < N_ANGLES; ++i)
    for (int repeat = 0; repeat < 50; ++repeat) {
      double theta[3], q[4], p[4], R[9], S[9], back[3], x[3], y[3], z[3];
      random_vector(theta, angles[i]);
      quaternion_exp(q, theta);
      assert_close(quaternion_dot(q, q), 1.0, ROUND_OFF);
      quaternion_to_matrix(R, q);
      rotation_exp(S, theta);
      for (int k = 0; k < 9; ++k) assert_close(R[k], S[k], ROUND_OFF);
      quaternion_log(back, q);
      for (int k = 0; k < 3; ++k) assert_close(back[k], theta[k], ROUND_OFF * angles[i]);
      quaternion_from_matrix(p, R);
      const double sign = quaternion_dot(p, q) < 0.0 ? -1.0 : 1.0; /* near half a turn */
      for (int k = 0; k < 4; ++k) assert_close(sign * p[k], q[k], ROUND_OFF);
      random_vector(x, 1.0);
      quaternion_rotate(y, q, x);
      m3_mulv(z, R, x);
      for (int k = 0; k < 3; ++k) assert_close(y[k], z[k], ROUND_OFF);
    }
}

static void products_compose(void **state)
{
  (void)state;
  for (int sample = 0; sample < 200; ++sample) {
    double a[4], b[4], ab[4], A[9], B[9], AB[9], product[9], theta[3];
    random_vector(theta, 3.0 * fabs(random_unit())), quaternion_exp(a, theta);
    random_vector(theta, 3.0 * fabs(random_unit())), quaternion_exp(b, theta);
    quaternion_multiply(ab, a, b);
    quaternion_to_matrix(A, a), quaternion_to_matrix(B, b), quaternion_to_matrix(AB, ab);
    m3_mul(product, A, B);
    for (int k = 0; k < 9; ++k) assert_close(AB[k], product[k], ROUND_OFF);
    quaternion_conjugate(b, a);
    quaternion_multiply(ab, a, b);
    for (int k = 0; k < 4; ++k) assert_close(ab[k], k == 0, ROUND_OFF);
  }
  /* half turns, where w = 0 and every branch of from_matrix is taken */
  for (int axis = 0; axis < 3; ++axis) {
    double R[9] = {-1, 0, 0, 0, -1, 0, 0, 0, -1}, q[4];
    R[4 * axis] = 1.0;
    quaternion_from_matrix(q, R);
    for (int k = 0; k < 4; ++k) assert_close(fabs(q[k]), k == axis + 1, 0.0);
  }
  /* any length can be normalised */
  double q[4] = {3e200, 0, 4e200, 0}, tiny[4] = {0, 3e-200, 0, -4e-200}, zero[4] = {0};
  quaternion_normalise(q), quaternion_normalise(tiny), quaternion_normalise(zero);
  assert_close(q[0], 0.6, ROUND_OFF);
  assert_close(tiny[3], -0.8, ROUND_OFF);
  assert_true(zero[0] == 1.0);
}

/* Constant speed along the shorter arc: the angle from a grows linearly, also for -b and for nearly equal ends. */
static void slerp_is_uniform(void **state)
{
  (void)state;
  const double gaps[] = {0.0, 1e-10, 1e-3, 1.0, 3.0};
  for (int i = 0; i < 5; ++i) {
    double a[4], b[4], o[4], part[4], inverse[4], theta[3], turned[3];
    random_vector(theta, 1.0), quaternion_exp(a, theta);
    random_vector(theta, gaps[i]), quaternion_exp(part, theta);
    quaternion_multiply(b, a, part);
    if (i % 2)
      for (int k = 0; k < 4; ++k) b[k] = -b[k];
    for (double t = 0.0; t <= 1.0; t += 0.25) {
      quaternion_slerp(o, a, b, t);
      quaternion_conjugate(inverse, a);
      quaternion_multiply(part, inverse, o);
      quaternion_log(turned, part);
      for (int k = 0; k < 3; ++k) assert_close(turned[k], t * theta[k], ROUND_OFF);
    }
  }
}

/* exp(theta + h d) exp(theta)^-1 = exp(h J d + O(h^2)): central differences of order 2, and J theta = theta exactly. */
static void left_jacobian(void **state)
{
  (void)state;
  for (int i = 0; i < N_ANGLES; ++i) {
    double theta[3], d[3], J[9], Jd[3], difference[3], error[2];
    random_vector(theta, angles[i]), random_vector(d, 1.0);
    rotation_left_jacobian(J, theta);
    m3_mulv(Jd, J, theta);
    for (int k = 0; k < 3; ++k) assert_close(Jd[k], theta[k], ROUND_OFF * angles[i]);
    m3_mulv(Jd, J, d);
    for (int e = 0; e < 2; ++e) {
      const double h = e == 0 ? 2e-3 : 1e-3;
      double       plus[3], minus[3], qp[4], qm[4], relative[4];
      for (int k = 0; k < 3; ++k) plus[k] = theta[k] + h * d[k], minus[k] = theta[k] - h * d[k];
      quaternion_exp(qp, plus), quaternion_exp(qm, minus);
      quaternion_conjugate(qm, qm);
      quaternion_multiply(relative, qp, qm);
      quaternion_log(difference, relative);
      v3_scale(difference, 1.0 / (2.0 * h), difference);
      v3_sub(difference, difference, Jd);
      error[e] = v3_norm(difference);
    }
    assert_close(error[1], 0.0, 1e-6);
    if (error[1] > 1e-10) assert_close(error[0] / error[1], 4.0, 0.1);
  }
  assert_no_leak();
}

/* The series and the closed forms of the coefficients agree to round-off at the switch, and small angles match theory. */
static void series_and_closed_forms_agree(void **state)
{
  (void)state;
  double a1, a2, b1, b2;
  rotation_coefficients(0.5 * (1 - DBL_EPSILON), &a1, &a2);
  rotation_coefficients(0.5, &b1, &b2);
  assert_close(a1, b1, 8 * DBL_EPSILON);
  assert_close(a2, b2, 8 * DBL_EPSILON);
  rotation_coefficients(0.0, &a1, &a2);
  assert_true(a1 == 0.5 && a2 == 1.0 / 6.0);
  rotation_coefficients(0.1, &a1, &a2); /* reference: 40-digit arithmetic */
  assert_close(a1, 0.49958347219742339, DBL_EPSILON);
  assert_close(a2, 0.16658335317184770, DBL_EPSILON);
}

static void log_undoes_exp(void **state)
{
  (void)state;
  static const double axis[3] = {0.48, -0.6, 0.64}, sizes[] = {0.0, 1e-12, 3e-9, 1e-4, 0.7, 1.6, 2.9, 3.1};
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; ++k) {
    double theta[3], R[9], back[3];
    v3_scale(theta, sizes[k], axis);
    rotation_exp(R, theta);
    rotation_log(back, R);
    for (int i = 0; i < 3; ++i) assert_close(back[i], theta[i], 1e-16 + 3e-14 * sizes[k]);
  }
}

TEST_MAIN(cmocka_unit_test(conversions_agree), cmocka_unit_test(products_compose), cmocka_unit_test(slerp_is_uniform),
          cmocka_unit_test(left_jacobian), cmocka_unit_test(series_and_closed_forms_agree), cmocka_unit_test(log_undoes_exp))
