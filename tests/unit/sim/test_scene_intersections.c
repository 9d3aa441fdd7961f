/* Exact intersections of the surfaces of a scene: pairs, times, and the messages of the initial check. */
#include "formulation_fixture.h"
#include "core/math3.h"
#include "discretize/nodal/nodal_body.h"
#include "sim/scene/scene_intersections.h"

/* A wall approaches a block with 2 m/s; a rotated ball below it; `high` is placed by %s. */
static const char job_text[] =
    "stickslip: 1\n"
    "name: test\n"
    "formulation: exact\n"
    "time: {end: 1, step: 1.0e-3}\n"
    "materials:\n"
    "  jelly: {density: 1000, youngs_modulus: 1.0e5, poisson_ratio: 0.3, model: fixed_corotated}\n"
    "  steel: {model: rigid, density: 2000}\n"
    "bodies:\n"
    "  wall: {kind: kinematic, contact_surface: mesh, surface_spacing: 0.3, shape: {box: {min: [0.5, -1, -1], max: [0.7, 1, 1]}}, "
    "motion: {velocity: [-2, 0, 0]}}\n"
    "  low:  {kind: fem, material: jelly, shape: {box: {min: [0, 0, 0], max: [0.4, 0.4, 0.4]}}, spacing: 0.1}\n"
    "  high: {kind: fem, material: jelly, shape: {box: {min: [0.05, 0.05, %s], max: [0.25, 0.25, 0.8]}}, spacing: 0.11}\n"
    "  ball: {kind: rigid, material: steel, contact_surface: mesh, surface_spacing: 0.05, shape: {sphere: {center: [0.2, 0.2, "
    "-0.3], radius: 0.2}}}\n"
    "contact: {initial_overlap: preload, friction: 0.3%s}\n";

static void open_at(const char *z, const char *pairs, world *w)
{
  char text[4096];
  snprintf(text, sizeof text, job_text, z, pairs);
  open_world(text, w);
}

static int64_t count(const world *w, scene_intersections *f, double t, const char *a, const char *b)
{
  const intersection *list;
  int64_t             n, bad, found = 0;
  const int           one = scene_find_body(w->s, a), two = scene_find_body(w->s, b);
  assert_ok(scene_intersections_find(f, w->s, t, &bad, &n, &list));
  assert_int_equal(bad, -1);
  for (int64_t i = 0; i < n; ++i) {
    const int of = f->surfaces->body[f->surfaces->edge[2 * list[i].edge]],
              in = f->surfaces->body[f->surfaces->triangle[3 * list[i].triangle]];
    found += (of == one && in == two) || (of == two && in == one);
  }
  return found;
}

static void test_whose(void **state)
{
  world                w;
  scene_intersections *f;
  (void)state;
  open_at("0.35", "", &w);
  assert_ok(scene_intersections_create(w.s, &f));
  assert_true(count(&w, f, 0.0, "low", "high") > 0);
  assert_int_equal(count(&w, f, 0.0, "low", "ball"), 0);
  assert_int_equal(count(&w, f, 0.0, "low", "low"), 0);
  /* the wall reaches the block at 0.05 s, and the other at 0.125 s */
  assert_int_equal(count(&w, f, 0.0499, "wall", "low"), 0);
  assert_true(count(&w, f, 0.0501, "wall", "low") > 0);
  assert_int_equal(count(&w, f, 0.1249, "wall", "high"), 0);
  assert_true(count(&w, f, 0.1251, "wall", "high") > 0);
  /* the ball is moved up to the block, and the block's bottom is moved through its top */
  rigid_body *ball = rigid_body_of(w.s->bodies[scene_find_body(w.s, "ball")].body);
  rigid_body_displace(ball, (const double[6]){0, 0, 0.11, 0.3, 0.2, 0.1});
  assert_true(count(&w, f, 0.0, "low", "ball") > 0);
  nodal_body *low = (nodal_body *)nodal_body_of(w.s->bodies[scene_find_body(w.s, "low")].body);
  for (int64_t k = 0; k < low->n_nodes; ++k)
    if (fabs(low->x[3 * k] - 0.2) + fabs(low->x[3 * k + 1] - 0.2) + fabs(low->x[3 * k + 2]) < 1e-12) low->x[3 * k + 2] = 0.5;
  assert_true(count(&w, f, 0.0, "low", "low") > 0);
  assert_int_equal(count(&w, f, 0.0, "high", "high"), 0);
  low->x[4] = INFINITY;
  const intersection *list;
  int64_t             n, bad;
  assert_ok(scene_intersections_find(f, w.s, 0.0, &bad, &n, &list));
  assert_true(bad >= 0 && f->surfaces->body[bad] == scene_find_body(w.s, "low"));
  scene_intersections_destroy(&f);
  close_world(&w);
  assert_no_leak();
}

/* The job permits overlaps, so that formulation exact, whose own check is not tested here, creates the scene. */
static void reject_overlaps(scene *s)
{
  for (int64_t k = 0; k < s->pairs->n_slots; ++k) s->laws[k].may_overlap = false;
}

/* Initial check: no message if all bodies are separate, if intersecting bodies must not touch, or if the job permits the overlap. */
static void test_check(void **state)
{
  static const struct {
    const char *z, *pairs, *said[4];
  } cases[] = {
      {"0.4001", "", {NULL}},
      {"0.4",
       "",
       {"bodies.low: its surface intersects \"high\" at the start of the run", " pairs of an edge and a triangle (touching counts), edge ",
        ", 0.4)", "Move one of them away, or permit it: contact.pairs: [{between: [low, high], initial_overlap: permit}]"}},
      {"0.35",
       "",
       {"bodies.low: its surface intersects \"high\"", " of \"low\" and triangle ", " of \"high\" at (0.", " and others. Move"}},
      {"0.35", ", pairs: [{between: [low, high], contact: false}]", {NULL}},
  };
  (void)state;
  for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
    world w;
    open_at(cases[k].z, cases[k].pairs, &w);
    reject_overlaps(w.s);
    assert_ok(scene_intersections_check(w.s, w.d));
    assert_int_equal(diagnostics_count(w.d), cases[k].said[0] ? 1 : 0);
    for (int i = 0; i < 4 && cases[k].said[i]; ++i)
      if (!strstr(diagnostics_text(w.d, 0), cases[k].said[i])) fail_msg("no \"%s\" in: %s", cases[k].said[i], diagnostics_text(w.d, 0));
    close_world(&w);
    if (k == 3) continue; /* the same overlap, permitted */
    open_at(cases[k].z, cases[k].pairs, &w);
    assert_ok(scene_intersections_check(w.s, w.d));
    assert_int_equal(diagnostics_count(w.d), 0);
    close_world(&w);
  }
  assert_no_leak();
}

/* Self-intersection is checked only if self-contact is requested. */
static void test_self(void **state)
{
  (void)state;
  for (int knows = 0; knows < 2; ++knows) {
    world w;
    open_at("0.5", knows ? ", pairs: [{between: [low, low]}]" : "", &w);
    nodal_body *low = (nodal_body *)nodal_body_of(w.s->bodies[scene_find_body(w.s, "low")].body);
    for (int64_t k = 0; k < low->n_nodes; ++k)
      if (fabs(low->x[3 * k] - 0.2) + fabs(low->x[3 * k + 1] - 0.2) + fabs(low->x[3 * k + 2]) < 1e-12) low->x[3 * k + 2] = 0.45;
    reject_overlaps(w.s);
    assert_ok(scene_intersections_check(w.s, w.d));
    assert_int_equal(diagnostics_count(w.d), knows);
    if (knows) assert_non_null(strstr(diagnostics_text(w.d, 0), "intersects itself at the start of the run"));
    close_world(&w);
  }
  assert_no_leak();
}

/* Surfaces that do not intersect, one inside the other, or separate; a sheet encloses nothing. */
static void test_within(void **state)
{
  static const char *const balls[] = {"sphere: {center: [0.1, 0, 0], radius: 0.2}", "sphere: {center: [2.25, 0, -0.5], radius: 0.2}"};
  (void)state;
  for (int k = 0; k < 2; ++k) {
    char  text[1500];
    world w;
    snprintf(text, sizeof text,
             "stickslip: 1\nname: test\nformulation: exact\ntime: {end: 1, step: 1.0e-3}\n"
             "materials:\n  jelly: {density: 1000, youngs_modulus: 1.0e5, poisson_ratio: 0.3, model: fixed_corotated}\n  steel: "
             "{model: rigid, density: 2000}\n"
             "bodies:\n"
             "  ball: {kind: rigid, material: steel, contact_surface: mesh, surface_spacing: 0.1, shape: {%s}}\n"
             "  block: {kind: fem, material: jelly, shape: {box: {min: [-0.5, -0.5, -0.5], max: [0.5, 0.5, 0.5]}}, spacing: 0.25}\n"
             "  sheet: {kind: cloth, sheet: {corner: [1.5, -1, -1], u: [1, 0, 2], v: [0, 2, 0], cells: [2, 2]}, mass_per_area: 0.2, "
             "stretch: 100}\n"
             "contact: {initial_overlap: preload, friction: 0.3}\n",
             balls[k]);
    open_world(text, &w);
    reject_overlaps(w.s);
    assert_ok(scene_intersections_check(w.s, w.d));
    assert_int_equal(diagnostics_count(w.d), k == 0 ? 1 : 0);
    if (k == 0) assert_non_null(strstr(diagnostics_text(w.d, 0), "bodies.ball: is inside \"block\" at the start of the run, node "));
    close_world(&w);
  }
  assert_no_leak();
}

/* A block on a plane, in it by the last bit, and above a rising one. */
static void test_planes(void **state)
{
  static const char          text[] = "stickslip: 1\nname: test\nformulation: exact\ntime: {end: 1, step: 1.0e-3}\n"
                                      "materials: {jelly: {density: 1000, youngs_modulus: 1.0e5, poisson_ratio: 0.3, model: fixed_corotated}}\n"
                                      "bodies:\n"
                                      "  block: {kind: fem, material: jelly, shape: {box: {min: [0, 0, 0], max: [0.4, 0.4, 0.4]}}, spacing: 0.2}\n"
                                      "  floor: {kind: kinematic, shape: {plane: {}}, motion: {velocity: [0, 0, 1]}}\n"
                                      "  top: {kind: static, shape: {plane: {point: [0, 0, 0.5], normal: [0, 0, -1]}}}\n"
                                      "contact: {initial_overlap: preload, friction: 0.3}\n";
  world                      w;
  scene_intersections       *f;
  const scene_vertex_beyond *sunk;
  int64_t                    n;
  (void)state;
  open_world(text, &w);
  assert_ok(scene_intersections_create(w.s, &f));
  assert_int_equal(count(&w, f, 0.0, "block", "floor"), 0);
  assert_ok(scene_intersections_beyond(f, w.s, 0.0, &n, &sunk));
  assert_int_equal(n, 0); /* on it is not beyond it */
  assert_ok(scene_intersections_beyond(f, w.s, 1e-300, &n, &sunk));
  assert_int_equal(n, 9);
  assert_ok(scene_intersections_beyond(f, w.s, 0.3, &n, &sunk));
  assert_int_equal(n, 18 - 1); /* 3 x 3 nodes a layer, of which one is within */
  for (int64_t i = 0; i < n; ++i) assert_true(f->surfaces->body[sunk[i].vertex] == 0 && sunk[i].body == 1);
  reject_overlaps(w.s);
  assert_ok(scene_intersections_check(w.s, w.d));
  assert_int_equal(diagnostics_count(w.d), 0);
  nodal_body *block = (nodal_body *)nodal_body_of(w.s->bodies[0].body);
  for (int64_t k = 0; k < block->n_nodes; ++k)
    if (block->x[3 * k] == 0.0 && block->x[3 * k + 2] == 0.0) block->x[3 * k + 2] = -0x1p-1000;
  reject_overlaps(w.s);
  assert_ok(scene_intersections_check(w.s, w.d));
  assert_int_equal(diagnostics_count(w.d), 1);
  assert_non_null(strstr(diagnostics_text(w.d, 0), "intersects \"floor\" at the start of the run with 3 nodes beyond its plane, node "));
  scene_intersections_destroy(&f);
  close_world(&w);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_whose), cmocka_unit_test(test_check), cmocka_unit_test(test_self), cmocka_unit_test(test_within),
          cmocka_unit_test(test_planes))
