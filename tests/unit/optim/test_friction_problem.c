/* Problems of friction: errors against their definitions, the check of the input, projections onto the cone. */
#include "friction_fixture.h"
#include "core/math3.h"
#include "core/team.h"
#include "optim/friction/cone.h"
#include <string.h>

/* The point of a cone nearest to z, searched on its rays: the axis, and the ray in the plane of z. */
static void nearest_in_cone(double mu, const double z[3], double p[3])
{
  const double t = hypot(z[1], z[2]), length = (z[0] + mu * t) / (1.0 + mu * mu); /* along (1, mu) */
  if (z[0] >= 0.0 && t <= mu * z[0]) v3_copy(p, z);
  else if (length <= 0.0 || t == 0.0) v3_set(p, 0.0, 0.0, 0.0);
  else v3_set(p, length, mu * length * z[1] / t, mu * length * z[2] / t);
}

/* K contains p, K* contains p - z, and they are orthogonal; the same for the dual cone, with any coefficient. */
static void projections(void **state)
{
  (void)state;
  for (uint64_t k = 0; k < 400; ++k) {
    const double mu = k % 5 == 0 ? 0.0 : k % 5 == 1 ? 1e3 * random_u01(1, k, 0) : 2.0 * random_u01(1, k, 0);
    double       z[3], p[3], d[3], F[3], expected[3];
    for (int i = 0; i < 3; ++i) z[i] = random_range(2, k, (uint64_t)i, -1.0, 1.0) * (k % 3 == 0 && i > 0 ? 1e-3 : 1.0);
    cone_project(mu, z, p);
    nearest_in_cone(mu, z, expected);
    for (int i = 0; i < 3; ++i) assert_close(p[i], expected[i], 1e-12 * (1.0 + mu));
    v3_sub(d, p, z);
    assert_true(hypot(p[1], p[2]) <= mu * p[0] * (1.0 + 1e-12) && mu * hypot(d[1], d[2]) <= d[0] + 1e-10 * (1.0 + mu));
    assert_close(v3_dot(p, d), 0.0, 1e-12 * (1.0 + mu));
    cone_project_dual(mu, z, p);
    v3_sub(d, p, z);
    assert_true(mu * hypot(p[1], p[2]) <= p[0] + 1e-10 * (1.0 + mu) && hypot(d[1], d[2]) <= mu * d[0] + 1e-12 * (1.0 + mu));
    assert_close(v3_dot(p, d), 0.0, 1e-10 * (1.0 + mu));
    /* solutions of Coulomb's law have no error: open, sticking, sliding against u */
    const double slip = hypot(z[1], z[2]), push = 0.5 + random_u01(3, k, 0);
    const double u[3][3] = {{fabs(z[0]), z[1], z[2]}, {0.0, 0.0, 0.0}, {0.0, z[1], z[2]}},
                 r[3][3] = {{0.0, 0.0, 0.0},
                            {push, 0.7 * mu * push, -0.7 * mu * push},
                            {push, -mu * push * z[1] / slip, -mu * push * z[2] / slip}};
    for (int q = 0; q < 3; ++q) {
      cone_natural_map(mu, 0.3, u[q], r[q], F);
      for (int i = 0; i < 3; ++i) assert_close(F[i], 0.0, 1e-12 * (1.0 + mu * push));
    }
  }
  assert_no_leak();
}

/* Sums over all contacts, also in parallel, from the definitions in friction_problem.h. */
static void errors(void **state)
{
  (void)state;
  static const int64_t n[] = {1, 63, 64, 65, 700, 5000};
  for (size_t k = 0; k < sizeof n / sizeof *n; ++k) {
    contact_scene s;
    delassus     *w;
    double *r, *u, *share, error[4], F[3], z[3], sum_F = 0.0, sum_r = 0.0, sum_u = 0.0, sum_q = 0.0, F_rho = 0.0, r_rho = 0.0, q_rho = 0.0;
    scene_create(70 + k, 7, 6, 5, n[k], 0.4, &s);
    assert_ok(delassus_create_system(&s.M, &s.H, &w));
    const friction_problem p = {.W = w, .n = s.n, .q = s.q, .mu = s.mu};
    assert_ok(memory_alloc("r", 3 * p.n, sizeof *r, &r));
    assert_ok(memory_alloc("u", 3 * p.n, sizeof *u, &u));
    assert_ok(memory_alloc("share", p.n, sizeof *share, &share));
    for (int64_t i = 0; i < 3 * p.n; ++i)
      r[i] = scene_random(k, 71, (uint64_t)i) + (i % 3 == 0), u[i] = scene_random(k, 72, (uint64_t)i) * (k % 2 ? 3.0 : 0.3);
    for (int64_t a = 0; a < p.n; ++a) {
      const double rho[2] = {1.0, 3.0 / m3_trace(delassus_diagonal(w) + 9 * a)}, *ra = r + 3 * a, *ua = u + 3 * a, *qa = s.q + 3 * a;
      for (int q = 0; q < 2; ++q) {
        for (int i = 0; i < 3; ++i) z[i] = ra[i] - rho[q] * (ua[i] + (i == 0 ? s.mu[a] * hypot(ua[1], ua[2]) : 0.0));
        nearest_in_cone(s.mu[a], z, F);
        v3_sub(F, ra, F);
        if (q == 0) sum_F += v3_dot(F, F);
      }
      share[a] = v3_dot(F, F) / rho[1];
      F_rho += share[a], r_rho += v3_dot(ra, ra) / rho[1], q_rho += v3_dot(qa, qa) * rho[1];
      sum_r += v3_dot(ra, ra), sum_u += v3_dot(ua, ua), sum_q += v3_dot(qa, qa);
    }
    const double absolute = sqrt(sum_F), siconos = sqrt(sum_F / fmax(sum_q, fmax(sum_r, sum_u))), scaled = sqrt(F_rho / fmax(r_rho, q_rho));
    double      *found;
    assert_ok(memory_alloc("found", p.n, sizeof *found, &found));
    for (int threads = 1; threads < 4; ++threads) {
      double first;
      team_set_threads(threads);
      friction_errors(&p, r, u, &error[0], &error[1], &error[2], found);
      if (threads == 1) error[3] = error[2];
      first = error[3];
      assert_memory_equal(&first, &error[2], sizeof first);
    }
    team_set_threads(0);
    assert_close(error[0] / absolute, 1.0, 1e-12);
    assert_close(error[1] / siconos, 1.0, 1e-12);
    assert_close(error[2] / scaled, 1.0, 1e-12);
    for (int64_t a = 0; a < p.n; ++a) assert_close(found[a], sqrt(share[a] / fmax(r_rho, q_rho)), 1e-12);
    friction_errors(&p, r, u, NULL, NULL, NULL, NULL);
    assert_close(friction_error(&p, FRICTION_ERROR_ABSOLUTE, r, u), error[0], 0.0);
    assert_close(friction_error(&p, FRICTION_ERROR_SICONOS, r, u), error[1], 0.0);
    assert_close(friction_error(&p, FRICTION_ERROR_SCALED, r, u), error[2], 0.0);
    assert_close(friction_error(&p, FRICTION_ERROR_BOTH, r, u), fmax(error[1], error[2]), 0.0);
    friction_velocity(&p, r, u);
    double *Wr;
    assert_ok(memory_alloc("W r", 3 * p.n, sizeof *Wr, &Wr));
    delassus_apply(w, r, Wr);
    for (int64_t i = 0; i < 3 * p.n; ++i) assert_close(u[i], Wr[i] + s.q[i], 1e-12 * (double)p.n);
    u[1] = NAN;
    assert_true(isnan(friction_error(&p, FRICTION_ERROR_BOTH, r, u)));
    memory_free(&r), memory_free(&u), memory_free(&share), memory_free(&found), memory_free(&Wr);
    delassus_destroy(&w);
    scene_destroy(&s);
  }
  assert_no_leak();
}

/* One wrong value in the last or the first contact is reported with its number; extreme but valid values are not. */
static void input_is_checked(void **state)
{
  (void)state;
  contact_scene s;
  delassus     *w;
  double        r[9] = {0.0};
  scene_create(9, 2, 6, 5, 3, 0.4, &s);
  assert_ok(delassus_create_system(&s.M, &s.H, &w));
  friction_problem p = {.W = w, .n = s.n, .q = s.q, .mu = s.mu};
  assert_ok(friction_problem_check(&p, r));
  for (int a = 0; a < 3; a += 2) {
    char place[40];
    (void)snprintf(place, sizeof place, "contact %d: ", a);
    for (int k = 0; k < 9; ++k) {
      double      *at    = k < 2 ? s.mu + a : k < 5 ? s.q + 3 * a + k - 2 : k < 8 ? r + 3 * a + k - 5 : s.mu + a;
      const double valid = *at;
      *at                = k == 0 ? -1e-3 : k == 1 ? NAN : k == 8 ? 0.0 : INFINITY;
      if (k == 8) assert_ok(friction_problem_check(&p, r)); /* without friction */
      else {
        assert_int_equal(friction_problem_check(&p, r), PETSC_ERR_USER_INPUT);
        assert_non_null(strstr(error_message(), place));
        assert_non_null(strstr(error_message(), k < 2 ? "friction coefficient" : k < 5 ? "free velocity" : "initial guess"));
        error_clear();
      }
      *at = valid;
    }
  }
  p.n = 2;
  assert_int_equal(friction_problem_check(&p, r), PETSC_ERR_USER_INPUT);
  assert_non_null(strstr(error_message(), "2 contacts, but W has 3"));
  error_clear();
  delassus_destroy(&w);
  scene_destroy(&s);
  /* W of a contact that nothing can move, and one that is not finite */
  for (int k = 0; k < 10; ++k) {
    const int64_t start[3]  = {0, 1, 2};
    const int32_t col[2]    = {0, 1};
    double        value[18] = {1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 1}, q[6] = {0.0}, mu[2] = {0.5, 0.5}, guess[6] = {0.0};
    value[9 + k % 9]          = k == 9 ? 0.0 : k == 0 ? -1.0 : NAN;
    const PetscErrorCode code = delassus_create_blocks(2, start, col, value, 6, &w);
    if (code) { /* the constructor may reject it */
      error_clear();
      continue;
    }
    const friction_problem two = {.W = w, .n = 2, .q = q, .mu = mu};
    assert_int_equal(friction_problem_check(&two, guess), PETSC_ERR_USER_INPUT);
    assert_non_null(
        strstr(error_message(), k == 9 || k == 0 ? "contact 1: its normal impulse" : "contact 1: its block of W is not finite"));
    error_clear();
    delassus_destroy(&w);
  }
  assert_no_leak();
}

/* Numbers of iterations: the given one, none with a time limit, or the default. */
static void most_iterations(void **state)
{
  (void)state;
  const friction_options o[4] = {
      {.max_iterations = 0}, {.max_iterations = 1}, {.time_limit = 1.0}, {.max_iterations = 7, .time_limit = 1.0}};
  const int64_t expected[4] = {99, 1, INT64_MAX, 7};
  for (int k = 0; k < 4; ++k) assert_true(friction_most_iterations(&o[k], 99) == expected[k]);
  assert_string_equal(friction_status_text((friction_status)99), "unknown");
}

TEST_MAIN(cmocka_unit_test(projections), cmocka_unit_test(errors), cmocka_unit_test(input_is_checked), cmocka_unit_test(most_iterations))
