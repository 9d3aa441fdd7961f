/* An articulated body from the text of a job, or its error messages. */
#ifndef SS_TESTS_ARTICULATED_FIXTURE_H
#define SS_TESTS_ARTICULATED_FIXTURE_H
#include "core/document.h"
#include "core/key_table.h"
#include "discretize/articulated/articulated_body.h"
#include "discretize/articulated/articulated_build.h"
#include "test.h"

typedef struct {
  document         *doc;
  diagnostics      *d;
  articulated_body *b; /* NULL: rejected */
} made;

static inline made make_with(const char *text, double gravity, double time_step)
{
  made           m    = {0};
  document_node *node = NULL;
  const void    *spec = NULL;
  body_world     w    = {.gravity = {0.0, 0.0, gravity}, .time_step = time_step};
  assert_ok(document_create(&m.doc));
  assert_ok(diagnostics_create(&m.d));
  assert_ok(document_read_flow(m.doc, text, (document_mark){"job.yaml", 4, 7}, &node));
  assert_ok(key_table_read(&articulated_body_table, m.doc, node, "bodies.arm", m.d, &spec));
  const body_request r = {.name = "arm", .path = "bodies.arm", .spec = spec, .node = node};
  if (diagnostics_count(m.d) == 0) assert_ok(articulated_body_create(&r, &w, m.d, &m.b));
  return m;
}

static inline void drop(made *m)
{
  if (m->b) articulated_body_destroy(m->b);
  diagnostics_destroy(&m->d);
  document_destroy(&m->doc);
}

static inline articulated_body *sound(const made *m)
{
  if (!m->b) fail_msg("rejected: %s", diagnostics_text(m->d, 0));
  return m->b;
}
#endif
