/* All errors of a job in one call: errors of keys do not hide those of scene, pairs and measures; a sound job has none. */
#include "app/run/run_errors.h"
#include "document_fixture.h"
#include "io/yaml.h"
#include <string.h>

#define HEAD                                                                                                                               \
  "stickslip: 1\nname: test\nformulation: penalty\ntime: {end: 1, step: 1.0e-3}\nmaterials: {wood: {model: rigid, density: 1000}}\n"
#define BODIES                                                                                                                             \
  "bodies:\n  floor: {kind: static, shape: {plane: {}}}\n"                                                                                 \
  "  ball: {kind: rigid, material: wood, shape: {sphere: {center: [0, 0, 1], radius: 0.1}}}\n"

static void find(const char *text, int n_expected, const char *const *expected)
{
  begin();
  assert_ok(yaml_read_text("job.yaml", text, strlen(text), doc, d));
  assert_ok(run_find_errors(PETSC_COMM_SELF, document_root(doc), d));
  for (int k = 0; k < n_expected; ++k) {
    bool is_found = false;
    for (int i = 0; i < diagnostics_count(d); ++i) is_found = is_found || strstr(diagnostics_text(d, i), expected[k]);
    if (!is_found) fail_msg("missing: %s", expected[k]);
  }
  if (diagnostics_count(d) != n_expected)
    fail_msg("%d errors instead of %d; the last: %s", diagnostics_count(d), n_expected, diagnostics_text(d, diagnostics_count(d) - 1));
  end();
}

static void test_sound_job(void **state)
{
  (void)state;
  find(HEAD BODIES "contact: {friction: 0.3, stiffness: 1.0e4}\n", 0, NULL);
}

/* An unknown key, a wrong body, a wrong material of another body, a wrong name in a measure: each stage would stop without the others. */
static void test_all_stages(void **state)
{
  (void)state;
  static const char *const expected[] = {"time.stepp: unknown key", "contact.friction: -1 is out of range", "no material is called \"wod\"",
                                         "no body is called \"bll\""};
  find("stickslip: 1\nname: test\nformulation: penalty\ntime: {end: 1, step: 1.0e-3, stepp: 1}\nmaterials: {wood: {model: rigid, density: "
       "1000}}\n" BODIES "  cube: {kind: rigid, material: wod, shape: {box: {min: [3, 3, 3], max: [4, 4, 4]}}}\n"
       "contact: {friction: -1, stiffness: 1.0e4}\nmeasure: {z: {quantity: position, body: bll, direction: [0, 0, 1]}}\n",
       4, expected);
}

/* Names of a removed body are no errors of their own. */
static void test_references_to_removed_bodies(void **state)
{
  (void)state;
  static const char *const expected[] = {"bodies.cube.kind"};
  find(HEAD BODIES "  cube: {kind: rigd, material: wood, shape: {box: {min: [3, 3, 3], max: [4, 4, 4]}}}\n"
                   "contact: {friction: 0.3, stiffness: 1.0e4, pairs: [{between: [cube, ball], friction: 0.1}]}\n"
                   "measure: {z: {quantity: position, body: cube, direction: [0, 0, 1]}}\n",
       1, expected);
}

/* Missing values are replaced for the search, so that later errors are found. */
static void test_missing_values(void **state)
{
  (void)state;
  static const char *const expected[] = {"missing required key \"step\"", "no body is called \"bll\""};
  find("stickslip: 1\nname: test\nformulation: penalty\ntime: {end: 1}\nmaterials: {wood: {model: rigid, density: 1000}}\n" BODIES
       "contact: {friction: 0.3, stiffness: 1.0e4}\nmeasure: {z: {quantity: position, body: bll, direction: [0, 0, 1]}}\n",
       2, expected);
}

/* A condition of `until` is no error of its own if its measure was removed, because of an error in it or in its body. */
static void test_condition_of_removed_measures(void **state)
{
  (void)state;
  static const char *const in_measure[] = {"measure.z.quantity"}, *const in_body[] = {"bodies.cube.kind"};
  find(HEAD BODIES "contact: {friction: 0.3, stiffness: 1.0e4}\nmeasure: {z: {quantity: positon, body: ball, direction: [0, 0, 1]}}\n"
                   "until: {when: \"z < 0.1\"}\n",
       1, in_measure);
  find(HEAD BODIES "  cube: {kind: rigd, material: wood, shape: {box: {min: [3, 3, 3], max: [4, 4, 4]}}}\n"
                   "contact: {friction: 0.3, stiffness: 1.0e4}\nmeasure: {z: {quantity: position, body: cube, direction: [0, 0, 1]}}\n"
                   "until: {when: \"z < 0.1\"}\n",
       1, in_body);
}

/* Only the entry with the error is removed: the other one has an error of a later stage. Entries of one line differ in their columns. */
static void test_entries_beside_removed_ones(void **state)
{
  (void)state;
  static const char *const        bodies[] = {"bodies.cube.kind", "no material is called \"wod\""},
                           *const pairs[]  = {"contact.pairs[0].friction: -1 is out of range", "in use is called \"bal\""};
  find(HEAD "bodies: {ball: {kind: rigid, material: wod, shape: {sphere: {center: [0, 0, 1], radius: 0.1}}}, "
            "cube: {kind: rigd, material: wood, shape: {box: {min: [3, 3, 3], max: [4, 4, 4]}}}}\n"
            "contact: {friction: 0.3, stiffness: 1.0e4}\n",
       2, bodies);
  find(HEAD BODIES "contact: {friction: 0.3, stiffness: 1.0e4, pairs: [{between: [floor, ball], friction: -1}, {between: [floor, bal]}]}\n",
       2, pairs);
}

/* The bodies of a removed material are removed, and with them their pairs. */
static void test_removed_material(void **state)
{
  (void)state;
  static const char *const expected[] = {"materials.lead.density"};
  find("stickslip: 1\nname: test\nformulation: penalty\ntime: {end: 1, step: 1.0e-3}\n"
       "materials: {wood: {model: rigid, density: 1000}, lead: {model: rigid, density: -1}}\n" BODIES
       "  cube: {kind: rigid, material: lead, shape: {box: {min: [3, 3, 3], max: [4, 4, 4]}}}\n"
       "contact: {friction: 0.3, stiffness: 1.0e4, pairs: [{between: [lead, ball], friction: 0.1}]}\n",
       1, expected);
}

TEST_MAIN(cmocka_unit_test(test_sound_job), cmocka_unit_test(test_all_stages), cmocka_unit_test(test_references_to_removed_bodies),
          cmocka_unit_test(test_missing_values), cmocka_unit_test(test_condition_of_removed_measures),
          cmocka_unit_test(test_entries_beside_removed_ones), cmocka_unit_test(test_removed_material))
