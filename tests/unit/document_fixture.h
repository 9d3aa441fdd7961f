/* A document and its errors, for tests that read text. */
#ifndef SS_TESTS_DOCUMENT_FIXTURE_H
#define SS_TESTS_DOCUMENT_FIXTURE_H
#include "core/diagnostics.h"
#include "core/document.h"
#include "test.h"

static document    *doc;
static diagnostics *d;

static inline void begin(void)
{
  assert_ok(document_create(&doc));
  assert_ok(diagnostics_create(&d));
}
static inline void end(void)
{
  document_destroy(&doc);
  diagnostics_destroy(&d);
  assert_no_leak();
}
#endif
