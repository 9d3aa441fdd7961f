#include "optim/newton/wolfe.h"
#include "test.h"

typedef struct {
  double (*f)(double), (*df)(double);
  double asked, evaluated; /* last trial, and the trial whose slope was requested */
} function;

static PetscErrorCode value(void *ctx, double alpha, double *phi)
{
  function *f  = ctx;
  f->evaluated = alpha;
  *phi         = f->f(alpha);
  return PETSC_SUCCESS;
}
static PetscErrorCode slope(void *ctx, double alpha, double *s)
{
  function *f = ctx;
  assert_true(alpha == f->evaluated);
  f->asked = alpha;
  *s       = f->df(alpha);
  return PETSC_SUCCESS;
}

/* The result must satisfy its outcome, and is_last must be true. */
static wolfe_result search(double (*f)(double), double (*df)(double), wolfe_options o)
{
  function     ctx = {f, df, -1.0, -1.0};
  wolfe_result r;
  assert_ok(wolfe_search(&o, value, slope, &ctx, f(0.0), df(0.0), &r));
  assert_true(r.n_values <= o.max_trials);
  if (r.outcome != WOLFE_FAILED) {
    assert_true(r.phi == f(r.alpha) && r.phi <= f(0.0) + o.c1 * r.alpha * df(0.0));
    assert_int_equal(r.is_last, r.alpha == ctx.evaluated && r.alpha == ctx.asked);
  }
  if (r.outcome == WOLFE_ACCEPTED) assert_true(fabs(df(r.alpha)) <= o.c2 * fabs(df(0.0)) && r.is_last);
  return r;
}

static double parabola(double a) { return (a - 1.0) * (a - 1.0); }
static double d_parabola(double a) { return 2.0 * (a - 1.0); }
static void   takes_the_newton_step(void **state)
{
  (void)state;
  const wolfe_result r = search(parabola, d_parabola, WOLFE_DEFAULTS);
  assert_int_equal(r.outcome, WOLFE_ACCEPTED);
  assert_int_equal(r.n_values, 1);
  assert_true(r.alpha == 1.0 && r.is_last);
}

static double far(double a) { return (a / 100.0 - 1.0) * (a / 100.0 - 1.0); }
static double d_far(double a) { return 0.02 * (a / 100.0 - 1.0); }
static double near(double a) { return (1e4 * a - 1.0) * (1e4 * a - 1.0); }
static double d_near(double a) { return 2e4 * (1e4 * a - 1.0); }
static double bump(double a) { return -a + 3.0 * a * a * a - 0.5 * sin(7.0 * a) * a; }
static double d_bump(double a) { return -1.0 + 9.0 * a * a - 0.5 * sin(7.0 * a) - 3.5 * a * cos(7.0 * a); }
static void   finds_long_and_short_steps(void **state)
{
  wolfe_options exact = WOLFE_DEFAULTS;
  (void)state;
  assert_int_equal(search(far, d_far, WOLFE_DEFAULTS).outcome, WOLFE_ACCEPTED);
  assert_int_equal(search(near, d_near, WOLFE_DEFAULTS).outcome, WOLFE_ACCEPTED);
  assert_int_equal(search(bump, d_bump, WOLFE_DEFAULTS).outcome, WOLFE_ACCEPTED);
  exact.c2 = 0.01; /* nearly exact minimisers */
  assert_close(search(far, d_far, exact).alpha, 100.0, 1.0);
  assert_close(search(near, d_near, exact).alpha, 1e-4, 1e-6);
  assert_int_equal(search(bump, d_bump, exact).outcome, WOLFE_ACCEPTED);
}

/* phi = |a - 0.3|-like valley: slopes -1 and +2, never small. The lowest Armijo point must be close to the kink. */
static double kink(double a) { return a < 0.3 ? 0.3 - a : 2.0 * (a - 0.3); }
static double d_kink(double a) { return a < 0.3 ? -1.0 : 2.0; }
static void   armijo_alone_at_a_kink(void **state)
{
  (void)state;
  const wolfe_result r = search(kink, d_kink, WOLFE_DEFAULTS);
  assert_int_equal(r.outcome, WOLFE_ARMIJO_ONLY);
  assert_close(r.alpha, 0.3, 1e-3);
  assert_true(r.n_values <= 25);
}

/* Nothing exists beyond 0.01 (infinite, or NaN, or no derivative). */
static double wall(double a) { return a > 0.01 ? INFINITY : -a; }
static double d_wall(double a) { return a > 0.01 ? NAN : -1.0; }
static double nan_wall(double a) { return a > 0.01 ? NAN : -a; }
static double line(double a) { return -a; }
static void   backtracks_from_states_that_do_not_exist(void **state)
{
  (void)state;
  for (int k = 0; k < 3; ++k) {
    const wolfe_result r = search(k == 0 ? wall : k == 1 ? nan_wall : line, d_wall, WOLFE_DEFAULTS);
    assert_int_equal(r.outcome, WOLFE_ARMIJO_ONLY);
    assert_close(r.alpha, 0.01, 1e-4);
    assert_true(r.alpha <= 0.01);
  }
}

static double rising(double a) { return a; }
static double d_liar(double a) { return (void)a, -1.0; } /* a wrong derivative */
static void   fails_when_nothing_is_lower(void **state)
{
  (void)state;
  const wolfe_result r = search(rising, d_liar, WOLFE_DEFAULTS);
  assert_int_equal(r.outcome, WOLFE_FAILED);
  assert_int_equal(r.n_values, 40);
  assert_true(r.alpha == 0.0 && r.phi == 0.0);
  function      ctx = {rising, d_parabola, 0, 0};
  wolfe_options o   = WOLFE_DEFAULTS;
  wolfe_result  out;
  assert_int_not_equal(wolfe_search(&o, value, slope, &ctx, 0.0, 1.0, &out), 0); /* uphill: a caller's bug */
  error_clear();
}

static void stops_on_an_endless_slope(void **state)
{
  (void)state;
  const wolfe_result r = search(line, d_liar, WOLFE_DEFAULTS);
  assert_int_equal(r.outcome, WOLFE_ARMIJO_ONLY);
  assert_true(r.alpha == 1e3 && r.is_last);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(takes_the_newton_step), cmocka_unit_test(finds_long_and_short_steps), cmocka_unit_test(armijo_alone_at_a_kink),
          cmocka_unit_test(backtracks_from_states_that_do_not_exist), cmocka_unit_test(fails_when_nothing_is_lower),
          cmocka_unit_test(stops_on_an_endless_slope))
