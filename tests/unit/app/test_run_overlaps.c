/* Overlaps after a step by hand: deepest pair, warnings about deep overlaps and about missing contact points, self-contact, resumed runs. */
#include "app/run/run_overlaps.h"
#include "formulation_fixture.h"
#include "sim/scene/scene_overlaps.h"

/* The ring is no convex solid, so that its pairs depend on contact points. Its smallest extent is 0.1 m. */
#define JOB(formulation, contact)                                                                                                          \
  "stickslip: 1\nname: test\nformulation: " formulation "\ntime: {end: 1, step: 1.0e-3}\n"                                                 \
  "materials: {wood: {model: rigid, density: 1000}}\nbodies:\n  floor: {kind: static, shape: {plane: {}}}\n"                               \
  "  ring: {kind: rigid, material: wood, shape: {torus: {center: [0, 0, 0.06], major_radius: 0.1, minor_radius: 0.05}}}\n"                 \
  "  cube: {kind: rigid, material: wood, shape: {box: {min: [1, 0, 0.01], max: [1.2, 0.2, 0.21]}}}\n"                                      \
  "contact: {friction: 0.3, stiffness: 1.0e4" contact "}\n"

enum { FLOOR, RING, CUBE, MOST_POINTS = 3 };
typedef struct {
  int32_t source, object;
  double  depth;
} point;

static contact_points points;

static void open_at(const char *text, world *w)
{
  open_world(text, w);
  assert_ok(contact_points_reserve(&points, MOST_POINTS));
  points.n     = 0;
  w->f->points = &points;
}
static void close_at(world *w)
{
  contact_points_destroy(&points);
  close_world(w);
}
static void set_points(int n, const point *p)
{
  points.n = n;
  for (int i = 0; i < n; ++i) points.source_body[i] = p[i].source, points.object_body[i] = p[i].object, points.gap[i] = -p[i].depth;
}

static void move(const world *w, const char *name, double height) { rigid(w, name)->c[2] = height; }
/* Height of the ring at which its lowest vertex touches the floor. */
static double find_lowest(const world *w)
{
  const scene_overlap *list;
  int64_t              n;
  move(w, "ring", 0.0);
  assert_ok(scene_overlaps_find(w->s->overlaps, 0.0, false, &n, &list));
  assert_int_equal(n, 1);
  assert_true(list->at.depth > 0.049 && list->at.depth < 0.05 + 1e-12);
  return list->at.depth;
}

static step_report record(const world *w, double t)
{
  step_report report         = {0};
  report.contact.penetration = 7.0;
  assert_ok(run_overlaps_record(w->s, w->f, t, 1e-3, &report));
  return report;
}
static void assert_warnings(const world *w, int n, const char *code, const char *subject)
{
  assert_int_equal(warning_list_count(w->s->warnings), n);
  if (n == 0) return;
  assert_string_equal(warning_list_code(w->s->warnings, n - 1), code);
  assert_string_equal(warning_list_subject(w->s->warnings, n - 1), subject);
}

/* The deepest pair, its bodies, none. The ring has a contact point at its depth. */
static void test_deepest(void **state)
{
  (void)state;
  world w;
  open_at(JOB("penalty", ""), &w);
  const double lowest = find_lowest(&w);
  set_points(1, &(point){RING, FLOOR, 0.004});
  move(&w, "ring", lowest - 0.004);
  step_report r = record(&w, 0.1);
  assert_close(r.contact.penetration, 0.004, 1e-15);
  assert_int_equal(r.penetration_body_a, FLOOR);
  assert_int_equal(r.penetration_body_b, RING);
  move(&w, "cube", 0.1 - 0.005);
  r = record(&w, 0.2);
  assert_close(r.contact.penetration, 0.005, 1e-15);
  assert_int_equal(r.penetration_body_b, CUBE);
  move(&w, "ring", 1.0);
  move(&w, "cube", 1.0);
  r = record(&w, 0.3);
  assert_true(r.contact.penetration == 0.0 && r.penetration_body_a == -1 && r.penetration_body_b == -1);
  assert_warnings(&w, 0, NULL, NULL);
  close_at(&w);
}

/* More than a tenth of 0.1 m, but not of the cube's 0.2 m; an overlap that the job permits gives no warning. */
static void test_deep(void **state)
{
  (void)state;
  world w;
  open_at(JOB("penalty", ""), &w);
  const double lowest = find_lowest(&w);
  move(&w, "ring", 1.0);
  (void)record(&w, 0.1); /* before: no overlap */
  set_points(1, &(point){RING, FLOOR, 0.011});
  move(&w, "ring", lowest - 0.0099);
  move(&w, "cube", 0.1 - 0.0199);
  (void)record(&w, 0.2);
  assert_warnings(&w, 0, NULL, NULL);
  move(&w, "ring", lowest - 0.0101);
  (void)record(&w, 0.3);
  assert_warnings(&w, 1, "deep-overlap", "floor, ring");
  move(&w, "cube", 0.1 - 0.0201);
  (void)record(&w, 0.4);
  assert_warnings(&w, 2, "deep-overlap", "floor, cube");
  close_at(&w);
  open_at(JOB("penalty", ", pairs: [{between: [floor, ring], initial_overlap: permit}]"), &w);
  move(&w, "ring", lowest - 0.02);
  (void)record(&w, 0.1);
  (void)record(&w, 0.2);
  assert_warnings(&w, 0, NULL, NULL);
  close_at(&w);
}

static const point shallow[2] = {{RING, FLOOR, 0.0019}, {FLOOR, RING, 0.001}};

/* The ring sinks from depth `before` to `depth`; its contact points are `p`. Whether too few points are reported. */
static bool has_few_points(double before, double depth, int n, const point *p, bool is_resumed)
{
  world w;
  open_at(JOB("penalty", ""), &w);
  const double lowest = find_lowest(&w);
  move(&w, "ring", 1.0);
  (void)record(&w, 0.1);
  set_points(n, p);
  move(&w, "ring", lowest - before);
  if (is_resumed) assert_ok(run_overlaps_resume(w.s, 0.2));
  else (void)record(&w, 0.2); /* no overlap before: no warning */
  assert_warnings(&w, 0, NULL, NULL);
  move(&w, "ring", lowest - depth);
  (void)record(&w, 0.3);
  const bool is_reported = warning_list_count(w.s->warnings) > 0;
  if (is_reported) assert_warnings(&w, 1, "few-contact-points", "floor, ring");
  if (is_reported && p == shallow) /* the number of points and the deepest one of this pair */
    assert_non_null(strstr(warning_list_text(w.s->warnings, 0), "the deepest of their 2 contact points has a depth of 0.0019 m"));
  close_at(&w);
  return is_reported;
}

static void test_few_points(void **state)
{
  (void)state;
  const point deep[2]  = {{RING, FLOOR, 0.001}, {FLOOR, RING, 0.0021}},
              other[3] = {{RING, CUBE, 0.004}, {CUBE, FLOOR, 0.004}, {CUBE, RING, 0.004}}, tiny = {RING, FLOOR, 0.00001};
  for (int is_resumed = 0; is_resumed < 2; ++is_resumed) {
    assert_true(has_few_points(0.004, 0.0041, 2, shallow, is_resumed));
    assert_false(has_few_points(0.004, 0.0041, 2, deep, is_resumed));    /* one half of the depth is reached */
    assert_false(has_few_points(0.004, 0.0039, 2, shallow, is_resumed)); /* separates */
    assert_true(has_few_points(0.004, 0.0041, 3, other, is_resumed));    /* points of other pairs */
    assert_false(has_few_points(0.0001, 0.002, 1, &tiny, is_resumed));   /* a difference of 1e-3 of the ring's 0.1 m is accepted */
    assert_true(has_few_points(0.0002, 0.002, 1, &tiny, is_resumed));
    assert_false(has_few_points(0.00008, 0.00009, 0, NULL, is_resumed)); /* so is such an overlap */
  }
}

/* The detector of convex solids finds the deepest place, except for contact by impulses of hybrid. */
static void test_convex_solids(void **state)
{
  (void)state;
  static const char *const jobs[3] = {JOB("penalty", ""), JOB("hybrid", "") "solver: {hybrid: {contact: coulomb}}\n",
                                      JOB("hybrid", "") "solver: {hybrid: {contact: impulses}}\n"};
  for (int k = 0; k < 3; ++k) {
    world w;
    open_at(jobs[k], &w);
    for (int i = 0; i < 3; ++i) {
      move(&w, "cube", 0.1 - 0.005);
      (void)record(&w, 0.1 * i);
    }
    if (k < 2) assert_warnings(&w, 0, NULL, NULL);
    else assert_warnings(&w, 1, "few-contact-points", "floor, cube");
    close_at(&w);
  }
}

/* Self-contact has no overlap of two shapes: the depths of its contact points count if they are larger. */
static void test_self_contact(void **state)
{
  (void)state;
  world w;
  open_at(JOB("penalty", ""), &w);
  const double lowest = find_lowest(&w);
  move(&w, "ring", lowest - 0.004);
  set_points(3, (const point[3]){{RING, FLOOR, 0.03}, {CUBE, CUBE, 0.006}, {RING, RING, 0.005}});
  step_report r = record(&w, 0.1);
  assert_close(r.contact.penetration, 0.006, 1e-15);
  assert_true(r.penetration_body_a == CUBE && r.penetration_body_b == CUBE);
  set_points(2, (const point[2]){{RING, FLOOR, 0.004}, {CUBE, CUBE, 0.003}});
  r = record(&w, 0.2);
  assert_close(r.contact.penetration, 0.004, 1e-15);
  assert_true(r.penetration_body_a == FLOOR && r.penetration_body_b == RING);
  close_at(&w);
}

TEST_MAIN(cmocka_unit_test(test_deepest), cmocka_unit_test(test_deep), cmocka_unit_test(test_few_points),
          cmocka_unit_test(test_convex_solids), cmocka_unit_test(test_self_contact))
