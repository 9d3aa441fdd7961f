/* What tests of bodies of nodes share: random states, and their forces and tangents against finite differences. */
#ifndef SS_TESTS_NODAL_FIXTURE_H
#define SS_TESTS_NODAL_FIXTURE_H
#include "test.h"
#include "core/math3.h"
#include "discretize/nodal/nodal_body.h"
#include <string.h>

static uint64_t state;
static double   uniform(double lo, double hi) /* splitmix64 */
{
  uint64_t x = (state += 0x9e3779b97f4a7c15ull);
  x          = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x          = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return lo + (hi - lo) * (double)((x ^ (x >> 31)) >> 11) * 0x1p-53;
}

/* mass [n_nodes] += a quarter of each tetrahedron's mass to each of its corners. */
static inline void lump_tetrahedra(int64_t n, const int32_t *node, const double *x, double density, double *mass)
{
  for (int64_t e = 0; e < n; ++e) {
    const double *c[4];
    double        edge[9];
    for (int a = 0; a < 4; ++a) c[a] = x + 3 * (int64_t)node[4 * e + a];
    for (int a = 0; a < 3; ++a)
      for (int k = 0; k < 3; ++k) edge[3 * k + a] = c[a + 1][k] - c[0][k];
    for (int a = 0; a < 4; ++a) mass[node[4 * e + a]] += 0.25 * density * fabs(m3_det(edge) / 6.0);
  }
}

static inline void random_state(nodal_body *b, double stretch, double speed)
{
  for (int64_t i = 0; i < 3 * b->n_nodes; ++i) {
    b->x[i] = b->rest[i] + stretch * uniform(-1.0, 1.0);
    b->v[i] = speed * uniform(-1.0, 1.0);
  }
}

static inline void residual(nodal_body *b, const double *v, double *g, bool with_tangent)
{
  step_status status = {STEP_OK, NULL, -1};
  memset(g, 0, (size_t)(3 * b->n_nodes) * sizeof *g);
  assert_ok(b->base.ops->residual(&b->base, v, g, with_tangent, &status));
  assert_int_equal(status.code, STEP_OK);
}

/* At a body whose x and v are set: H x and H^T x against central differences of g, the matrix and its diagonal against the product. */
static inline void check_derivatives(nodal_body *b)
{
  int64_t     n_blocks;
  step_status status = {STEP_OK, NULL, -1};
  assert_ok(b->base.ops->begin_step(&b->base, 0.0, 0.01, &n_blocks, &status));
  const int n = 3 * (int)n_blocks;
  double   *v = malloc(sizeof *v * (size_t)n), *w = malloc(sizeof *v * (size_t)n), *y = calloc((size_t)n, sizeof *v),
         *d  = malloc(sizeof *v * (size_t)n);
  double *g0 = malloc(sizeof *v * (size_t)n), *g1 = malloc(sizeof *v * (size_t)n), *yt = calloc((size_t)n, sizeof *v), scale = 0.0,
         left = 0.0, right = 0.0;
  for (int i = 0; i < n; ++i) v[i] = b->v[i] + 0.1 * uniform(-1.0, 1.0), d[i] = uniform(-1.0, 1.0);
  residual(b, v, g0, true);
  assert_ok(b->base.ops->tangent(&b->base, d, y, false));
  const double h = 1e-6;
  for (int i = 0; i < n; ++i) w[i] = v[i] - h * d[i];
  residual(b, w, g0, false);
  for (int i = 0; i < n; ++i) w[i] = v[i] + h * d[i];
  residual(b, w, g1, false);
  for (int i = 0; i < n; ++i) scale = fmax(scale, fabs(y[i]));
  for (int i = 0; i < n; ++i) assert_close((g1[i] - g0[i]) / (2.0 * h), y[i], 2e-8 * scale);
  for (int i = 0; i < n; ++i) w[i] = uniform(-1.0, 1.0);
  assert_ok(b->base.ops->tangent(&b->base, w, yt, true)); /* w.(H d) = (H^T w).d */
  for (int i = 0; i < n; ++i) left += w[i] * y[i], right += yt[i] * d[i];
  assert_close(left, right, 1e-12 * n * scale);
  double *diagonal = calloc((size_t)(3 * n), sizeof *diagonal);
  assert_ok(b->base.ops->block_diagonal(&b->base, diagonal));
  for (int i = 0; i < n; i += 7) {
    memset(w, 0, sizeof *w * (size_t)n);
    memset(g1, 0, sizeof *w * (size_t)n);
    w[i] = 1.0;
    assert_ok(b->base.ops->tangent(&b->base, w, g1, false));
    for (int k = 0; k < 3; ++k) assert_close(diagonal[9 * (i / 3) + 3 * k + i % 3], g1[3 * (i / 3) + k], 1e-14 * scale);
  }
  free(diagonal), free(v), free(w), free(y), free(d), free(g0), free(g1), free(yt);
}

/* Forces balance, and are minus the gradient of the energy. x may be set, v = 0, and a step of dt = 1 has begun: then g = -f. */
static inline void check_balance(nodal_body *b)
{
  const int n    = 3 * (int)b->n_nodes;
  double   *zero = calloc((size_t)n, sizeof *zero), *g = malloc(sizeof *g * (size_t)n), *d = malloc(sizeof *g * (size_t)n);
  residual(b, zero, g, false);
  double work = 0.0, sum[3] = {0.0}, moment[3] = {0.0}, scale = 0.0;
  for (int i = 0; i < n; ++i) d[i] = uniform(-1.0, 1.0), work += g[i] * d[i], scale = fmax(scale, fabs(g[i]));
  for (int i = 0; i < n; i += 3) {
    double arm[3];
    v3_axpy(sum, 1.0, g + i);
    v3_cross(arm, b->x + i, g + i);
    v3_axpy(moment, 1.0, arm);
  }
  for (int k = 0; k < 3; ++k) {
    assert_close(sum[k], 0.0, 1e-13 * scale);
    assert_close(moment[k], 0.0, 1e-13 * scale);
  }
  body_totals  plus, minus;
  const double h = 1e-6, none[3] = {0.0};
  for (int i = 0; i < n; ++i) b->x[i] += h * d[i];
  assert_ok(b->base.ops->totals(&b->base, none, &plus));
  for (int i = 0; i < n; ++i) b->x[i] -= 2.0 * h * d[i];
  assert_ok(b->base.ops->totals(&b->base, none, &minus));
  assert_close((plus.elastic - minus.elastic) / (2.0 * h), work, 1e-6 * fabs(work));
  for (int i = 0; i < n; ++i) b->x[i] += h * d[i];
  free(zero), free(g), free(d);
}
#endif
