/* Contacts of triangle surfaces: closed forms for boxes and sheets, points against brute force, swept contacts. */
#include "test.h"
#include "geometry/primitive/segment_pair.h"
#include "contact/surface/surface_contact.h"
#include "core/math3.h"
#include "core/quaternion.h"
#include "core/random.h"
#include "core/team.h"
#include <string.h>

enum { MAX = 4000 };
static struct {
  int64_t n_vertices, n_triangles, n_points, n_segments;
  int32_t n_bodies, triangle[3 * MAX], point[MAX], segment[2 * MAX], body[MAX];
  double  radius[MAX], x0[3 * MAX], x1[3 * MAX], rest[3 * MAX];
  bool    can_touch[64], is_rigid[8];
} S;
static surface_spot found[MAX], other[MAX];

static void clear(void)
{
  memset(&S, 0, sizeof S);
  for (int i = 0; i < 64; ++i) S.can_touch[i] = true;
}

/* Vertices x [n], moved to R x + c, all of them points; triangles into them. Returns the body. */
static int32_t add_surface(int n, const double *x, int n_triangles, const int32_t *triangle, const double *R, const double *c)
{
  const int32_t first = (int32_t)S.n_vertices, body = S.n_bodies++;
  for (int i = 0; i < n; ++i) {
    double *y = S.x0 + 3 * S.n_vertices;
    v3_copy(S.rest + 3 * S.n_vertices, x + 3 * i);
    if (R) m3_mulv(y, R, x + 3 * i);
    else v3_copy(y, x + 3 * i);
    if (c) v3_add(y, y, c);
    v3_copy(S.x1 + 3 * S.n_vertices, y);
    S.point[S.n_points++]  = (int32_t)S.n_vertices;
    S.body[S.n_vertices++] = body;
  }
  for (int i = 0; i < 3 * n_triangles; ++i) S.triangle[3 * S.n_triangles + i] = first + triangle[i];
  S.n_triangles += n_triangles;
  for (int b = 0; b < 8; ++b) S.can_touch[8 * b + b] = false;
  return body;
}

static int32_t add_box(const double h[3], const double *R, const double *c)
{
  static const int32_t t[36] = {0, 2, 1, 1, 2, 3, 4, 5, 6, 5, 7, 6, 0, 1, 4, 1, 5, 4, 2, 6, 3, 3, 6, 7, 0, 4, 2, 2, 4, 6, 1, 3, 5, 3, 7, 5};
  double               x[24];
  for (int i = 0; i < 8; ++i) v3_set(x + 3 * i, i & 1 ? h[0] : -h[0], i & 2 ? h[1] : -h[1], i & 4 ? h[2] : -h[2]);
  S.is_rigid[S.n_bodies] = true;
  return add_surface(8, x, 12, t, R, c);
}

/* m x m squares of side a in the plane z = 0 about the origin. */
static int32_t add_sheet(int m, double a, const double *R, const double *c)
{
  static double  x[3 * 1000];
  static int32_t t[6 * 1000];
  int            n = 0;
  for (int i = 0; i <= m; ++i)
    for (int j = 0; j <= m; ++j) v3_set(x + 3 * (i * (m + 1) + j), a * (i - 0.5 * m), a * (j - 0.5 * m), 0.0);
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < m; ++j) {
      const int32_t v = i * (m + 1) + j, quad[6] = {v, v + m + 1, v + m + 2, v, v + m + 2, v + 1};
      memcpy(t + 3 * n, quad, sizeof quad);
      n += 2;
    }
  return add_surface((m + 1) * (m + 1), x, n, t, R, c);
}

static const surface_sides *known;        /* sides of earlier steps, or NULL */
static uint64_t             key[2 * MAX]; /* of the contacts of the last call of find */

static int64_t find(bool is_moving, double margin, surface_spot *out)
{
  bool can_touch[64];
  for (int i = 0; i < S.n_bodies; ++i)
    for (int j = 0; j < S.n_bodies; ++j) can_touch[i * S.n_bodies + j] = S.can_touch[8 * i + j];
  double radius[2 * MAX];
  memcpy(radius, S.radius, (size_t)S.n_points * sizeof *radius);
  for (int64_t i = 0; i < S.n_segments; ++i) radius[S.n_points + i] = 0.05;
  const surface_set   set = {S.n_vertices, S.n_triangles, S.n_points, S.n_segments, S.triangle, S.point, S.segment,
                             radius,       S.n_bodies,    S.body,     can_touch,    S.is_rigid, S.rest,  NULL};
  surface_contact    *c;
  const surface_spot *spot;
  int64_t             n, bad;
  assert_ok(surface_contact_create(&set, &c));
  int64_t id[MAX];
  for (int64_t i = 0; i < S.n_points; ++i) id[i] = i;
  surface_contact_use_sides(c, known, id);
  assert_ok(surface_contact_run(c, S.x0, is_moving ? S.x1 : NULL, margin, &n, &spot, &bad));
  assert_int_equal(bad, -1);
  assert_true(n <= MAX);
  if (n > 0) memcpy(out, spot, (size_t)n * sizeof *out);
  for (int64_t i = 0; i < n; ++i) surface_contact_side_key(c, &spot[i], key + 2 * i);
  surface_contact_destroy(&c);
  return n;
}

static void random_pose(int seed, double reach, double R[9], double c[3])
{
  double axis[3], q[4];
  random_direction(31, (uint64_t)seed, 0, axis);
  v3_scale(axis, random_range(31, (uint64_t)seed, 1, 0.0, 3.0), axis);
  quaternion_exp(q, axis);
  quaternion_to_matrix(R, q);
  for (int k = 0; k < 3; ++k) c[k] = random_range(31, (uint64_t)(3 * seed + k), 2, -reach, reach);
}

/* Whose is an edge of all surfaces? */
static bool edge_is_of(int32_t edge, int32_t body)
{
  triangle_topology *o;
  assert_ok(triangle_topology_create(S.n_vertices, S.n_triangles, S.triangle, &o));
  const bool is_of = S.body[o->edge[2 * edge]] == body;
  triangle_topology_destroy(&o);
  return is_of;
}

/* ---- closed forms ---- */

/* Corners of a small box on the diagonal between two triangles of a flat side, at a distance of rounding or a little more: they
 * are on the side, for either triangle or edge. */
static void beside_a_flat_edge(void **unused)
{
  (void)unused;
  const double small[3] = {0.01, 0.01, 0.01}, large[3] = {2, 2, 1}, up[3] = {0, 0, 1};
  for (int k = -60; k <= 60; ++k) {
    const double aside = (k < 0 ? -1.0 : 1.0) * pow(10.0, -13.0 + 0.1 * abs(k)), place[3] = {0.31 + aside, -0.31 + aside, 1.01};
    clear();
    add_box(large, NULL, NULL);
    const int32_t top      = add_box(small, NULL, place);
    const int64_t n        = find(false, 0.001, found);
    int           n_points = 0;
    for (int64_t i = 0; i < n; ++i) {
      if (found[i].kind != SURFACE_POINT || S.body[S.point[found[i].first]] != top) continue;
      ++n_points;
      assert_close(v3_dot(found[i].normal, up), 1.0, 1e-12);
      assert_close(found[i].gap, 0.0, 1e-9 * 4.0);
    }
    assert_int_equal(n_points, 4);
  }
}

/* A small box on a large one: its four corners; shifted over the border, two corners and where edges cross; deep or apart
 * within the margin. */
static void box_on_box(void **unused)
{
  (void)unused;
  const double small[3] = {0.5, 0.5, 0.5}, large[3] = {2, 2, 1};
  for (int turned = 0; turned < 2; ++turned)
    for (int k = 0; k < 4; ++k) {
      const double gap = (double[]){-0.1, -1e-6, 0.0, 0.05}[k], up[3] = {0.1, 0.2, 1.5 + gap}, beside[3] = {2.0, 0.2, 1.5 + gap};
      double       R[9], c[3], n[3], at[3];
      random_pose(turned, 1.0, R, c);
      if (!turned) m3_identity(R);
      for (int i = 0; i < 3; ++i) n[i] = R[3 * i + 2];
      for (int over = 0; over < 2; ++over) {
        clear();
        add_box(large, R, c);
        m3_mulv(at, R, over ? beside : up);
        v3_add(at, at, c);
        add_box(small, R, at);
        const int64_t m = find(false, 0.2, found);
        assert_int_equal(m, 4);
        for (int64_t i = 0; i < m; ++i) {
          assert_close(found[i].gap, gap, 1e-12);
          const double sign =
              found[i].x[0][0] == found[i].x[0][0] && S.body[found[i].kind == SURFACE_POINT ? S.point[found[i].first] : 0] ? 1.0 : -1.0;
          if (found[i].kind == SURFACE_POINT) assert_close(v3_dot(found[i].normal, n), sign, 1e-9);
          else assert_close(fabs(v3_dot(found[i].normal, n)), 1.0, 1e-9);
          assert_int_equal(found[i].kind, over && i > 1 ? SURFACE_EDGE : SURFACE_POINT);
        }
      }
    }
  assert_no_leak();
}

/* A plate thinner than the margin: its upper side has the opposite normal. */
static void plate_on_box(void **unused)
{
  (void)unused;
  const double plate[3] = {0.5, 0.5, 0.01}, large[3] = {2, 2, 1}, at[3] = {0.1, 0.2, 1.01};
  clear();
  add_box(large, NULL, NULL);
  add_box(plate, NULL, at);
  assert_int_equal(find(false, 0.5, found), 4);
  for (int k = 0; k < 4; ++k) assert_close(found[k].gap, 0.0, 1e-12);
  assert_no_leak();
}

/* Roof against roof, turned by a right angle: ridges cross at one point and nowhere else, whether apart or through each other. */
static void ridge_on_ridge(void **unused)
{
  (void)unused;
  const double h[3] = {1, 1, 1}, half = sqrt(0.5);
  const double one[9] = {1, 0, 0, 0, half, -half, 0, half, half}, two[9] = {half, 0, half, 0, 1, 0, -half, 0, half};
  for (int k = 0; k < 3; ++k) {
    const double gap = (double[]){0.05, -0.03, 1e-9}[k], at[3] = {0.1, 0.15, 2.0 * sqrt(2.0) + gap};
    clear();
    add_box(h, one, NULL);
    add_box(h, two, at);
    assert_int_equal(find(false, 0.2, found), 1);
    assert_true(found[0].kind == SURFACE_EDGE);
    assert_close(found[0].gap, gap, 1e-12);
    assert_close(fabs(found[0].normal[2]), 1.0, 1e-12);
    const int32_t upper = S.body[0] == 0 && found[0].x[0][2] > found[0].x[1][2]; /* of two of one height either may be first */
    if (gap > 0.0) assert_close(found[0].normal[2], upper ? 1.0 : -1.0, 1e-9);
  }
  for (int turn = 0; turn < 20; ++turn) { /* the same anywhere, for a penetration */
    const double at[3] = {0.1, 0.15, 2.0 * sqrt(2.0) - 0.03};
    double       R[9], c[3], lower[9], upper[9], up[3];
    random_pose(40 + turn, 1.0, R, c);
    m3_mul(lower, R, one), m3_mul(upper, R, two);
    m3_mulv(up, R, at), v3_add(up, up, c);
    clear();
    add_box(h, lower, c);
    add_box(h, upper, up);
    assert_int_equal(find(false, 0.2, found), 1);
    assert_true(found[0].kind == SURFACE_EDGE);
    assert_close(found[0].gap, -0.03, 1e-12);
  }
  assert_no_leak();
}

/* A sheet on a box, with either side, just apart or just inside: points, corners, and edges where it extends beyond the box. The
 * box determines the sides. */
static void sheet_on_box(void **unused)
{
  (void)unused;
  const double h[3] = {0.45, 0.45, 0.5};
  for (int k4 = 0; k4 < 4; ++k4) {
    const int    below = k4 / 2;
    const double gap = k4 % 2 ? -0.001 : 0.001, at[3] = {0.03, 0.02, (below ? -1.0 : 1.0) * (0.5 + gap)};
    clear();
    add_box(h, NULL, NULL);
    const int32_t sheet    = add_sheet(6, 0.25, NULL, at);
    const int64_t n        = find(false, 0.01, found);
    int64_t       n_inside = 0, n_corners = 0, n_edges = 0;
    for (int64_t k = 0; k < n; ++k) {
      const bool is_point = found[k].kind == SURFACE_POINT;
      n_edges += !is_point;
      if (is_point && S.body[S.point[found[k].first]] == sheet) ++n_inside;
      else if (is_point) ++n_corners;
      assert_close(fabs(found[k].normal[2]), 1.0, 1e-9);
      assert_close(found[k].gap, gap, 1e-12);
      const bool is_sheet_first = is_point ? S.body[S.point[found[k].first]] == sheet : edge_is_of(found[k].first, sheet);
      assert_close(found[k].normal[2], (is_sheet_first ? 1.0 : -1.0) * (below ? -1.0 : 1.0), 1e-9);
    }
    assert_int_equal(n_inside, 9);
    assert_int_equal(n_corners, 4);
    assert_int_equal(n_edges, 4 * 3 + 14);
  }
  assert_no_leak();
}

/* Sheets face to face touch with points, and edges at their borders alone. */
static void sheets_face_to_face(void **unused)
{
  (void)unused;
  const double       R[9] = {cos(0.3), -sin(0.3), 0, sin(0.3), cos(0.3), 0, 0, 0, 1}, at[3] = {0.01, 0.02, 0.003};
  triangle_topology *o;
  clear();
  add_sheet(6, 0.1, NULL, NULL);
  add_sheet(6, 0.1, R, at);
  const int64_t n       = find(false, 0.01, found);
  int           n_edges = 0, n_points = 0;
  assert_ok(triangle_topology_create(S.n_vertices, S.n_triangles, S.triangle, &o));
  for (int64_t k = 0; k < n; ++k) {
    n_points += found[k].kind == SURFACE_POINT;
    if (found[k].kind == SURFACE_POINT) continue;
    assert_true(o->edge_triangle[2 * found[k].first + 1] < 0 || o->edge_triangle[2 * found[k].second + 1] < 0);
    ++n_edges;
  }
  assert_true(n_edges > 8 && n_points > 60);
  triangle_topology_destroy(&o);
  assert_no_leak();
}

/* ---- against brute force ---- */

static double box_distance(const double h[3], const double p[3])
{
  double out = 0.0, in = -INFINITY;
  for (int k = 0; k < 3; ++k) {
    const double d = fabs(p[k]) - h[k];
    out += d > 0.0 ? d * d : 0.0;
    in = fmax(in, d);
  }
  return out > 0.0 ? sqrt(out) : in;
}

/* Points near, on and in a box, each with a radius or none: one spot, at the distance of the box. */
static void points_near_a_box(void **unused)
{
  (void)unused;
  enum { N = 1500 };
  const double h[3] = {0.5, 0.3, 0.4};
  int          met  = 0;
  for (int pose = 0; pose < 4; ++pose) {
    double R[9], c[3], x[3 * N], local[3 * N];
    random_pose(pose, 1.0, R, c);
    clear();
    add_box(h, R, c);
    for (int i = 0; i < N; ++i)
      for (int k = 0; k < 3; ++k) {
        local[3 * i + k] = random_range(32, (uint64_t)(3 * (N * pose + i) + k), 0, -1.3 * h[k], 1.3 * h[k]);
        if (i % 7 == k) local[3 * i + k] = local[3 * i + k] < 0.0 ? -h[k] : h[k];
      }
    for (int i = 0; i < N; ++i) m3_mulv(x + 3 * i, R, local + 3 * i), v3_add(x + 3 * i, x + 3 * i, c);
    add_surface(N, x, 0, NULL, NULL, NULL);
    for (int i = 0; i < N; ++i) S.radius[8 + i] = i % 2 ? 0.02 : 0.0;
    const int64_t n  = find(false, 0.1, found);
    int64_t       at = 0;
    for (int i = 0; i < N; ++i) {
      const double d = box_distance(h, local + 3 * i), r = S.radius[8 + i];
      if (d > r + 0.1 - 1e-9 || d < -0.1) {
        while (at < n && found[at].first == 8 + i) ++at;
        continue;
      }
      if (at >= n || found[at].first != 8 + i) fail_msg("pose %d, point %d at %.17g is missed", pose, i, d);
      assert_close(found[at].gap, d - r, 1e-9);
      assert_close(v3_norm(found[at].normal), 1.0, 1e-12);
      double moved[3], back[3]; /* along the normal the distance grows at rate 1 */
      for (int k = 0; k < 3; ++k) moved[k] = S.x0[3 * (8 + i) + k] + 1e-6 * found[at].normal[k] - c[k];
      m3_mulv_t(back, R, moved);
      if (fabs(d) > 1e-6) assert_close(box_distance(h, back) - d, 1e-6, 1e-9);
      ++met, ++at;
      assert_false(at < n && found[at].first == 8 + i);
    }
  }
  assert_true(met > 2000);
  assert_no_leak();
}

/* Fast motion at a box and through it: stopped by one spot. */
static void fast_points_do_not_pass(void **unused)
{
  (void)unused;
  enum { N = 3000 };
  const double h[3] = {0.5, 0.3, 0.4};
  double       x[3 * N];
  int          met = 0, cleared = 0;
  clear();
  add_box(h, NULL, NULL);
  for (int i = 0; i < 3 * N; ++i) x[i] = random_range(33, (uint64_t)i, 0, -2.0, 2.0);
  add_surface(N, x, 0, NULL, NULL, NULL);
  for (int64_t i = 24; i < 3 * S.n_vertices; ++i) S.x1[i] = S.x0[i] + random_range(33, (uint64_t)i, 1, -1.0, 1.0) - S.x0[i];
  const int64_t n  = find(true, 0.0, found);
  int64_t       at = 0;
  for (int i = 8; i < 8 + N; ++i) {
    double least = INFINITY, p[3];
    for (int t = 0; t <= 400; ++t) {
      for (int k = 0; k < 3; ++k) p[k] = S.x0[3 * i + k] + t / 400.0 * (S.x1[3 * i + k] - S.x0[3 * i + k]);
      least = fmin(least, box_distance(h, p));
      if (t == 0 && least < 0.0) break;
    }
    const bool is_found = at < n && found[at].first == i;
    if (box_distance(h, S.x0 + 3 * i) >= 0.0 && least < 0.0) {
      if (!is_found) fail_msg("point %d goes through to %g", i, least);
      double end = found[at].gap;
      for (int k = 0; k < 3; ++k) end += found[at].normal[k] * (S.x1[3 * i + k] - S.x0[3 * i + k]);
      assert_true(found[at].is_swept && end < 1e-6);
      ++met;
    }
    if (box_distance(h, S.x0 + 3 * i) < 0.0) assert_false(is_found); /* out through the back */
    cleared += !is_found;
    at += is_found;
  }
  assert_int_equal(at, n);
  assert_true(met > 100 && cleared > 100);
  assert_no_leak();
}

/* Edges of two tetrahedra-like boxes in fast motion, edge on edge first: stopped. */
static void fast_edges_do_not_pass(void **unused)
{
  (void)unused;
  const double h[3] = {1, 1, 1}, half = sqrt(0.5);
  const double one[9] = {1, 0, 0, 0, half, -half, 0, half, half}, two[9] = {half, 0, half, 0, 1, 0, -half, 0, half};
  for (int i = 0; i < 500; ++i) {
    const double u = random_range(34, (uint64_t)i, 0, -0.5, 0.5), v = random_range(34, (uint64_t)i, 1, -0.5, 0.5),
                 speed = random_range(34, (uint64_t)i, 2, 1.0, 5.0);
    const double at[3] = {u, v, 2.0 * sqrt(2.0) + 0.9};
    clear();
    add_box(h, one, NULL);
    add_box(h, two, at);
    for (int k = 8; k < 16; ++k) S.x1[3 * k + 2] -= speed;
    const int64_t n       = find(true, 0.0, found);
    bool          is_held = false;
    for (int64_t k = 0; k < n; ++k)
      is_held |= found[k].kind == SURFACE_EDGE && found[k].is_swept && fabs(found[k].normal[2]) > 0.99 && fabs(found[k].gap - 0.9) < 1e-6;
    assert_int_equal(is_held, 1);
  }
  assert_no_leak();
}

/* ---- one surface and itself ---- */

/* A flat sheet does not touch itself, however large the margin; folded over, it does. */
static void folded_sheet(void **unused)
{
  (void)unused;
  clear();
  const int32_t sheet            = add_sheet(10, 0.1, NULL, NULL);
  S.can_touch[8 * sheet + sheet] = true;
  assert_int_equal(find(false, 1.0, found), 0);
  for (int64_t i = 0; i < S.n_vertices; ++i) { /* half of a cylinder */
    double      *x = S.x0 + 3 * i;
    const double s = x[0], r = 0.02;
    if (s > M_PI * r) x[0] = M_PI * r - s, x[2] = 2.0 * r;
    else if (s > 0.0) x[0] = r * sin(s / r), x[2] = r * (1.0 - cos(s / r));
  }
  const int64_t n = find(false, 1.0, found);
  assert_true(n > 50);
  memcpy(S.rest, S.x0, sizeof S.rest); /* with this undeformed shape it is not nearer */
  assert_int_equal(find(false, 1.0, other), 0);
  for (int64_t k = 0; k < n; ++k) assert_true(found[k].gap > 0.02 && found[k].gap < 0.04);
  assert_no_leak();
}

/* A point and the edges of another sheet 0.01 below a sheet, deeper than the skin, keep the stored side, except at the border. */
static void sides_are_stored(void **unused)
{
  (void)unused;
  const double at[4][3] = {{0.013, 0.007, -0.01}, {0.1, 0.1, -0.01}, {0.013, 0.201, -0.01}, {0.201, 0.201, -0.01}},
               R[9]     = {0.96, -0.28, 0.0, 0.28, 0.96, 0.0, 0.0, 0.0, 1.0};
  surface_sides sides   = {0};
  int32_t       side[MAX];
  int64_t       n_stored = 0;
  for (int k = 0; k < 4; ++k) { /* over a face, a vertex, the border, a corner */
    clear();
    add_sheet(4, 0.1, NULL, NULL);
    add_surface(1, at[k], 0, NULL, NULL, NULL);
    for (int stored = 0; stored < 2; ++stored) {
      known            = stored ? &sides : NULL;
      const int turned = stored && k < 2;
      assert_int_equal(find(false, 0.1, found), 1);
      assert_true(turned ? found[0].normal[2] > 0.999 : found[0].normal[2] < -0.99);
      assert_int_equal(found[0].side, k >= 2 ? 0 : turned ? 1 : -1);
      assert_true((found[0].gap < -0.01) == turned);
      key[2] = key[0], key[3] = key[1] + 1, key[4] = key[2], key[5] = key[3];
      assert_ok(surface_sides_set(&sides, 3, key, (const int32_t[3]){1, 1, -1}));
      assert_int_equal(sides.n, 1); /* the second key has both sides */
    }
  }
  known = NULL;
  clear();
  add_sheet(4, 0.1, NULL, NULL);
  add_sheet(1, 0.17, R, at[0]);
  const int64_t n = find(false, 0.1, found);
  for (int64_t i = 0; i < n; ++i) {
    if (found[i].kind != SURFACE_EDGE || found[i].side == 0) continue;
    assert_int_equal(found[i].side, found[i].normal[2] > 0.0 ? 1 : -1); /* both sheets are oriented upwards */
    memmove(key + 2 * n_stored, key + 2 * i, 2 * sizeof *key);
    side[n_stored++] = -found[i].side;
  }
  assert_true(n_stored > 3);
  assert_ok(surface_sides_set(&sides, n_stored, key, side));
  known = &sides;
  assert_int_equal(find(false, 0.1, other), n);
  for (int64_t i = 0; i < n; ++i) {
    const bool turns = found[i].kind == SURFACE_EDGE && found[i].side != 0;
    assert_int_equal(other[i].side, turns ? -found[i].side : found[i].side);
    assert_close(other[i].normal[2], turns ? -found[i].normal[2] : found[i].normal[2], 1e-15);
    assert_true(found[i].gap > 0.0 && (other[i].gap < -0.01) == turns);
  }
  known = NULL;
  surface_sides_free(&sides);
  assert_no_leak();
}

/* A thin closed plate: its sides are near each other, and no contact. */
static void thin_plate(void **unused)
{
  (void)unused;
  const double h[3] = {1, 1, 0.01};
  clear();
  const int32_t plate            = add_box(h, NULL, NULL);
  S.can_touch[8 * plate + plate] = true;
  assert_int_equal(find(false, 1.0, found), 0);
  assert_no_leak();
}

/* ---- fibres ---- */

/* A fibre across the ridge of a roof touches it between its ends; on flat ground with them alone. */
static void fibre_on_a_roof(void **unused)
{
  (void)unused;
  const double h[3] = {1, 1, 1}, half = sqrt(0.5), roof[9] = {1, 0, 0, 0, half, -half, 0, half, half};
  const double x[6] = {0.1, -0.8, 1.44, 0.2, 0.7, 1.44}, y[6] = {0.1, -0.8, 1.04, 0.2, 0.7, 1.04};
  for (int flat = 0; flat < 2; ++flat) {
    clear();
    add_box(h, flat ? NULL : roof, NULL);
    add_surface(2, flat ? y : x, 0, NULL, NULL, NULL);
    S.segment[0] = 8, S.segment[1] = 9, S.n_segments = 1;
    S.radius[8] = S.radius[9] = 0.05;
    const int64_t n           = find(false, 0.02, found);
    assert_int_equal(n, flat ? 2 : 1);
    assert_int_equal(found[0].kind, flat ? SURFACE_POINT : SURFACE_EDGE);
    assert_close(found[0].gap, flat ? -0.01 : 1.44 - sqrt(2.0) - 0.05, 1e-12);
    assert_close(found[0].normal[2], 1.0, 1e-12);
  }
  assert_no_leak();
}

/* An edge between two triangles has contact with a fibre across it if one of them descends by more than 1e-3 of the distance from the edge, wherever
 * along the edge its third vertex is. */
static void only_edges_between_inclined_triangles_have_contact(void **unused)
{
  (void)unused;
  for (int k = 0; k < 8; ++k) {
    const double  slope = k % 2 ? 0.9e-3 : 1.1e-3, along = k & 2 ? -4.0 : 5.0; /* of the third vertex of the inclined triangle */
    const double  ground[12]  = {0, 0, 0, 1, 0, 0, along, -1, k & 4 ? 0.0 : -slope, 1.0 - along, 1, k & 4 ? -slope : 0.0};
    const int32_t triangle[6] = {0, 2, 1, 0, 1, 3};
    const double  x[6]        = {0.5, -0.8, 0.04, 0.5, 0.7, 0.04};
    int           n_here      = 0;
    clear();
    add_surface(4, ground, 2, triangle, NULL, NULL);
    add_surface(2, x, 0, NULL, NULL, NULL);
    S.segment[0] = 4, S.segment[1] = 5, S.n_segments = 1;
    S.radius[4] = S.radius[5] = 0.05;
    const int64_t n           = find(false, 0.02, found);
    for (int64_t i = 0; i < n; ++i) n_here += found[i].kind == SURFACE_EDGE && fabs(found[i].x[1][0] - 0.5) + fabs(found[i].x[1][1]) < 1e-9;
    assert_int_equal(n_here, k % 2 ? 0 : 1);
  }
  assert_no_leak();
}

/* A point in the inner corner of an L-shaped prism has a contact with each side, at rest; a swept one with the side that it hits first. */
static void points_in_a_corner(void **unused)
{
  (void)unused;
  static const double  outline[6][2] = {{0, 0}, {2, 0}, {2, 1}, {1, 1}, {1, 2}, {0, 2}};
  static const int32_t cap[4][3]     = {{0, 1, 2}, {0, 2, 3}, {0, 3, 4}, {0, 4, 5}};
  double               x[36], at[3] = {1.02, 1.03, 1.1};
  int32_t              t[60];
  int                  n = 0;
  for (int k = 0; k < 12; ++k) v3_set(x + 3 * k, outline[k % 6][0], outline[k % 6][1], k < 6 ? 0.0 : 2.0);
  for (int k = 0; k < 4; ++k)
    for (int i = 0; i < 3; ++i) t[3 * n + i] = cap[k][2 - i], t[3 * n + 3 + i] = cap[k][i] + 6, n += 2 * (i == 2);
  for (int k = 0; k < 6; ++k) {
    const int32_t j = (k + 1) % 6, quad[6] = {k, j, j + 6, k, j + 6, k + 6};
    memcpy(t + 3 * n, quad, sizeof quad);
    n += 2;
  }
  for (int is_fast = 0; is_fast < 2; ++is_fast) {
    clear();
    add_surface(12, x, 20, t, NULL, NULL);
    if (is_fast) at[0] = 1.4, at[1] = 1.5;
    add_surface(1, at, 0, NULL, NULL, NULL);
    if (is_fast) v3_set(S.x1 + 36, 0.6, 0.9, 1.1); /* through x = 1 at y = 1.2 */
    bool          has[2] = {false};
    const int64_t m      = find(is_fast, 0.1, found);
    assert_int_equal(m, is_fast ? 1 : 2);
    for (int64_t i = 0; i < m; ++i) {
      const int axis = found[i].normal[1] > 0.5;
      assert_int_equal(found[i].kind, SURFACE_POINT);
      assert_int_equal(found[i].is_swept, is_fast);
      assert_close(found[i].normal[axis], 1.0, 1e-12);
      assert_close(found[i].gap, at[axis] - 1.0, 1e-12);
      has[axis] = true;
    }
    assert_true(has[0] && has[1] == !is_fast);
  }
  assert_no_leak();
}

/* A fibre that falls through a ridge within the step, or rises through one from below: the contact is on the side from which it comes, for
 * either direction of the fibre. */
static void fast_fibres_do_not_pass_ridges(void **unused)
{
  (void)unused;
  const double h[3] = {1, 1, 1}, half = sqrt(0.5), roof[9] = {1, 0, 0, 0, half, -half, 0, half, half}, start = 1.9;
  for (int side = 0; side < 4; ++side) {
    const double up = side % 2 ? -1.0 : 1.0, a[3] = {0.1, -0.8, up * start}, b[3] = {0.2, 0.7, up * start};
    double       x[6];
    memcpy(x, side / 2 ? b : a, sizeof a), memcpy(x + 3, side / 2 ? a : b, sizeof b);
    clear();
    add_box(h, roof, NULL);
    add_surface(2, x, 0, NULL, NULL, NULL);
    S.segment[0] = 8, S.segment[1] = 9, S.n_segments = 1;
    S.radius[8] = S.radius[9] = 0.05;
    for (int k = 8; k < 10; ++k) S.x1[3 * k + 2] -= 1.5 * up;
    const int64_t n      = find(true, 0.01, found);
    int           n_held = 0;
    for (int64_t k = 0; k < n; ++k) {
      if (found[k].kind != SURFACE_EDGE) continue;
      ++n_held;
      assert_true(found[k].is_swept);
      assert_close(found[k].normal[2], up, 1e-6);
      assert_close(found[k].gap, start - sqrt(2.0) - 0.05, 1e-6);
    }
    assert_int_equal(n_held, 1);
  }
  assert_no_leak();
}

/* A fibre under the end of a bar thinner than the margin: below it, not deep in it from above. */
static void fibre_under_a_thin_bar(void **unused)
{
  (void)unused;
  const double h[3] = {0.25, 1.25, 0.125}, x[6] = {0, -1.25, -0.176, 0, 1.5, -0.176}, y[6] = {0, -1.25, -0.025, 0, 1.5, -0.025};
  int          n_below = 0;
  for (int turn = 0; turn < 20; ++turn) { /* all of it rotated: the shortest line is within the end of the bar, up to rounding */
    double R[9], c[3];
    random_pose(60 + turn, 1.0, R, c);
    for (int deep = 0; deep < 2; ++deep) { /* halfway in, it is deep in both faces */
      clear();
      add_box(h, R, (double[]){c[0] - 1.25 * R[1], c[1] - 1.25 * R[4], c[2] - 1.25 * R[7]});
      add_surface(2, deep ? y : x, 0, NULL, R, c);
      S.segment[0] = 8, S.segment[1] = 9, S.n_segments = 1;
      S.radius[8] = S.radius[9] = 0.05;
      const int64_t n           = find(false, 0.375, found);
      assert_true(n > 0);
      for (int64_t k = 0; k < n; ++k) {
        if (!deep) assert_true(found[k].gap > 0.0);
        n_below += deep && found[k].kind == SURFACE_EDGE && found[k].gap < -0.05;
      }
    }
  }
  assert_true(n_below >= 20);
  assert_no_leak();
}

/* A fibre in a prism whose side has a ridge, along that side: just below the top it is not deep behind the side, nor just behind
 * the side deep below the top. In the middle both depths are equal. */
static void fibre_in_a_prism(void **unused)
{
  (void)unused;
  static const int32_t t[48]       = {0, 2, 1, 0, 3, 2, 0, 4, 3, 5, 6, 7, 5, 7, 8, 5, 8, 9, /* bottom, top */
                                      0, 1, 6, 0, 6, 5, 1, 2, 7, 1, 7, 6, 2, 3, 8, 2, 8, 7, 3, 4, 9, 3, 9, 8, 4, 0, 5, 4, 5, 9};
  const double         outline[10] = {-1, -1, 1, -1, 1.05, 0, 1, 1, -1, 1}, radius = 0.05;
  double               prism[30];
  for (int i = 0; i < 10; ++i) v3_set(prism + 3 * i, outline[2 * (i % 5)], outline[2 * (i % 5) + 1], i < 5 ? -1.0 : 1.0);
  for (int turn = 0; turn < 20; ++turn)
    for (int which = 0; which < 3; ++which) { /* below the top, behind the ridge, between */
      const double below = (double[]){0.002, 0.13, 0.05}[which], behind = (double[]){0.13, 0.002, 0.05}[which];
      const double x[6] = {1.05 - behind, -0.9, 1.0 - below, 1.05 - behind, 0.8, 1.0 - below};
      double       R[9], c[3], deepest = INFINITY;
      random_pose(80 + turn, 1.0, R, c);
      clear();
      add_surface(10, prism, 16, t, R, c);
      add_surface(2, x, 0, NULL, R, c);
      S.segment[0] = 10, S.segment[1] = 11, S.n_segments = 1;
      S.radius[10] = S.radius[11] = radius;
      const int64_t n             = find(false, 0.3, found);
      for (int64_t k = 0; k < n; ++k) {
        if (found[k].kind == SURFACE_EDGE) deepest = fmin(deepest, found[k].gap);
        if (which < 2 && found[k].kind == SURFACE_EDGE) assert_true(found[k].gap > -radius - 0.0021);
      }
      if (which > 0) assert_close(deepest, -radius - behind, 1e-9);
    }
  assert_no_leak();
}

static void threads_do_not_matter(void **unused)
{
  (void)unused;
  const double h[3] = {0.3, 0.3, 0.3};
  double       R[9], c[3];
  int64_t      n = 0;
  clear();
  for (int i = 0; i < 3; ++i) {
    random_pose(40 + i, 0.2, R, c);
    S.can_touch[9 * add_sheet(16, 0.05, R, c)] = true;
  }
  random_pose(50, 0.2, R, c);
  add_box(h, R, c);
  for (int b = 0; b < 3; ++b) S.can_touch[9 * b] = true;
  for (int64_t i = 0; i < 3 * S.n_vertices; ++i) S.x1[i] = S.x0[i] + random_range(35, (uint64_t)i, 0, -0.05, 0.05);
  for (int t = 0; t < 4; ++t) {
    team_set_threads((int[]){1, 2, 3, 7}[t]);
    memset(found, 0, sizeof found);
    const int64_t now = find(true, 0.01, found);
    if (t == 0) n = now, memcpy(other, found, sizeof found);
    assert_true(now == n && n > 100);
    for (int64_t k = 0; k < n; ++k)
      assert_true(found[k].first == other[k].first && found[k].second == other[k].second &&
                  memcmp(&found[k].gap, &other[k].gap, sizeof(double)) == 0);
  }
  team_set_threads(0);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(box_on_box), cmocka_unit_test(beside_a_flat_edge), cmocka_unit_test(plate_on_box),
          cmocka_unit_test(ridge_on_ridge), cmocka_unit_test(sheet_on_box), cmocka_unit_test(points_near_a_box),
          cmocka_unit_test(sheets_face_to_face), cmocka_unit_test(fast_points_do_not_pass), cmocka_unit_test(fast_edges_do_not_pass),
          cmocka_unit_test(folded_sheet), cmocka_unit_test(sides_are_stored), cmocka_unit_test(thin_plate),
          cmocka_unit_test(fibre_on_a_roof), cmocka_unit_test(only_edges_between_inclined_triangles_have_contact),
          cmocka_unit_test(fast_fibres_do_not_pass_ridges), cmocka_unit_test(points_in_a_corner), cmocka_unit_test(fibre_under_a_thin_bar),
          cmocka_unit_test(fibre_in_a_prism), cmocka_unit_test(threads_do_not_matter))
