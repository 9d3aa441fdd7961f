/* The damper of a coefficient of restitution: the speed a mass leaves with, limits, derivative. */
#include "test.h"
#include "contact/penalty/restitution.h"

static const double V_REST = 1e-3;

/* m = k = 1: in at speed v, d'' = -gain d by the classical Runge-Kutta method; out at d = 0. Returns speed out over speed in. */
static double bounce(double e, double v, int n)
{
  restitution r = {.damping = restitution_damping(e)};
  double      d = 0.0, w = v, slope, h = 4.0 / n;
  r.speed = v;
  while (true) {
    double d_k[4], w_k[4];
    for (int s = 0; s < 4; ++s) {
      const double f = s == 0 ? 0.0 : s == 3 ? h : 0.5 * h, at = s ? d + f * d_k[s - 1] : d;
      d_k[s] = s ? w + f * w_k[s - 1] : w;
      r.rate = d_k[s];
      w_k[s] = -restitution_gain(&r, V_REST, &slope) * at;
    }
    const double d_next = d + h / 6.0 * (d_k[0] + 2.0 * d_k[1] + 2.0 * d_k[2] + d_k[3]);
    const double w_next = w + h / 6.0 * (w_k[0] + 2.0 * w_k[1] + 2.0 * w_k[2] + w_k[3]);
    if (d_next <= 0.0) return -(w + d / (d - d_next) * (w_next - w)) / v; /* speed is all but constant near d = 0 */
    d = d_next, w = w_next;
  }
}

/* Linear interpolation at the end leaves h^2; h <= 0.004. */
static void rebound_speed_is_e_times_approach_speed(void **unused)
{
  (void)unused;
  const double coefficients[] = {0.05, 0.2, 0.5, 0.8, 0.95, 0.99};
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 3; ++j) {
      const double e = coefficients[i], v = (const double[]){0.01, 1.0, 30.0}[j];
      assert_close(bounce(e, v, 40000), e, 1e-6);
    }
  assert_close(bounce(0.0, 1.0, 40000), 1.0, 1e-6); /* no damper: elastic */
  assert_no_leak();
}

static void damping_satisfies_its_equation(void **unused)
{
  (void)unused;
  double last = INFINITY;
  assert_true(restitution_damping(0.0) == 0.0);
  for (double e = RESTITUTION_LEAST; e < 1.0; e += 0.01) {
    const double a = restitution_damping(e);
    assert_true(a > 0.0 && a < last && e * a < 1.0);
    assert_close((1.0 + e) * a, log((1.0 + a) / (1.0 - e * a)), 1e-12 * (1.0 + a) / (1.0 - e * a));
    last = a;
  }
  assert_no_leak();
}

static void gain_and_slope(void **unused)
{
  (void)unused;
  const double a = restitution_damping(0.5);
  const struct {
    double speed, rate, gain;
    bool   is_limited;
  } list[] = {{2.0, 0.0, 1.0, false},    {2.0, 1.0, 1.0 + 0.5 * a, false},          {2.0, 2.0 * (1.0 - 1e-6), 1.0 + a, false},
              {2.0, 3.0, 1.0 + a, true}, {2.0, -1.0, 1.0 - 0.5 * a, false},         {2.0, -3.0 / a, 0.0, true},
              {0.0, 1.0, 1.0 + a, true}, {0.0, 0.5 * V_REST, 1.0 + 0.5 * a, false}, {0.0, -0.5 * V_REST, 1.0 - 0.5 * a, false}};
  for (size_t i = 0; i < sizeof list / sizeof *list; ++i) {
    restitution  r = {a, list[i].speed, list[i].rate};
    double       slope, unused_slope;
    const double h = 1e-7 * fmax(r.speed, V_REST), gain = restitution_gain(&r, V_REST, &slope);
    assert_close(gain, list[i].gain, 2e-6 * a);
    r.rate            = list[i].rate + h;
    const double more = restitution_gain(&r, V_REST, &unused_slope);
    r.rate            = list[i].rate - h;
    const double less = restitution_gain(&r, V_REST, &unused_slope);
    assert_close((more - less) / (2.0 * h), slope, 1e-6 * a / fmax(r.speed, V_REST));
    assert_true((slope == 0.0) == list[i].is_limited);
    r.rate = list[i].rate;
    assert_true(restitution_speed(&r) == fmax(list[i].speed, list[i].rate));
  }
  const restitution plain = {0.0, 0.0, 5.0};
  double            slope;
  assert_true(restitution_gain(&plain, V_REST, &slope) == 1.0 && slope == 0.0 && restitution_speed(&plain) == 0.0);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(rebound_speed_is_e_times_approach_speed), cmocka_unit_test(damping_satisfies_its_equation),
          cmocka_unit_test(gain_and_slope))
