/* Islands at rest: which islands rest, what wakes them, and the order of merged contacts. */
#include "core/math3.h"
#include "core/memory.h"
#include "formulation_fixture.h"
#include "sim/step/step_frame.h"

static resting_islands *islands(const world *w) { return &((step_frame *)w->f)->resting; }
static bool             rests(const world *w, const char *name) { return rigid(w, name)->base.is_resting; }
static void             steps(world *w, int n)
{
  for (int i = 0; i < n; ++i) step(w);
}

/* Two stacks of two boxes, weight of a box 10 N, and a ball above the first stack, whose force holds it. */
static const char stacks[] =
    "stickslip: 1\nname: test\nformulation: exact\ntime: {end: 9, step: 0.01}\ngravity: [0, 0, -10]\n"
    "materials: {stone: {model: rigid, density: 1000}}\ncontact: {friction: 0.5}\nsolver: {friction: {tolerance: 1.0e-12}}\nbodies:\n"
    "  a: {kind: rigid, material: stone, shape: {box: {min: [0, 0, 0], max: [0.1, 0.1, 0.1]}}}\n"
    "  b: {kind: rigid, material: stone, shape: {box: {min: [0, 0, 0.1], max: [0.1, 0.1, 0.2]}}}\n"
    "  c: {kind: rigid, material: stone, shape: {box: {min: [1, 0, 0], max: [1.1, 0.1, 0.1]}}}\n"
    "  d: {kind: rigid, material: stone, shape: {box: {min: [1, 0, 0.1], max: [1.1, 0.1, 0.2]}}}\n"
    "  ball: {kind: rigid, material: stone, mass: 1, inertia: [0.001, 0.001, 0.001], shape: {sphere: {center: [0.05, 0.05, 0.9], radius: "
    "0.05}}, force: [0, "
    "0, 10]}\n"
    "  floor: {kind: static, shape: {plane: {}}}\n";

static void test_island_wakes_as_a_whole(void **state)
{
  (void)state;
  world w;
  open_world(stacks, &w);
  const double height = totals(&w).center[2], mass = totals(&w).mass;
  steps(&w, RESTING_STEPS - 1);
  assert_int_equal(w.report.resting, 0);
  step(&w);
  assert_int_equal(w.report.resting, 4);
  assert_int_equal(w.s->n_systems, 1);                      /* the ball, which nothing carries */
  assert_int_equal(((step_frame *)w.f)->record.known.n, 0); /* no contact is kept twice */
  steps(&w, 5);
  assert_int_equal(w.report.resting, 4);
  assert_int_equal(w.report.contact.contacts, 16);
  assert_close(totals(&w).mass, mass, 1e-14);
  assert_close(totals(&w).center[2], height, 1e-9);
  double force[3], moment[3];
  contact_forces_between(w.f->forces, scene_find_body(w.s, "c"), scene_find_body(w.s, "floor"), force, moment);
  assert_close(force[2], 20.0, 1e-7);
  assert_close(moment[0], 20.0 * 0.05, 1e-7);
  contact_forces_between(w.f->forces, scene_find_body(w.s, "c"), scene_find_body(w.s, "d"), force, moment);
  assert_close(force[2], -10.0, 1e-7);
  /* The ball comes from above: its stack wakes before the contact, the other one does not. */
  ((rigid_body *)rigid(&w, "ball"))->c[2] = 0.262;
  rigid(&w, "ball")->v[2]                 = -0.5;
  step(&w);
  assert_true(!rests(&w, "a") && !rests(&w, "b") && rests(&w, "c") && rests(&w, "d"));
  assert_int_equal(w.report.resting, 2);
  assert_int_equal(islands(&w)->contacts.n, 8);
  assert_int_equal(w.report.contact.contacts, 16);
  assert_true(w.report.friction_error <= 1e-12); /* the forces of the woken stack are the initial guess */
  assert_true(w.report.friction_iterations <= 1);
  step(&w);
  step(&w);
  step(&w);
  assert_int_equal(w.report.contact.contacts, 17);
  contact_forces_between(w.f->forces, scene_find_body(w.s, "b"), scene_find_body(w.s, "ball"), force, moment);
  assert_true(force[2] < -1.0);
  close_world(&w);
  assert_no_leak();
}

/* A scene in which all bodies are at rest: steps without unknowns. */
static void test_all_are_at_rest(void **state)
{
  (void)state;
  static const char *const method[] = {"exact", "convex"};
  for (int k = 0; k < 2; ++k) {
    char  text[600];
    world w;
    snprintf(
        text, sizeof text,
        "stickslip: 1\nname: test\nformulation: %s\ntime: {end: 9, step: 0.01}\ngravity: [0, 0, -10]\n"
        "materials: {stone: {model: rigid, density: 1000}}\ncontact: {friction: 0.5}\nsolver: {friction: {tolerance: 1.0e-12}}\nbodies:\n"
        "  a: {kind: rigid, material: stone, shape: {box: {min: [0, 0, 0], max: [0.1, 0.1, 0.1]}}}\n"
        "  floor: {kind: static, shape: {plane: {}}}\n",
        method[k]);
    open_world(text, &w);
    for (int i = 0; w.report.resting == 0; ++i) {
      assert_true(i < 200);
      step(&w);
    }
    const body_totals before = totals(&w);
    const double      energy = w.report.contact.contact_energy;
    for (int i = 0; i < 3; ++i) {
      double force[3], moment[3];
      step(&w);
      assert_int_equal(w.s->n_systems, 0);
      assert_int_equal(w.report.contact.contacts, 4);
      contact_forces_between(w.f->forces, scene_find_body(w.s, "a"), -1, force, moment);
      assert_close(force[2], 10.0, 1e-7);
      assert_close(totals(&w).potential, before.potential, 0.0);
      assert_close(w.report.contact.contact_energy, energy, 1e-15);
    }
    close_world(&w);
  }
  assert_no_leak();
}

/* hybrid shares the step of exact, but solves all bodies in each step. */
static void test_hybrid_has_none(void **state)
{
  (void)state;
  world w;
  open_world(
      "stickslip: 1\nname: test\nformulation: hybrid\ntime: {end: 9, step: 0.01}\ngravity: [0, 0, -10]\n"
      "materials: {stone: {model: rigid, density: 1000}}\ncontact: {friction: 0.5}\nsolver: {friction: {tolerance: 1.0e-12}}\nbodies:\n"
      "  a: {kind: rigid, material: stone, contact_surface: mesh, shape: {box: {min: [0, 0, 0.001], max: [0.1, 0.1, 0.1]}}}\n"
      "  floor: {kind: static, shape: {plane: {}}}\n",
      &w);
  for (int i = 0; i < 4 * RESTING_STEPS; ++i) {
    step(&w);
    assert_int_equal(w.s->n_systems, 1);
  }
  assert_true(w.report.contact.contacts > 0);
  assert_true(totals(&w).kinetic < 1e-24); /* it is at rest */
  close_world(&w);
  assert_no_leak();
}

/* A slowly moving box, a box on a moving floor, two balls without an obstacle, and a box on an articulated body. */
static void test_bodies_that_do_not_rest(void **state)
{
  (void)state;
  static const char head[] =
      "stickslip: 1\nname: test\nformulation: exact\ntime: {end: 9, step: 0.01}\nmaterials: {stone: {model: rigid, density: 1000}}\n"
      "solver: {friction: {tolerance: 1.0e-12}}\n";
  static const char *const rest[] = {
      "gravity: [0, 0, -10]\ncontact: {friction: 0}\nbodies:\n"
      "  a: {kind: rigid, material: stone, velocity: [1.0e-9, 0, 0], shape: {box: {min: [0, 0, 0], max: [0.1, 0.1, 0.1]}}}\n"
      "  floor: {kind: static, shape: {plane: {}}}\n",
      "gravity: [0, 0, -10]\ncontact: {friction: 0}\nbodies:\n"
      "  a: {kind: rigid, material: stone, shape: {box: {min: [0, 0, 0], max: [0.1, 0.1, 0.1]}}}\n"
      "  floor: {kind: kinematic, shape: {box: {min: [-9, -9, -1], max: [9, 9, 0]}}, motion: {expressions: {translate: [\"t\", \"0\", "
      "\"0\"]}}}\n",
      "gravity: [0, 0, 0]\ncontact: {friction: 0.5}\nbodies:\n"
      "  a: {kind: rigid, material: stone, force: [1, 0, 0], shape: {sphere: {center: [0, 0, 0], radius: 0.1}}}\n"
      "  b: {kind: rigid, material: stone, force: [-1, 0, 0], shape: {sphere: {center: [0.2, 0, 0], radius: 0.1}}}\n"};
  for (int k = 0; k < 3; ++k) {
    char  text[1200];
    world w;
    snprintf(text, sizeof text, "%s%s", head, rest[k]);
    open_world(text, &w);
    for (int i = 0; i < 3 * RESTING_STEPS; ++i) {
      step(&w);
      assert_int_equal(w.report.resting, 0);
    }
    close_world(&w);
  }
  assert_no_leak();
}

static void test_wish_is_followed(void **state)
{
  (void)state;
  char text[1600];
  snprintf(text, sizeof text, "%s", stacks);
  memcpy(strstr(text, "{friction: 0.5}"), "{friction:   0}", 15);
  for (int k = 0; k < 2; ++k) {
    world w;
    open_world(text, &w);
    islands(&w)->is_wanted = k == 0;
    steps(&w, 2 * RESTING_STEPS);
    assert_int_equal(w.report.resting, k == 0 ? 4 : 0);
    if (k == 0) { /* a changed job wakes all */
      w.f->has_changed_job = true;
      step(&w);
      assert_int_equal(w.report.resting, 0);
      assert_false(w.f->has_changed_job);
      assert_int_equal(islands(&w)->contacts.n, 0);
      assert_int_equal(w.report.contact.contacts, 16);
      assert_true(w.report.friction_iterations <= 1);
    }
    close_world(&w);
  }
  assert_no_leak();
}

static void test_checkpoints_are_checked(void **state)
{
  (void)state;
  world w;
  open_world(stacks, &w);
  field_table *table;
  assert_ok(field_table_create(&table));
  assert_ok(w.f->ops->fields(w.f, table));
  field_group *bodies = field_table_find_group(table, "contact/rest"), *contacts = field_table_find_group(table, "contact/resting");
  assert_true(bodies && contacts);
  steps(&w, RESTING_STEPS);
  resting_islands *r = islands(&w);
  assert_int_equal(r->contacts.n, 16);
  for (int64_t k = 1; k < 16; ++k)
    assert_true(r->contacts.key[2 * k - 2] < r->contacts.key[2 * k] ||
                (r->contacts.key[2 * k - 2] == r->contacts.key[2 * k] && r->contacts.key[2 * k - 1] < r->contacts.key[2 * k + 1]));
  assert_ok(bodies->restored(bodies->context));
  assert_ok(contacts->restored(contacts->context));
  assert_int_equal(r->n_resting, 4);
  const int floor = scene_find_body(w.s, "floor"), a = scene_find_body(w.s, "a");
  r->quiet[floor] = -1;
  assert_int_equal(bodies->restored(bodies->context), PETSC_ERR_FILE_UNEXPECTED);
  error_clear();
  r->quiet[floor] = 0, r->quiet[a] = -2;
  assert_int_equal(bodies->restored(bodies->context), PETSC_ERR_FILE_UNEXPECTED);
  error_clear();
  r->quiet[a] = 0;
  assert_ok(bodies->restored(bodies->context));
  assert_true(!rests(&w, "a") && rests(&w, "b"));
  const uint64_t key = r->contacts.key[2 * 15];
  r->contacts.key[30] |= 0xfffffff;
  assert_int_equal(contacts->restored(contacts->context), PETSC_ERR_FILE_UNEXPECTED);
  error_clear();
  r->contacts.key[30] = key;
  field_table_destroy(&table);
  close_world(&w);
  assert_no_leak();
}

static void test_known_impulses(void **state)
{
  (void)state;
  step_impulses m = {.n = 3, .capacity = 3};
  assert_ok(MEMORY_ALLOC("test", ARRAY(m.key, 6), ARRAY(m.force, 9)));
  for (uint64_t k = 0; k < 3; ++k) m.key[2 * k] = 10, m.key[2 * k + 1] = 2 * k, m.force[3 * k] = 2.0 * (double)k; /* 0, 2, 4 */
  const uint64_t more[]  = {9, 7, 10, 1, 10, 3, 11, 0};
  const double   force[] = {-1, 0, 0, 1, 0, 0, 3, 0, 0, 5, 0, 0};
  assert_ok(step_impulses_insert(&m, 4, more, force));
  assert_int_equal(m.n, 7);
  for (int k = 0; k < 7; ++k) {
    assert_close(m.force[3 * k], k - 1.0, 0.0);
    assert_int_equal(m.key[2 * k], k == 0 ? 9 : k == 6 ? 11 : 10);
  }
  const uint64_t gone[] = {9, 7, 10, 2, 10, 9, 11, 0};
  step_impulses_remove(&m, 4, gone);
  assert_int_equal(m.n, 4);
  const double left[] = {0, 1, 3, 4};
  for (int k = 0; k < 4; ++k) assert_close(m.force[3 * k], left[k], 0.0);
  assert_ok(step_impulses_insert(&m, 0, more, force));
  assert_int_equal(m.n, 4);
  MEMORY_FREE(&m.key, &m.force);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_island_wakes_as_a_whole), cmocka_unit_test(test_all_are_at_rest), cmocka_unit_test(test_hybrid_has_none),
          cmocka_unit_test(test_bodies_that_do_not_rest), cmocka_unit_test(test_wish_is_followed),
          cmocka_unit_test(test_checkpoints_are_checked), cmocka_unit_test(test_known_impulses))
