/* Entry of a trajectory into a moving triangle: position, independence of the start of the search, derivatives, and grazing trajectories. */
#include "contact/penalty/penalty_mesh_entry.h"
#include "core/math3.h"
#include "test.h"

/* The point crosses z = 0 from above at half of the step; the corners move as well. */
static const entry_path oblique = {
    .from = {{0.2, 0.3, 0.1}, {0.0, 0.0, 0.0}, {1.0, 0.0, 0.0}, {0.0, 1.0, 0.0}},
    .to   = {{0.4, 0.2, -0.1}, {0.02, 0.01, 0.03}, {1.05, -0.02, 0.01}, {0.01, 0.97, -0.02}},
};

static void weights(const entry_path *p, double time, double w[3], double X_d[3][12])
{
  mesh_attachment X = {0, {0.4, 0.3, 0.3}};
  mesh_entry_find(p, time, &X, X_d);
  v3_copy(w, X.weight);
}

static void test_position(void **state)
{
  (void)state;
  entry_path still = oblique;
  double     w[3], other[3], X_d[3][12];
  for (int k = 1; k < 4; ++k) v3_copy(still.to[k], still.from[k]);
  weights(&still, 0.5, w, X_d);
  assert_close(w[1], 0.3, 1e-14);
  assert_close(w[2], 0.25, 1e-14);
  assert_close(w[0], 0.45, 1e-14);
  weights(&oblique, 0.5, w, X_d);
  weights(&oblique, 0.5001, other, X_d); /* the error of the time of collision has no effect */
  for (int k = 0; k < 3; ++k) assert_close(w[k], other[k], 1e-12);
  assert_no_leak();
}

static void test_derivatives(void **state)
{
  (void)state;
  const double e = 1e-6;
  for (int is_rigid = 0; is_rigid < 2; ++is_rigid) {
    entry_path p = oblique;
    double     w[3], X_d[3][12], low[3], high[3], none[3][12];
    p.is_rigid = is_rigid;
    for (int k = 1; k < 4 && is_rigid; ++k) v3_copy(p.to[k], p.from[k]);
    weights(&p, 0.5, w, X_d);
    for (int j = 0; j < (is_rigid ? 3 : 12); ++j) {
      entry_path q = p;
      q.to[j / 3][j % 3] += e;
      weights(&q, 0.5, high, none);
      q.to[j / 3][j % 3] -= 2.0 * e;
      weights(&q, 0.5, low, none);
      for (int i = 0; i < 3; ++i) assert_close(X_d[i][j], (high[i] - low[i]) / (2.0 * e), 1e-8);
    }
    for (int j = 3; j < 12 && is_rigid; ++j)
      for (int i = 0; i < 3; ++i) assert_close(X_d[i][j], 0.0, 0.0);
  }
  assert_no_leak();
}

/* A trajectory in the plane of the triangle keeps the given attachment, without derivative. */
static void test_grazing(void **state)
{
  (void)state;
  entry_path p = oblique;
  double     w[3], X_d[3][12];
  for (int k = 1; k < 4; ++k) v3_copy(p.to[k], p.from[k]);
  p.from[0][2] = p.to[0][2] = 0.0;
  weights(&p, 0.5, w, X_d);
  assert_close(w[0], 0.4, 0.0);
  assert_close(w[1], 0.3, 0.0);
  for (int i = 0; i < 36; ++i) assert_close(X_d[i / 12][i % 12], 0.0, 0.0);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_position), cmocka_unit_test(test_derivatives), cmocka_unit_test(test_grazing))
