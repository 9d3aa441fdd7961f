/* Combinations of solver.penalty with the scene that are not supported. */
#include "test.h"
#include <string.h>
#include "app/job/job.h"
#include "core/warning_list.h"
#include "sim/scene/scene.h"

static void test_unsupported_combinations(void **state)
{
  static const struct {
    const char *more, *wanted;
  } cases[] = {
      {"contact: {friction: 0.3, stiffness: 1.0e4, restitution: 0.5}\nsolver: {penalty: {edges: true, expert: {rigid_detector: "
       "vertices}}}\n",
       "job:9:27: solver.penalty.edges: not supported together with contact.restitution"},
      {"contact: {friction: 0.3, stiffness: 1.0e4, restitution: 0.5}\nsolver: {penalty: {expert: {scheme: lagged_friction}}}\n",
       "job:9:37: solver.penalty.expert.scheme: contact.restitution needs scheme: implicit"},
      {"contact: {friction: 0.3, stiffness: 1.0e4, pairs: [{between: [a, b], friction_direction: [1, 0, 0], friction_transverse: 0.1}]}\n"
       "solver: {penalty: {edges: true, expert: {rigid_detector: vertices}}}\n",
       "job:9:27: solver.penalty.edges: \"a\" and \"b\": contact between edges does not support friction_direction"},
      {"contact: {friction: 0.3, stiffness: 1.0e4, pairs: [{between: [a, b], contact: false}]}\nsolver: {penalty: {edges: true, expert: "
       "{rigid_detector: vertices}}}\n",
       "job:9:27: solver.penalty.edges: no two triangle surfaces may touch here"},
      {"contact: {friction: 0.3, stiffness: 1.0e4}\nsolver: {penalty: {edges: true}}\n", /* convex solids */
       "job:9:27: solver.penalty.edges: no two triangle surfaces may touch here"},
  };
  (void)state;
  for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
    char         text[2000];
    diagnostics *d;
    job         *j;
    scene       *s = NULL;
    snprintf(text, sizeof text,
             "stickslip: 1\nname: boxes\ntime: {end: 1, step: 1.0e-3}\nmaterials: {wood: {model: rigid, density: 700}}\nbodies:\n"
             "  a: {kind: rigid, material: wood, contact_surface: mesh, shape: {box: {min: [0, 0, 0], max: [1, 1, 1]}}}\n"
             "  b: {kind: rigid, material: wood, contact_surface: mesh, shape: {box: {min: [0, 0, 2], max: [1, 1, 3]}}}\n%s",
             cases[k].more);
    assert_ok(diagnostics_create(&d));
    assert_ok(job_read_text("job", text, 0, NULL, d, &j));
    if (j) assert_ok(scene_create(PETSC_COMM_SELF, &j->scene, d, &s));
    assert_null(s);
    assert_int_equal(diagnostics_count(d), 1);
    if (!strstr(diagnostics_text(d, 0), cases[k].wanted)) fail_msg("wanted %s, got %s", cases[k].wanted, diagnostics_text(d, 0));
    job_destroy(&j);
    diagnostics_destroy(&d);
  }
  assert_no_leak();
}

/* A box on a torus, which is not a union of convex solids, with contact at the vertices only: the scene has a warning; with many vertices, or with the
 * contacts of the edges of the torus (default), it has none. */
static void test_few_vertices(void **state)
{
  (void)state;
  for (int k = 0; k < 3; ++k) {
    char         text[2000];
    diagnostics *d;
    job         *j;
    scene       *s = NULL;
    snprintf(text, sizeof text,
             "stickslip: 1\nname: boxes\ntime: {end: 1, step: 1.0e-3}\nmaterials: {wood: {model: rigid, density: 700}}\nbodies:\n"
             "  ring: {kind: static, shape: {torus: {center: [0, 0, 0], major_radius: 0.3, minor_radius: 0.1}}}\n"
             "  box: {kind: rigid, material: wood, %sshape: {box: {min: [-0.5, -0.5, 0.1], max: [0.5, 0.5, 0.3]}}}\n"
             "contact: {friction: 0.3, stiffness: 1.0e4}\n%s",
             k == 1 ? "surface_spacing: 0.05, " : "", k < 2 ? "solver: {penalty: {expert: {rigid_detector: vertices}}}\n" : "");
    assert_ok(diagnostics_create(&d));
    assert_ok(job_read_text("job", text, 0, NULL, d, &j));
    if (j) assert_ok(scene_create(PETSC_COMM_SELF, &j->scene, d, &s));
    if (diagnostics_count(d)) fail_msg("%s", diagnostics_text(d, 0));
    assert_int_equal(warning_list_count(s->warnings), k == 0);
    if (k == 0) assert_string_equal(warning_list_code(s->warnings, 0), "few-vertices");
    scene_destroy(&s);
    job_destroy(&j);
    diagnostics_destroy(&d);
  }
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_unsupported_combinations), cmocka_unit_test(test_few_vertices))
