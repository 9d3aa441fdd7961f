/* Contacts of fibres whose forces act on the axis: common point of both sides, and row of a point beside a triangle. Two mass-spring strands: forces and moments of impulses on two crossing segments, rigid motions, and parallel segments. */
#include "contact/rows/axis_contact.h"
#include "core/math3.h"
#include "core/random.h"
#include "test.h"
#include <float.h>
#include <string.h>

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

static const int32_t segment[2] = {0, 1};
static const double  axis[6]    = {0, 0, 0, 2, 0, 0};

static void axis_segments(const body *b, body_segments *out)
{
  (void)b;
  *out = (body_segments){.n_nodes = 2, .n_segments = 1, .segment = segment, .x = axis, .on_axis = true};
}

static void rotating_segments(const body *b, body_segments *out)
{
  axis_segments(b, out);
  out->on_axis = false;
}

static const body_ops strand_ops = {.segments = axis_segments}, rod_ops = {.segments = rotating_segments}, solid_ops = {0};

/* A contact at a quarter of the axis, on the surface of the fibre with radius 0.1. */
static contact_spot spot_of(feature_kind other)
{
  contact_spot s = {.body_a = 0, .body_b = 1, .a = {.kind = FEATURE_SEGMENT, .w = {0.25, 0, 0}}, .b = {.kind = other}};
  v3_set(s.a.x, 0.5, 0.0, -0.1);
  v3_set(s.b.x, 0.5, 0.0, -0.1);
  return s;
}

static void check_place(const body_ops *one, const body_ops *two, feature_kind other, bool is_moved)
{
  body                two_bodies[2] = {{.ops = one}, {.ops = two}}, *list[2] = {&two_bodies[0], &two_bodies[1]};
  const contact_scene scene = {.n_bodies = 2, .body = list};
  for (int side = 0; side < 2; ++side) { /* the fibre is the first or the second body of the contact */
    contact_spot s = spot_of(other);
    if (side) {
      const body_contact_location a = s.a;
      s.a = s.b, s.b = a, s.body_a = 1, s.body_b = 0;
    }
    for (int call = 0; call < 2; ++call) { /* a second call changes nothing */
      axis_contact_place(&scene, 1, &s);
      assert_close(s.a.x[0], 0.5, 0.0);
      assert_close(s.a.x[2], is_moved ? 0.0 : -0.1, 0.0);
      assert_true(memcmp(s.a.x, s.b.x, sizeof s.a.x) == 0);
      assert_int_equal((side ? s.a : s.b).is_beside, is_moved && other == FEATURE_TRIANGLE);
    }
  }
}

static void test_place(void **state)
{
  (void)state;
  check_place(&strand_ops, &solid_ops, FEATURE_FRAME, true);
  check_place(&strand_ops, &solid_ops, FEATURE_TRIANGLE, true);
  check_place(&rod_ops, &solid_ops, FEATURE_FRAME, false);       /* rotates about its axis: contact on the surface */
  check_place(&strand_ops, &strand_ops, FEATURE_SEGMENT, false); /* two such strands: unchanged */
}

/* Triangle (0,0,0), (1,0,0), (0,1,0) and the point (1/4, 1/4, 1/2): b = (1/2, 1/4, 1/4), h = 1/2, n = z, gradients (-1,-1,0), (1,0,0),
 * (0,1,0): J_k = b_k I - h grad(b_k) n^T. A rigid motion v = w x X of the corners gives w x x. */
static void test_beside_triangle(void **state)
{
  (void)state;
  static const double X[9] = {0, 0, 0, 1, 0, 0, 0, 1, 0}, flat[9] = {0, 0, 0, 1, 0, 0, 2, 0, 0}, x[3] = {0.25, 0.25, 0.5},
                      w[3]           = {0.3, -0.7, 1.1};
  static const double expected[3][9] = {
      {0.5, 0, 0.5, 0, 0.5, 0.5, 0, 0, 0.5}, {0.25, 0, -0.5, 0, 0.25, 0, 0, 0, 0.25}, {0.25, 0, 0, 0, 0.25, -0.5, 0, 0, 0.25}};
  double J[3][9], sum[3] = {0.0, 0.0, 0.0}, turned[3];
  assert_true(axis_contact_beside_triangle(X, x, J));
  for (int k = 0; k < 3; ++k) {
    double v[3], part[3];
    for (int i = 0; i < 9; ++i) assert_close(J[k][i], expected[k][i], 1e-15);
    v3_cross(v, w, X + 3 * k);
    m3_mulv(part, J[k], v);
    v3_axpy(sum, 1.0, part);
  }
  v3_cross(turned, w, x);
  for (int i = 0; i < 3; ++i) assert_close(sum[i], turned[i], 1e-15);
  assert_false(axis_contact_beside_triangle(flat, x, J));
}

TEST_MAIN(cmocka_unit_test(test_crossing), cmocka_unit_test(test_parallel), cmocka_unit_test(test_transition), cmocka_unit_test(test_place),
          cmocka_unit_test(test_beside_triangle))
