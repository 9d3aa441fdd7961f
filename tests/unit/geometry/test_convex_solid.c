/* Decomposition of shapes into convex solids: corners, edges and faces satisfy Euler's formula and match the volume and the surface
 * of the shape. Non-convex shapes are rejected. */
#include "core/math3.h"
#include "core/quaternion.h"
#include "core/random.h"
#include "geometry/shape/shape.h"
#include "geometry/triangle_mesh/triangle_mesh_primitives.h"
#include "test.h"

static shape *create(const shape_spec *spec, double spacing)
{
  diagnostics *d = NULL;
  shape       *s = NULL;
  assert_ok(diagnostics_create(&d));
  assert_ok(shape_create(spec, NULL, "bodies.b.shape", d, spacing, &s));
  if (diagnostics_count(d)) fail_msg("rejected: %s", diagnostics_text(d, 0));
  diagnostics_destroy(&d);
  return s;
}

/* Faces are closed loops, counter-clockwise seen from outside. Each edge lies between its two faces, and each fan lists the faces
 * of its corner. The volume over the faces is that of the shape. */
static void assert_sound(const convex_polyhedron *p, double volume)
{
  assert_int_equal(p->n_corners - p->n_edges + p->n_faces, 2);
  double sum = 0.0;
  for (int f = 0; f < p->n_faces; ++f) {
    const double *n = p->normal + 3 * f;
    assert_close(v3_norm(n), 1.0, 1e-14);
    for (int c = 0; c < p->n_corners; ++c) assert_true(v3_dot(n, p->x + 3 * c) <= p->offset[f] + 1e-6);
    const int lo = p->loop_start[f], hi = p->loop_start[f + 1];
    double    area[3] = {0.0, 0.0, 0.0};
    for (int k = lo; k < hi; ++k) {
      double c[3];
      assert_close(v3_dot(n, p->x + 3 * p->loop[k]), p->offset[f], 1e-6);
      v3_cross(c, p->x + 3 * p->loop[k], p->x + 3 * p->loop[k + 1 < hi ? k + 1 : lo]);
      v3_axpy(area, 0.5, c);
    }
    assert_true(v3_dot(area, n) > 0.0);
    sum += v3_dot(area, n) * p->offset[f] / 3.0;
  }
  assert_close(sum, volume, 1e-6 * volume);
  for (int e = 0; e < p->n_edges; ++e) {
    const int32_t *edge = p->edge + 4 * e;
    double         along[3], d[3], cross[3];
    v3_cross(along, p->normal + 3 * edge[2], p->normal + 3 * edge[3]);
    v3_sub(d, p->x + 3 * edge[1], p->x + 3 * edge[0]);
    v3_cross(cross, along, d);
    assert_true(v3_dot(along, d) > 0.0);
    assert_close(v3_norm(cross), 0.0, 1e-6 * v3_norm(along) * v3_norm(d));
  }
  for (int c = 0; c < p->n_corners; ++c)
    for (int k = p->fan_start[c]; k < p->fan_start[c + 1]; ++k)
      assert_close(v3_dot(p->normal + 3 * p->fan[k], p->x + 3 * c), p->offset[p->fan[k]], 1e-6);
}

/* A rotated box has 8 corners, 12 edges and 6 faces for any number of triangles. */
static void test_box(void **state)
{
  (void)state;
  const shape_box_spec brick = {{-0.4, -0.3, -0.2}, {0.5, 0.3, 0.4}};
  for (int fine = 0; fine < 2; ++fine) {
    shape_spec spec = {.box = &brick, .rotate_deg = 33.0, .axis = {1, 2, 3}, .about = {0.1, 0, 0}, .translate = {5, 6, 7}};
    shape     *s    = create(&spec, fine ? 0.07 : NAN);
    assert_int_equal(s->n_solids, 1);
    const convex_polyhedron *p = s->solid[0].polyhedron;
    assert_true(p->n_corners == 8 && p->n_edges == 12 && p->n_faces == 6);
    assert_sound(p, 0.9 * 0.6 * 0.6);
    for (int c = 0; c < 8; ++c) assert_close(level_set_value(s->piece[0], p->x + 3 * c), 0.0, 1e-14);
    shape_destroy(&s);
  }
  assert_no_leak();
}

/* Random cuts of a box: one face per plane that bounds the result, and the volume of the mesh. */
static void test_cuts(void **state)
{
  (void)state;
  const shape_box_spec big = {{-1, -1, -1}, {1, 1, 1}};
  for (int trial = 0; trial < 40; ++trial) {
    shape_plane_spec plane[8];
    shape_spec       part[9];
    key_item         item[9];
    memset(part, 0, sizeof part);
    memset(item, 0, sizeof item);
    part[0]       = (shape_spec){.box = &big, .axis = {0, 0, 1}};
    item[0].value = &part[0];
    for (int i = 0; i < 8; ++i) {
      plane[i] =
          (shape_plane_spec){.offset = random_range(5, (uint64_t)(8 * trial + i), 1, 0.3, 1.2), .point = {NAN, NAN, NAN}, .extent = 1};
      random_direction(5, (uint64_t)(8 * trial + i), 2, plane[i].normal);
      part[i + 1]       = (shape_spec){.plane = &plane[i], .axis = {0, 0, 1}};
      item[i + 1].value = &part[i + 1];
    }
    const shape_spec spec = {.intersect = {.n = 9, .item = item}, .axis = {0, 0, 1}, .translate = {0.3, 0.2, 0.1}};
    shape           *s    = create(&spec, NAN);
    assert_int_equal(s->n_solids, 1);
    assert_sound(s->solid[0].polyhedron, s->mass.volume);
    convex_solid_move(&s->solid[0], (double[3]){1.0, -2.0, 0.5});
    assert_sound(s->solid[0].polyhedron, s->mass.volume);
    shape_destroy(&s);
  }
  assert_no_leak();
}

static bool is_in(const convex_polyhedron *p, const double x[3])
{
  for (int f = 0; f < p->n_faces; ++f)
    if (v3_dot(p->normal + 3 * f, x) > p->offset[f]) return false;
  return true;
}

/* A box minus boxes, closed or open: a point lies in a plate exactly if it lies in the shape; every outer side is complete. */
static void test_hollow(void **state)
{
  (void)state;
  const shape_box_spec out        = {{0, 0, 0}, {1, 1, 1}};
  const shape_box_spec cut[3]     = {{{0.1, 0.2, 0.1}, {0.9, 0.8, 0.7}}, {{0.3, 0.3, -1}, {0.6, 0.7, 2}}, {{3, 3, 3}, {4, 4, 4}}};
  const int            expected[] = {6, 12, 12}; /* two plates of the first have a hole */
  const shape_spec     from       = {.box = &out, .axis = {0, 0, 1}};
  shape_spec           part[3];
  key_item             item[3];
  memset(item, 0, sizeof item);
  for (int i = 0; i < 3; ++i) part[i] = (shape_spec){.box = &cut[i], .axis = {0, 0, 1}}, item[i].value = &part[i];
  for (int n = 1; n <= 3; ++n) {
    const shape_difference_spec difference = {&from, {.n = n, .item = item}};
    const shape_spec            spec       = {
                         .difference = &difference, .rotate_deg = 25.0, .axis = {1, 1, 2}, .about = {0, 0.3, 0}, .translate = {1, 2, 3}};
    shape *s    = create(&spec, 0.3);
    int    n_in = 0;
    assert_int_equal(s->n_solids, expected[n - 1]);
    for (int i = 0; i < 3000; ++i) {
      double x[3];
      bool   is_any = false;
      for (int a = 0; a < 3; ++a) x[a] = random_range(7, (uint64_t)i, (uint64_t)a, s->min[a], s->max[a]);
      for (int k = 0; k < s->n_solids; ++k) is_any = is_any || is_in(s->solid[k].polyhedron, x);
      assert_int_equal(is_any, level_set_value(s->piece[0], x) < 0.0);
      n_in += is_any;
    }
    assert_true(n_in > 300 && n_in < 2700);
    shape_destroy(&s);
  }
  part[1].rotate_deg                     = 10.0;
  const shape_difference_spec difference = {&from, {.n = 2, .item = item}};
  shape                      *s          = create(&(shape_spec){.difference = &difference, .axis = {0, 0, 1}}, 0.3);
  assert_int_equal(s->n_solids, 0);
  shape_destroy(&s);
  assert_no_leak();
}

/* Number of solids of unions and containers; a torus and a box with a hole have none. */
static void test_kinds(void **state)
{
  (void)state;
  const shape_box_spec     brick = {{0, 0, 0}, {1, 1, 1}};
  const shape_sphere_spec  ball  = {{0.1, 0.2, 0.3}, 0.5};
  const shape_segment_spec rod   = {{-0.3, 0.1, 0.2}, {0.5, 0.4, 0.9}, 0.3};
  const shape_torus_spec   ring  = {{0.1, 0.2, 0.3}, {1, 2, 2}, 0.6, 0.2};
  const shape_plane_spec   plane = {{0, 3, 4}, {NAN, NAN, NAN}, 0.7, 1.0};
  key_item                 item[3], top = {0};
  memset(item, 0, sizeof item);
  shape_spec part[3] = {{.box = &brick, .axis = {0, 0, 1}, .rotate_deg = 45.0},
                        {.sphere = &ball, .axis = {0, 0, 1}, .translate = {1, 0, 0}},
                        {.capsule = &rod, .axis = {0, 0, 1}}};
  for (int i = 0; i < 3; ++i) item[i].value = &part[i];
  shape_spec both = {.unite = {.n = 3, .item = item}, .axis = {0, 0, 1}, .rotate_deg = 90.0, .translate = {0, 0, 2}};
  shape     *s    = create(&both, 0.2);
  assert_int_equal(s->n_solids, 3);
  assert_true(s->solid[0].kind == CONVEX_POLYHEDRON && s->solid[1].kind == CONVEX_SPHERE && s->solid[2].kind == CONVEX_CAPSULE);
  assert_close(s->solid[1].from[0], -0.2, 1e-15); /* (1.1, 0.2, 0.3) turned by 90 degrees about z, then up by 2 */
  assert_close(s->solid[1].from[1], 1.1, 1e-15);
  assert_close(s->solid[1].from[2], 2.3, 1e-15);
  for (int c = 0; c < 8; ++c) assert_true(fabs(level_set_value(s->piece[0], s->solid[0].polyhedron->x + 3 * c)) < 0.5);
  shape_destroy(&s);

  shape_spec flat = {.plane = &plane, .axis = {1, 0, 0}, .rotate_deg = 90.0, .translate = {0, 0, 0.5}};
  s               = create(&flat, NAN);
  assert_int_equal(s->n_solids, 1);
  for (int i = 0; i < 20; ++i) {
    double x[3];
    random_direction(1, (uint64_t)i, 0, x);
    assert_close(v3_dot(s->solid[0].normal, x) - s->solid[0].offset, level_set_value(s->piece[0], x), 1e-14);
  }
  shape_destroy(&s);

  top.value                  = (void *)"top";
  shape_container_spec tank  = {{0, 0, 0}, {1, 2, 3}, {.n = 1, .item = &top}};
  shape_spec           walls = {.container = &tank, .axis = {0, 0, 1}, .rotate_deg = 30.0};
  s                          = create(&walls, NAN);
  assert_int_equal(s->n_solids, 5);
  for (int w = 0; w < 5; ++w) {
    const double x[3] = {0.3, 0.4, -0.7};
    assert_close(v3_dot(s->solid[w].normal, x) - s->solid[w].offset, level_set_value(s->piece[w], x), 1e-14);
  }
  shape_destroy(&s);

  shape_spec torus = {.torus = &ring, .axis = {0, 0, 1}};
  s                = create(&torus, 0.1);
  assert_int_equal(s->n_solids, 0);
  shape_destroy(&s);
  item[0].value              = &part[1];
  shape_difference_spec hole = {&part[0], {.n = 1, .item = item}};
  shape_spec            cut  = {.difference = &hole, .axis = {0, 0, 1}};
  s                          = create(&cut, 0.1);
  assert_int_equal(s->n_solids, 0);
  shape_destroy(&s);
  assert_no_leak();
}

/* A mesh with a dent is not convex; a bump of the size of single-precision errors is accepted. */
static void test_dent(void **state)
{
  (void)state;
  for (int trial = 0; trial < 2; ++trial) {
    triangle_mesh *m = NULL;
    convex_solid   solid;
    bool           is_convex;
    assert_ok(triangle_mesh_box((double[3]){0, 0, 0}, (double[3]){1, 1, 1}, 0.5, &m));
    for (int64_t v = 0; v < m->n_vertices; ++v)
      if (fabs(m->x[3 * v] - 0.5) < 0.1 && fabs(m->x[3 * v + 1] - 0.5) < 0.1 && m->x[3 * v + 2] > 0.9)
        m->x[3 * v + 2] -= trial ? 0.01 : 1e-7;
    assert_ok(convex_solid_polyhedron(m, &solid, &is_convex));
    assert_true(is_convex == (trial == 0));
    if (is_convex) assert_sound(solid.polyhedron, 1.0);
    convex_solid_clear(&solid);
    triangle_mesh_destroy(&m);
  }
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_box), cmocka_unit_test(test_cuts), cmocka_unit_test(test_hollow), cmocka_unit_test(test_kinds),
          cmocka_unit_test(test_dent))
