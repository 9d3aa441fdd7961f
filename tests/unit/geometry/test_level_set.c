/* Level sets: distances against geometry, derivatives against finite differences, gradient of length one. */
#include "core/math3.h"
#include "core/team.h"
#include "geometry/level_set/level_set.h"
#include "geometry/level_set/level_set_sampled.h"
#include "geometry/triangle_mesh/triangle_bvh.h"
#include "geometry/triangle_mesh/triangle_mesh_primitives.h"
#include "test.h"

static uint64_t test_state = 1;
static double   uniform(double a, double b) /* splitmix64 */
{
  uint64_t z = (test_state += 0x9e3779b97f4a7c15ULL);
  z          = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z          = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return a + (b - a) * (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}
static void random_point(double *x, double a, double b)
{
  for (int k = 0; k < 3; ++k) x[k] = uniform(a, b);
}
static void rotation(double R[9]) /* about (1,2,3) by 0.7, by Rodrigues */
{
  const double l = sqrt(14.0), a[3] = {1 / l, 2 / l, 3 / l};
  double       K[9], K2[9];
  m3_skew(K, a);
  m3_mul(K2, K, K);
  m3_identity(R);
  m3_axpy(R, sin(0.7), K);
  m3_axpy(R, 1.0 - cos(0.7), K2);
}

/* Central differences have error h^2/6 |phi'''| + eps/h; with h = 1e-5 and |phi'''| up to 1e3 (points near an edge) about 1e-8.
 * Points within 1e-3 of a kink, where a step of h sees two branches, are recognised by a jump of the gradient and skipped. */
static void check_derivatives(const level_set *s, double lo, double hi, double unit_tolerance)
{
  const double h         = 1e-5;
  int          n_checked = 0;
  for (int i = 0; i < 400; ++i) {
    double x[3], g[3], H[9], g_num[3], H_num[9];
    bool   is_smooth = true;
    random_point(x, lo, hi);
    const double v = level_set_eval(s, x, g, H);
    assert_close(v, level_set_value(s, x), 0.0);
    for (int k = 0; k < 3; ++k) {
      double p[3], m[3], gp[3], gm[3], far[3];
      v3_copy(p, x), v3_copy(m, x), p[k] += h, m[k] -= h;
      g_num[k] = (level_set_eval(s, p, gp, NULL) - level_set_eval(s, m, gm, NULL)) / (2.0 * h);
      for (int q = 0; q < 3; ++q) H_num[3 * q + k] = (gp[q] - gm[q]) / (2.0 * h);
      for (int sgn = -1; sgn <= 1; sgn += 2) {
        double H_far[9];
        v3_copy(p, x), p[k] += sgn * 1e-3;
        (void)level_set_eval(s, p, far, H_far);
        for (int q = 0; q < 3; ++q) is_smooth = is_smooth && fabs(far[q] - g[q] - sgn * 1e-3 * H[3 * q + k]) < 1e-3;
        for (int q = 0; q < 9; ++q) is_smooth = is_smooth && fabs(H_far[q] - H[q]) < 0.2 * (1.0 + fabs(H[q]));
      }
    }
    if (!is_smooth) continue;
    ++n_checked;
    double scale = 1.0;
    for (int q = 0; q < 9; ++q) scale = fmax(scale, fabs(H[q]));
    for (int q = 0; q < 3; ++q) assert_close(g[q], g_num[q], 1e-8 * scale * scale);
    for (int q = 0; q < 9; ++q) assert_close(H[q], H_num[q], 2e-7 * scale * scale);
    assert_close(v3_norm(g), 1.0, unit_tolerance);
  }
  assert_true(n_checked > 200);
}

/* For an exact distance x - phi grad is on the surface, on both sides. */
static void check_closest_points(const level_set *s, double lo, double hi)
{
  for (int i = 0; i < 1000; ++i) {
    double x[3], g[3];
    random_point(x, lo, hi);
    const double v = level_set_eval(s, x, g, NULL);
    v3_axpy(x, -v, g);
    assert_close(level_set_value(s, x), 0.0, 1e-14 * 10.0);
  }
}

/* {phi <= 0} lies in the bounds; for bounded primitives in general position the bounds are tight. */
static void check_bounds(const level_set *s, double slack)
{
  double lo[3], hi[3], seen_lo[3] = {9, 9, 9}, seen_hi[3] = {-9, -9, -9};
  level_set_bounds(s, lo, hi);
  for (int i = 0; i < 40000; ++i) {
    double x[3], g[3];
    random_point(x, -2.5, 2.5);
    const double v = level_set_eval(s, x, g, NULL);
    v3_axpy(x, -v, g);
    for (int k = 0; k < 3; ++k) {
      seen_lo[k] = fmin(seen_lo[k], x[k]), seen_hi[k] = fmax(seen_hi[k], x[k]);
      assert_true(x[k] >= lo[k] - 1e-12 && x[k] <= hi[k] + 1e-12);
    }
  }
  for (int k = 0; k < 3; ++k) assert_true(seen_lo[k] < lo[k] + slack && seen_hi[k] > hi[k] - slack);
}

static void test_primitives(void **state)
{
  (void)state;
  const double c[3] = {0.1, -0.2, 0.3}, a[3] = {-0.5, -0.4, -0.6}, b[3] = {0.6, 0.7, 0.5}, axis[3] = {1, 2, 2};
  const double radii[3] = {0.9, 0.35, 0.6}, along[4] = {-0.7, -0.1, 0.2, 0.9}, radius[4] = {0.8, 0.2, 0.3, 0.0};
  level_set   *s[8]    = {NULL};
  const double zero[3] = {0};
  double       lo[3], hi[3];
  assert_ok(level_set_plane(axis, 0.25, &s[0]));
  assert_ok(level_set_sphere(c, 0.7, &s[1]));
  assert_ok(level_set_box(a, b, &s[2]));
  assert_ok(level_set_cylinder(a, b, 0.45, &s[3]));
  assert_ok(level_set_capsule(a, b, 0.45, &s[4]));
  assert_ok(level_set_torus(c, axis, 0.8, 0.3, &s[5]));
  assert_ok(level_set_ellipsoid(c, radii, &s[6]));
  assert_ok(level_set_revolution(c, axis, 4, along, radius, &s[7])); /* an hourglass with a pointed end */
  for (int i = 0; i < 8; ++i) {
    check_derivatives(s[i], -1.5, 1.5, 4e-15);
    check_closest_points(s[i], -1.5, 1.5);
    if (i > 0) check_bounds(s[i], 0.02);
  }
  assert_close(level_set_value(s[0], zero), -0.25, 1e-16); /* offset is along the unit normal */
  level_set_bounds(s[0], lo, hi);
  for (int k = 0; k < 3; ++k) assert_true(isinf(lo[k]) && isinf(hi[k]));
  /* values computed by hand */
  const double corner[3] = {0.9, 1.1, 0.5};
  assert_close(level_set_value(s[2], corner), 0.5, 1e-15); /* 3-4-5 off the edge */
  const double middle[3] = {0.05, 0.15, -0.05};
  assert_close(level_set_value(s[2], middle), -0.55, 1e-15);
  assert_close(level_set_value(s[5], c), 0.5, 1e-15); /* hole of the torus */
  for (int i = 0; i < 8; ++i) level_set_destroy(&s[i]);
  /* finite at degenerate points */
  const double e1[3] = {0, 0, -1}, e2[3] = {0, 0, 1};
  double       g[3], H[9];
  assert_ok(level_set_capsule(e1, e2, 0.5, &s[0]));
  assert_ok(level_set_sphere(zero, 0.5, &s[1]));
  assert_ok(level_set_cylinder(e1, e2, 0.5, &s[2]));
  for (int i = 0; i < 3; ++i) {
    assert_close(level_set_eval(s[i], zero, g, H), -0.5, 0.0);
    assert_close(v3_norm(g), 1.0, 1e-15);
    for (int k = 0; k < 9; ++k) assert_true(isfinite(H[k]));
    level_set_destroy(&s[i]);
  }
  assert_no_leak();
}

/* Compared with the closest of many surface points: not larger, and smaller by at most what their spacing allows. */
static void check_nearest(const level_set *s, const triangle_mesh *m, double spacing)
{
  for (int i = 0; i < 300; ++i) {
    double x[3], best = INFINITY;
    random_point(x, -1.2, 1.2);
    for (int64_t v = 0; v < m->n_vertices; ++v) {
      double e[3];
      v3_sub(e, x, &m->x[3 * v]);
      best = fmin(best, v3_norm(e));
    }
    const double d = fabs(level_set_value(s, x));
    assert_true(d <= best + 1e-14);
    /* sqrt(d^2 + spacing^2) - d where it is flat */
    assert_true(best - d <= fmin(spacing, 4.0 * spacing * spacing / fmax(d, 1e-300)));
  }
}

static void test_ellipsoid(void **state)
{
  (void)state;
  const double   zero[3] = {0}, thin[3] = {1.0, 1e-3, 0.5}, ball[3] = {0.5, 0.5, 0.5}, disc[3] = {1.0, 0.2, 1.0}, egg[3] = {0.9, 0.35, 0.6};
  level_set     *s = NULL, *t = NULL;
  triangle_mesh *m = NULL;
  assert_ok(level_set_ellipsoid(zero, egg, &s));
  assert_ok(triangle_mesh_ellipsoid(zero, egg, 0.03, &m));
  check_nearest(s, m, 0.03);
  for (int64_t v = 0; v < m->n_vertices; ++v) assert_close(level_set_value(s, &m->x[3 * v]), 0.0, 1e-15);
  /* zero coordinates: inside the focal curve the closest point lies off the plane, at z = r_z sqrt(1 - ...) */
  for (int i = 0; i <= 200; ++i) {
    double       x[3]     = {0.9 * 1.3 * i / 200.0, 0.0, 0.0}, g[3], H[9];
    const double focal    = (0.81 - 0.1225) / 0.9; /* beyond it the vertex is nearest */
    const double expected = x[0] >= focal ? x[0] - 0.9 : -0.35 * sqrt(1.0 - x[0] * x[0] / (0.81 - 0.1225));
    assert_close(level_set_eval(s, x, g, H), expected, 1e-15);
    assert_close(v3_norm(g), 1.0, 1e-15);
    x[1] = 1e-200; /* no overflow, and the same branch next to it */
    assert_close(level_set_value(s, x), expected, 1e-15);
    x[1] = -1e-17;
    assert_close(level_set_value(s, x), expected, 1e-15);
  }
  level_set_destroy(&s);
  triangle_mesh_destroy(&m);
  /* equal radii, a thin plate, and two equal radii */
  assert_ok(level_set_ellipsoid(zero, ball, &s));
  assert_ok(level_set_sphere(zero, 0.5, &t));
  for (int i = 0; i < 1000; ++i) {
    double x[3];
    random_point(x, -1.0, 1.0);
    assert_close(level_set_value(s, x), level_set_value(t, x), 4.5e-16);
  }
  assert_close(level_set_value(s, zero), -0.5, 0.0);
  level_set_destroy(&s);
  level_set_destroy(&t);
  assert_ok(level_set_ellipsoid(zero, thin, &s));
  check_closest_points(s, -2.0, 2.0);
  const double above[3] = {0.0, 0.5, 0.0}, on_axis[3] = {0.0, 0.15, 0.0};
  assert_close(level_set_value(s, above), 0.499, 1e-15);
  level_set_destroy(&s);
  assert_ok(level_set_ellipsoid(zero, disc, &s));
  assert_close(level_set_value(s, on_axis), -0.05, 1e-15);
  level_set_destroy(&s);
  assert_no_leak();
}

static void test_revolution(void **state)
{
  (void)state;
  const double   c[3] = {0.1, -0.2, 0.3}, axis[3] = {1, 2, 2}, along[4] = {-0.7, -0.1, 0.2, 0.9}, radius[4] = {0.8, 0.2, 0.3, 0.0};
  const double   ends[2] = {-0.5, 0.7}, same[2] = {0.3, 0.3}, zero[3] = {0}, up[3] = {0, 1, 0}, tip[2] = {0.4, 0.0}, cone[2] = {0.0, 0.3};
  double         from[3], to[3];
  level_set     *s = NULL, *t = NULL;
  triangle_mesh *m = NULL;
  assert_ok(level_set_revolution(c, axis, 4, along, radius, &s));
  assert_ok(triangle_mesh_revolution(c, axis, 4, along, radius, 0.04, &m));
  check_nearest(s, m, 0.04);
  for (int64_t v = 0; v < m->n_vertices; ++v) assert_close(level_set_value(s, &m->x[3 * v]), 0.0, 1e-15);
  level_set_destroy(&s);
  triangle_mesh_destroy(&m);
  /* one radius throughout is a cylinder */
  for (int k = 0; k < 3; ++k) from[k] = c[k] - 0.5 * axis[k] / 3.0, to[k] = c[k] + 0.7 * axis[k] / 3.0;
  assert_ok(level_set_revolution(c, axis, 2, ends, same, &s));
  assert_ok(level_set_cylinder(from, to, 0.3, &t));
  for (int i = 0; i < 1000; ++i) {
    double x[3];
    random_point(x, -1.5, 1.5);
    assert_close(level_set_value(s, x), level_set_value(t, x), 1e-15);
  }
  level_set_destroy(&s);
  level_set_destroy(&t);
  /* a cone of slope 3:4 (radius 0.4, height 0.3), by hand: next to its middle, above its tip, below its base */
  assert_ok(level_set_revolution(zero, up, 2, cone, tip, &s));
  const double point[4][4] = {{0.0, 0.15, 0.0, -0.12}, {0.26, 0.23, 0.0, 0.1}, {0.0, 0.5, 0.0, 0.2}, {0.1, -0.25, 0.1, 0.25}};
  for (int i = 0; i < 4; ++i) assert_close(level_set_value(s, point[i]), point[i][3], 1e-15);
  level_set_destroy(&s);
  assert_no_leak();
}

static void test_errors(void **state)
{
  (void)state;
  level_set   *s       = NULL;
  const double zero[3] = {0}, one[3] = {1, 1, 1}, flat[3] = {1, 1, 0}, nan[3] = {0, NAN, 0};
  double       not_rotation[9] = {2, 0, 0, 0, 1, 0, 0, 0, 1};
  assert_int_not_equal(level_set_plane(zero, 0.0, &s), 0);
  assert_int_not_equal(level_set_plane(nan, 0.0, &s), 0);
  assert_int_not_equal(level_set_sphere(zero, 0.0, &s), 0);
  assert_int_not_equal(level_set_sphere(zero, INFINITY, &s), 0);
  assert_int_not_equal(level_set_box(zero, flat, &s), 0);
  assert_int_not_equal(level_set_box(one, zero, &s), 0);
  assert_int_not_equal(level_set_cylinder(one, one, 1.0, &s), 0);
  assert_int_not_equal(level_set_torus(zero, one, 0.5, 0.5, &s), 0);
  assert_int_not_equal(level_set_ellipsoid(zero, flat, &s), 0);
  assert_int_not_equal(level_set_ellipsoid(nan, one, &s), 0);
  assert_int_not_equal(level_set_revolution(zero, zero, 2, flat, one, &s), 0);
  assert_int_not_equal(level_set_revolution(zero, one, 2, one, one, &s), 0); /* does not ascend */
  assert_int_not_equal(level_set_revolution(zero, one, 2, (const double[]){0, 1}, zero, &s), 0);
  assert_int_not_equal(level_set_revolution(zero, one, 3, (const double[]){0, 1, 2}, (const double[]){1, 0, 1}, &s), 0);
  assert_int_not_equal(level_set_union(0, &s, &s), 0);
  assert_int_not_equal(level_set_transform(s, zero, not_rotation, &s), 0);
  assert_null(s);
  error_clear();
  assert_no_leak();
}

static void test_csg_and_pose(void **state)
{
  (void)state;
  const double c[3] = {0.4, 0, 0}, a[3] = {-0.5, -0.4, -0.6}, b[3] = {0.6, 0.7, 0.5}, move[3] = {0.1, 0.2, -0.1};
  double       R[9];
  for (int kind = 0; kind < 3; ++kind) {
    level_set *box = NULL, *ball = NULL, *box2 = NULL, *ball2 = NULL, *s = NULL, *p = NULL;
    assert_ok(level_set_box(a, b, &box));
    assert_ok(level_set_sphere(c, 0.6, &ball));
    assert_ok(level_set_box(a, b, &box2));
    assert_ok(level_set_sphere(c, 0.6, &ball2));
    level_set *child[2] = {box, ball};
    if (kind == 0) assert_ok(level_set_union(2, child, &s));
    if (kind == 1) assert_ok(level_set_intersection(2, child, &s));
    if (kind == 2) assert_ok(level_set_difference(box, ball, &s));
    check_derivatives(s, -1.5, 1.5, 4e-15);
    for (int i = 0; i < 1000; ++i) { /* the signs follow from set operations */
      double x[3];
      random_point(x, -1.2, 1.2);
      const bool in_a = level_set_value(box2, x) < 0, in_b = level_set_value(ball2, x) < 0;
      const bool in = kind == 0 ? in_a || in_b : kind == 1 ? in_a && in_b : in_a && !in_b;
      assert_int_equal(level_set_value(s, x) < 0, in);
    }
    double lo[3], hi[3];
    level_set_bounds(s, lo, hi);
    assert_close(lo[0], kind == 1 ? -0.2 : -0.5, 1e-15);
    assert_close(hi[0], kind == 0 ? 1.0 : 0.6, 1e-15);
    rotation(R);
    assert_ok(level_set_transform(s, move, R, &p));
    check_derivatives(p, -1.5, 1.5, 4e-15);
    for (int i = 0; i < 100; ++i) {
      double x[3], y[3];
      random_point(x, -1, 1);
      m3_mulv(y, R, x);
      v3_add(y, y, move);
      assert_close(level_set_value(p, y), level_set_value(s, x), 1e-15);
    }
    level_set_destroy(&p);
    level_set_destroy(&box2);
    level_set_destroy(&ball2);
  }
  assert_no_leak();
}

/* The part of a combination near a ball has the same values and gradients in it, to the bit, and consists of one solid in most of them;
 * level_set_implicit has the sign of phi. A full pool gives the whole combination. */
static void test_within(void **state)
{
  (void)state;
  const double    radii[3] = {0.3, 0.15, 0.4}, zero[3] = {0}, up[3] = {0, 0, 1}, along[3] = {-0.5, 0.1, 0.6}, radius[3] = {0.4, 0.2, 0.5};
  level_set      *child[6] = {NULL}, *all = NULL, *body = NULL, *s = NULL, *p = NULL;
  double          R[9];
  int             n_small = 0;
  const double    move[3] = {0.1, 0.2, -0.1};
  level_set_pool *pool    = NULL;
  assert_ok(memory_alloc("test", 1, sizeof *pool, &pool));
  for (int i = 0; i < 6; ++i) {
    double c[3];
    random_point(c, -0.7, 0.7);
    assert_ok(level_set_ellipsoid(c, radii, &child[i]));
  }
  assert_ok(level_set_union(6, child, &all));
  assert_ok(level_set_revolution(zero, up, 3, along, radius, &body));
  assert_ok(level_set_difference(body, all, &s));
  rotation(R);
  assert_ok(level_set_transform(s, move, R, &p));
  for (int i = 0; i < 400; ++i) {
    double       c[3];
    const double r = uniform(0.01, 0.1);
    random_point(c, -1.0, 1.0);
    pool->used            = 0;
    const level_set *part = level_set_within(p, c, r, pool);
    n_small += pool->used > 0;
    for (int k = 0; k < 20; ++k) {
      double x[3], g[3], h[3];
      do random_point(x, -r, r);
      while (v3_norm(x) > r);
      v3_add(x, x, c);
      const double v = level_set_eval(p, x, g, NULL);
      assert_true(level_set_eval(part, x, h, NULL) == v);
      for (int q = 0; q < 3; ++q) assert_true(g[q] == h[q]);
      assert_int_equal(level_set_implicit(part, x) < 0.0, v < 0.0);
      assert_int_equal(level_set_implicit(p, x) < 0.0, v < 0.0);
    }
    pool->used = (int)(sizeof pool->slot / sizeof *pool->slot) - 2;
    assert_ptr_equal(level_set_within(p, c, r, pool), p);
  }
  assert_true(n_small > 350);
  memory_free(&pool);
  level_set_destroy(&p);
  assert_no_leak();
}

/* The spline passes through its samples, is C2, reproduces linear functions, and its error falls as spacing^4. */
static double sampled_sphere_error(int64_t n_half, double *gradient_error)
{
  const double  h = 1.0 / (double)n_half, origin[3] = {-1.5, -1.5, -1.5};
  const int64_t m = 3 * n_half + 1, n[3] = {m, m, m};
  double       *phi = NULL, worst = 0.0;
  level_set    *s = NULL;
  assert_ok(memory_alloc("test", m * m * m, sizeof *phi, &phi));
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < m; ++j)
      for (int64_t k = 0; k < m; ++k) {
        const double x[3]        = {origin[0] + h * (double)i, origin[1] + h * (double)j, origin[2] + h * (double)k};
        phi[(i * m + j) * m + k] = v3_norm(x) - 1.0;
      }
  assert_ok(level_set_sampled(n, origin, h, phi, &s));
  for (int i = 0; i < 200; ++i) { /* interpolation, at nodes */
    const int64_t at[3] = {(int64_t)uniform(0, (double)m), (int64_t)uniform(0, (double)m), (int64_t)uniform(0, (double)m)};
    double        x[3];
    for (int k = 0; k < 3; ++k) x[k] = origin[k] + h * (double)at[k];
    assert_close(level_set_value(s, x), phi[(at[0] * m + at[1]) * m + at[2]], 1e-14);
  }
  *gradient_error = 0.0;
  for (int i = 0; i < 2000; ++i) {
    double x[3], g[3];
    random_point(x, -1, 1);
    v3_scale(x, uniform(0.8, 1.2) / v3_norm(x), x);
    worst           = fmax(worst, fabs(level_set_eval(s, x, g, NULL) - (v3_norm(x) - 1.0)));
    *gradient_error = fmax(*gradient_error, fabs(v3_norm(g) - 1.0));
  }
  if (n_half == 10) check_derivatives(s, -1.4, 1.4, 1.0);
  if (n_half == 10) check_derivatives(s, 1.55, 2.5, 1.0); /* beyond a corner of the box */
  for (int i = 0; i < 500; ++i) {                         /* outside: positive and at most the distance */
    double x[3];
    random_point(x, -4, 4);
    if (fabs(x[0]) < 1.6 && fabs(x[1]) < 1.6 && fabs(x[2]) < 1.6) continue;
    assert_true(level_set_value(s, x) > 0.0 && level_set_value(s, x) <= v3_norm(x) - 1.0 + 1e-4);
  }
  level_set_destroy(&s);
  memory_free(&phi);
  return worst;
}

static void test_sampled_order(void **state)
{
  (void)state;
  double       g_coarse, g_fine;
  const double coarse = sampled_sphere_error(10, &g_coarse), fine = sampled_sphere_error(20, &g_fine);
  assert_true(coarse / fine > 10.0 && coarse / fine < 24.0); /* 16 */
  assert_true(g_coarse / g_fine > 5.5 && g_fine < 1e-4);     /* 8 */
  assert_no_leak();
}

static void test_bvh(void **state)
{
  (void)state;
  const double   lo[3] = {-0.5, -0.4, -0.3}, hi[3] = {0.5, 0.6, 0.7};
  triangle_mesh *m = NULL;
  triangle_bvh  *b = NULL;
  level_set     *s = NULL;
  assert_ok(triangle_mesh_box(lo, hi, 0.1, &m));
  assert_ok(triangle_bvh_create(m, &b));
  assert_ok(level_set_box(lo, hi, &s));
  int32_t hint = -1;
  for (int i = 0; i < 3000; ++i) { /* the box's distance is exact on both sides, so is the mesh's */
    double  x[3];
    int32_t none = -1;
    random_point(x, -1.2, 1.2);
    assert_close(triangle_bvh_distance(b, x, &hint, NULL), level_set_value(s, x), 1e-15);
    assert_close(triangle_bvh_distance(b, x, &none, NULL), level_set_value(s, x), 1e-15);
  }
  triangle_bvh_destroy(&b);
  triangle_mesh_destroy(&m);
  level_set_destroy(&s);
  assert_no_leak();
}

/* The sign at a vertex needs normals weighted by angle: a slender pyramid with one side cut into fifty slivers at its apex, which
 * dominate if all triangles have equal weight. Convex: outside means beyond the plane of some side. */
static void test_bvh_uneven_fan(void **state)
{
  (void)state;
  enum { N = 50 };
  const double   b[3][3] = {{-0.2, -0.1, 0}, {0.2, -0.1, 0}, {0, 0.25, 0}}, apex[3] = {0, 0, 1};
  triangle_mesh *m    = NULL;
  triangle_bvh  *tree = NULL;
  int64_t        at = 0, n_outside = 0;
  assert_ok(triangle_mesh_create(N + 3, 2 * N + 2, &m)); /* vertices: N + 1 along side 0-1, then corner 2, then the apex */
  for (int i = 0; i <= N; ++i)
    for (int k = 0; k < 3; ++k) m->x[3 * i + k] = b[0][k] + (b[1][k] - b[0][k]) * i / N;
  v3_copy(&m->x[3 * (N + 1)], b[2]);
  v3_copy(&m->x[3 * (N + 2)], apex);
  for (int i = 0; i < N; ++i) {
    const int32_t two[6] = {i, i + 1, N + 2, i + 1, i, N + 1};
    memcpy(&m->tri[at], two, sizeof two), at += 6;
  }
  const int32_t sides[6] = {N, N + 1, N + 2, N + 1, 0, N + 2};
  memcpy(&m->tri[at], sides, sizeof sides);
  triangle_mesh_defects defects;
  assert_ok(triangle_mesh_check(m, &defects));
  assert_true(triangle_mesh_is_sound(&defects));
  assert_ok(triangle_bvh_create(m, &tree));
  for (int i = 0; i < 3000; ++i) {
    double  x[3], worst = -INFINITY;
    int32_t none = -1;
    random_point(x, -0.1, 0.1);
    x[2] += 1.0;
    for (int q = 0; q < 3; ++q) {
      double u[3], v[3], n[3], d[3];
      v3_sub(u, b[(q + 1) % 3], b[q]);
      v3_sub(v, apex, b[q]);
      v3_cross(n, u, v);
      v3_sub(d, x, apex);
      worst = fmax(worst, v3_dot(n, d) / v3_norm(n));
    }
    n_outside += worst > 0.0;
    if (fabs(worst) > 1e-12) assert_int_equal(triangle_bvh_distance(tree, x, &none, NULL) > 0.0, worst > 0.0);
  }
  assert_true(n_outside > 2000 && n_outside < 3000);
  triangle_bvh_destroy(&tree);
  triangle_mesh_destroy(&m);
  assert_no_leak();
}

static void test_from_mesh(void **state)
{
  (void)state;
  const double   c[3] = {0.3, 0.1, -0.2};
  triangle_mesh *m    = NULL;
  level_set     *s = NULL, *one = NULL;
  double         lo[3], hi[3];
  assert_ok(triangle_mesh_sphere(c, 0.5, 0.03, &m));
  team_set_threads(2);
  assert_ok(level_set_from_mesh(m, 0.05, &s));
  team_set_threads(1);
  assert_ok(level_set_from_mesh(m, 0.05, &one));
  for (int i = 0; i < 2000; ++i) {
    double x[3];
    random_point(x, -1.0, 1.0);
    const double v = level_set_value(s, x), d = hypot(hypot(x[0] - c[0], x[1] - c[1]), x[2] - c[2]) - 0.5;
    assert_true(v == level_set_value(one, x));   /* bits do not depend on the number of threads */
    if (fabs(d) < 0.1) assert_close(v, d, 4e-4); /* sagitta of the facets: 0.03^2/(8 R) * 4/3 = 3e-4, plus 0.05^4/R^3/50 */
  }
  level_set_bounds(s, lo, hi);
  const level_set_quality q = level_set_measure(s, lo, hi, 0.02, 0.1);
  assert_true(q.n > 1000);
  assert_true(q.n_bad == 0);
  level_set_destroy(&s);
  level_set_destroy(&one);
  /* errors: open meshes, inverted meshes, a spacing that needs too much memory or is coarser than the solid */
  assert_int_not_equal(level_set_from_mesh(m, 1e-5, &s), 0);
  assert_non_null(strstr(error_message(), "choose a larger spacing"));
  error_clear();
  triangle_mesh_flip(m);
  assert_int_not_equal(level_set_from_mesh(m, 0.1, &s), 0);
  assert_non_null(strstr(error_message(), "inside out"));
  error_clear();
  triangle_mesh_flip(m);
  --m->n_triangles;
  assert_int_not_equal(level_set_from_mesh(m, 0.1, &s), 0);
  assert_non_null(strstr(error_message(), "open"));
  error_clear();
  triangle_mesh_destroy(&m);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_primitives), cmocka_unit_test(test_ellipsoid), cmocka_unit_test(test_revolution),
          cmocka_unit_test(test_errors), cmocka_unit_test(test_csg_and_pose), cmocka_unit_test(test_within),
          cmocka_unit_test(test_sampled_order), cmocka_unit_test(test_bvh), cmocka_unit_test(test_bvh_uneven_fan),
          cmocka_unit_test(test_from_mesh))
