/* Swept contacts of points with level sets, against small steps along the trajectory. */
#include "test.h"
#include "contact/detection/point_contact.h"
#include "core/math3.h"
#include "core/random.h"

enum { N_SETS = 6, N_STEPS = 4000 };

static void create(level_set *out[N_SETS])
{
  const double origin[3] = {0, 0, 0}, z[3] = {0, 0, 1}, up[3] = {0.1, 0.2, 1};
  const double plate[6] = {-0.5, -0.4, 0, 0.5, 0.6, 0.004}, wall[6] = {-0.5, -0.4, 0, -0.49, 0.6, 0.7};
  level_set   *part[2];
  assert_ok(level_set_plane(up, 0.1, &out[0]));
  assert_ok(level_set_sphere(origin, 0.4, &out[1]));
  assert_ok(level_set_box(plate, plate + 3, &out[2]));
  assert_ok(level_set_torus(origin, z, 0.5, 0.02, &out[3]));
  assert_ok(level_set_box(plate, plate + 3, &part[0]));
  assert_ok(level_set_box(wall, wall + 3, &part[1]));
  assert_ok(level_set_union(2, part, &out[4])); /* a floor with a wall */
  assert_ok(level_set_cylinder((double[]){0, 0, -0.5}, (double[]){0, 0, 0.5}, 0.01, &out[5]));
}

/* Every contact found by small steps is found, on the surface and not later. Additional contacts may only graze. */
static void swept_contacts_equal_small_steps(void **state)
{
  (void)state;
  level_set *set[N_SETS];
  int        n_hits = 0, n_clear = 0;
  create(set);
  for (int k = 0; k < N_SETS; ++k)
    for (int i = 0; i < 600; ++i) {
      double     x0[3], x1[3], d[3], place[3], normal[3], gap, least = INFINITY, first = 2.0;
      const bool is_far = i % 3 == 0;
      for (int e = 0; e < 3; ++e) {
        x0[e] = random_range(71, (uint64_t)(600 * k + i), e, -1.0, 1.0) * (is_far ? 20.0 : 1.0);
        x1[e] = is_far ? -x0[e] + random_range(72, (uint64_t)(600 * k + i), e, -1.0, 1.0)
                       : random_range(72, (uint64_t)(600 * k + i), e, -1.0, 1.0);
      }
      const double phi = level_set_value(set[k], x0);
      if (!(phi > 1e-3)) continue;
      v3_sub(d, x1, x0);
      for (int s = 0; s <= N_STEPS; ++s) {
        double x[3];
        for (int e = 0; e < 3; ++e) x[e] = x0[e] + s / (double)N_STEPS * d[e];
        const double value = level_set_value(set[k], x);
        if (value < 0.0 && first > 1.0) first = s / (double)N_STEPS;
        least = fmin(least, value);
      }
      const bool is_hit = point_sweep(set[k], x0, x1, phi, NULL, place, normal, &gap);
      if (least < -1e-3 * v3_norm(d) && !is_hit) fail_msg("set %d, way %d passes to %g", k, i, least);
      if (is_hit) {
        const double near = 1e-3 * v3_norm(d);
        double       from[3], move[3];
        v3_sub(from, x0, place);
        v3_sub(move, place, x0);
        assert_true(least < 2.0 * near);
        assert_true(gap > 0.0 && v3_dot(normal, d) < 0.0);
        assert_close(v3_norm(normal), 1.0, 1e-12);
        assert_close(v3_dot(from, normal), gap, 1e-9 * v3_norm(d));
        assert_close(level_set_value(set[k], place), 0.0, near);
        if (first <= 1.0) assert_true(v3_norm(move) <= (first + 1e-3 + 1.0 / N_STEPS) * v3_norm(d) + near);
      }
      n_hits += is_hit, n_clear += !is_hit;
    }
  assert_true(n_hits > 300 && n_clear > 300);
  for (int k = 0; k < N_SETS; ++k) level_set_destroy(&set[k]);
  assert_no_leak();
}

/* A swept contact is omitted if the plane at the nearest place already prevents it, and found if not. */
static void nearest_side_comes_first(void **state)
{
  (void)state;
  level_set   *set[N_SETS];
  const double beside[3] = {-0.485, 0, 0.3}, wall[3] = {1, 0, 0}, above[3] = {0, 0, 0.3}, floor[3] = {0, 0, 1};
  double       place[3], normal[3], gap;
  create(set);
  assert_true(point_sweep(set[4], beside, (double[]){-0.48, 0, -0.3}, 0.005, wall, place, normal, &gap)); /* along the wall */
  assert_close(normal[2], 1.0, 1e-9);
  assert_close(gap, 0.296, 1e-9);
  assert_false(point_sweep(set[4], above, (double[]){0.1, 0, -0.9}, 0.296, floor, place, normal, &gap));
  assert_true(point_sweep(set[4], above, (double[]){0.1, 0, -0.9}, 0.296, NULL, place, normal, &gap));
  assert_false(point_sweep(set[4], above, (double[]){0.1, 0, 0.01}, 0.296, NULL, place, normal, &gap)); /* too short */
  for (int k = 0; k < N_SETS; ++k) level_set_destroy(&set[k]);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(swept_contacts_equal_small_steps), cmocka_unit_test(nearest_side_comes_first))
