/* First touch of moving convex solids, compared with small steps along the displacement. */
#include "convex_zoo.h"
#include "geometry/convex/convex_distance.h"
#include "geometry/convex/convex_sweep.h"

enum { N_STEPS = 2000 };

static double distance_at(const convex_pose *a, const convex_pose *b, const double d[3], double share)
{
  double shift[3], p[3], q[3], n[3];
  v3_scale(shift, share, d);
  return convex_distance(a, b, shift, p, q, n) - convex_rounding(a) - convex_rounding(b);
}

static void random_pose(const shape *s, uint64_t seed, const double c[3], double *room, convex_pose *out)
{
  double axis[3], q[4], R[9];
  random_direction(seed, 0, 5, axis);
  v3_scale(axis, random_range(seed, 1, 5, 0.0, 3.0), axis);
  quaternion_exp(q, axis);
  quaternion_to_matrix(R, q);
  convex_pose_set(out, &s->solid[0], c, R, room);
}

static void swept_contacts_equal_small_steps(void **state)
{
  (void)state;
  zoo           z;
  static double room_a[ZOO_ROOM], room_b[ZOO_ROOM], room[ZOO_ROOM];
  int           n_hits = 0, n_clear = 0;
  zoo_create(&z);
  for (uint64_t i = 0; i < 600; ++i) {
    const int      k = (int)(i % 6), l = (int)(i / 6 % 6); /* no walls */
    double         from[3], d[3], aside[3], share, first = 2.0, least = INFINITY;
    convex_pose    a, b;
    convex_touches touches;
    random_direction(81, i, 0, from);
    for (int e = 0; e < 3; ++e) aside[e] = random_range(81, i, (uint64_t)(1 + e), -4.0, 4.0);
    const double far = random_range(81, i, 4, 2.5, 60.0);
    v3_scale(from, far, from);
    for (int e = 0; e < 3; ++e) d[e] = -2.0 * from[e] + aside[e];
    random_pose(z.s[k], 100 + i, from, room_a, &a);
    random_pose(z.s[l], 5000 + i, (double[]){0, 0, 0}, room_b, &b);
    for (int s = 0; s <= N_STEPS; ++s) {
      const double distance = distance_at(&a, &b, d, s / (double)N_STEPS);
      if (distance <= 0.0 && first > 1.0) first = s / (double)N_STEPS;
      least = fmin(least, distance);
    }
    const bool is_hit = convex_sweep(&a, &b, d, 0.0, room, &share, &touches);
    if (first <= 1.0 && !is_hit) fail_msg("%d and %d, displacement %d: missed", k, l, (int)i);
    if (least > 0.1 && is_hit) fail_msg("%d and %d, displacement %d: reported at a distance of %g", k, l, (int)i, least);
    n_hits += is_hit, n_clear += !is_hit;
    if (!is_hit) {
      assert_int_equal(touches.n, 0);
      continue;
    }
    assert_true(share > 0.0 && share <= 1.0 && touches.n > 0 && share <= first);
    assert_true(distance_at(&a, &b, d, share) <= 1.01e-3 * fmin(a.solid->bound, b.solid->bound));
    for (int t = 0; t < touches.n; ++t) {
      const convex_touch *c   = &touches.touch[t];
      const double        gap = c->gap + share * v3_dot(d, c->normal); /* gap at the time of the touch */
      assert_true(c->gap > 0.0 && fabs(gap) < 3e-3);
      double normal[3], q[3];
      if (b.kind == CONVEX_POLYHEDRON) assert_close(convex_point_distance(&b, c->x, normal, q), 0.0, 3e-3);
    }
  }
  if (!(n_hits > 100 && n_clear > 100)) fail_msg("%d hits, %d misses", n_hits, n_clear);
  zoo_destroy(&z);
  assert_no_leak();
}

/* A plate that falls flat touches at all corners; a rotation widens the margin. */
static void flat_plates_touch_along_faces(void **state)
{
  (void)state;
  zoo            z;
  static double  room_a[ZOO_ROOM], room_b[ZOO_ROOM], room[ZOO_ROOM];
  const double   one[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, d[3] = {0, 0, -30}, beside[3] = {0, 1.3, -30};
  convex_pose    a, b;
  convex_touches touches;
  double         share;
  zoo_create(&z);
  convex_pose_set(&a, &z.s[ZOO_PLATE]->solid[0], (double[]){0.1, 0.2, 10}, one, room_a);
  convex_pose_set(&b, &z.s[ZOO_PLATE]->solid[0], (double[]){0, 0, 0}, one, room_b);
  assert_true(convex_sweep(&a, &b, d, 0.0, room, &share, &touches));
  assert_int_equal(touches.n, 4);
  for (int t = 0; t < 4; ++t) assert_close(touches.touch[t].gap, 9.96, 1e-9);
  assert_close(share, 9.96 / 30, 1e-4);
  convex_pose_set(&a, &z.s[ZOO_PLATE]->solid[0], (double[]){0.1, 0.9, 10}, one, room_a);
  assert_false(convex_sweep(&a, &b, beside, 0.0, room, &share, &touches));
  assert_true(convex_sweep(&a, &b, beside, 1.0, room, &share, &touches));
  zoo_destroy(&z);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(swept_contacts_equal_small_steps), cmocka_unit_test(flat_plates_touch_along_faces))
