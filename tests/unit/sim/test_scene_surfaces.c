/* All surfaces of a scene as one mesh: nodes, edges and triangles, their bodies and positions. */
#include "formulation_fixture.h"
#include "core/math3.h"
#include "sim/scene/scene_surfaces.h"

static const char job_text[] =
    "stickslip: 1\n"
    "name: test\n"
    "formulation: exact\n"
    "gravity: [0, 0, -9.81]\n"
    "time: {end: 0.1, step: 2.0e-3}\n"
    "materials:\n"
    "  jelly: {density: 1000, youngs_modulus: 1.0e5, poisson_ratio: 0.3, model: fixed_corotated}\n"
    "  steel: {model: rigid, density: 2000}\n"
    "bodies:\n"
    "  sieve: {kind: kinematic, contact_surface: mesh, surface_spacing: 0.1, shape: {box: {min: [-1, -1, -0.5], max: [1, 1, "
    "-0.2]}},\n"
    "          motion: {velocity: [0, 2, 0]}}\n"
    "  ghost: {kind: rigid, material: steel, shape: {sphere: {center: [0, 0, 2], radius: 0.1}}}\n"
    "  block: {kind: fem, material: jelly, shape: {box: {min: [0, 0, 0], max: [0.4, 0.4, 0.4]}}, spacing: 0.1}\n"
    "  ball:  {kind: rigid, material: steel, contact_surface: mesh, surface_spacing: 0.05, shape: {sphere: {center: [1, 2, 3], "
    "radius: 0.2}},\n"
    "          velocity: [1, 0, 0], angular_velocity: [0, 0, 3]}\n"
    "  sheet: {kind: cloth, sheet: {corner: [0, 0, 1], u: [0.4, 0, 0], v: [0, 0.6, 0], cells: [4, 6]}, mass_per_area: 0.2, "
    "stretch: 100, bending: 1.0e-5}\n"
    "contact: {friction: 0.3, pairs: [{between: [sheet, sheet]}, {between: [block, ball], contact: false}]}\n";

static int of(const world *w, const char *name)
{
  const int i = scene_find_body(w->s, name);
  assert_true(i >= 0);
  return i;
}

static int64_t count(const int64_t *first, int i) { return first[i + 1] - first[i]; }

/* Closed surfaces of one piece have V - E + F = 2, a sheet 1; each edge is a side of one or two triangles. */
static void test_topology(void **state)
{
  world           w;
  scene_surfaces *f;
  (void)state;
  open_world(job_text, &w);
  assert_ok(scene_surfaces_create(w.s, &f));
  const struct {
    const char *name;
    int         euler;
  } expected[] = {{"sieve", 2}, {"ghost", 0}, {"block", 2}, {"ball", 2}, {"sheet", 1}};
  for (size_t k = 0; k < sizeof expected / sizeof *expected; ++k) {
    const int     i = of(&w, expected[k].name);
    const int64_t v = count(f->first_vertex, i), e = count(f->first_edge, i), t = count(f->first_triangle, i);
    assert_int_equal(v - e + t, expected[k].euler);
    if (strcmp(expected[k].name, "ghost") == 0) assert_int_equal(v + e + t, 0);
    else assert_true(t > 0);
    if (expected[k].euler == 2) assert_int_equal(2 * e, 3 * t);
    for (int64_t a = f->first_vertex[i]; a < f->first_vertex[i + 1]; ++a) assert_int_equal(f->body[a], i);
    for (int64_t a = 3 * f->first_triangle[i]; a < 3 * f->first_triangle[i + 1]; ++a) assert_int_equal(f->body[f->triangle[a]], i);
    for (int64_t a = 2 * f->first_edge[i]; a < 2 * f->first_edge[i + 1]; ++a) assert_int_equal(f->body[f->edge[a]], i);
  }
  /* 5^3 nodes, of which 3^3 are inside and no vertex */
  assert_int_equal(count(f->first_vertex, of(&w, "block")), 98);
  for (int64_t e = 0; e < f->n_edges; ++e) {
    assert_true(f->edge[2 * e] < f->edge[2 * e + 1]);
    if (e > 0)
      assert_true(f->edge[2 * e - 2] < f->edge[2 * e] || (f->edge[2 * e - 2] == f->edge[2 * e] && f->edge[2 * e - 1] < f->edge[2 * e + 1]));
  }
  assert_true(f->can_touch[pair_slot(f->pairs, f->n_bodies, of(&w, "sheet"), of(&w, "sheet"))]);
  assert_false(f->can_touch[pair_slot(f->pairs, f->n_bodies, of(&w, "block"), of(&w, "block"))]);
  assert_false(f->can_touch[pair_slot(f->pairs, f->n_bodies, of(&w, "block"), of(&w, "ball"))]);
  assert_true(f->can_touch[pair_slot(f->pairs, f->n_bodies, of(&w, "sheet"), of(&w, "ball"))]);
  assert_true(f->is_rigid[of(&w, "sieve")] && f->is_rigid[of(&w, "ball")] && !f->is_rigid[of(&w, "block")]);
  scene_surfaces_destroy(&f);
  scene_surfaces_destroy(&f);
  close_world(&w);
  assert_no_leak();
}

/* Six times the signed volume that triangles enclose. */
static double volume6(const scene_surfaces *f, int i, const double *x)
{
  double sum = 0.0, n[3];
  for (int64_t t = f->first_triangle[i]; t < f->first_triangle[i + 1]; ++t) {
    const int32_t *c = f->triangle + 3 * t;
    v3_cross(n, x + 3 * c[1], x + 3 * c[2]);
    sum += v3_dot(n, x + 3 * c[0]);
  }
  return sum;
}

static void mean(const scene_surfaces *f, int i, const double *x, double m[3])
{
  v3_set(m, 0, 0, 0);
  for (int64_t k = f->first_vertex[i]; k < f->first_vertex[i + 1]; ++k) v3_axpy(m, 1.0 / (double)count(f->first_vertex, i), x + 3 * k);
}

/* After some steps all vertices have moved with their bodies; triangles are oriented outwards. */
static void test_places(void **state)
{
  world           w;
  scene_surfaces *f;
  double          m0[3], m[3], *x0, *x;
  (void)state;
  open_world(job_text, &w);
  assert_ok(scene_surfaces_create(w.s, &f));
  assert_ok(memory_alloc("test", 3 * f->n_vertices, sizeof *x0, &x0));
  assert_ok(memory_alloc("test", 3 * f->n_vertices, sizeof *x, &x));
  assert_ok(scene_surfaces_place(f, w.s, 0.0, x0));
  assert_close(volume6(f, of(&w, "block"), x0), 6.0 * 0.064, 1e-12);
  assert_close(volume6(f, of(&w, "sieve"), x0), 6.0 * 1.2, 1e-12);
  assert_true(volume6(f, of(&w, "ball"), x0) > 6.0 * 0.9 * 4.0 / 3.0 * M_PI * 0.008);
  for (int k = 0; k < 5; ++k) {
    step(&w);
    assert_ok(scene_set_time(w.s, w.t));
  }
  assert_ok(scene_surfaces_place(f, w.s, w.t, x));
  mean(f, of(&w, "sieve"), x0, m0);
  mean(f, of(&w, "sieve"), x, m);
  assert_close(m[1] - m0[1], 0.02, 1e-12);
  const int         ball = of(&w, "ball");
  const rigid_body *b    = rigid(&w, "ball");
  mean(f, ball, x0, m0);
  mean(f, ball, x, m);
  assert_close(m[0] - m0[0], 0.01, 1e-4); /* the middle of the vertices is not quite that of the ball */
  for (int64_t k = f->first_vertex[ball]; k < f->first_vertex[ball + 1]; ++k) {
    double want[3];
    rigid_body_current_point(b, x0 + 3 * k, want);
    for (int c = 0; c < 3; ++c) assert_close(x[3 * k + c], want[c], 1e-12);
  }
  const int  block = of(&w, "block");
  body_nodes nodes;
  w.s->bodies[block].body->ops->nodes(w.s->bodies[block].body, &nodes);
  for (int64_t k = f->first_vertex[block]; k < f->first_vertex[block + 1]; ++k)
    assert_memory_equal(x + 3 * k, nodes.x + 3 * (int64_t)f->node[k], 24);
  assert_ok(scene_surfaces_rest(f, w.s, x));
  for (int64_t k = f->first_vertex[block]; k < f->first_vertex[block + 1]; ++k)
    assert_memory_equal(x + 3 * k, nodes.rest + 3 * (int64_t)f->node[k], 24);
  memory_free(&x0);
  memory_free(&x);
  scene_surfaces_destroy(&f);
  close_world(&w);
  assert_no_leak();
}

/* Without triangles all is empty, and all functions can be called. */
static void test_nothing(void **state)
{
  static const char text[] = "stickslip: 1\nname: test\nformulation: exact\ntime: {end: 1, step: 0.1}\nmaterials:\n  steel: "
                             "{model: rigid, density: 2000}\n"
                             "bodies:\n  ball: {kind: rigid, material: steel, shape: {sphere: {center: [0, 0, 0], radius: 1}}}\n";
  world             w;
  scene_surfaces   *f;
  (void)state;
  open_world(text, &w);
  assert_ok(scene_surfaces_create(w.s, &f));
  assert_int_equal(f->n_vertices + f->n_edges + f->n_triangles, 0);
  assert_ok(scene_surfaces_place(f, w.s, 0.0, NULL));
  assert_int_equal(scene_surfaces_broad(f).n_triangles, 0);
  scene_surfaces_destroy(&f);
  close_world(&w);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_topology), cmocka_unit_test(test_places), cmocka_unit_test(test_nothing))
