/* What every solver of the table promises. */
#include "friction_fixture.h"
#include "core/math3.h"
#include "core/team.h"
#include <string.h>

typedef struct {
  contact_scene scene;
  delassus     *w;
  double       *r, *u, *other;
  document     *doc;
} bench;

static void bench_create(bench *b, uint64_t seed, int64_t n_bodies, int64_t size, int64_t width, int64_t n, double friction)
{
  scene_create(seed, n_bodies, size, width, n, friction, &b->scene);
  assert_ok(delassus_create_system(&b->scene.M, &b->scene.H, &b->w));
  assert_ok(memory_alloc("r", 3 * n, sizeof(double), &b->r));
  assert_ok(memory_alloc("u", 3 * n, sizeof(double), &b->u));
  assert_ok(memory_alloc("other", 3 * n, sizeof(double), &b->other));
}
static void bench_destroy(bench *b)
{
  scene_destroy(&b->scene);
  delassus_destroy(&b->w);
  memory_free(&b->r), memory_free(&b->u), memory_free(&b->other);
}
static friction_problem problem_of(const bench *b)
{
  return (friction_problem){.W = b->w, .n = b->scene.n, .q = b->scene.q, .mu = b->scene.mu};
}

/* W as stored blocks, times `scale`, with a relative asymmetry. */
static delassus *stored(delassus *w, double scale, double asymmetry)
{
  const int64_t *start, n = delassus_n_contacts(w);
  const int32_t *col;
  const double  *value;
  double        *copy;
  delassus      *out;
  assert_ok(delassus_blocks(w, &start, &col, &value));
  assert_ok(memory_alloc("copy", 9 * start[n], sizeof *copy, &copy));
  for (int64_t k = 0; k < 9 * start[n]; ++k) copy[k] = scale * value[k] * (1.0 + asymmetry * scene_random(8, 8, (uint64_t)k));
  assert_ok(delassus_create_blocks(n, start, col, copy, 0, &out));
  memory_free(&copy);
  return out;
}

static void law_holds(const char *who, const bench *b, double tolerance)
{
  for (int64_t a = 0; a < b->scene.n; ++a) {
    const double *r = b->r + 3 * a, *u = b->u + 3 * a, mu = b->scene.mu[a], t = hypot(r[1], r[2]), slip = hypot(u[1], u[2]);
    if (!(r[0] >= 0.0 && t <= mu * r[0] * (1.0 + 1e-12))) fail_msg("%s: impulse %d is outside its cone", who, (int)a);
    if (!(u[0] >= -tolerance)) fail_msg("%s: contact %d closes at %g", who, (int)a, u[0]);
    if (!(fabs(r[0] * u[0]) <= tolerance)) fail_msg("%s: contact %d has an impulse and opens", who, (int)a);
    if (t < 0.99 * mu * r[0] && !(slip <= 1e3 * tolerance)) fail_msg("%s: contact %d sticks and slides at %g", who, (int)a, slip);
    if (slip > 1e-2 && t > 1e-3 && !(u[1] * r[1] + u[2] * r[2] <= -0.999 * slip * t))
      fail_msg("%s: friction at %d is not against sliding", who, (int)a);
  }
}

static void all_find_the_solution(void **state)
{
  const struct {
    int64_t n_bodies, size, width, n;
  } c[] = {{12, 6, 5, 20}, {20, 40, 6, 60}, {6, 60, 10, 8}};
  (void)state;
  for (int k = 0; k < 3; ++k) {
    bench b;
    bench_create(&b, 20 + (uint64_t)k, c[k].n_bodies, c[k].size, c[k].width, c[k].n, 0.3);
    friction_options       o = scene_options(&b.doc);
    const friction_problem p = problem_of(&b);
    for (o.method = 0; o.method < FRICTION_N_METHODS; ++o.method) {
      const char     *name = friction_solvers[o.method].name;
      friction_result out;
      memset(b.r, 0, (size_t)p.n * 3 * sizeof *b.r);
      assert_ok(friction_solve(&p, &o, b.r, b.u, &out));
      if (out.status != FRICTION_OK)
        fail_msg("%s: %s after %d iterations, error %g", name, friction_status_text(out.status), (int)out.iterations, out.scaled);
      assert_true(out.scaled <= o.tolerance);
      law_holds(name, &b, 1e-6);
      if (o.method == 0) memcpy(b.other, b.u, (size_t)p.n * 3 * sizeof *b.u);
      for (int64_t i = 0; i < 3 * p.n; ++i)
        if (!(fabs(b.u[i] - b.other[i]) <= 1e-5))
          fail_msg("%s: u differs from that of %s by %g", name, friction_solvers[0].name, b.u[i] - b.other[i]);
    }
    document_destroy(&b.doc);
    bench_destroy(&b);
  }
  assert_no_leak();
}

/* Stored W with an asymmetry of 1e-3, as rigid-body programs write it: solved as stored. */
static void all_solve_unsymmetric_blocks(void **state)
{
  bench b;
  (void)state;
  bench_create(&b, 31, 12, 6, 5, 20, 0.4);
  friction_options o    = scene_options(&b.doc);
  delassus        *skew = stored(b.w, 1.0, 1e-3);
  friction_problem p    = problem_of(&b);
  p.W                   = skew;
  for (o.method = 0; o.method < FRICTION_N_METHODS; ++o.method) {
    friction_result out;
    memset(b.r, 0, (size_t)p.n * 3 * sizeof *b.r);
    assert_ok(friction_solve(&p, &o, b.r, b.u, &out));
    if (out.status != FRICTION_OK)
      fail_msg("%s: %s, error %g", friction_solvers[o.method].name, friction_status_text(out.status), out.scaled);
    law_holds(friction_solvers[o.method].name, &b, 1e-6);
  }
  delassus_destroy(&skew);
  document_destroy(&b.doc);
  bench_destroy(&b);
  assert_no_leak();
}

/* Another unit of mass: only r is scaled; the iterations are the same up to round-off. */
static void the_unit_of_mass_does_not_matter(void **state)
{
  bench b;
  (void)state;
  bench_create(&b, 32, 12, 6, 5, 20, 0.4);
  friction_options o = scene_options(&b.doc);
  friction_problem p = problem_of(&b);
  for (o.method = 0; o.method < FRICTION_N_METHODS; ++o.method) {
    int64_t iterations[2];
    for (int k = 0; k < 2; ++k) {
      friction_result out;
      p.W = stored(b.w, k ? 0x1p-20 : 1.0, 0.0);
      memset(b.r, 0, (size_t)p.n * 3 * sizeof *b.r);
      assert_ok(friction_solve(&p, &o, b.r, b.u, &out));
      assert_int_equal(out.status, FRICTION_OK);
      iterations[k] = out.iterations;
      if (k == 0) memcpy(b.other, b.u, (size_t)p.n * 3 * sizeof *b.u);
      for (int64_t i = 0; i < 3 * p.n; ++i) assert_close(b.u[i], b.other[i], 1e-6);
      delassus_destroy(&p.W);
    }
    if (llabs(iterations[0] - iterations[1]) > 1 + iterations[0] / 4)
      fail_msg("%s: %d and %d iterations", friction_solvers[o.method].name, (int)iterations[0], (int)iterations[1]);
  }
  document_destroy(&b.doc);
  bench_destroy(&b);
  assert_no_leak();
}

static void all_start_from_a_guess_and_keep_limits(void **state)
{
  bench b;
  (void)state;
  bench_create(&b, 33, 12, 6, 5, 20, 0.4);
  friction_options       o = scene_options(&b.doc);
  const friction_problem p = problem_of(&b);
  for (o.method = 0; o.method < FRICTION_N_METHODS; ++o.method) {
    const char     *name = friction_solvers[o.method].name;
    friction_result cold, warm;
    o.tolerance = 1e-8, o.max_iterations = 0;
    memset(b.r, 0, (size_t)p.n * 3 * sizeof *b.r);
    assert_ok(friction_solve(&p, &o, b.r, b.u, &cold));
    assert_ok(friction_solve(&p, &o, b.r, b.u, &warm));
    assert_int_equal(warm.status, FRICTION_OK);
    if (warm.iterations > 5 || warm.iterations >= cold.iterations)
      fail_msg("%s: %d iterations from the solution, %d from zero", name, (int)warm.iterations, (int)cold.iterations);
    memset(b.r, 0, (size_t)p.n * 3 * sizeof *b.r);
    o.max_iterations = 1, o.tolerance = 1e-300;
    assert_ok(friction_solve(&p, &o, b.r, b.u, &cold));
    if (cold.status == FRICTION_OK || cold.iterations > 1)
      fail_msg("%s: limit of one iteration: %s after %d", name, friction_status_text(cold.status), (int)cold.iterations);
    for (int64_t a = 0; a < p.n; ++a)
      assert_true(isfinite(b.r[3 * a]) && hypot(b.r[3 * a + 1], b.r[3 * a + 2]) <= p.mu[a] * b.r[3 * a] * (1.0 + 1e-9) + 1e-300);
  }
  document_destroy(&b.doc);
  bench_destroy(&b);
  assert_no_leak();
}

static void same_bits(bench *b, const friction_options *o)
{
  const friction_problem p = problem_of(b);
  for (int threads = 1; threads <= 3; ++threads) {
    friction_result out;
    team_set_threads(threads);
    memset(b->r, 0, (size_t)p.n * 3 * sizeof *b->r);
    assert_ok(friction_solve(&p, o, b->r, b->u, &out));
    assert_int_equal(out.status, FRICTION_OK);
    if (threads == 1) memcpy(b->other, b->r, (size_t)p.n * 3 * sizeof *b->r);
    else if (memcmp(b->other, b->r, (size_t)p.n * 3 * sizeof *b->r))
      fail_msg("%s: the bits depend on the threads", friction_solvers[o->method].name);
  }
  team_set_threads(0);
}

/* And the gradient once more with as many contacts as it shares out among threads, the last chunk not full. */
static void all_give_the_same_bits_on_any_threads(void **state)
{
  bench b;
  (void)state;
  bench_create(&b, 34, 40, 40, 6, 300, 0.3);
  friction_options o = scene_options(&b.doc);
  o.tolerance        = 1e-6;
  for (o.method = 0; o.method < FRICTION_N_METHODS; ++o.method) same_bits(&b, &o);
  bench_destroy(&b);
  bench_create(&b, 36, 500, 60, 6, 2600, 0.3);
  o.method = FRICTION_METHOD_GRADIENT;
  same_bits(&b, &o);
  law_holds("gradient", &b, 1e-4);
  document_destroy(&b.doc);
  bench_destroy(&b);
  assert_no_leak();
}

/* Many contacts on long bodies: no factorisation, and no more iterations than the tolerance requires. */
static void loose_sets_are_left_to_the_gradient(void **state)
{
  bench b;
  (void)state;
  bench_create(&b, 35, 300, 60, 6, 1500, 0.3);
  friction_options       o = scene_options(&b.doc);
  const friction_problem p = problem_of(&b);
  friction_result        out;
  o.method = FRICTION_METHOD_AUTOMATIC, o.tolerance = 1e-5;
  assert_ok(friction_solve(&p, &o, b.r, b.u, &out));
  assert_int_equal(out.status, FRICTION_OK);
  assert_string_equal(out.method, "gradient");
  o.tolerance = 1e-300, o.enough = 1e-3;
  assert_ok(friction_solve(&p, &o, b.r, b.u, &out));
  assert_int_equal(out.status, FRICTION_STALLED);
  assert_string_equal(out.method, "gradient");
  assert_true(out.linear_solves == 0 && out.scaled <= 1e-5);
  document_destroy(&b.doc);
  bench_destroy(&b);
  assert_no_leak();
}

/* A tolerance that rounding does not permit: every stage of a sequence runs and the best impulses of all are returned, with their
 * velocities. `enough` ends automatic before the stages for problems that are hard to solve; a limit on iterations counts those of all
 * stages. */
static void every_stage_keeps_the_best_result(void **state)
{
  static const struct {
    int         method;
    int64_t     max_iterations;
    double      enough;
    const char *stages;
  } c[] = {{FRICTION_METHOD_NEWTON_PROX, 0, 0.0, "newton_prox, splitting"},
           {FRICTION_METHOD_NEWTON_PROX, 400, 0.0, "newton_prox, splitting"},
           {FRICTION_METHOD_AUTOMATIC, 0, 0.0, "gradient, newton_prox, interior_point, newton_prox, splitting"},
           {FRICTION_METHOD_AUTOMATIC, 0, 1e-3, "gradient, newton_prox, interior_point"}};
  bench b;
  (void)state;
  bench_create(&b, 37, 4, 6, 5, 6, 0.3);
  friction_options       o = scene_options(&b.doc);
  const friction_problem p = problem_of(&b);
  o.tolerance              = 1e-300;
  for (size_t k = 0; k < sizeof c / sizeof *c; ++k) {
    friction_result out;
    o.method = c[k].method, o.max_iterations = c[k].max_iterations, o.enough = c[k].enough;
    memset(b.r, 0, (size_t)p.n * 3 * sizeof *b.r);
    assert_ok(friction_solve(&p, &o, b.r, b.u, &out));
    assert_int_not_equal(out.status, FRICTION_OK);
    assert_string_equal(out.method, c[k].stages);
    assert_true(out.scaled <= 1e-14);
    law_holds(friction_solvers[o.method].name, &b, 1e-12);
    friction_velocity(&p, b.r, b.other);
    assert_memory_equal(b.u, b.other, (size_t)p.n * 3 * sizeof *b.u);
    if (o.max_iterations > 0) assert_int_equal(out.iterations, o.max_iterations);
    assert_true(c[k].enough > 0.0 || out.iterations >= 400);
  }
  document_destroy(&b.doc);
  bench_destroy(&b);
}

/* Two contacts close from opposite sides of one body: u_2 = -u_1 - 2, so that both cannot open. No method reaches a small absolute
 * error; impulses stay finite and in their cones. (Errors relative to the impulses tend to zero, because these grow without bound.) */
static void problems_without_solution_are_not_solved(void **state)
{
  bench b;
  (void)state;
  bench_create(&b, 38, 1, 6, 5, 2, 0.3);
  sparse_rows *H = &b.scene.H;
  for (int i = 0; i < 3; ++i) {
    assert_int_equal(H->start[i + 4] - H->start[i + 3], 6);
    for (int k = 0; k < 6; ++k) H->value[H->start[i + 3] + k] = -H->value[H->start[i] + k];
    b.scene.q[i] = b.scene.q[i + 3] = i == 0 ? -1.0 : 0.0;
  }
  delassus_destroy(&b.w);
  assert_ok(delassus_create_system(&b.scene.M, H, &b.w));
  friction_options       o = scene_options(&b.doc);
  const friction_problem p = problem_of(&b);
  o.error                  = FRICTION_ERROR_ABSOLUTE;
  for (o.method = 0; o.method < FRICTION_N_METHODS; ++o.method) {
    friction_result out;
    o.max_iterations = o.method == FRICTION_METHOD_AUTOMATIC ? 0 : 300; /* automatic: all its stages */
    memset(b.r, 0, (size_t)p.n * 3 * sizeof *b.r);
    assert_ok(friction_solve(&p, &o, b.r, b.u, &out));
    assert_int_not_equal(out.status, FRICTION_OK);
    assert_true(fmin(b.u[0], b.u[3]) <= -1.0 + 1e-6 && out.absolute > 1.0);
    for (int64_t a = 0; a < p.n; ++a)
      assert_true(isfinite(b.r[3 * a]) && hypot(b.r[3 * a + 1], b.r[3 * a + 2]) <= p.mu[a] * b.r[3 * a] * (1.0 + 1e-9));
  }
  document_destroy(&b.doc);
  bench_destroy(&b);
}

TEST_MAIN(cmocka_unit_test(every_stage_keeps_the_best_result), cmocka_unit_test(problems_without_solution_are_not_solved),
          cmocka_unit_test(loose_sets_are_left_to_the_gradient), cmocka_unit_test(all_find_the_solution),
          cmocka_unit_test(all_solve_unsymmetric_blocks), cmocka_unit_test(the_unit_of_mass_does_not_matter),
          cmocka_unit_test(all_start_from_a_guess_and_keep_limits), cmocka_unit_test(all_give_the_same_bits_on_any_threads))
