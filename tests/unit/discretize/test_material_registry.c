/* The registry of materials: table of laws and key tables, and creation from the parameters of a job. */
#include "material_fixture.h"
#include "core/document.h"
#include "core/diagnostics.h"

static void registry_matches_keys(void **state)
{
  (void)state;
  int n = 0;
  for (; material_laws[n]; ++n) {
    assert_string_equal(material_laws[n]->name, material_table.variants[n].name);
    assert_ptr_equal(material_laws[n]->keys, material_table.variants[n].table);
    assert_true(material_laws[n]->n_state <= MATERIAL_MAX_STATE);
  }
  for (int i = 0; i <= n + 2; ++i) /* every struct starts with the density */
    assert_true(strcmp(material_table.variants[i].table->keys[0].name, "density") == 0 &&
                material_table.variants[i].table->keys[0].offset == 0);
  assert_string_equal(material_table.variants[n].name, "rigid");
  assert_string_equal(material_table.variants[n + 1].name, "granular");
  assert_string_equal(material_table.variants[n + 2].name, "liquid");
  assert_null(material_table.variants[n + 3].name);
  material *rigid;
  assert_ok(material_create("steel", NULL, NULL, 7800, &rigid));
  assert_true(rigid->density == 7800 && !rigid->law);
  material_destroy(&rigid), material_destroy(&rigid);
  assert_null(rigid);
}

/* The material of an entry of materials:, read as in a job. */
static material *read(const char *text, document **doc)
{
  document_node *node = NULL;
  const void    *parameters;
  diagnostics   *d;
  material      *m = NULL;
  assert_ok(document_create(doc));
  assert_ok(diagnostics_create(&d));
  assert_ok(document_read_flow(*doc, text, (document_mark){"job.yaml", 1, 1}, &node));
  assert_ok(key_table_read(&material_table, *doc, node, "materials.m", d, &parameters));
  if (diagnostics_count(d)) fail_msg("%s", diagnostics_text(d, 0));
  assert_ok(material_from_variant("m", key_table_variant(&material_table, node), parameters, &m));
  diagnostics_destroy(&d);
  return m;
}

/* Each variant gives its law, its density and, for materials that flow, their constants. */
static void variants_give_their_materials(void **state)
{
  (void)state;
  static const struct {
    const char *text, *law;
    bool        flows, is_liquid;
  } cases[] = {
      {"{model: rigid, density: 7}", NULL, false, false},
      {"{model: granular, density: 7, friction_angle_deg: 30}", NULL, true, false},
      {"{model: liquid, density: 7}", NULL, true, true},
      {"{model: tait_liquid, density: 7, kappa: 2}", "tait_liquid", false, false},
      {"{model: linear_corotated, density: 7, youngs_modulus: 1, poisson_ratio: 0.2}", "linear_corotated", false, false},
      {"{model: linear_corotated, density: 7, youngs_modulus: 1, poisson_ratio: 0.2, rotation: lagged}", "linear_corotated", false, false},
      {"{model: von_mises, density: 7, youngs_modulus: 1, poisson_ratio: 0.2, yield_stress: 1}", "von_mises", false, false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    document *doc;
    material *m = read(cases[i].text, &doc);
    assert_close(m->density, 7.0, 0.0);
    assert_string_equal(m->name, "m");
    assert_int_equal(!m->law, !cases[i].law);
    if (m->law) assert_string_equal(m->law->name, cases[i].law);
    if (m->law) assert_int_equal(m->law->step && m->law->step->has_rotation, i >= 5); /* about the rotation at the start */
    assert_int_equal(m->flow != NULL, cases[i].flows);
    if (m->flow) assert_int_equal(m->flow->is_liquid, cases[i].is_liquid);
    material_destroy(&m);
    document_destroy(&doc);
  }
}

/* Parameters that exclude each other: the material that was begun is freed. */
static void errors_free_the_material(void **state)
{
  (void)state;
  const struct {
    double density, elastic[2], yield[2];
  } both              = {7.0, {1.0, 0.2}, {1.0, 1.0}};
  int       von_mises = 0;
  material *m;
  while (strcmp(material_laws[von_mises]->name, "von_mises")) ++von_mises;
  assert_int_equal(material_from_variant("m", von_mises, &both, &m), PETSC_ERR_USER_INPUT);
  assert_null(m);
  error_clear();
}

TEST_MAIN(cmocka_unit_test(registry_matches_keys), cmocka_unit_test(variants_give_their_materials),
          cmocka_unit_test(errors_free_the_material))
