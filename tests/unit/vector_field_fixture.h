/* Vector fields from three texts, for tests. Include test.h first. */
#ifndef SS_TESTS_VECTOR_FIELD_FIXTURE_H
#define SS_TESTS_VECTOR_FIELD_FIXTURE_H
#include "discretize/body/vector_field.h"

static const document_node nowhere;

static inline vector_field *field_of(const char *a, const char *b, const char *c)
{
  key_item       items[3] = {{.value = a}, {.value = b}, {.value = c}};
  const key_list texts    = {3, items};
  diagnostics   *d;
  vector_field  *f;
  assert_ok(diagnostics_create(&d));
  assert_ok(vector_field_create(&texts, &nowhere, "field", d, &f));
  assert_int_equal(diagnostics_count(d), 0);
  diagnostics_destroy(&d);
  return f;
}
#endif
