/* Initial equilibrium: static penetration in closed form, no motion afterwards, independence of convex contact from the relaxation steps, prescribed
 * motion at rest before t = 0, failure without equilibrium, rejected velocities. */
#include "sim/step/static_equilibrium.h"
#include "formulation_fixture.h"

#define HEAD(formulation, step)                                                                                                            \
  "stickslip: 1\nname: test\nformulation: " formulation "\ngravity: [0, 0, -9.81]\ntime: {end: 1, step: " step ", start: at_rest}\n"       \
  "materials: {wood: {model: rigid, density: 1000}}\nbodies:\n"
#define FLOOR "  floor: {kind: static, shape: {plane: {}}}\n"
#define CUBE "  cube: {kind: rigid, material: wood, shape: {box: {min: [-0.05, -0.05, 0], max: [0.05, 0.05, 0.1]}}}\n"

static static_equilibrium find(world *w)
{
  static_equilibrium e;
  if (!w->fields) {
    w->fields = w->s->fields;
    assert_ok(w->f->ops->fields(w->f, w->fields));
  }
  assert_ok(static_equilibrium_find(w->s, w->f, w->fields, &e));
  return e;
}

/* Four springs carry the weight of 9.81 N. */
static void test_penetration(void **state)
{
  (void)state;
  const double k = 1e5, depth = 9.81 / (4.0 * k);
  world        w;
  open_world(HEAD("penalty", "1.0e-3") FLOOR CUBE "contact: {friction: 0.3, stiffness: 1.0e5}\n", &w);
  const static_equilibrium e = find(&w);
  assert_int_equal(e.result, STATIC_FOUND);
  assert_true(e.n_steps > 0 && e.n_steps < 100);
  assert_true(e.velocity <= STATIC_TOLERANCE * 9.81 * 1e-3);
  assert_close(e.displacement, depth, 1e-10);
  const rigid_body *b = rigid(&w, "cube");
  assert_close(b->c[2], 0.05 - depth, STATIC_TOLERANCE * depth);
  assert_close(totals(&w).kinetic, 0.0, 0.0);
  const double before = b->c[2];
  for (int i = 0; i < 50; ++i) step(&w);
  assert_close(b->c[2], before, 1e-9);
  close_world(&w);
  assert_no_leak();
}

/* The stiffness of a contact under `convex` depends on the step length. The search must therefore end at the depth that the run itself reaches. */
static void test_convex(void **state)
{
  (void)state;
  world rested, run;
  open_world(HEAD("convex", "1.0e-2") FLOOR CUBE "contact: {friction: 0.3}\nsolver: {convex: {max_static_penetration: 0.9}}\n", &rested);
  open_world(HEAD("convex", "1.0e-2") FLOOR CUBE "contact: {friction: 0.3}\nsolver: {convex: {max_static_penetration: 0.9}}\n", &run);
  assert_int_equal(find(&rested).result, STATIC_FOUND);
  for (int i = 0; i < 200; ++i) step(&run);
  const double depth = 0.05 - rigid(&run, "cube")->c[2];
  assert_true(depth > 1e-5);
  assert_close(0.05 - rigid(&rested, "cube")->c[2], depth, 1e-3 * depth);
  close_world(&rested);
  close_world(&run);
  assert_no_leak();
}

/* A belt that moves from t = 0 on: before, it does not move the cube. */
static void test_prescribed_motion(void **state)
{
  (void)state;
  world w;
  open_world(HEAD("exact", "1.0e-3") "  belt: {kind: kinematic, shape: {plane: {}}, motion: {velocity: [0.2, 0, 0]}}\n" CUBE
                                     "contact: {friction: 0.3}\n",
             &w);
  assert_int_equal(find(&w).result, STATIC_FOUND);
  assert_close(rigid(&w, "cube")->c[0], 0.0, 1e-12);
  assert_close(rigid(&w, "belt")->v[0], 0.2, 0.0);
  for (int i = 0; i < 10; ++i) step(&w);
  assert_close(rigid(&w, "cube")->v[0], 0.3 * 9.81 * 0.01, 1e-6);
  close_world(&w);
  assert_no_leak();
}

/* A ball on a slope without friction: the state before the search returns. */
static void test_no_equilibrium(void **state)
{
  (void)state;
  world w;
  open_world(HEAD("penalty", "1.0e-3") "  slope: {kind: static, shape: {plane: {normal: [0.1, 0, 1]}}}\n"
                                       "  ball: {kind: rigid, material: wood, shape: {sphere: {center: [0, 0, 0.06], radius: 0.05}}}\n"
                                       "contact: {friction: 0, stiffness: 1.0e5}\n",
             &w);
  const static_equilibrium e = find(&w);
  assert_int_equal(e.result, STATIC_NOT_FOUND);
  assert_int_equal(e.n_steps, STATIC_MAX_STEPS);
  assert_string_equal(e.body, "ball");
  assert_close(e.acceleration, 9.81 * 0.1 / sqrt(1.01), 1e-3); /* g sin(alpha) */
  assert_close(rigid(&w, "ball")->c[2], 0.06, 0.0);
  close_world(&w);
  assert_no_leak();
}

static void test_velocity_is_rejected(void **state)
{
  (void)state;
  world w;
  open_world(HEAD("exact", "1.0e-3") FLOOR
             "  cube: {kind: rigid, material: wood, shape: {box: {min: [0, 0, 0], max: [1, 1, 1]}}, velocity: [1, 0, 0]}\n"
             "contact: {friction: 0.3}\n",
             &w);
  assert_ok(static_equilibrium_check(w.s, w.d));
  assert_int_equal(diagnostics_count(w.d), 1);
  if (!strstr(diagnostics_text(w.d, 0), "bodies.cube.velocity: the body has an initial velocity (kinetic energy 500 J)"))
    fail_msg("%s", diagnostics_text(w.d, 0));
  close_world(&w);
  open_world(HEAD("exact", "1.0e-3") FLOOR CUBE "contact: {friction: 0.3}\n", &w);
  assert_ok(static_equilibrium_check(w.s, w.d));
  assert_int_equal(diagnostics_count(w.d), 0);
  close_world(&w);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_penetration), cmocka_unit_test(test_convex), cmocka_unit_test(test_prescribed_motion),
          cmocka_unit_test(test_no_equilibrium), cmocka_unit_test(test_velocity_is_rejected))
