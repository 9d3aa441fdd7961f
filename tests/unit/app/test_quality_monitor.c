/* Quality monitor: residuals, overlaps, energy increase and halvings by hand; substeps of rejected steps; storage of warnings. */
#include "app/run/quality_monitor.h"
#include "core/memory.h"
#include "formulation_fixture.h"

#define JOB(more)                                                                                                                          \
  "stickslip: 1\nname: test\nformulation: penalty\ntime: {end: 1, step: 1.0e-3}\nmaterials: {wood: {model: rigid, density: 1000}}\n"       \
  "bodies:\n  floor: {kind: static, shape: {plane: {}}}\n"                                                                                 \
  "  cube: {kind: rigid, material: wood, shape: {box: {min: [0, 0, 1], max: [0.1, 0.1, 1.1]}}" more "}\n"                                  \
  "contact: {friction: 0.3, stiffness: 1.0e4}\n"

static quality_monitor *monitor;
static quality_texts    texts;
static run_quality      quality;

static void open_monitor(const char *text, world *w)
{
  open_world(text, w);
  w->fields = w->s->fields;
  assert_ok(w->f->ops->fields(w->f, w->fields));
  assert_ok(quality_monitor_create(w->s, w->f, w->fields, &monitor));
}
static void close_monitor(world *w)
{
  quality_monitor_destroy(&monitor);
  memory_free(&texts.warning);
  close_world(w);
}
static void get_result(int64_t n_steps)
{
  memory_free(&texts.warning);
  assert_ok(quality_monitor_result(monitor, n_steps, &texts, &quality));
}
/* A step with this kinetic energy, dissipation and energy of contact springs. */
static void end_step(double kinetic, double potential, double friction, double contact)
{
  step_report report                = {.residual = 1e-4};
  body_totals sum                   = {.mass = 1.0, .kinetic = kinetic, .potential = potential};
  report.contact.friction_work_done = friction;
  report.contact.contact_energy     = contact;
  quality_monitor_begin_step(monitor);
  assert_ok(quality_monitor_end_step(monitor, 1e-3, &report, &sum, 0));
}

static void test_residual_and_halvings(void **state)
{
  (void)state;
  world             w;
  const body_totals sum = {.mass = 1.0};
  open_monitor(JOB(""), &w);
  const step_report reports[] = {
      {.residual = 2e-3, .unconverged = 2, .residual_body = "cube"}, {.residual = 5e-4}, {.contact_unconverged = 1}};
  for (int i = 0; i < 3; ++i) {
    quality_monitor_begin_step(monitor);
    assert_ok(quality_monitor_end_step(monitor, 1e-3, &reports[i], &sum, i));
  }
  get_result(3);
  assert_int_equal(quality.steps, 3);
  assert_int_equal(quality.steps_above_tolerance, 2); /* steps, not substeps */
  assert_close(quality.largest_residual, 2e-3, 0.0);
  assert_string_equal(quality.largest_residual_body, "cube");
  assert_int_equal(quality.step_halvings, 0 + 1 + 2);
  assert_true(isnan(quality.relaxation_steps));
  quality_monitor_equilibrium(monitor, 12, 3e-9);
  assert_true(quality_monitor_has_equilibrium(monitor));
  get_result(3);
  assert_close(quality.relaxation_steps, 12.0, 0.0);
  assert_close(quality.remaining_velocity, 3e-9, 0.0);
  close_monitor(&w);
  assert_no_leak();
}

/* The cube of 0.1 m is the smaller body: 0.012/0.1. Overlaps of a step that is begun again do not count. */
static void test_overlap(void **state)
{
  (void)state;
  world             w;
  const body_totals sum    = {.mass = 1.0};
  step_report       report = {.penetration_body_a = 0, .penetration_body_b = 1};
  open_monitor(JOB(""), &w);
  quality_monitor_begin_step(monitor);
  report.contact.penetration = 0.05;
  quality_monitor_substep(monitor, &report); /* of an attempt that is rejected */
  quality_monitor_begin_step(monitor);
  report.contact.penetration = 0.012;
  quality_monitor_substep(monitor, &report);
  report.contact.penetration = 0.004;
  quality_monitor_substep(monitor, &report);
  assert_ok(quality_monitor_end_step(monitor, 1e-3, &report, &sum, 0));
  get_result(1);
  assert_close(quality.deepest_overlap, 0.012, 1e-15);
  assert_close(quality.overlap_ratio, 0.12, 1e-13);
  assert_string_equal(quality.overlap_ratio_bodies, "floor, cube");
  assert_int_equal(quality.bad.n, 1);
  close_monitor(&w);
  assert_no_leak();
}

/* kinetic + potential + contact + dissipated: 10, 8 (a loss), 9.5: increase 1.5 above the minimum. Exchanged: largest kinetic + contact energy 7. */
static void test_energy(void **state)
{
  (void)state;
  world w;
  open_monitor(JOB(""), &w);
  end_step(0.0, 10.0, 0.0, 0.0);
  end_step(2.0, 5.0, 1.0, 0.0);
  end_step(6.0, 1.5, 0.0, 1.0); /* + 1 dissipated before */
  get_result(3);
  assert_close(quality.energy_increase, 1.5, 1e-14);
  assert_close(quality.energy_increase_ratio, 1.5 / 8.5, 1e-14); /* potential energy: from 10 to 1.5, more than 7 */
  assert_string_equal(quality.energy_not_checked, "");
  close_monitor(&w);
  open_monitor(JOB(", force: [0, 0, 1]"), &w);
  end_step(0.0, 10.0, 0.0, 0.0);
  end_step(9.0, 10.0, 0.0, 0.0);
  get_result(2);
  assert_string_equal(quality.energy_not_checked, "bodies.cube.force");
  assert_true(isnan(quality.energy_increase));
  close_monitor(&w);
  assert_no_leak();
}

/* Warnings of a run before a restore return with their code and text; those found again are not doubled. */
static void test_warnings(void **state)
{
  (void)state;
  world           w, again;
  field_snapshot *s;
  char            text[200];
  open_monitor(JOB(""), &w);
  const int n = warning_list_count(w.s->warnings);
  warning_list_add(w.s->warnings, "deep-overlap", "floor, cube", "overlap by %g m", 0.01);
  warning_list_add(w.s->warnings, "soft-contact", "floor, cube", "too soft");
  end_step(0.0, 0.0, 0.0, 0.0);
  snprintf(text, sizeof text, "%s", warning_list_text(w.s->warnings, n));
  assert_ok(field_snapshot_create(&s));
  assert_ok(field_snapshot_take(s, w.fields));
  close_monitor(&w);
  open_monitor(JOB(""), &again);
  warning_list_add(again.s->warnings, "soft-contact", "floor, cube", "too soft");
  assert_ok(field_snapshot_restore(s, again.fields));
  get_result(1);
  assert_int_equal(quality.warnings, n + 2);
  bool is_found = false;
  for (int i = 0; i < quality.warning_texts.n; ++i) is_found = is_found || strcmp(quality.warning_texts.item[i].value, text) == 0;
  if (!is_found) fail_msg("lost: %s", text);
  field_snapshot_destroy(&s);
  close_monitor(&again);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_residual_and_halvings), cmocka_unit_test(test_overlap), cmocka_unit_test(test_energy),
          cmocka_unit_test(test_warnings))
