/* Rows of contacts of mass-spring strands: forces and moments of impulses on two crossing segments, rigid motions, and parallel segments. */
#include "contact/rows/axis_contact.h"
#include "core/math3.h"
#include "core/random.h"
#include "test.h"
#include <float.h>

/* Two segments with different lengths whose axes cross at `angle`, 0.011 m apart, and the row of their contact, away from the middles. */
static void cross_segments(double angle, double x[12], double J[4][9], double frame[9])
{
  const double e[2][3] = {{1.0, 0.2, -0.1}, {0.0, 0.0, 0.0}}, length[2] = {0.02, 0.035}, at[2] = {0.3, 0.8}, radius[2] = {0.005, 0.006};
  double       d[2][3], k[3] = {0.1, 0.3, 1.0}, side[3], point[3] = {0.4, -0.2, 0.7}, axis[2][3];
  v3_scale(d[0], 1.0 / v3_norm(e[0]), e[0]);
  v3_axpy(k, -v3_dot(k, d[0]), d[0]);
  v3_scale(k, 1.0 / v3_norm(k), k);
  v3_cross(side, k, d[0]);
  v3_scale(d[1], cos(angle), d[0]);
  v3_axpy(d[1], sin(angle), side);
  for (int i = 0; i < 2; ++i) {
    v3_copy(axis[i], point);
    v3_axpy(axis[i], i == 0 ? radius[0] : -radius[1], k);
    for (int n = 0; n < 2; ++n) {
      v3_copy(x + 6 * i + 3 * n, axis[i]);
      v3_axpy(x + 6 * i + 3 * n, (n - at[i]) * length[i], d[i]);
    }
  }
  v3_copy(frame, k);
  v3_copy(frame + 3, d[0]);
  v3_copy(frame + 6, side);
  axis_contact_crossing(x, at[0], at[1], point, J);
}

/* Total force and moment about the origin of the nodal forces of contact force f. */
static void sum_of_forces(const double x[12], double J[4][9], const double f[3], double force[3], double moment[3])
{
  v3_set(force, 0.0, 0.0, 0.0);
  v3_set(moment, 0.0, 0.0, 0.0);
  for (int n = 0; n < 4; ++n) {
    double on_node[3], term[3];
    m3_mulv_t(on_node, J[n], f);
    v3_axpy(force, 1.0, on_node);
    v3_cross(term, x + 3 * n, on_node);
    v3_axpy(moment, 1.0, term);
  }
}

/* At 30 to 150 degrees every contact force is balanced in force and moment, and a rigid motion of all nodes has no contact velocity. */
static void test_crossing(void **state)
{
  (void)state;
  const double scale = 1.0 / 0.02; /* lever arm 1 m divided by the length of a segment */
  for (int i = 0; i < 50; ++i) {
    double x[12], J[4][9], frame[9], f[3], w[3], force[3], moment[3], u[3] = {0.0};
    cross_segments(random_range(1, (uint64_t)i, 0, M_PI / 6.0, 5.0 * M_PI / 6.0), x, J, frame);
    for (int k = 0; k < 3; ++k)
      f[k] = random_range(2, (uint64_t)i, (uint64_t)k, -1.0, 1.0), w[k] = random_range(3, (uint64_t)i, (uint64_t)k, -1.0, 1.0);
    sum_of_forces(x, J, f, force, moment);
    for (int n = 0; n < 4; ++n) {
      double v[3], term[3];
      v3_cross(v, w, x + 3 * n);
      v3_add(v, v, f);
      m3_mulv(term, J[n], v);
      v3_axpy(u, 1.0, term);
    }
    for (int k = 0; k < 3; ++k) {
      assert_close(force[k], 0.0, 16.0 * DBL_EPSILON * scale);
      assert_close(moment[k], 0.0, 16.0 * DBL_EPSILON * scale);
      assert_close(u[k], 0.0, 16.0 * DBL_EPSILON * scale);
    }
  }
}

/* On parallel segments friction f across them leaves the moment f times the distance of the axes along them, and no other; friction along
 * them and the normal force leave none. */
static void test_parallel(void **state)
{
  (void)state;
  double x[12], J[4][9], frame[9], force[3], moment[3];
  cross_segments(0.0, x, J, frame);
  for (int k = 0; k < 3; ++k) {
    sum_of_forces(x, J, frame + 3 * k, force, moment);
    for (int i = 0; i < 3; ++i) {
      assert_close(force[i], 0.0, 16.0 * DBL_EPSILON / 0.02);
      assert_close(moment[i], k == 2 ? -0.011 * frame[3 + i] : 0.0, 16.0 * DBL_EPSILON / 0.02);
    }
  }
}

/* The row is a continuous function of the angle where the transfer begins and ends. */
static void test_transition(void **state)
{
  (void)state;
  const double edge[] = {asin(AXIS_PARALLEL), asin(AXIS_CROSSING)};
  for (int e = 0; e < 2; ++e) {
    double x[12], J[2][4][9], frame[9];
    for (int k = 0; k < 2; ++k) cross_segments(edge[e] + (k - 0.5) * 1e-9, x, J[k], frame);
    for (int i = 0; i < 36; ++i) assert_close(J[0][i / 9][i % 9], J[1][i / 9][i % 9], 1e-7);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_crossing), cmocka_unit_test(test_parallel), cmocka_unit_test(test_transition)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
