/* Distances that need not be known beyond a limit. The signed distance itself: test_level_set.c. */
#include "core/random.h"
#include "geometry/triangle_mesh/triangle_bvh.h"
#include "geometry/triangle_mesh/triangle_mesh_primitives.h"
#include "test.h"

/* Below the limit the distance has the same bits; otherwise the result is not below the limit. With a hint that is inside the limit, the
 * search ends at the triangle of the hint, which stays the hint. */
static void test_limits(void **state)
{
  (void)state;
  const double   lo[3] = {-0.5, -0.4, -0.3}, hi[3] = {0.5, 0.6, 0.7};
  triangle_mesh *m       = NULL;
  triangle_bvh  *b       = NULL;
  int            n_below = 0, n_moved = 0;
  assert_ok(triangle_mesh_box(lo, hi, 0.1, &m));
  assert_ok(triangle_bvh_create(m, &b));
  int32_t hint = -1;
  for (uint64_t i = 0; i < 3000; ++i) {
    double  x[3];
    int32_t none = -1;
    for (uint64_t k = 0; k < 3; ++k) x[k] = random_range(3, i, k, -0.8, 0.8);
    const double phi = triangle_bvh_distance(b, x, &none, NULL), limit = random_range(3, i, 3, -0.4, 0.3);
    int32_t      own   = -1;
    const double fresh = triangle_bvh_distance_below(b, x, limit, &own, NULL);
    const double found = triangle_bvh_distance_below(b, x, limit, &hint, NULL);
    n_below += phi < limit;
    if (phi < limit) assert_true(fresh == phi && fabs(found - phi) < 1e-15);
    else assert_true(fresh >= limit && found >= limit);
  }
  assert_true(n_below > 300);
  for (uint64_t i = 0; i < 300; ++i) {
    double  x[3];
    int32_t none = -1;
    for (uint64_t k = 0; k < 3; ++k) x[k] = random_range(4, i, k, -0.2, 0.2);
    const double phi = triangle_bvh_distance(b, x, &none, NULL);
    assert_true(triangle_bvh_distance_below(b, x, phi, &none, NULL) >= phi); /* at the depth of x itself nothing is below */
    const int32_t start = none;
    for (uint64_t k = 0; k < 3; ++k) x[k] += random_range(4, i, 3 + k, -0.05, 0.05);
    assert_true(triangle_bvh_distance_below(b, x, phi - 0.1, &none, NULL) >= phi - 0.1);
    assert_int_equal(none, start); /* the triangle of the hint is less than 0.1 - phi away */
    (void)triangle_bvh_distance(b, x, &none, NULL);
    n_moved += none != start;
  }
  assert_true(n_moved > 30); /* others are closer */
  triangle_bvh_destroy(&b);
  triangle_mesh_destroy(&m);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_limits))
