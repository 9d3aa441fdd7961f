/* Rigid bodies from the text of a job, and a Newton solver for one of them alone. */
#ifndef SS_TESTS_RIGID_FIXTURE_H
#define SS_TESTS_RIGID_FIXTURE_H
#include "core/math3.h"
#include "core/quaternion.h"
#include "discretize/rigid/rigid_body.h"
#include "test.h"

/* The body described by `text`, flow-style YAML; NULL and diagnostics in d if it is rejected. d may be NULL: then it must be
 * accepted. */
static inline rigid_body *rigid_from_text(rigid_kind kind, const char *text, double density, document *doc, diagnostics *d)
{
  const key_table *table[] = {&rigid_body_table, &kinematic_body_table, &static_body_table};
  document_node   *node    = NULL;
  const void      *spec    = NULL;
  rigid_body      *b       = NULL;
  diagnostics     *own     = NULL;
  if (!d) assert_ok(diagnostics_create(&own));
  assert_ok(document_read_flow(doc, text, (document_mark){"job.yaml", 3, 1}, &node));
  assert_ok(key_table_read(table[kind], doc, node, "bodies.b", d ? d : own, &spec));
  if (diagnostics_count(d ? d : own) == 0) assert_ok(rigid_body_create("b", kind, spec, density, node, "bodies.b", d ? d : own, &b));
  if (own && diagnostics_count(own)) fail_msg("rejected: %s", diagnostics_text(own, 0));
  diagnostics_destroy(&own);
  return b;
}

/* H x = r for 6 unknowns, by elimination with row pivoting. */
static inline void rigid_solve6(double H[6][6], double r[6])
{
  for (int c = 0; c < 6; ++c) {
    int p = c;
    for (int i = c + 1; i < 6; ++i)
      if (fabs(H[i][c]) > fabs(H[p][c])) p = i;
    for (int j = 0; j < 6; ++j) {
      const double swap = H[c][j];
      H[c][j] = H[p][j], H[p][j] = swap;
    }
    const double swap = r[c];
    r[c] = r[p], r[p] = swap;
    for (int i = c + 1; i < 6; ++i) {
      const double f = H[i][c] / H[c][c];
      for (int j = c; j < 6; ++j) H[i][j] -= f * H[c][j];
      r[i] -= f * r[c];
    }
  }
  for (int c = 5; c >= 0; --c) {
    for (int j = c + 1; j < 6; ++j) r[c] -= H[c][j] * r[j];
    r[c] /= H[c][c];
  }
}

/* One time step, Newton to round-off; returns the number of iterations. */
static inline int rigid_advance(rigid_body *b, double t, double dt)
{
  const body_ops *ops    = b->base.ops;
  step_status     status = {0};
  int64_t         n      = 0;
  double          v[6], last = INFINITY;
  int             it;
  assert_ok(ops->begin_step(&b->base, t, dt, &n, &status));
  assert_int_equal(n, 2);
  assert_ok(ops->velocity(&b->base, v));
  for (it = 0; it < 30; ++it) {
    double g[6] = {0}, H[6][6], size = 0.0;
    assert_ok(ops->residual(&b->base, v, g, true, &status));
    for (int i = 0; i < 6; ++i) size += g[i] * g[i];
    if (size == 0.0 || (it > 3 && size >= last)) break;
    last = size;
    for (int j = 0; j < 6; ++j) {
      double x[6] = {0}, y[6] = {0};
      x[j] = 1.0;
      assert_ok(ops->tangent(&b->base, x, y, false));
      for (int i = 0; i < 6; ++i) H[i][j] = y[i];
    }
    rigid_solve6(H, g);
    for (int i = 0; i < 6; ++i) v[i] -= g[i];
  }
  assert_ok(ops->end_step(&b->base, v, &status));
  assert_int_equal(status.code, STEP_OK);
  return it;
}
#endif
