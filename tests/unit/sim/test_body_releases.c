/* Release of poured bodies: when their place is free, in their order; bodies that wait have no unknowns, mass and contact. */
#include "sim/scene/body_releases.h"
#include <unistd.h>
#include "formulation_fixture.h"
#include "temporary.h"

static char places[TEMPORARY_ROOM];

/* A job with three releases of two balls side by side, at 0.1, 0.2 and 0.3 s, at height z above a floor. Writes the file of the places. */
static const char *pour(const char *method, double z)
{
  static char text[1200];
  close(mkstemp(temporary_name(places, "")));
  FILE *f = fopen(places, "w");
  assert_non_null(f);
  fprintf(f, "x,y,z\n0,0,%g\n0.5,0,%g\n", z, z);
  fclose(f);
  snprintf(text, sizeof text,
           "stickslip: 1\nname: test\nformulation: %s\ntime: {end: 1, step: 0.05}\ngravity: [0, 0, 0]\n"
           "materials: {wood: {model: rigid, density: 1000}}\ncontact: {friction: 0.3, stiffness: 1.0e4}\nbodies:\n"
           "  probe: {kind: rigid, material: wood, shape: {sphere: {center: [0.9, 0, 0], radius: 0.1}}}\n"
           "  floor: {kind: static, shape: {plane: {point: [0, 0, -0.1]}}}\n"
           "  b: {kind: rigid, material: wood, shape: {sphere: {center: [0, 0, 0], radius: 0.1}}, velocity: [0, 0, 1],\n"
           "      copies: {arrangement: file, file: %s, pour: {start: 0.1, end: 0.35, every: 0.1}}}\n",
           method, places);
  return text;
}

static void move(const world *w, const char *name, double z) { rigid(w, name)->c[2] = z; }
static bool waits(const world *w, const char *name) { return rigid(w, name)->base.is_waiting; }

static void test_free_places(void **state)
{
  (void)state;
  world w;
  open_world(pour("exact", 0.0), &w);
  unlink(places);
  const double mass = rigid(&w, "probe")->mass;
  assert_int_equal(w.s->n_bodies, 8);
  assert_int_equal(w.s->n_systems, 1);
  assert_close(totals(&w).mass, mass, 1e-15);
  assert_ok(scene_emit(w.s, 0.05, 0.05));
  assert_int_equal(w.s->n_systems, 1);
  move(&w, "probe", 5.0);
  rigid(&w, "probe")->c[0] = 0.5;
  move(&w, "probe", 0.19); /* at the second place */
  assert_ok(scene_emit(w.s, 0.1, 0.05));
  assert_true(!waits(&w, "b.1") && waits(&w, "b.2"));
  assert_int_equal(w.s->n_systems, 2);
  assert_int_equal(warning_list_count(w.s->warnings), 1);
  assert_non_null(strstr(warning_list_text(w.s->warnings, 0), "bodies.b: the place of b.2 is occupied at t = 0.1 s"));
  move(&w, "probe", 0.2);                /* touches it: free */
  assert_ok(scene_emit(w.s, 0.2, 0.05)); /* b.1 is in the place of b.3, and b.2, which is released first, in that of b.4 */
  assert_true(!waits(&w, "b.2") && waits(&w, "b.3") && waits(&w, "b.4"));
  move(&w, "b.1", 3.0);
  move(&w, "b.2", 3.0);
  assert_ok(scene_emit(w.s, 0.9, 0.05)); /* the last release is due, too, but only one of two bodies at the same place is released */
  assert_true(!waits(&w, "b.3") && !waits(&w, "b.4") && waits(&w, "b.5") && waits(&w, "b.6"));
  move(&w, "b.3", 2.0);
  move(&w, "b.4", 2.0);
  assert_ok(scene_emit(w.s, 0.95, 0.05));
  assert_int_equal(w.s->n_systems, 7);
  assert_close(totals(&w).mass, 7.0 * mass, 1e-12);
  close_world(&w);
  assert_no_leak();
}

/* A ball passes through the places of waiting balls and collides with one that has been released. */
static void check_contact(const char *method, bool is_bouncing)
{
  world w;
  open_world(pour(method, 0.0), &w);
  unlink(places);
  rigid(&w, "probe")->v[0] = -2.0;
  for (int i = 0; i < 4; ++i) step(&w); /* from 0.9 to 0.5: in the second place */
  assert_close(rigid(&w, "probe")->c[0], 0.5, 1e-12);
  assert_close(rigid(&w, "probe")->v[0], -2.0, 1e-12);
  assert_int_equal(w.report.contact.contacts, 0);
  assert_ok(scene_emit(w.s, 0.1, 0.05)); /* b.1 at (0, 0, 0); b.2 waits */
  rigid(&w, "b.1")->v[2] = 0.0;
  for (int i = 0; i < 6; ++i) step(&w);
  assert_true(rigid(&w, "b.1")->v[0] < (is_bouncing ? -0.5 : -0.9));
  assert_close(rigid(&w, "b.1")->v[0] + rigid(&w, "probe")->v[0], -2.0, 1e-5);
  assert_true(rigid(&w, "b.2")->c[0] == 0.5 && rigid(&w, "b.2")->v[2] == 1.0);
  close_world(&w);
  assert_no_leak();
}

static void test_contact(void **state)
{
  (void)state;
  check_contact("exact", false);
  check_contact("convex", false);
  check_contact("penalty", true);
}

/* A place that a static obstacle occupies is never free; reported for the first release only. */
static void test_bad_place(void **state)
{
  (void)state;
  diagnostics *d;
  job         *j;
  scene       *s;
  assert_ok(diagnostics_create(&d));
  assert_ok(job_read_text("job", pour("exact", -0.01), 0, NULL, d, &j));
  assert_ok(scene_create(PETSC_COMM_SELF, &j->scene, d, &s));
  unlink(places);
  assert_int_equal(diagnostics_count(d), 2);
  assert_non_null(strstr(diagnostics_text(d, 0), "overlaps \"floor\" by 0.01 m"));
  scene_destroy(&s);
  job_destroy(&j);
  diagnostics_destroy(&d);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_free_places), cmocka_unit_test(test_contact), cmocka_unit_test(test_bad_place))
