/* The registry of bodies: every row is whole and agrees with its key table, so that the scene may iterate without looking. */
#include "test.h"
#include <string.h>
#include "discretize/body_kinds.h"

static void rows_agree_with_tables(void **state)
{
  (void)state;
  int n = 0;
  for (; body_kinds[n]; ++n) {
    const body_kind   *kind    = body_kinds[n];
    const key_variant *variant = &body_table.variants[n];
    assert_string_equal(kind->name, variant->name);
    assert_ptr_equal(kind->keys, variant->table);
    /* Every spec begins with body_spec. */
    const key_spec *key = kind->keys->keys;
    while (key->name && strcmp(key->name, "material")) ++key;
    assert_non_null(key->name);
    assert_int_equal(key->type, KEY_STRING);
    assert_int_equal(key->offset, offsetof(body_spec, material));
    assert_int_equal(kind->material == BODY_MATERIAL_OPTIONAL, key->fallback != NULL);
  }
  assert_null(body_table.variants[n].name);
  assert_no_leak();
}

/* What the scene and the formulations call without asking first. */
static void functions_come_together(void **state)
{
  (void)state;
  for (const body_kind *const *kind = body_kinds; *kind; ++kind) {
    const body_ops *ops = (*kind)->ops;
    assert_non_null((*kind)->create);
    assert_non_null(ops->totals);
    if (ops->residual) { /* carries its own unknowns */
      assert_true(ops->begin_step && ops->velocity && ops->mass && ops->tangent && ops->block_diagonal && ops->end_step);
      /* the state of rigid bodies is in their table (rigid_table.h) */
      assert_true((ops->fields || ops->points == POINT_RIGID) && ops->length && !ops->couplings == !ops->assemble);
    } else {
      assert_true(!ops->carrier || (*kind)->release); /* a carrier needs an owner */
    }
    if (ops->points != POINT_NONE) assert_true(ops->n_clusters && ops->cluster && ops->point && (ops->residual || ops->carrier));
    if (ops->points == POINT_WEIGHTED) assert_non_null(ops->point_row);
    if (ops->points == POINT_RIGID || ops->level_sets) assert_non_null(ops->frame);
    assert_true(ops->destroy || (*kind)->release);
  }
  assert_no_leak();
}

static void keys_are_sound(void **state)
{
  (void)state;
  diagnostics *d;
  assert_ok(diagnostics_create(&d));
  assert_ok(key_table_validate(&body_table, d));
  for (int i = 0; i < diagnostics_count(d); ++i) print_error("%s\n", diagnostics_text(d, i));
  assert_int_equal(diagnostics_count(d), 0);
  diagnostics_destroy(&d);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(rows_agree_with_tables), cmocka_unit_test(functions_come_together), cmocka_unit_test(keys_are_sound))
