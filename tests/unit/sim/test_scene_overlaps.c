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

/* Pairs that have not moved keep their overlap: some bodies move in each round, and the result is that of a search without earlier ones. */
static void test_pairs_that_have_not_moved(void **state)
{
  (void)state;
  enum { N = 24, ROUNDS = 6 };
  static const char *const shapes[3] = {"{sphere: {center: [%d, 0, 0], radius: 0.1}}", "{box: {min: [%d, 0, 0], max: [%d.2, 0.2, 0.2]}}",
                                        "{torus: {center: [%d, 0, 0], axis: [0, 0, 1], major_radius: 0.12, minor_radius: 0.05}}"};
  char                     text[8192], name[16], line[128];
  double                   pose[N][7];
  size_t                   at    = 0;
  int64_t                  n_all = 0;
  world                    kept;
  at += (size_t)snprintf(text, sizeof text,
                         "stickslip: 1\nname: test\nformulation: exact\ntime: {end: 1, step: 1.0e-3}\n"
                         "materials: {wood: {model: rigid, density: 1000}}\ncontact: {friction: 0.3}\nbodies:\n"
                         "  floor: {kind: static, shape: {plane: {point: [0, 0, -0.2]}}}\n");
  for (int i = 0; i < N; ++i) {
    snprintf(line, sizeof line, shapes[i % 3], i, i);
    at += (size_t)snprintf(text + at, sizeof text - at, "  b%d: {kind: rigid, material: wood, shape: %s}\n", i, line);
  }
  open_world(text, &kept);
  for (uint64_t round = 0; round < ROUNDS; ++round) {
    const scene_overlap *list, *list_fresh;
    int64_t              n, n_fresh;
    world                fresh;
    open_world(text, &fresh);
    for (int i = 0; i < N; ++i) {
      if (round == 0 || random_range(8, (uint64_t)i, round, 0, 1) < 0.3) {
        for (uint64_t k = 0; k < 3; ++k) pose[i][k] = random_range(9 + round, (uint64_t)i, k, -0.25, 0.25);
        for (uint64_t k = 3; k < 7; ++k) pose[i][k] = random_range(9 + round, (uint64_t)i, k, -1, 1);
        double norm = 0.0;
        for (int k = 3; k < 7; ++k) norm += pose[i][k] * pose[i][k];
        for (int k = 3; k < 7; ++k) pose[i][k] /= sqrt(norm);
      }
      snprintf(name, sizeof name, "b%d", i);
      for (int side = 0; side < 2; ++side) {
        const rigid_body *b = rigid(side ? &fresh : &kept, name);
        memcpy(b->c, pose[i], 3 * sizeof(double));
        memcpy(b->q, pose[i] + 3, 4 * sizeof(double));
      }
    }
    assert_ok(scene_overlaps_find(kept.s->overlaps, 0.0, round == 2, &n, &list)); /* a thorough search in between */
    assert_ok(scene_overlaps_find(fresh.s->overlaps, 0.0, round == 2, &n_fresh, &list_fresh));
    assert_int_equal(n, n_fresh);
    for (int64_t k = 0; k < n; ++k) {
      assert_true(list[k].a == list_fresh[k].a && list[k].b == list_fresh[k].b);
      assert_true(list[k].at.depth == list_fresh[k].at.depth);
    }
    n_all += n;
    close_world(&fresh);
  }
  assert_true(n_all > 10 * ROUNDS);
  close_world(&kept);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_few_and_many), cmocka_unit_test(test_pairs_that_have_not_moved))
