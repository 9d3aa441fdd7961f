/* Overlaps of all pairs of balls against their distances: with few bodies, all pairs of boxes are compared; with many, a box tree is used. */
#include "core/math3.h"
#include "core/random.h"
#include "formulation_fixture.h"
#include "sim/scene/scene_overlaps.h"

static const double RADIUS = 0.1;

static void check_balls(int n)
{
  char   text[8192], name[16];
  size_t at = 0;
  world  w;
  at += (size_t)snprintf(text, sizeof text,
                         "stickslip: 1\nname: test\nformulation: penalty\ntime: {end: 1, step: 1.0e-3}\n"
                         "materials: {wood: {model: rigid, density: 1000}}\ncontact: {friction: 0.3, stiffness: 1.0e4}\nbodies:\n"
                         "  floor: {kind: static, shape: {plane: {point: [0, 0, -5]}}}\n");
  for (int i = 0; i < n; ++i)
    at += (size_t)snprintf(text + at, sizeof text - at,
                           "  b%d: {kind: rigid, material: wood, shape: {sphere: {center: [%d, 0, 0], radius: %g}}}\n", i, i, RADIUS);
  open_world(text, &w);
  double x[40][3];
  for (int i = 0; i < n; ++i) {
    snprintf(name, sizeof name, "b%d", i);
    for (uint64_t k = 0; k < 3; ++k) x[i][k] = random_range(5, (uint64_t)i, k, -0.25, 0.25);
    v3_copy(rigid(&w, name)->c, x[i]);
  }
  const scene_overlap *list;
  int64_t              n_found, k = 0;
  assert_ok(scene_overlaps_find(w.s->overlaps, 0.0, false, &n_found, &list));
  for (int i = 0; i < n; ++i)
    for (int j = i + 1; j < n; ++j) {
      double d[3];
      v3_sub(d, x[i], x[j]);
      const double depth = 2.0 * RADIUS - v3_norm(d);
      if (!(depth > 0.0)) continue;
      assert_true(k < n_found);
      assert_int_equal(list[k].a, i + 1); /* the floor is body 0 */
      assert_int_equal(list[k].b, j + 1);
      assert_close(list[k].at.depth, depth, 1e-15);
      ++k;
    }
  assert_int_equal(k, n_found);
  assert_true(n_found > n / 4 && n_found < n * (n - 1) / 4);
  close_world(&w);
}

static void test_few_and_many(void **state)
{
  (void)state;
  check_balls(10);
  check_balls(40);
}

TEST_MAIN(cmocka_unit_test(test_few_and_many))
