/* Material points at fibres: against all pairs, on sampled ways, and the same bits on any number of threads. */
#include <string.h>
#include "test.h"
#include "core/random.h"
#include "core/team.h"
#include "contact/fibre/fibre_points.h"
#include "contact_bodies.h"

enum { STRANDS = 6, NODES = 12, POINTS = 2000 };
#define DT 0.01
static int32_t   segment[2 * STRANDS * (NODES - 1)], strand[STRANDS * (NODES - 1)], body_of[STRANDS * (NODES - 1)];
static double    radius[STRANDS * (NODES - 1)], x0[3 * STRANDS * NODES], x1[3 * STRANDS * NODES];
static mock_body cloud;
static double    speed; /* of the points [m/s] */

/* Every point is its own unknown. */
static void velocity_of(int64_t i, double v[3])
{
  random_direction(5, (uint64_t)i, 0, v);
  v3_scale(v, speed, v);
}
static PetscErrorCode velocity(const body *b, double *v)
{
  for (int64_t i = 0; i < b->n_blocks; ++i) velocity_of(i, v + 3 * i);
  return PETSC_SUCCESS;
}
static PetscErrorCode residual(body *b, const double *v, double *g, bool with_tangent, step_status *status)
{
  (void)b, (void)v, (void)g, (void)with_tangent, (void)status;
  return PETSC_ERR_PLIB; /* never called */
}
static double point_radius(const body *b, int64_t i)
{
  (void)b;
  return i % 2 ? 0.004 : 0.007;
}

/* v: speed of the points; w: of the nodes of fibres, bit k of `moving`: with k = 0, 1 of those with even and odd numbers. */
static fibre_contact *make_scene_with(double v, double w, int moving)
{
  static body_ops ops;
  const bool      yes = true;
  int             n   = 0;
  fibre_contact  *c;
  ops          = mock_weighted_ops;
  ops.velocity = velocity, ops.residual = residual, ops.point_radius = point_radius;
  speed = v;
  for (int s = 0; s < STRANDS; ++s) {
    double d[3], x[3] = {random_u01(1, (uint64_t)s, 0), random_u01(1, (uint64_t)s, 1), random_u01(1, (uint64_t)s, 2)};
    for (int i = 0; i < NODES; ++i) {
      const int at = s * NODES + i;
      random_direction(2, (uint64_t)at, 0, d);
      v3_axpy(x, 0.1, d);
      v3_copy(x0 + 3 * at, x);
      v3_copy(x1 + 3 * at, x);
      random_direction(3, (uint64_t)at, 0, d);
      if (moving >> i % 2 & 1) v3_axpy(x1 + 3 * at, w * DT, d);
      if (i + 1 == NODES) continue;
      segment[2 * n] = at, segment[2 * n + 1] = at + 1;
      strand[n] = s, body_of[n] = 0, radius[n++] = 0.002 + 0.001 * s;
    }
  }
  const fibre_set set = {STRANDS * NODES, n, segment, strand, radius, 1, body_of, &yes, NULL};
  assert_ok(fibre_contact_create(&set, &c));
  mock_create(&cloud, "cloud", false, POINTS, 1, POINTS);
  cloud.base.ops = &ops;
  for (int64_t i = 0; i < POINTS; ++i) {
    cloud.block[i] = (int32_t)i, cloud.weight[i] = 1.0;
    const int64_t node = i * STRANDS * NODES / POINTS; /* about the nodes, where most is to be seen */
    for (int k = 0; k < 3; ++k) cloud.x[3 * i + k] = x0[3 * node + k] + random_range(4, (uint64_t)i, (uint64_t)k + 1, -0.03, 0.03);
  }
  return c;
}
static fibre_contact *make_scene(double v) { return make_scene_with(v, 0.5 * v, 3); }

static int64_t run(fibre_points *p, fibre_contact *c, double margin, const fibre_point_spot **out)
{
  const bool          yes      = true;
  const double       *none     = NULL;
  body *const         bodies[] = {&cloud.base};
  const int32_t       frame[]  = {-1};
  const contact_scene s        = {.n_bodies = 1, .body = bodies, .frame = frame, .dt = DT, .v = none};
  int64_t             n, n_all, bad;
  const fibre_spot   *others;
  assert_ok(fibre_contact_run(c, x0, x1, margin, &n_all, &others, &bad)); /* as a scene does first */
  assert_ok(fibre_points_run(p, c, &yes, x0, x1, &s, 0, margin, &n, out));
  return n;
}

/* Distance of a point from a segment at a moment of the step. */
static double distance(int i, int64_t point, double t, double *at)
{
  double a[3], b[3], x[3], v[3], e[3], w[3];
  velocity_of(point, v);
  for (int k = 0; k < 3; ++k) {
    a[k] = (1 - t) * x0[3 * segment[2 * i] + k] + t * x1[3 * segment[2 * i] + k];
    b[k] = (1 - t) * x0[3 * segment[2 * i + 1] + k] + t * x1[3 * segment[2 * i + 1] + k];
    x[k] = cloud.x[3 * point + k] + t * DT * v[k];
  }
  v3_sub(e, b, a);
  v3_sub(w, x, a);
  *at = fmin(1.0, fmax(0.0, v3_dot(w, e) / v3_dot(e, e)));
  v3_axpy(w, -*at, e);
  return v3_norm(w);
}

/* At rest: the nearest place of a strand is found if it is within reach, once; only local minima are found. */
static void all_near_points_are_found_at_rest(void **state)
{
  (void)state;
  const double            margin = 0.003;
  const fibre_point_spot *spot;
  fibre_points           *p;
  fibre_contact          *c = make_scene(0.0);
  static int              told[POINTS][STRANDS];
  static double           least[POINTS][STRANDS];
  int                     near = 0, both = 0, at_vertex = 0;
  assert_ok(fibre_points_create(&p));
  const int64_t n = run(p, c, margin, &spot);
  memset(told, 0, sizeof told);
  for (int64_t k = 0; k < POINTS; ++k)
    for (int i = 0; i < STRANDS; ++i) least[k][i] = INFINITY;
  for (int i = 0; i < STRANDS * (NODES - 1); ++i)
    for (int64_t k = 0; k < POINTS; ++k) {
      double at;
      least[k][strand[i]] = fmin(least[k][strand[i]], distance(i, k, 0.0, &at) - radius[i] - point_radius(NULL, k));
    }
  for (int64_t j = 0; j < n; ++j) {
    const fibre_point_spot *s = &spot[j];
    double                  at, arm[3], nearest = INFINITY;
    assert_false(s->is_swept);
    assert_int_equal(s->id, 1000 - s->point);
    assert_close(s->gap, distance(s->segment, s->point, 0.0, &at) - radius[s->segment] - s->radius, 1e-15);
    assert_close(s->at, at, 1e-9);
    v3_sub(arm, s->x, s->axis);
    assert_close(v3_dot(arm, s->normal), s->gap + radius[s->segment] + s->radius, 1e-15);
    for (int i = 0; i < STRANDS * (NODES - 1); ++i)
      if (strand[i] == strand[s->segment] && abs(i - s->segment) <= 1)
        nearest = fmin(nearest, distance(i, s->point, 0.0, &at) - (i == s->segment ? 0.0 : 1e-12));
    if (s->at == 0.0) assert_close(s->gap + radius[s->segment] + s->radius, nearest, 1e-11); /* of a vertex on both sides */
    at_vertex += s->at == 0.0 || s->at == 1.0;
    for (int64_t i = 0; i < j; ++i) /* a vertex is that of one segment */
      assert_false(spot[i].point == s->point && fabs(spot[i].at - s->at) == 1.0 && memcmp(spot[i].axis, s->axis, sizeof s->axis) == 0);
    assert_true(s->gap <= margin && s->gap >= least[s->point][strand[s->segment]] - 1e-15);
    told[s->point][strand[s->segment]] += 1;
  }
  for (int64_t k = 0; k < POINTS; ++k)
    for (int s = 0; s < STRANDS; ++s) {
      assert_int_equal(told[k][s] > 0, least[k][s] <= margin);
      near += told[k][s] > 0, both += told[k][s] > 1;
    }
  assert_true(near > 50 && at_vertex > 5 && at_vertex < near && both < near); /* not empty words */
  fibre_points_destroy(&p);
  fibre_contact_destroy(&c);
  mock_destroy(&cloud);
  assert_no_leak();
}

/* A point on an axis has no normal, and therefore no contact there. */
static void points_on_axes_have_no_contact(void **state)
{
  (void)state;
  const fibre_point_spot *spot;
  fibre_points           *p;
  fibre_contact          *c = make_scene(0.0);
  assert_ok(fibre_points_create(&p));
  v3_copy(cloud.x + 3 * 5, x0 + 3 * 4);
  const int64_t n = run(p, c, 0.003, &spot);
  for (int64_t j = 0; j < n; ++j) {
    double arm[3];
    v3_sub(arm, spot[j].x, spot[j].axis);
    assert_true(v3_norm(arm) > 0.0);
    assert_close(v3_norm(spot[j].normal), 1.0, 1e-12);
  }
  fibre_points_destroy(&p);
  fibre_contact_destroy(&c);
  mock_destroy(&cloud);
  assert_no_leak();
}

/* Fast motion: every collision of the sampled trajectory has a contact whose plane the trajectory crosses, and none has two. */
static void check_fast_points(double v, double w, int moving)
{
  const fibre_point_spot *spot;
  fibre_points           *p;
  fibre_contact          *c   = make_scene_with(v, w, moving);
  int                     met = 0, swept = 0;
  assert_ok(fibre_points_create(&p));
  const int64_t n = run(p, c, 0.001, &spot);
  for (int64_t k = 0; k < POINTS; ++k)
    for (int s = 0; s < STRANDS; ++s) {
      bool   collides = false, is_told = false;
      double at;
      for (int i = s * (NODES - 1); i < (s + 1) * (NODES - 1); ++i)
        for (int t = 0; t <= 200 && !collides; ++t) collides = distance(i, k, t / 200.0, &at) < radius[i] + point_radius(NULL, k);
      for (int64_t j = 0; j < n; ++j) is_told |= spot[j].point == k && strand[spot[j].segment] == s;
      if (collides) assert_true(is_told);
      met += collides;
    }
  for (int64_t j = 0; j < n; ++j) {
    const fibre_point_spot *s = &spot[j];
    double                  u[3], d[3];
    if (!s->is_swept) continue;
    velocity_of(s->point, u);
    for (int k = 0; k < 3; ++k)
      d[k] = DT * u[k] - (1 - s->at) * (x1[3 * segment[2 * s->segment] + k] - x0[3 * segment[2 * s->segment] + k]) -
             s->at * (x1[3 * segment[2 * s->segment + 1] + k] - x0[3 * segment[2 * s->segment + 1] + k]);
    assert_true(s->gap > 0.0 && (moving != 3 || s->gap + v3_dot(s->normal, d) < 1e-3 * (radius[s->segment] + s->radius)));
    for (int64_t i = 0; i < j; ++i) assert_true(spot[i].point != s->point || spot[i].segment != s->segment);
    ++swept;
  }
  assert_true(met > (moving == 3 ? 50 : 10) && swept > (moving == 3 ? 50 : 5));
  fibre_points_destroy(&p);
  fibre_contact_destroy(&c);
  mock_destroy(&cloud);
  assert_no_leak();
}

static void fast_points_do_not_pass_fibres(void **state)
{
  (void)state;
  check_fast_points(30.0, 15.0, 3);
  check_fast_points(0.0, 6.0, 2); /* points at rest, fibres that rotate about every second node */
}

static void threads_change_no_bit(void **state)
{
  (void)state;
  fibre_contact    *c       = make_scene(30.0);
  fibre_point_spot *first   = NULL;
  int64_t           n_first = 0;
  for (int threads = 1; threads <= 3; ++threads) {
    const fibre_point_spot *spot;
    fibre_points           *p;
    team_set_threads(threads);
    assert_ok(fibre_points_create(&p));
    const int64_t n = run(p, c, 0.001, &spot);
    if (threads == 1) {
      n_first = n;
      assert_ok(memory_alloc("spots", n, sizeof *first, &first));
      memcpy(first, spot, (size_t)n * sizeof *first);
    }
    assert_int_equal(n, n_first);
    for (int64_t j = 0; j < n; ++j) {
      assert_true(spot[j].segment == first[j].segment && spot[j].point == first[j].point && spot[j].is_swept == first[j].is_swept);
      assert_true(memcmp(&spot[j].gap, &first[j].gap, sizeof spot[j].gap) == 0 &&
                  memcmp(spot[j].normal, first[j].normal, sizeof spot[j].normal) == 0);
    }
    fibre_points_destroy(&p);
  }
  memory_free(&first);
  fibre_contact_destroy(&c);
  mock_destroy(&cloud);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(all_near_points_are_found_at_rest), cmocka_unit_test(points_on_axes_have_no_contact),
          cmocka_unit_test(fast_points_do_not_pass_fibres), cmocka_unit_test(threads_change_no_bit))
