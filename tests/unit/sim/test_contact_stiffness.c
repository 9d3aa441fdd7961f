/* Automatic contact stiffness: static and impact limits of the penetration, and the choice of body, length and mass. */
#include "test.h"
#include "core/math3.h"
#include "core/random.h"
#include "sim/scene/contact_stiffness.h"

static const body_survey block = {.is_free = true, .n_points = 8, .n_bottom = 4, .size = 0.1, .spacing = 0.11, .mass = 1.0, .load = 9.81};
static const body_survey obstacle = {.size = INFINITY, .spacing = INFINITY, .n_bottom = 1};

/* W/(n k) is 1 % of the size. */
static void test_static_penetration(void **state)
{
  const body_survey b[] = {block, obstacle};
  (void)state;
  const double k = contact_stiffness_of(b, 0, 1);
  assert_close(b[0].load / (4.0 * k), 0.01 * 0.1, 1e-15);
  assert_true(contact_stiffness_of(b, 1, 0) == k);
  assert_no_leak();
}

/* m v^2/(n k) is the square of 10 % of the size, if this is stiffer. */
static void test_impact(void **state)
{
  body_survey b[] = {block, block};
  (void)state;
  b[0].mass = 2.0;
  b[0].v[2] = -3.0, b[1].v[2] = 1.0;
  const double k = contact_stiffness_of(b, 0, 1);
  assert_close(1.0 * 16.0 / (4.0 * k), 0.01 * 0.01, 1e-15);
  assert_no_leak();
}

/* A deformable body exerts at most rho c (c + v) on the area s^2 of each point; the points of a rigid body do not limit the length. */
static void test_deformable(void **state)
{
  body_survey b[] = {block, block};
  (void)state;
  b[0].v[2] = -3.0, b[0].is_rigid = true, b[0].spacing = 0.001;
  b[1].spacing = 0.01, b[1].density = 1000.0, b[1].wave_speed = 40.0;
  const double k = contact_stiffness_of(b, 0, 1);
  assert_close(contact_length_of(b, 0, 1), 0.01, 1e-16);
  assert_close(1000.0 * 40.0 * 43.0 * 1e-4 / k, 0.1 * 0.01, 1e-15);
  b[1].wave_speed = 1e6; /* stiffer than needed to stop the mass of the smaller body */
  assert_close(1.0 * 9.0 / (4.0 * contact_stiffness_of(b, 0, 1)), 1e-6, 1e-17);
  b[1].wave_speed = 1e-3; /* the static limit remains */
  assert_close(contact_stiffness_of(b, 0, 1), 9.81 / (4.0 * 0.01 * 0.01), 1e-9);
  assert_no_leak();
}

/* The load is that of the body that carries less; the length that of the finer spacing. */
static void test_load_and_length(void **state)
{
  body_survey b[] = {block, block, obstacle};
  (void)state;
  b[1].load = 100.0, b[1].n_bottom = 9, b[1].spacing = 0.02;
  assert_int_equal(contact_carried_body(b, 0, 1), 0);
  assert_close(contact_length_of(b, 0, 1), 0.02, 1e-16);
  assert_close(contact_stiffness_of(b, 0, 1), 9.81 / (4.0 * 0.01 * 0.02), 1e-9);
  assert_close(contact_stiffness_of(b, 1, 2), 100.0 / (9.0 * 0.01 * 0.02), 1e-8);
  assert_true(isnan(contact_stiffness_of(b, 2, 2)));
  assert_no_leak();
}

/* The largest value of all pairs is that of a loop over all pairs, with equal and with random bodies. */
static void test_largest(void **state)
{
  enum { N = 300 };
  static body_survey b[N];
  static int32_t     class_of[N];
  const int32_t      exception[] = {3, 4, 7, 250};
  (void)state;
  for (uint64_t seed = 0; seed < (uint64_t)test_samples(20); ++seed) {
    pair_classes *p;
    for (int32_t i = 0; i < N; ++i) {
      const uint64_t id = (uint64_t)i, kind = seed % 4;
      b[i]        = block;
      class_of[i] = i < 3 ? i : 3 + i % 2;
      if (kind > 0)
        b[i].load = 9.81 * (1 + (int)(10.0 * random_u01(seed, id, 0))), b[i].size = 0.1 * (1.0 + 1e-15 * random_u01(seed, id, 1));
      if (kind > 1) b[i].size = random_u01(seed, id, 2), b[i].mass = random_u01(seed, id, 3), b[i].n_bottom = 1 + i % 4;
      for (int k = 0; k < 3 && kind > 2; ++k) b[i].v[k] = random_range(seed, id, 4 + (uint64_t)k, -1.0, 1.0);
      if (i < 3 || (kind > 2 && i % 17 == 0)) b[i] = obstacle, b[i].size = i % 3 ? INFINITY : 0.5;
    }
    assert_ok(pair_classes_create(N, 5, class_of, NULL, 2, exception, &p));
    for (int64_t slot = 0; slot < p->n_slots; ++slot) {
      double k = NAN, largest = NAN;
      for (int32_t i = 0; i < N; ++i)
        for (int32_t j = i; j < N; ++j) {
          const double one = contact_stiffness_of(b, i, j);
          if (isfinite(one) && (pair_slot(p, N, i, j) == slot || pair_slot(p, N, j, i) == slot)) largest = fmax(largest, one);
        }
      assert_ok(contact_stiffness_raise(b, p, slot, &k));
      if (!(k == largest || (isnan(k) && isnan(largest)))) fail_msg("slot %d: %.17g instead of %.17g", (int)slot, k, largest);
    }
    pair_classes_destroy(&p);
  }
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_largest), cmocka_unit_test(test_static_penetration), cmocka_unit_test(test_impact),
          cmocka_unit_test(test_deformable), cmocka_unit_test(test_load_and_length))
