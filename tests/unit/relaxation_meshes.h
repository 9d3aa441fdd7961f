/* Meshes of every sort that attachments slide on, and random attachments, for the tests of relaxation on them. */
#ifndef SS_TESTS_RELAXATION_MESHES_H
#define SS_TESTS_RELAXATION_MESHES_H
#include "contact/penalty/penalty_mesh_relaxation.h"
#include "core/math3.h"
#include "geometry/triangle_mesh/triangle_mesh_primitives.h"
#include "test.h"

static uint64_t      state = 1;
static inline double uniform(double lo, double hi) /* splitmix64 */
{
  uint64_t x = (state += 0x9e3779b97f4a7c15ull);
  x          = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x          = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return lo + (hi - lo) * (double)((x ^ (x >> 31)) >> 11) * 0x1p-53;
}

/* A ball whose vertices are shaken: convex and concave edges and corners. */
static inline void bumpy_ball(double spacing, double noise, triangle_mesh **m, triangle_topology **t)
{
  const double center[3] = {0.1, -0.2, 0.3};
  assert_ok(triangle_mesh_sphere(center, 1.0, spacing, m));
  for (int64_t i = 0; i < 3 * (*m)->n_vertices; ++i) (*m)->x[i] += noise * uniform(-1.0, 1.0);
  assert_ok(triangle_topology_create((*m)->n_vertices, (*m)->n_triangles, (*m)->tri, t));
}
/* A sheet with a border, of unit length and some width. */
static inline void bumpy_strip(int n, double width, double noise, triangle_mesh **m, triangle_topology **t)
{
  assert_ok(triangle_mesh_create((n + 1) * (n + 1), 2 * n * n, m));
  for (int j = 0; j <= n; ++j)
    for (int i = 0; i <= n; ++i) v3_set((*m)->x + 3 * (j * (n + 1) + i), (double)i / n, width * (double)j / n, noise * uniform(-1.0, 1.0));
  for (int j = 0, k = 0; j < n; ++j)
    for (int i = 0; i < n; ++i) {
      const int32_t a = j * (n + 1) + i, b = a + 1, c = a + n + 1, d = c + 1;
      const int32_t quad[6] = {a, b, d, a, d, c};
      for (int l = 0; l < 6; ++l) (*m)->tri[k++] = quad[l];
    }
  assert_ok(triangle_topology_create((*m)->n_vertices, (*m)->n_triangles, (*m)->tri, t));
}
static inline void bumpy_sheet(int n, double noise, triangle_mesh **m, triangle_topology **t) { bumpy_strip(n, 1.0, noise, m, t); }

static inline void random_attachment(const triangle_topology *t, mesh_attachment *X)
{
  X->triangle    = (int32_t)uniform(0.0, (double)t->n_triangles);
  const double a = uniform(0.0, 1.0), b = uniform(0.0, 1.0);
  X->weight[0] = fmin(a, b);
  X->weight[1] = fabs(a - b);
  X->weight[2] = 1.0 - X->weight[0] - X->weight[1];
  if (uniform(0.0, 1.0) < 0.05) { /* on an edge, or at a corner, as steps leave them */
    const int i = (int)uniform(0.0, 3.0);
    X->weight[(i + 1) % 3] += X->weight[i];
    X->weight[i] = 0.0;
    if (uniform(0.0, 1.0) < 0.3) {
      X->weight[(i + 1) % 3] = 1.0;
      X->weight[(i + 2) % 3] = 0.0;
    }
  }
}
static inline void point_of(const triangle_topology *t, const double *x, const mesh_attachment *X, double Y[3])
{
  v3_set(Y, 0.0, 0.0, 0.0);
  for (int i = 0; i < 3; ++i) v3_axpy(Y, X->weight[i], x + 3 * (int64_t)t->tri[3 * (int64_t)X->triangle + i]);
}
static inline void random_near(const double Y[3], double size, double Z[3])
{
  for (int j = 0; j < 3; ++j) Z[j] = Y[j] + size * uniform(-1.0, 1.0);
}
static inline double distance(const double *a, const double *b)
{
  double d[3];
  v3_sub(d, a, b);
  return v3_norm(d);
}
#endif
