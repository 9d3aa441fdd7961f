/* The equations of a whole penalty step with rigid bodies made of convex solids: H against finite differences of g, its adjoint, its matrix, momentum,
 * the same bits for any number of threads; friction springs as state. */
#include "penalty_fixture.h"
#include "contact/detection/convex_contact.h"

/* Two boxes, a ball, a capsule, a cylinder and a union, each in contact with another body or with the container; the block and the pole use the
 * second rotation rule. */
static const char solids_job[] =
    "stickslip: 1\n"
    "name: test\n"
    "gravity: [0, 0, -9.81]\n"
    "time: {end: 0.1, step: 2.0e-3}\n"
    "materials: {steel: {model: rigid, density: 2000}}\n"
    "bodies:\n"
    "  tank:    {kind: static, shape: {container: {min: [0, 0, 0], max: [1, 1, 2]}}}\n"
    "  block:   {kind: rigid, material: steel, rotation: midpoint, shape: {box: {min: [0.1, 0.1, 0.0005], max: [0.3, 0.3, 0.2]}}}\n"
    "  turned:  {kind: rigid, material: steel, shape: {box: {min: [0.104, 0.104, 0.1995], max: [0.304, 0.304, 0.4]}, rotate_deg: 5, about: "
    "[0.2, 0.2, "
    "0]}}\n"
    "  ball:    {kind: rigid, material: steel, shape: {sphere: {center: [0.25, 0.2, 0.4985], radius: 0.1}}}\n"
    "  pole:    {kind: rigid, material: steel, rotation: midpoint, shape: {capsule: {from: [0.5, 0.1, 0.0505], to: [0.5, 0.6, 0.0505], "
    "radius: 0.05}}}\n"
    "  roll:    {kind: rigid, material: steel, shape: {cylinder: {from: [0.4, 0.3, 0.1495], to: [0.7, 0.35, 0.1495], radius: 0.05}}}\n"
    "  pair:    {kind: rigid, material: steel, shape: {union: [{box: {min: [0.7, 0.7, 0.0005], max: [0.8, 0.8, 0.1]}}, {sphere: {center: "
    "[0.85, "
    "0.75, 0.0505], radius: 0.05}}]}}\n"
    "  turner:  {kind: kinematic, shape: {box: {min: [0.7, 0.7, 0.0995], max: [0.9, 0.9, 0.2]}}, motion: {velocity: [0.3, 0.1, -0.2]}}\n"
    "contact: {friction: 0.3, stiffness: 1.0e4%s}\n";

static void open_solids(const char *extra, world *w)
{
  char            text[4096];
  step_status     status = {STEP_OK, NULL, -1};
  contact_summary summary;
  const double    down[3] = {0.1, -0.1, -0.8}, aside[3] = {0.4, 0.2, 0.2};
  snprintf(text, sizeof text, solids_job, extra);
  read_world(text, w);
  begin(w, 0.0);
  set_velocity(w, down, 0.1, 1);
  evaluate(w, w->z, w->g, false);
  assert_ok(penalty_system_end(&w->p, w->z, &status, &summary));
  assert_int_equal(status.code, STEP_OK);
  print_message("%d contacts\n", (int)summary.contacts);
  assert_true(summary.contacts > 15);
  assert_true(w->p.contact->n == 0); /* no pairs of vertices and level sets */
  begin(w, DT);
  set_velocity(w, aside, 0.2, 2);
  evaluate(w, w->z, w->g, true);
}

static void check_solids(const char *extra)
{
  world w;
  Mat   P = NULL;
  open_solids(extra, &w);
  check_derivatives(&w);
  check_adjoint(&w, 1);
  evaluate(&w, w.z, w.g, true); /* the tangent that is assembled */
  assert_ok(optim_register_all());
  assert_ok(penalty_matrix_lay_out(&w.p, &P));
  assert_ok(penalty_matrix_assemble(&w.p, P));
  check_matrix_product(&w, P, 1.0e-13);
  assert_ok(MatDestroy(&P));
  close_world(&w);
  assert_no_leak();
}

static void derivatives_equal_finite_differences(void **unused)
{
  (void)unused;
  check_solids("");
  check_solids(", restitution: 0.5");
  check_solids(", pairs: [{between: [block, turned], friction: 0.4, friction_direction: [1, 0.3, 0.2], friction_transverse: 0.1}]");
}

static double *solids_of_threads(const void *unused, int64_t *n)
{
  world w;
  (void)unused;
  open_solids("", &w);
  double *all = everything_of(&w, n);
  close_world(&w);
  return all;
}
static void bits_do_not_depend_on_threads(void **unused)
{
  (void)unused;
  check_threads(solids_of_threads, NULL);
}

/* Two boxes without support: the sum of impulses and of their moments about the origin, with the centres at the start of the step, is zero. */
static void momentum_is_conserved(void **unused)
{
  static const char text[] =
      "stickslip: 1\nname: test\ngravity: [0, 0, 0]\ntime: {end: 0.1, step: 2.0e-3}\nmaterials: {steel: {model: rigid, density: 2000}}\n"
      "bodies:\n"
      "  low:  {kind: rigid, material: steel, shape: {box: {min: [-0.1, -0.1, 0], max: [0.1, 0.1, 0.2]}}}\n"
      "  high: {kind: rigid, material: steel, shape: {box: {min: [-0.096, -0.09, 0.2001], max: [0.104, 0.11, 0.4]}, rotate_deg: 10}}\n"
      "contact: {friction: 0.3, stiffness: 1.0e5}\n";
  world        w;
  const double none[3] = {0.0, 0.0, 0.0};
  double       with[12], sum[6] = {0.0}, arm[3];
  (void)unused;
  read_world(text, &w);
  begin(&w, 0.0);
  set_velocity(&w, none, 1.0, 4);
  w.z[8] -= 5.0; /* the upper box descends */
  evaluate(&w, w.z, w.g, false);
  memcpy(with, w.g, sizeof with);
  step_status status = {STEP_OK, NULL, -1};
  assert_ok(step_layout_residual(&w.p.layout, w.g, false, &status));
  for (int b = 0; b < 2; ++b) {
    double impulse[6];
    for (int k = 0; k < 6; ++k) impulse[k] = w.g[6 * b + k] - with[6 * b + k];
    v3_cross(arm, w.p.layout.frames0[b].c, impulse);
    for (int k = 0; k < 3; ++k) sum[k] += impulse[k], sum[3 + k] += impulse[3 + k] + arm[k];
    assert_true(v3_norm(impulse) > 1.0);
  }
  assert_close(v3_norm(sum), 0.0, 1e-12);
  assert_close(v3_norm(sum + 3), 0.0, 1e-12);
  close_world(&w);
  assert_no_leak();
}

/* Move the upper of two bodies by d [3] in one step and return the contact force on it; the other body is static. */
static void drag(world *w, double t, const double d[3], double force[3], contact_summary *summary)
{
  step_status           status = {STEP_OK, NULL, -1};
  const contact_points *points;
  const contact_forces *forces;
  double                moment[3];
  begin(w, t);
  set_velocity(w, (double[3]){0.0, 0.0, 0.0}, 0.0, 1);
  for (int k = 0; k < 3; ++k) w->z[k] = d[k] / DT - w->p.layout.v0[k];
  for (int k = 3; k < 6; ++k) w->z[k] = -w->p.layout.v0[k];
  evaluate(w, w->z, w->g, false);
  assert_ok(penalty_system_end(&w->p, w->z, &status, summary));
  penalty_contact_record(w->p.contact, &points, &forces);
  contact_forces_between(forces, 1, 0, force, moment);
}

static const char box_on_box[] =
    "stickslip: 1\nname: test\ngravity: [0, 0, 0]\ntime: {end: 0.1, step: 2.0e-3}\nmaterials: {steel: {model: rigid, density: 2000}}\n"
    "bodies:\n"
    "  low:  {kind: static, shape: {box: {min: [-0.1, -0.1, 0], max: [0.1, 0.1, 0.2]}}}\n"
    "  high: {kind: rigid, material: steel, shape: {box: {min: [-0.0993, -0.1004, 0.2], max: [0.1007, 0.0996, 0.4]}}}\n"
    "contact: {friction: 0.5, stiffness: 1.0e5}\n";

/* Displaced by x while the depth is constant, n contacts of stiffness k exert n k x. Near x = 0.7 mm two corners of the upper face cross two edges of
 * the lower face, so that the clipped polygon has other corners: the force must not drop. */
static void friction_springs_survive_a_change_of_features(void **unused)
{
  world           w;
  contact_summary s;
  double          force[3], before = 0.0;
  (void)unused;
  read_world(box_on_box, &w);
  drag(&w, 0.0, (double[3]){0.0, 0.0, -1e-3}, force, &s);
  assert_close(force[2], 4e5 * 1e-3, 1e-9);
  for (int i = 1; i <= 40; ++i) { /* the cone allows an elongation of 0.5 mm */
    drag(&w, i * DT, (double[3]){-3e-5, 0.0, 0.0}, force, &s);
    assert_close(force[2], 400.0, 1e-9);
    assert_close(force[0], fmin(4e5 * 3e-5 * i, 200.0), 1e-6);
    assert_true(force[0] >= before - 1e-6);
    before = force[0];
  }
  close_world(&w);
  assert_no_leak();
}

/* A body that moves down by (gap + h) and sideways by y: only the part of y after the gap has closed loads the friction springs, in the same step. */
static void new_contact_has_friction_from_its_entry_point(void **unused)
{
  world           w;
  contact_summary s;
  double          force[3];
  (void)unused;
  read_world(box_on_box, &w);
  drag(&w, 0.0, (double[3]){0.0, 0.0, 3e-3}, force, &s); /* gap 3 mm */
  drag(&w, DT, (double[3]){2e-4, 0.0, -4e-3}, force, &s);
  assert_close(force[2], 400.0, 1e-9);
  assert_close(force[0], -4e5 * 2e-4 * 0.25, 1e-9);
  drag(&w, 2 * DT, (double[3]){1e-5, 0.0, 0.0}, force, &s);
  assert_close(force[0], -4e5 * (2e-4 * 0.25 + 1e-5), 1e-9);
  assert_close(s.contact_law_error, 0.0, 1e-12);
  close_world(&w);
  assert_no_leak();
}

/* A ball that rolls by r a without sliding has no friction; one that slides has. */
static void rolling_has_no_friction(void **unused)
{
  static const char text[] =
      "stickslip: 1\nname: test\ngravity: [0, 0, 0]\ntime: {end: 0.1, step: 2.0e-3}\nmaterials: {steel: {model: rigid, density: 2000}}\n"
      "bodies:\n"
      "  floor: {kind: static, shape: {plane: {normal: [0, 0, 1]}}}\n"
      "  ball:  {kind: rigid, material: steel, shape: {sphere: {center: [0, 0, 0.0999], radius: 0.1}}}\n"
      "contact: {friction: 0.5, stiffness: 1.0e5, initial_overlap: preload}\n";
  world                 w;
  step_status           status = {STEP_OK, NULL, -1};
  contact_summary       s;
  const contact_points *points;
  const contact_forces *forces;
  double                force[3], moment[3];
  (void)unused;
  read_world(text, &w);
  for (int i = 0; i < 20; ++i) {
    begin(&w, i * DT);
    set_velocity(&w, (double[3]){0.0, 0.0, 0.0}, 0.0, 1);
    w.z[0] = 0.1 - w.p.layout.v0[0], w.z[4] = 1.0 - w.p.layout.v0[4];
    evaluate(&w, w.z, w.g, false);
    assert_ok(penalty_system_end(&w.p, w.z, &status, &s));
    penalty_contact_record(w.p.contact, &points, &forces);
    contact_forces_between(forces, 1, 0, force, moment);
    assert_close(force[2], 1e5 * 1e-4, 1e-9);
    assert_close(hypot(force[0], force[1]), 0.0, 1e-9);
  }
  close_world(&w);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(derivatives_equal_finite_differences), cmocka_unit_test(bits_do_not_depend_on_threads),
          cmocka_unit_test(momentum_is_conserved), cmocka_unit_test(friction_springs_survive_a_change_of_features),
          cmocka_unit_test(new_contact_has_friction_from_its_entry_point), cmocka_unit_test(rolling_has_no_friction))
