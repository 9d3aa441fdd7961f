#include "friction_fixture.h"
#include "optim/friction/jordan.h"
#include <string.h>

static void inside(uint64_t id, double x[3])
{
  for (int i = 1; i < 3; ++i) x[i] = scene_random(1, 1, 3 * id + (uint64_t)i);
  x[0] = hypot(x[1], x[2]) + 0.05 + fabs(scene_random(1, 1, 3 * id));
}
static void times(const double Q[9], const double x[3], double y[3])
{
  for (int i = 0; i < 3; ++i) y[i] = Q[3 * i] * x[0] + Q[3 * i + 1] * x[1] + Q[3 * i + 2] * x[2];
}

/* The identities the scaling rests on, on random points; the tolerance allows for a condition of 1e4. */
static void jordan_algebra(void **state)
{
  const double eps = 1e-12;
  (void)state;
  for (uint64_t id = 0; id < 200; ++id) {
    double x[3], y[3], z[3], w[3], Q[9], R[9];
    inside(2 * id, x), inside(2 * id + 1, y);
    jordan_sqrt(x, z), jordan_product(z, z, w);
    for (int i = 0; i < 3; ++i) assert_close(w[i], x[i], eps);
    jordan_inverse(x, z), jordan_product(x, z, w);
    for (int i = 0; i < 3; ++i) assert_close(w[i], i == 0 ? 1.0 : 0.0, eps);
    jordan_divide(x, y, z), jordan_product(x, z, w);
    for (int i = 0; i < 3; ++i) assert_close(w[i], y[i], eps);
    jordan_sqrt(x, z), jordan_quadratic(z, Q), times(Q, (double[]){1, 0, 0}, w); /* Q_z e = z^2 */
    for (int i = 0; i < 3; ++i) assert_close(w[i], x[i], eps);
    jordan_inverse(z, w), jordan_quadratic(w, R), times(Q, y, z), times(R, z, w); /* Q_{z^-1} = Q_z^-1 */
    for (int i = 0; i < 3; ++i) assert_close(w[i], y[i], 1e-10);
    assert_close(jordan_det(x), x[0] * x[0] - x[1] * x[1] - x[2] * x[2], eps);
  }
}

/* On the border at the step found, inside before it; never from a point going inwards. */
static void steps_end_on_the_border(void **state)
{
  (void)state;
  for (uint64_t id = 0; id < 500; ++id) {
    double x[3], d[3], at[3];
    inside(id, x);
    for (int i = 0; i < 3; ++i) d[i] = scene_random(4, 1, 3 * id + (uint64_t)i);
    if (id % 5 == 0) d[0] = hypot(d[1], d[2]); /* along the border of the cone */
    const double t = jordan_step(x, d);
    if (d[0] >= hypot(d[1], d[2])) {
      if (t < 1e6) fail_msg("%llu: a direction into the cone leaves it after %g", (unsigned long long)id, t);
      continue;
    }
    for (int i = 0; i < 3; ++i) at[i] = x[i] + t * d[i];
    assert_close(at[0] - hypot(at[1], at[2]), 0.0, 1e-11 * (1.0 + t));
    for (double s = 0.0; s < 1.0; s += 0.1)
      assert_true(x[0] + s * t * d[0] > hypot(x[1] + s * t * d[1], x[2] + s * t * d[2]) - 1e-12 * (1.0 + t));
  }
}

/* More contacts than freedoms, W of half the rank: a few tens of steps, as many for any unit of mass. */
static void solves_what_is_redundant(void **state)
{
  contact_scene s;
  delassus     *w;
  document     *doc;
  double        r[600], u[600];
  (void)state;
  for (int k = 0; k < 3; ++k) {
    friction_result out;
    scene_create(40 + (uint64_t)k, 10, 6, 5, k == 2 ? 8 : 60, k == 1 ? 0.0 : 0.5, &s); /* 3 n_c = 180 > 60 */
    assert_ok(delassus_create_system(&s.M, &s.H, &w));
    const friction_problem p = {.W = w, .n = s.n, .q = s.q, .mu = s.mu};
    friction_options       o = scene_options(&doc);
    o.method = FRICTION_METHOD_INTERIOR_POINT;
    memset(r, 0, sizeof r);
    assert_ok(friction_solve(&p, &o, r, u, &out));
    if (out.verdict != FRICTION_OK) fail_msg("%d: %s, error %g", k, friction_verdict_text(out.verdict), out.scaled);
    if (out.iterations >= 40) fail_msg("%d: %d iterations", k, (int)out.iterations);
    scene_destroy(&s), delassus_destroy(&w), document_destroy(&doc);
  }
  assert_no_leak();
}

/* Whoever starts is replaced where it stalls, and the result says who answered. */
static void automatic_says_who_answered(void **state)
{
  contact_scene s;
  delassus     *w;
  document     *doc;
  double        r[600] = {0}, u[600];
  friction_result out;
  (void)state;
  scene_create(50, 10, 6, 5, 60, 0.5, &s);
  assert_ok(delassus_create_system(&s.M, &s.H, &w));
  const friction_problem p = {.W = w, .n = s.n, .q = s.q, .mu = s.mu};
  friction_options       o = scene_options(&doc);
  o.method = FRICTION_METHOD_AUTOMATIC;
  assert_ok(friction_solve(&p, &o, r, u, &out));
  assert_int_equal(out.verdict, FRICTION_OK);
  assert_non_null(strstr(out.method, "splitting"));
  o.method = FRICTION_METHOD_NEWTON_PROX;
  memset(r, 0, sizeof r);
  assert_ok(friction_solve(&p, &o, r, u, &out));
  assert_int_equal(out.verdict, FRICTION_OK);
  assert_non_null(strstr(out.method, "newton_prox"));
  assert_true(out.linear_solves > 0 && out.linear_solves == out.inner_iterations);
  scene_destroy(&s), delassus_destroy(&w), document_destroy(&doc);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(jordan_algebra), cmocka_unit_test(steps_end_on_the_border), cmocka_unit_test(solves_what_is_redundant),
          cmocka_unit_test(automatic_says_who_answered))
