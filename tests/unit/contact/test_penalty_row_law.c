/* Spring law of one contact: derivative against finite differences in every regime, cone, entry point, restitution, lagged schemes. */
#include "test.h"
#include "contact/penalty/penalty_row_law.h"
#include "core/math3.h"
#include "core/random.h"

static const double DT = 1e-3;

static row_spring spring(double gap, double mu, double across)
{
  row_spring s = {.k = 1e4, .gap = gap, .cone = {.mu = mu, .mu_across = across, .direction = {0.3, 0.8, -0.6}}, .dt = DT, .v_rest = 1e-2};
  row_spring_start(&s, true);
  return s;
}

/* Largest |K dx + df| / (k |dx|) over the three directions; df by central differences. */
static double slope_error(const row_spring *s, const double x[3])
{
  const double h = 1e-9;
  row_force    at, plus, minus;
  double       K[9], worst = 0.0;
  row_spring_evaluate(s, x, &at, K);
  for (int j = 0; j < 3; ++j) {
    double p[3], m[3];
    v3_copy(p, x), v3_copy(m, x);
    p[j] += h, m[j] -= h;
    row_spring_evaluate(s, p, &plus, NULL);
    row_spring_evaluate(s, m, &minus, NULL);
    for (int i = 0; i < 3; ++i) worst = fmax(worst, fabs(K[3 * i + j] + (plus.f[i] - minus.f[i]) / (2.0 * h)) / s->k);
  }
  return worst;
}

/* Round-off of the difference quotient: 1e-16 k x / (h k) with x = 1e-4, h = 1e-9, plus the curvature of the law h / x. */
static void derivative_equals_finite_differences(void **unused)
{
  int n_stick = 0, n_slide = 0, n_entering = 0;
  (void)unused;
  for (int i = 0; i < 400; ++i) {
    const double gap = i % 4 == 0 ? 3e-5 : i % 4 == 1 ? -2e-5 : 1e-6;
    row_spring   s   = spring(gap, i % 3 == 0 ? 5.0 : 0.4, i % 5 == 0 ? 0.2 : 0.0);
    double       x[3];
    row_force    f;
    for (int k = 0; k < 3; ++k) x[k] = random_range(3, (uint64_t)i, (uint64_t)k, -1e-4, 1e-4);
    x[0]     = -fabs(x[0]) - fmax(gap, 0.0) - 1e-5;
    s.enters = gap > 0.0 && i % 2 == 0;
    if (!s.enters)
      for (int k = 1; k < 3; ++k) s.e0[k] = random_range(3, (uint64_t)i, (uint64_t)(3 + k), -1e-4, 1e-4);
    if (i % 7 == 0) s.bounce = (restitution){.damping = restitution_damping(0.5), .speed = 0.2};
    row_spring_evaluate(&s, x, &f, NULL);
    n_slide += f.is_sliding, n_stick += !f.is_sliding, n_entering += s.enters;
    assert_close(slope_error(&s, x), 0.0, 1e-4);
  }
  assert_true(n_stick > 50 && n_slide > 50 && n_entering > 50);
}

static void friction_is_in_the_cone_and_opposes_slip(void **unused)
{
  const row_spring s = spring(-1e-4, 0.3, 0.0);
  row_force        f;
  double           cross;
  (void)unused;
  row_spring_evaluate(&s, (double[3]){0.0, 1e-3, -2e-3}, &f, NULL);
  assert_true(f.is_active && f.is_sliding);
  assert_close(hypot(f.f[1], f.f[2]), 0.3 * f.f[0], 1e-15);
  cross = f.f[1] * f.slip[2] - f.f[2] * f.slip[1];
  assert_close(cross, 0.0, 1e-17);
  assert_true(f.f[1] * f.slip[1] + f.f[2] * f.slip[2] < 0.0);
  /* along an ellipse's own axes the coefficients are mu and mu_across */
  row_spring ellipse = spring(-1e-4, 0.3, 0.1);
  v3_set(ellipse.cone.direction, 0.0, 1.0, 0.0);
  row_spring_evaluate(&ellipse, (double[3]){0.0, 1e-3, 0.0}, &f, NULL);
  assert_close(-f.f[1], 0.3 * f.f[0], 1e-14);
  row_spring_evaluate(&ellipse, (double[3]){0.0, 0.0, 1e-3}, &f, NULL);
  assert_close(-f.f[2], 0.1 * f.f[0], 1e-14);
}

/* A contact with the gap g that moves by -(g + h) along the normal and by y along the surface has an elongation of y h / (g + h). */
static void new_contact_starts_at_its_entry_point(void **unused)
{
  const double g = 3e-5, h = 1e-5, y = 2e-6;
  row_spring   s = spring(g, 10.0, 0.0);
  row_force    f;
  (void)unused;
  s.enters = true;
  row_spring_evaluate(&s, (double[3]){-g - h, y, 0.0}, &f, NULL);
  assert_close(f.f[0], s.k * h, 1e-14);
  assert_close(f.f[1], -s.k * y * h / (g + h), 1e-14);
  s.enters = false; /* a known contact counts the whole displacement */
  row_spring_evaluate(&s, (double[3]){-g - h, y, 0.0}, &f, NULL);
  assert_close(f.f[1], -s.k * y, 1e-14);
}

static void separated_contact_has_no_force(void **unused)
{
  const row_spring s = spring(-1e-5, 0.5, 0.0);
  row_force        f;
  double           K[9];
  (void)unused;
  row_spring_evaluate(&s, (double[3]){2e-5, 1e-4, 0.0}, &f, K);
  assert_false(f.is_active);
  assert_true(v3_norm(f.f) == 0.0);
  for (int i = 0; i < 9; ++i) assert_true(K[i] == 0.0);
  row_spring_evaluate(&s, (double[3]){NAN, 0.0, 0.0}, &f, NULL);
  assert_false(isfinite(v3_norm(f.f)));
  row_spring_evaluate(&s, (double[3]){0.0, NAN, 0.0}, &f, NULL);
  assert_false(isfinite(v3_norm(f.f)));
}

static void lagged_forces_are_those_of_the_start(void **unused)
{
  row_spring s = {.k = 1e4, .gap = -1e-4, .e0 = {0.0, 1e-3, 0.0}, .cone = {.mu = 0.5}, .dt = DT, .v_rest = 1e-2};
  row_force  f;
  double     K[9];
  (void)unused;
  s.scheme = CONTACT_LAGGED_FRICTION;
  row_spring_start(&s, true);
  row_spring_evaluate(&s, (double[3]){-1e-4, -5e-3, 0.0}, &f, K);
  assert_close(f.f[0], 1e4 * 2e-4, 1e-12);
  assert_close(f.f[1], -1e4 * 0.5 * 1e-4, 1e-12);
  assert_close(K[0], 1e4, 1e-9);
  assert_true(K[4] == 0.0 && K[3] == 0.0);
  assert_close(f.e[1], -0.5 * 2e-4, 1e-15); /* the elongation still follows the motion */
  s.scheme = CONTACT_LAGGED_CONTACT;
  row_spring_start(&s, true);
  row_spring_evaluate(&s, (double[3]){5e-4, 0.0, 0.0}, &f, K);
  assert_false(f.is_active);
  assert_close(f.f[0], 1.0, 1e-12);
  row_spring_start(&s, false);
  row_spring_evaluate(&s, (double[3]){-5e-4, 0.0, 0.0}, &f, K);
  assert_true(v3_norm(f.f) == 0.0);
}

static void gain_scales_the_whole_force(void **unused)
{
  row_spring s = spring(-1e-5, 0.3, 0.0);
  row_force  f, plain;
  double     slope;
  (void)unused;
  const double x[3] = {-2e-5, 1e-4, 0.0};
  row_spring_evaluate(&s, x, &plain, NULL);
  s.bounce          = (restitution){.damping = restitution_damping(0.5), .speed = 0.1};
  restitution now   = s.bounce;
  now.rate          = 2e-5 / DT;
  const double gain = restitution_gain(&now, s.v_rest, &slope);
  row_spring_evaluate(&s, x, &f, NULL);
  assert_true(gain > 1.01);
  for (int k = 0; k < 3; ++k) assert_close(f.f[k], gain * plain.f[k], 1e-14);
}

TEST_MAIN(cmocka_unit_test(derivative_equals_finite_differences), cmocka_unit_test(friction_is_in_the_cone_and_opposes_slip),
          cmocka_unit_test(new_contact_starts_at_its_entry_point), cmocka_unit_test(separated_contact_has_no_force),
          cmocka_unit_test(lagged_forces_are_those_of_the_start), cmocka_unit_test(gain_scales_the_whole_force))
