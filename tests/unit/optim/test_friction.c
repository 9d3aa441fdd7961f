#include "core/math3.h"
#include "friction_fixture.h"
#include "optim/friction/cone.h"
#include <string.h>

static void expect(PetscErrorCode code, PetscErrorCode wanted, const char *words)
{
  assert_int_equal(code, wanted);
  if (!strstr(error_message(), words)) fail_msg("\"%s\" does not say \"%s\"", error_message(), words);
  error_clear();
}

static void tables_are_sound(void **state)
{
  diagnostics *d;
  (void)state;
  assert_ok(diagnostics_create(&d));
  assert_ok(key_table_validate(&friction_options_table, d));
  if (diagnostics_count(d)) fail_msg("%s", diagnostics_text(d, 0));
  diagnostics_destroy(&d);
  assert_int_equal(friction_solvers[FRICTION_N_METHODS].name == NULL, 1);
  assert_no_leak();
}

/* A mass of 2 kg that comes down with 0.5 m/s and without tangential velocity stops, by every method. `admm`
 * needs no iteration if it starts at the solution. */
static void a_block_comes_straight_down(void **state)
{
  const int64_t start[2] = {0, 1};
  const int32_t col[1]   = {0};
  const double  value[9] = {0.5, 0, 0, 0, 0.5, 0, 0, 0, 0.5}, mu = 0.5, q[3] = {-0.5, 0, 0};
  document     *doc;
  delassus     *w;
  (void)state;
  assert_ok(delassus_create_blocks(1, start, col, value, 3, &w));
  const friction_problem p = {.W = w, .n = 1, .q = q, .mu = &mu};
  for (int method = 0; method < FRICTION_N_METHODS; ++method) {
    friction_options o    = scene_options(&doc);
    double           r[3] = {0, 0, 0}, u[3];
    friction_result  out;
    o.method = method;
    for (int k = 0; k < 2; ++k) {
      assert_ok(friction_solve(&p, &o, r, u, &out));
      assert_int_equal(out.status, FRICTION_OK);
      for (int i = 0; i < 3; ++i) {
        assert_close(r[i], i == 0 ? 1.0 : 0.0, 1e-7);
        assert_close(u[i], 0.0, 1e-7);
      }
      r[0] = 1.0, r[1] = r[2] = 0.0;
      if (k == 1 && method == FRICTION_METHOD_ADMM) assert_int_equal(out.iterations, 0);
    }
    document_destroy(&doc);
  }
  delassus_destroy(&w);
  assert_no_leak();
}

/* One mass of 2 kg on the ground with a normal impulse of 1 N s and a sideways impulse: closed forms of the three cases and of
 * the errors. */
static void a_block_takes_off_sticks_and_slides(void **state)
{
  const int64_t start[2] = {0, 1};
  const int32_t col[1]   = {0};
  const double  value[9] = {0.5, 0, 0, 0, 0.5, 0, 0, 0, 0.5}, mu = 0.5;
  const double  q[3][3]        = {{0.5, 0.1, 0}, {-0.5, 0.1, -0.2}, {-0.5, 0.3, -0.4}};
  const double  wanted_r[3][3] = {{0, 0, 0}, {1, -0.2, 0.4}, {1, -0.3, 0.4}}, wanted_u[3][3] = {{0.5, 0.1, 0}, {0, 0, 0}, {0, 0.15, -0.2}};
  document     *doc;
  delassus     *w;
  (void)state;
  assert_ok(delassus_create_blocks(1, start, col, value, 3, &w));
  const friction_options o = scene_options(&doc);
  for (int k = 0; k < 3; ++k) {
    double                 r[3] = {0, 0, 0}, u[3], share;
    const friction_problem p    = {.W = w, .n = 1, .q = q[k], .mu = &mu};
    friction_result        out;
    assert_ok(friction_solve(&p, &o, r, u, &out));
    assert_int_equal(out.status, FRICTION_OK);
    assert_string_equal(out.method, k == 0 ? "splitting" : "gradient");
    for (int i = 0; i < 3; ++i) {
      assert_close(r[i], wanted_r[k][i], 1e-7);
      assert_close(u[i], wanted_u[k][i], 1e-7);
    }
    const double zero[3] = {0, 0, 0};
    double       e[3];
    friction_errors(&p, zero, q[k], &e[0], &e[1], &e[2], &share);
    /* of r = 0: P(-û) with û_N = q_N + mu |q_T| and a T part beyond the cone; rho = 2 scales above and below alike */
    const double t = hypot(q[k][1], q[k][2]), F = k == 0 ? 0.0 : 0.5 / 1.25 * sqrt(1.25), size = hypot(0.5, t);
    assert_close(e[0], F, 1e-15);
    assert_close(e[1], F / size, 1e-15);
    assert_close(e[2], F / size, 1e-15);
    assert_close(share, e[2], 1e-15);
  }
  delassus_destroy(&w);
  document_destroy(&doc);
  assert_no_leak();
}

static void bad_problems_are_refused_by_name(void **state)
{
  const int64_t start[3] = {0, 1, 2};
  const int32_t col[2]   = {0, 1};
  double value[18] = {[0] = 1, [4] = 1, [8] = 1, [9] = 1, [13] = 1, [17] = 1}, mu[2] = {0, 0.5}, q[6] = {-1, 0, 0, -1, 1, 0}, r[6] = {0},
         u[6];
  document       *doc;
  delassus       *w;
  friction_result out;
  (void)state;
  assert_ok(delassus_create_blocks(2, start, col, value, 0, &w));
  const friction_options o = scene_options(&doc);
  friction_problem       p = {.W = w, .n = 2, .q = q, .mu = mu};
  assert_ok(friction_solve(&p, &o, r, u, &out)); /* no friction at the first is fine */
  assert_int_equal(out.status, FRICTION_OK);
  assert_close(r[0], 1.0, 1e-7);
  assert_close(r[1], 0.0, 0.0);
  mu[1] = -0.1;
  expect(friction_solve(&p, &o, r, u, &out), PETSC_ERR_USER_INPUT, "contact 1: the friction coefficient is -0.1");
  mu[1] = NAN;
  expect(friction_solve(&p, &o, r, u, &out), PETSC_ERR_USER_INPUT, "contact 1: the friction coefficient is nan");
  mu[1] = 0.5, q[3] = INFINITY;
  expect(friction_solve(&p, &o, r, u, &out), PETSC_ERR_USER_INPUT, "contact 1: the free velocity q is not finite");
  q[3] = -1, r[2] = NAN;
  expect(friction_solve(&p, &o, r, u, &out), PETSC_ERR_USER_INPUT, "contact 0: the initial guess");
  r[2] = 0, p.n = 3;
  expect(friction_solve(&p, &o, r, u, &out), PETSC_ERR_USER_INPUT, "3 contacts, but W has 2");
  delassus_destroy(&w);
  value[9] = 0.0; /* a contact on nothing that moves */
  assert_ok(delassus_create_blocks(2, start, col, value, 0, &w));
  p = (friction_problem){.W = w, .n = 2, .q = q, .mu = mu};
  expect(friction_solve(&p, &o, r, u, &out), PETSC_ERR_USER_INPUT,
         "contact 1: its normal impulse does not change its normal velocity (W_NN = 0");
  p.n = 0;
  delassus_destroy(&w);
  const int64_t none[1] = {0};
  assert_ok(delassus_create_blocks(0, none, col, value, 0, &w));
  p.W = w;
  assert_ok(friction_solve(&p, &o, r, u, &out)); /* nothing to do */
  assert_int_equal(out.status, FRICTION_OK);
  delassus_destroy(&w);
  document_destroy(&doc);
  assert_no_leak();
}

/* A block that approaches the ground and slides, without impulse: the errors contain the approach at its full size for every friction
 * coefficient, and the solution is stick. A cone that is steep enough for its natural map to lose the approach was once accepted without
 * impulse, and bodies sank. */
static void steep_cones_keep_the_normal_velocity(void **state)
{
  const double  steep[]  = {20.0, 1e3, 1e6, 1e8, 1e12, 1e200, 1e300};
  const int64_t start[2] = {0, 1};
  const int32_t col[1]   = {0};
  const double  value[9] = {0.5, 0, 0, 0, 0.5, 0, 0, 0, 0.5}, q[3] = {-0.5, 0.3, -0.4}, opens[3] = {0.5, 0.3, -0.4};
  document     *doc;
  delassus     *w;
  (void)state;
  assert_ok(delassus_create_blocks(1, start, col, value, 3, &w));
  const friction_options o = scene_options(&doc);
  for (size_t k = 0; k < sizeof steep / sizeof *steep; ++k) {
    const double           mu = steep[k], zero[3] = {0, 0, 0}, size = hypot(0.5, 0.5);
    double                 r[3] = {0, 0, 0}, u[3], e[3], share;
    const friction_problem p = {.W = w, .n = 1, .q = q, .mu = &mu}, open = {.W = w, .n = 1, .q = opens, .mu = &mu};
    friction_result        out;
    friction_errors(&p, zero, q, &e[0], &e[1], &e[2], &share);
    assert_close(e[0], 0.5, 1e-15);
    assert_close(e[1], 0.5 / size, 1e-15);
    assert_close(e[2], 0.5 / size, 1e-15);
    friction_errors(&open, zero, opens, &e[0], &e[1], &e[2], &share);
    assert_true(e[0] == 0.0 && e[1] == 0.0 && e[2] == 0.0);
    assert_ok(friction_solve(&p, &o, r, u, &out));
    assert_int_equal(out.status, FRICTION_OK);
    for (int i = 0; i < 3; ++i) {
      assert_close(r[i], -2.0 * q[i], 1e-7);
      assert_close(u[i], 0.0, 1e-7);
    }
    r[1] += 0.1, r[2] += 0.1; /* inside the cone: the error is that of the velocity */
    friction_velocity(&p, r, u);
    friction_errors(&p, r, u, &e[0], NULL, NULL, NULL);
    assert_close(e[0], hypot(0.05, 0.05), 1e-7);
  }
  delassus_destroy(&w);
  document_destroy(&doc);
  assert_no_leak();
}

/* The maps of cone.h agree where both are defined: zero at solutions, not zero elsewhere; projections are valid for all coefficients. */
static void natural_maps_vanish_at_solutions_only(void **state)
{
  (void)state;
  const double mu = 20.0, stick_u[3] = {0, 0, 0}, stick_r[3] = {1, -3, 4}, slip_u[3] = {0, 0.3, -0.4}, slip_r[3] = {1, -12, 16};
  const double pulls[3] = {-1, 0, 0}, wrong[3] = {0, 0.3, 0.4}, beyond[3] = {1, -18, 16};
  double       F[3], p[3];
  for (int steep = 0; steep < 2; ++steep) {
    void (*const map)(double, double, const double *, const double *, double *) = steep ? cone_natural_map_steep : cone_natural_map;
    map(mu, 0.7, stick_u, stick_r, F);
    assert_true(v3_norm(F) < 1e-14);
    map(mu, 0.7, slip_u, slip_r, F);
    assert_true(v3_norm(F) < 1e-14);
    map(mu, 0.7, wrong, slip_r, F);
    assert_true(v3_norm(F) > 0.1);
    map(mu, 0.7, stick_u, pulls, F);
    assert_close(v3_norm(F), 1.0, 1e-14);
    map(mu, 0.7, stick_u, beyond, F);
    assert_true(v3_norm(F) > 0.1);
    map(mu, 0.7, (const double[3]){NAN, 0, 0}, stick_r, F);
    assert_true(isnan(F[0]));
  }
  const double z[3] = {-0.5, 3.0, 4.0};
  for (int k = 0; k < 2; ++k) {
    const double huge = k ? 1e300 : 1e8;
    cone_project(huge, z, p); /* almost a half-space: the tangential part remains */
    assert_close(p[1], 3.0, 1e-7);
    assert_close(p[2], 4.0, 1e-7);
    assert_close(p[0] * huge, 5.0, 1e-7);
  }
}

TEST_MAIN(cmocka_unit_test(tables_are_sound), cmocka_unit_test(a_block_comes_straight_down),
          cmocka_unit_test(a_block_takes_off_sticks_and_slides), cmocka_unit_test(bad_problems_are_refused_by_name),
          cmocka_unit_test(steep_cones_keep_the_normal_velocity), cmocka_unit_test(natural_maps_vanish_at_solutions_only))
