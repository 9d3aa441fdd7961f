/* Surfaces of level sets: closed, free of intersections, on the level set, with the volume of the solid. Unions of boxes with a common face or coplanar faces have
 * the exact volume; random unions of turned boxes, balls, cylinders and capsules have sharp edges in all directions. */
#include "geometry/level_set/level_set_contour.h"
#include "core/math3.h"
#include "core/quaternion.h"
#include "core/random.h"
#include "geometry/collision/intersections.h"
#include "geometry/level_set/level_set_mass.h"
#include "geometry/triangle_mesh/triangle_topology.h"
#include "test.h"

/* Number of pairs of an edge and a triangle with a common point (exact test, including coplanar pairs). */
static int64_t count_intersections(const triangle_mesh *m)
{
  triangle_topology  *t    = NULL;
  intersections      *f    = NULL;
  const intersection *list = NULL;
  int64_t             n, bad;
  assert_ok(triangle_topology_create(m->n_vertices, m->n_triangles, m->tri, &t));
  const broad_phase_surfaces s = {
      .n_vertices = m->n_vertices, .n_edges = t->n_edges, .edge = t->edge, .n_triangles = m->n_triangles, .triangle = m->tri};
  assert_ok(intersections_create(&s, &f));
  assert_ok(intersections_find(f, m->x, &bad, &n, &list));
  intersections_destroy(&f);
  triangle_topology_destroy(&t);
  return n;
}

static double largest_distance(const level_set *s, const triangle_mesh *m)
{
  double far = 0.0;
  for (int64_t i = 0; i < m->n_vertices; ++i) far = fmax(far, fabs(level_set_value(s, m->x + 3 * i)));
  return far;
}

/* Surface with cells of size h. The solid is destroyed. Returns the volume of the surface. */
static double check_surface(level_set *s, double h, int n_parts, double expected, double relative)
{
  triangle_mesh        *m = NULL;
  triangle_mesh_defects defects;
  double                min[3], max[3];
  char                  text[512];
  int64_t               n;
  int32_t               first[2];
  level_set_bounds(s, min, max);
  assert_ok(level_set_contour(s, min, max, h, &m));
  assert_ok(triangle_mesh_check(m, &defects));
  triangle_mesh_defects_text(m, &defects, sizeof text, text);
  if (*text) fail_msg("%s", text);
  assert_ok(triangle_mesh_crossings(m, &n, first, NULL));
  assert_int_equal(n, 0);
  if (n_parts > 0) assert_int_equal(defects.n_parts, n_parts);
  assert_int_equal(count_intersections(m), 0);
  assert_close(defects.volume / expected, 1.0, relative);
  assert_true(largest_distance(s, m) < 0.4 * h);
  triangle_mesh_destroy(&m);
  level_set_destroy(&s);
  return defects.volume;
}

static level_set *unite(int n, level_set **part)
{
  level_set *s = NULL;
  assert_ok(level_set_union(n, part, &s));
  return s;
}

/* Boxes: a common face, an L with coplanar faces, a peg on a face, crosses of two and three bars, twice the same box; by hand: 2, 5,
 * 1.36, 0.232, 0.344, 1. */
static void test_boxes(void **state)
{
  (void)state;
  static const double box[6][3][6] = {{{0, 0, 0, 1, 1, 1}, {1, 0, 0, 2, 1, 1}},
                                      {{0, 0, 0, 3, 1, 1}, {0, 0, 0, 1, 3, 1}},
                                      {{0, 0, 0, 1, 1, 1}, {1, 0.2, 0.2, 2, 0.8, 0.8}},
                                      {{-1, 0.4, 0.4, 2, 0.6, 0.6}, {0.4, -1, 0.4, 0.6, 2, 0.6}},
                                      {{-1, 0.4, 0.4, 2, 0.6, 0.6}, {0.4, -1, 0.4, 0.6, 2, 0.6}, {0.4, 0.4, -1, 0.6, 0.6, 2}},
                                      {{0, 0, 0, 1, 1, 1}, {0, 0, 0, 1, 1, 1}}};
  static const double expected[6]  = {2.0, 5.0, 1.36, 0.232, 0.344, 1.0};
  const double        turned_by[3] = {0.3, -0.5, 0.4};
  for (int i = 0; i < 6; ++i)
    for (int is_turned = 0; is_turned < 2; ++is_turned) {
      level_set *part[3], *s;
      const int  n = i == 4 ? 3 : 2;
      for (int k = 0; k < n; ++k) assert_ok(level_set_box(box[i][k], box[i][k] + 3, &part[k]));
      s = unite(n, part);
      if (is_turned) {
        double R[9], c[3] = {0.1, 0.2, 0.3};
        rotation_exp(R, turned_by);
        assert_ok(level_set_transform(s, c, R, &s));
      }
      (void)check_surface(s, 0.0731, 1, expected[i], is_turned ? 2e-2 : 1e-12);
    }
}

/* Balls with a bar between them, from overlapping parts; and crossing cylinders. pi r^2 l and the lens of ball and cylinder are not needed: the
 * volume is integrated over the level set. */
static void test_round_parts(void **state)
{
  (void)state;
  const double a[3] = {0, 0, 0}, b[3] = {2, 0, 0}, p[3] = {1, -1, 0.1}, q[3] = {1, 1, 0};
  for (int i = 0; i < 3; ++i) {
    level_set *part[3];
    int        n = 2;
    double     min[3], max[3];
    if (i < 2) {
      n = 3;
      assert_ok(level_set_sphere(a, 0.5, &part[0]));
      assert_ok(level_set_sphere(b, 0.5, &part[1]));
      assert_ok((i ? level_set_capsule : level_set_cylinder)(a, b, 0.2, &part[2]));
    } else {
      assert_ok(level_set_cylinder(a, b, 0.2, &part[0]));
      assert_ok(level_set_cylinder(p, q, 0.2, &part[1]));
    }
    level_set *s = unite(n, part);
    level_set_bounds(s, min, max);
    (void)check_surface(s, 0.05, 1, level_set_mass(s, min, max, 16).volume, 0.02);
  }
}

static double uniform(int64_t scene, int64_t *i) { return random_u01(11, (uint64_t)scene, (uint64_t)(*i)++); }

static level_set *random_part(int64_t scene, int64_t *i)
{
  double     c[3], d[3], R[9], lo[3], hi[3];
  level_set *s = NULL;
  for (int k = 0; k < 3; ++k) c[k] = 0.8 * uniform(scene, i), d[k] = c[k] + uniform(scene, i) - 0.5;
  const int    kind = (int)(4.0 * uniform(scene, i));
  const double r    = 0.1 + 0.3 * uniform(scene, i);
  if (kind == 0) assert_ok(level_set_sphere(c, r, &s));
  if (kind == 1) assert_ok(level_set_cylinder(c, d, 0.5 * r, &s));
  if (kind == 2) assert_ok(level_set_capsule(c, d, 0.5 * r, &s));
  if (kind < 3) return s;
  for (int k = 0; k < 3; ++k) hi[k] = r * (0.5 + uniform(scene, i)), lo[k] = -hi[k], d[k] = 6.0 * uniform(scene, i);
  rotation_exp(R, d);
  assert_ok(level_set_box(lo, hi, &s));
  assert_ok(level_set_transform(s, c, R, &s));
  return s;
}

static void test_random_unions(void **state)
{
  (void)state;
  for (int64_t scene = 0; scene < 16; ++scene) {
    level_set *part[4];
    double     min[3], max[3];
    int64_t    i = 0;
    const int  n = 2 + (int)(3.0 * uniform(scene, &i));
    for (int k = 0; k < n; ++k) part[k] = random_part(scene, &i);
    level_set *s = unite(n, part);
    level_set_bounds(s, min, max);
    (void)check_surface(s, 0.05, 0, level_set_mass(s, min, max, 16).volume, 0.04);
  }
}

/* Two boxes with a common edge: their surfaces touch there and do not cross. */
static void test_touching_edges(void **state)
{
  (void)state;
  const double a[6] = {0, 0, 0, 1, 1, 1}, b[6] = {1, 1, 0, 2, 2, 1};
  level_set   *part[2];
  assert_ok(level_set_box(a, a + 3, &part[0]));
  assert_ok(level_set_box(b, b + 3, &part[1]));
  level_set            *s = unite(2, part);
  triangle_mesh        *m = NULL;
  triangle_mesh_defects defects;
  int64_t               n;
  int32_t               first[2];
  assert_ok(level_set_contour(s, (const double[3]){0, 0, 0}, (const double[3]){2, 2, 1}, 0.05, &m));
  assert_ok(triangle_mesh_check(m, &defects));
  assert_true(triangle_mesh_is_sound(&defects));
  assert_ok(triangle_mesh_crossings(m, &n, first, NULL));
  assert_int_equal(n, 0);
  assert_close(defects.volume, 2.0, 1e-5);
  triangle_mesh_destroy(&m);
  level_set_destroy(&s);
}

TEST_MAIN(cmocka_unit_test(test_boxes), cmocka_unit_test(test_round_parts), cmocka_unit_test(test_random_unions),
          cmocka_unit_test(test_touching_edges))
