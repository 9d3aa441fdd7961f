/* Contacts of fibres whose forces act on the axis, by hand: the common point of both sides, and the row of a point beside a triangle. */
#include "contact/rows/axis_contact.h"
#include "core/math3.h"
#include "test.h"
#include <string.h>

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

TEST_MAIN(cmocka_unit_test(test_place), cmocka_unit_test(test_beside_triangle))
