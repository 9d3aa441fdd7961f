/* Overlap depth of two convex solids: it equals the overlap along its normal, no other direction has a smaller one, and closed forms. */
#include "convex_zoo.h"
#include "geometry/convex/convex_overlap.h"

enum { TRIALS = test_samples(40) };

/* The axis is a local optimum for cylinders: depths may be up to a tenth too large. */
static bool is_local(int i, int j) { return i == ZOO_CYLINDER || j == ZOO_CYLINDER; }

static void deep_overlaps(void **unused)
{
  (void)unused;
  zoo    z;
  placed a, b;
  zoo_create(&z);
  for (int i = 0; i < ZOO_SIZE; ++i)
    for (int j = 0; j < ZOO_SIZE; ++j)
      for (uint64_t trial = 0; trial < TRIALS; ++trial) {
        if (i == ZOO_WALL && j == ZOO_WALL) continue;
        double       n[3], back[3], m[3], x[3];
        const double given = random_range(4, trial, 1, -0.1, 0.6);
        zoo_pose(&z, i, j, 30000 + trial, -given, &a, &b);
        const double depth = convex_overlap_depth(&a.pose, &b.pose, n), swapped = convex_overlap_depth(&b.pose, &a.pose, back);
        if (given < 0.0) {
          assert_true(depth == 0.0 && swapped == 0.0);
          continue;
        }
        if (depth == 0.0 && swapped == 0.0 && i != ZOO_WALL &&
            j != ZOO_WALL) { /* placed beyond the other solid: some direction separates them */
          double widest = -INFINITY;
          for (uint64_t d = 0; d < 4000; ++d) {
            random_direction(6, 1000 * trial + d, 2, m);
            widest = fmax(widest, placed_separation(&a, &b, m));
          }
          if (widest < -0.01) fail_msg("%d in %d, trial %d: overlap of %g not found", i, j, (int)trial, -widest);
          continue;
        }
        if (!(depth > 0.0 && depth <= given * (is_local(i, j) ? 1.1 : 1.0) + 2e-6))
          fail_msg("%d in %d, trial %d: depth %g, placed at %g", i, j, (int)trial, depth, given);
        if (!(fabs(swapped - depth) <= (is_local(i, j) ? 0.1 * depth : 1e-9)))
          fail_msg("%d in %d, trial %d: depth %g, and %g after exchange", i, j, (int)trial, depth, swapped);
        if (!(fabs(placed_separation(&a, &b, n) + depth) <= 2e-6))
          fail_msg("%d in %d, trial %d: depth %g, overlap along the normal %g", i, j, (int)trial, depth, -placed_separation(&a, &b, n));
        for (uint64_t d = 0; d < 200 && i != ZOO_WALL && j != ZOO_WALL; ++d) {
          random_direction(6, 1000 * trial + d, 2, m);
          if (-placed_separation(&a, &b, m) < depth * (is_local(i, j) ? 0.9 : 1.0) - 1e-9)
            fail_msg("%d in %d, trial %d: depth %g, but %g along another direction", i, j, (int)trial, depth,
                     -placed_separation(&a, &b, m));
        }
        convex_overlap_point(&a.pose, &b.pose, depth, n, x);
        assert_true(isfinite(x[0]) && isfinite(x[1]) && isfinite(x[2]));
      }
  zoo_destroy(&z);
  assert_no_leak();
}

static const double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, origin[3] = {0, 0, 0};

/* Coincident balls, crossed capsules, a capsule through a half-space. */
static void closed_forms(void **unused)
{
  (void)unused;
  const double from[3] = {-1, 0, 0}, to[3] = {1, 0, 0}, left[3] = {0, -1, 0.3}, right[3] = {0, 1, 0.3}, up[3] = {0, 0, 2};
  convex_solid ball, along, across, wall;
  convex_pose  p, q;
  double       n[3];
  convex_solid_sphere(origin, 0.5, &ball);
  convex_solid_segment(CONVEX_CAPSULE, from, to, 0.2, &along);
  convex_solid_segment(CONVEX_CAPSULE, left, right, 0.2, &across);
  convex_solid_half_space(up, 0.1, &wall);
  convex_pose_set(&p, &ball, origin, identity, NULL);
  convex_pose_set(&q, &ball, origin, identity, NULL);
  assert_close(convex_overlap_depth(&p, &q, n), 1.0, 1e-15);
  convex_pose_set(&p, &along, origin, identity, NULL);
  convex_pose_set(&q, &across, origin, identity, NULL);
  assert_close(convex_overlap_depth(&p, &q, n), 0.1, 1e-12);
  convex_pose_set(&q, &wall, origin, identity, NULL);
  assert_close(convex_overlap_depth(&p, &q, n), 0.1 + 0.2, 1e-15);
  assert_close(n[2], 1.0, 1e-15);
  assert_close(convex_overlap_depth(&q, &p, n), 0.1 + 0.2, 1e-15);
  assert_close(n[2], -1.0, 1e-15);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(deep_overlaps), cmocka_unit_test(closed_forms))
