/* Contact patches: quantiles of a known pressure, and shares of sticking contacts. */
#include "test.h"
#include "core/math3.h"
#include "sim/measure/patch.h"

/* Points of body 1 on body 0 under Hertz's pressure sqrt(1 - r^2), each for the same area: turns of a spiral, about (3, 4, 5) in the plane
 * normal to `up`. Those within 0.6 stick. A last one belongs to other bodies. */
enum { N = 20001 };
static double       position[3 * N], force[3 * N], normal[3 * N];
static int32_t      source[N], object[N];
static uint8_t      is_sliding[N];
static const double up[3] = {2.0 / 3.0, -2.0 / 3.0, 1.0 / 3.0}, e1[3] = {1.0 / 3.0, 2.0 / 3.0, 2.0 / 3.0},
                    e2[3] = {-2.0 / 3.0, -1.0 / 3.0, 2.0 / 3.0};

static contact_points_view hertz(void)
{
  for (int i = 0; i < N; ++i) {
    const double r = sqrt((i + 0.5) / (N - 1.0)), angle = 2.399963229728653 * i, p = sqrt(fmax(0.0, 1.0 - r * r));
    v3_set(position + 3 * i, 3.0, 4.0, 5.0);
    v3_axpy(position + 3 * i, r * cos(angle), e1);
    v3_axpy(position + 3 * i, r * sin(angle), e2);
    v3_axpy(position + 3 * i, 0.3 * cos(3.0 * i), up); /* which does not matter */
    v3_copy(normal + 3 * i, up);
    v3_scale(force + 3 * i, p, up);
    v3_axpy(force + 3 * i, i % 7, e1); /* nor does friction */
    source[i] = i == N - 1 ? 2 : 1, object[i] = 0;
    is_sliding[i] = r > 0.6;
  }
  v3_scale(force + 3 * (N - 1), 1e9, up);
  return (contact_points_view){N, position, force, normal, NULL, source, object, is_sliding};
}

static double extent(const contact_points_view *p, const patch_frame *f, double fraction)
{
  double value;
  assert_ok(patch_extent(p, f, fraction, &value));
  return value;
}

/* A disc of radius s carries 1 - (1 - s^2)^(3/2) of the force; half a disc cut by a chord at x carries (2 + 3 x - x^3) / 4. */
static void test_hertz(void **state)
{
  (void)state;
  const contact_points_view p = hertz();
  patch_frame               f = {.on = 1, .from = 0, .point = {3.0, 4.0, 5.0}, .is_round = true};
  v3_copy(f.up, up);
  for (double q = 0.1; q < 0.95; q += 0.2) assert_close(extent(&p, &f, q), sqrt(1.0 - cbrt((1.0 - q) * (1.0 - q))), 2e-4);
  assert_close(extent(&p, &f, 0.0), 0.0, 0.008); /* the first point: sqrt(0.5 / 20000) */
  assert_close(extent(&p, &f, 1.0), 1.0, 2e-4);
  f.is_round = false;
  v3_copy(f.along, e1);
  const double middle = v3_dot(e1, f.point);
  for (double x = -0.6; x < 0.7; x += 0.3) assert_close(extent(&p, &f, 0.25 * (2.0 + 3.0 * x - x * x * x)), middle + x, 1e-3);
  assert_close(patch_sticking(&p, 1, 0), 1.0 - 0.64 * 0.8, 2e-4);
  /* from either side, and from all */
  const double here = extent(&p, &f, 0.3);
  f.on = 0, f.from = 1;
  assert_close(extent(&p, &f, 0.3), here, 0.0);
  f.on = 1, f.from = -1;
  assert_close(extent(&p, &f, 0.3), here, 0.0);
  assert_close(patch_sticking(&p, 0, 2), 0.0, 0.0);
  assert_close(patch_sticking(&p, 0, -1), 0.0, 1e-4); /* this single point outweighs all others */
  assert_no_leak();
}

/* Two points that carry 1/4 and 3/4: their shares' middles are at 1/8 and 5/8. */
static void test_two(void **state)
{
  (void)state;
  const double  x[6] = {1.0, 0.0, 0.0, 2.0, 0.0, 0.0}, f[6] = {0.0, 5.0, 1.0, 0.0, 0.0, 3.0}, n[6] = {0.0, 0.0, 1.0, 0.0, 0.0, 1.0};
  const int32_t a[2] = {1, 1}, b[2] = {0, 0};
  const uint8_t slides[2]         = {1, 0};
  const contact_points_view p     = {2, x, f, n, NULL, a, b, slides};
  const patch_frame         along = {.on = 1, .from = -1, .along = {1.0, 0.0, 0.0}};
  assert_close(extent(&p, &along, 0.1), 1.0, 0.0);
  assert_close(extent(&p, &along, 0.125), 1.0, 0.0);
  assert_close(extent(&p, &along, 0.375), 1.5, 1e-15);
  assert_close(extent(&p, &along, 0.625), 2.0, 0.0);
  assert_close(extent(&p, &along, 1.0), 2.0, 0.0);
  assert_close(patch_sticking(&p, 1, -1), 0.75, 0.0);
  assert_no_leak();
}

static void test_nothing(void **state)
{
  (void)state;
  const contact_points_view p = hertz(), none = {.n = 0};
  patch_frame               f = {.on = 3, .from = -1, .is_round = true, .up = {0.0, 0.0, 1.0}};
  assert_true(isnan(extent(&p, &f, 0.5)));
  assert_true(isnan(extent(&none, &f, 0.5)));
  assert_true(isnan(patch_sticking(&p, 3, -1)));
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_hertz), cmocka_unit_test(test_two), cmocka_unit_test(test_nothing))
