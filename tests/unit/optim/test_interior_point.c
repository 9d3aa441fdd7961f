#include "friction_fixture.h"
#include "optim/friction/jordan.h"
#include <stdlib.h>
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
    o.method                 = FRICTION_METHOD_INTERIOR_POINT;
    memset(r, 0, sizeof r);
    assert_ok(friction_solve(&p, &o, r, u, &out));
    if (out.status != FRICTION_OK) fail_msg("%d: %s, error %g", k, friction_status_text(out.status), out.scaled);
    if (out.iterations >= 40) fail_msg("%d: %d iterations", k, (int)out.iterations);
    scene_destroy(&s), delassus_destroy(&w), document_destroy(&doc);
  }
  assert_no_leak();
}

/* The initial method is replaced when it stalls, and the result names the method that converged. */
static void automatic_says_who_answered(void **state)
{
  contact_scene   s;
  delassus       *w;
  document       *doc;
  double          r[600] = {0}, u[600];
  friction_result out;
  (void)state;
  scene_create(50, 10, 6, 5, 60, 0.5, &s);
  assert_ok(delassus_create_system(&s.M, &s.H, &w));
  const friction_problem p = {.W = w, .n = s.n, .q = s.q, .mu = s.mu};
  friction_options       o = scene_options(&doc);
  o.method                 = FRICTION_METHOD_AUTOMATIC;
  assert_ok(friction_solve(&p, &o, r, u, &out));
  assert_int_equal(out.status, FRICTION_OK);
  assert_non_null(strstr(out.method, "gradient")); /* products with W are cheap */
  o.method = FRICTION_METHOD_NEWTON_PROX;
  memset(r, 0, sizeof r);
  assert_ok(friction_solve(&p, &o, r, u, &out));
  assert_int_equal(out.status, FRICTION_OK);
  assert_non_null(strstr(out.method, "newton_prox"));
  assert_true(out.linear_solves > 0 && out.linear_solves == out.inner_iterations);
  scene_destroy(&s), delassus_destroy(&w), document_destroy(&doc);
  assert_no_leak();
}

/* A wall in running bond, COURSES high and long, of bricks 2 x 1 x 1 that touch on all sides: what keeps it at rest is not
 * unique. */
enum { COURSES = 8, BRICKS = COURSES * COURSES, MOST_CORNERS = 16 * BRICKS };
typedef struct {
  int64_t n, start[3 * MOST_CORNERS + 1];
  int32_t col[36 * MOST_CORNERS];
  double  value[36 * MOST_CORNERS];
} wall_rows;

static void centre(int brick, double c[3])
{
  const int row = brick / COURSES;
  c[0] = 2.0 * (brick % COURSES) + 1.0 + (row % 2), c[1] = 0.5, c[2] = row + 0.5;
}

/* A contact at x between brick b and its neighbour a below or on the left (-1: the floor); its normal along `axis` into b. */
static void add_corner(wall_rows *w, int a, int b, int axis, const double x[3])
{
  for (int i = 0; i < 3; ++i) { /* normal, then two tangents: cyclic axes */
    const int along = (axis + i) % 3, side[2] = {a, b};
    int64_t   at = w->start[3 * w->n + i];
    for (int k = 0; k < 2; ++k) {
      double c[3], arm[3], e[3] = {0.0, 0.0, 0.0}, turn[3];
      if (side[k] < 0) continue;
      centre(side[k], c);
      e[along] = k == 0 ? -1.0 : 1.0;
      for (int j = 0; j < 3; ++j) arm[j] = x[j] - c[j];
      turn[0] = arm[1] * e[2] - arm[2] * e[1], turn[1] = arm[2] * e[0] - arm[0] * e[2], turn[2] = arm[0] * e[1] - arm[1] * e[0];
      for (int j = 0; j < 6; ++j) w->col[at] = 6 * side[k] + j, w->value[at++] = j < 3 ? e[j] : turn[j - 3];
    }
    w->start[3 * w->n + i + 1] = at;
  }
  ++w->n;
}

static void build_wall(wall_rows *w)
{
  for (int b = 0; b < BRICKS; ++b) {
    double c[3], below[3];
    centre(b, c);
    if (b % COURSES > 0)
      for (int k = 0; k < 4; ++k) add_corner(w, b - 1, b, 0, (double[]){c[0] - 1.0, k % 2, c[2] - 0.5 + k / 2});
    for (int a = b < COURSES ? -1 : (b / COURSES - 1) * COURSES; a < b / COURSES * COURSES; ++a) { /* the course below */
      double low = c[0] - 1.0, high = c[0] + 1.0;
      if (a >= 0) centre(a, below), low = fmax(low, below[0] - 1.0), high = fmin(high, below[0] + 1.0);
      if (low < high)
        for (int k = 0; k < 4; ++k) add_corner(w, a, b, 2, (double[]){k / 2 ? high : low, k % 2, c[2] - 0.5});
      if (a < 0) break;
    }
  }
}

/* At rest mu |u_T| has no derivative, and the path ends at 5e-8; with that term fixed it converges. */
static void a_wall_at_rest(void **state)
{
  static wall_rows w; /* zeroed */
  sparse_rows      M, H;
  delassus        *W;
  document        *doc;
  friction_result  out;
  int64_t          start[6 * BRICKS + 1];
  int32_t          col[6 * BRICKS];
  double           mass[6 * BRICKS];
  double *const q = calloc(3 * MOST_CORNERS, sizeof *q), *const r = calloc(3 * MOST_CORNERS, sizeof *r);
  double *const u = calloc(3 * MOST_CORNERS, sizeof *u), *const mu = calloc(MOST_CORNERS, sizeof *mu);
  (void)state;
  build_wall(&w);
  for (int i = 0; i <= 6 * BRICKS; ++i) start[i] = i;
  for (int i = 0; i < 6 * BRICKS; ++i) /* a brick of mass 4 */
    col[i] = i, mass[i] = i % 6 < 3 ? 4.0 : i % 6 == 3 ? 4.0 * 2.0 / 12.0 : 4.0 * 5.0 / 12.0;
  assert_ok(sparse_rows_create("masses", 6 * BRICKS, 6 * BRICKS, start, col, mass, &M));
  assert_ok(sparse_rows_create("wall", 3 * w.n, 6 * BRICKS, w.start, w.col, w.value, &H));
  assert_ok(delassus_create_system(&M, &H, &W));
  for (int64_t i = 0; i < 3 * w.n; ++i) /* H v of all bricks falling */
    for (int64_t k = w.start[i]; k < w.start[i + 1]; ++k) q[i] -= w.col[k] % 6 == 2 ? 0.0981 * w.value[k] : 0.0;
  for (int64_t a = 0; a < w.n; ++a) /* joints open or closed by up to 1e-9 in a step of 0.01, as tolerances leave them */
    mu[a] = 0.5, q[3 * a] += 1e-7 * scene_random(7, 1, (uint64_t)a);
  const friction_problem p = {.W = W, .n = w.n, .q = q, .mu = mu};
  friction_options       o = scene_options(&doc);
  o.method                 = FRICTION_METHOD_INTERIOR_POINT;
  assert_ok(friction_solve(&p, &o, r, u, &out));
  if (out.status != FRICTION_OK)
    fail_msg("%d contacts: %s after %d steps, error %g", (int)w.n, friction_status_text(out.status), (int)out.iterations, out.scaled);
  double weight = 0.0;
  for (int64_t a = 0; a < w.n; ++a) /* what the floor carries */
    if (w.start[3 * a + 1] - w.start[3 * a] == 6) weight += r[3 * a];
  assert_close(weight, 0.0981 * 4.0 * BRICKS, 1e-5 * 4.0 * BRICKS); /* bricks rise or fall by those gaps: 1e-6 of g */
  free(q), free(r), free(u), free(mu);
  sparse_rows_destroy(&M), sparse_rows_destroy(&H), delassus_destroy(&W), document_destroy(&doc);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(jordan_algebra), cmocka_unit_test(steps_end_on_the_border), cmocka_unit_test(solves_what_is_redundant),
          cmocka_unit_test(automatic_says_who_answered), cmocka_unit_test(a_wall_at_rest))
