/* Refinement without touching the surface: long edges get a vertex in their middle, triangles are cut to match. */
#include "core/math3.h"
#include "core/memory.h"
#include "geometry/triangle_mesh/triangle_mesh.h"

enum { MAX_VERTICES = 10000000 };

typedef struct {
  int32_t low, high, side; /* side = 3 * triangle + i: from vertex i to i + 1 */
} long_edge;

static int compare_edges(const void *a, const void *b)
{
  const long_edge *p = a, *q = b;
  if (p->low != q->low) return p->low < q->low ? -1 : 1;
  if (p->high != q->high) return p->high < q->high ? -1 : 1;
  return (p->side > q->side) - (p->side < q->side);
}

static double distance(const double *a, const double *b)
{
  double e[3];
  v3_sub(e, a, b);
  return v3_norm(e);
}

/* Cut triangle v with middles m (-1: none) into 1 to 4; returns how many. */
static int cut_triangle(const double *x, const int32_t *v, const int32_t *m, int32_t *out)
{
  int n = (m[0] >= 0) + (m[1] >= 0) + (m[2] >= 0), s = 0;
#define OUT(i, a, b, c) (out[3 * (i)] = (a), out[3 * (i) + 1] = (b), out[3 * (i) + 2] = (c))
  if (n == 0) OUT(0, v[0], v[1], v[2]);
  else if (n == 3) OUT(0, v[0], m[0], m[2]), OUT(1, m[0], v[1], m[1]), OUT(2, m[2], m[1], v[2]), OUT(3, m[0], m[1], m[2]);
  else if (n == 1) {
    while (m[s] < 0) ++s;
    const int32_t a = v[s], b = v[(s + 1) % 3], c = v[(s + 2) % 3];
    OUT(0, a, m[s], c), OUT(1, m[s], b, c);
  } else { /* s: the side that stays whole, from a to b */
    while (m[s] >= 0) ++s;
    const int32_t a = v[s], b = v[(s + 1) % 3], c = v[(s + 2) % 3], mb = m[(s + 1) % 3], ma = m[(s + 2) % 3];
    OUT(0, ma, mb, c);
    if (distance(&x[3 * (int64_t)a], &x[3 * (int64_t)mb]) <= distance(&x[3 * (int64_t)b], &x[3 * (int64_t)ma]))
      OUT(1, a, b, mb), OUT(2, a, mb, ma);
    else OUT(1, a, b, ma), OUT(2, b, mb, ma);
  }
#undef OUT
  return n + 1;
}

static PetscErrorCode refine_once(triangle_mesh *m, double spacing, long_edge *edge, int32_t *middle, bool *is_done)
{
  int64_t  n = 0, n_new = 0, n_tri = 0;
  int32_t *tri = NULL;
  PetscFunctionBegin;
  for (int64_t i = 0; i < 3 * m->n_triangles; ++i) {
    const int32_t a = m->tri[i], b = m->tri[i - i % 3 + (i + 1) % 3];
    middle[i] = -1;
    if (distance(&m->x[3 * (int64_t)a], &m->x[3 * (int64_t)b]) > spacing) edge[n++] = (long_edge){a < b ? a : b, a < b ? b : a, (int32_t)i};
  }
  *is_done = n == 0;
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  qsort(edge, (size_t)n, sizeof *edge, compare_edges);
  for (int64_t i = 0; i < n; ++i) n_new += i == 0 || edge[i].low != edge[i - 1].low || edge[i].high != edge[i - 1].high;
  PetscCheck(m->n_vertices + n_new <= MAX_VERTICES, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "the surface would need more than %d vertices at spacing %g m: choose a larger surface spacing", MAX_VERTICES, spacing);
  PetscCall(memory_resize("mesh vertices", 3 * (m->n_vertices + n_new), sizeof *m->x, &m->x));
  for (int64_t i = 0; i < n; ++i) {
    if (i == 0 || edge[i].low != edge[i - 1].low || edge[i].high != edge[i - 1].high) {
      for (int k = 0; k < 3; ++k) m->x[3 * m->n_vertices + k] = 0.5 * (m->x[3 * (int64_t)edge[i].low + k] + m->x[3 * (int64_t)edge[i].high + k]);
      ++m->n_vertices;
    }
    middle[edge[i].side] = (int32_t)(m->n_vertices - 1);
  }
  PetscCall(memory_alloc("mesh triangles", 3 * (m->n_triangles + n), sizeof *tri, &tri));
  for (int64_t t = 0; t < m->n_triangles; ++t) n_tri += cut_triangle(m->x, &m->tri[3 * t], &middle[3 * t], &tri[3 * n_tri]);
  memory_free(&m->tri);
  m->tri = tri, m->n_triangles = n_tri;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode triangle_mesh_refine(triangle_mesh *m, double spacing)
{
  bool is_done = false;
  PetscFunctionBegin;
  PetscCheck(spacing > 0.0, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "the spacing must be positive");
  while (!is_done) { /* edges halve in every pass */
    long_edge     *edge   = NULL;
    int32_t       *middle = NULL;
    PetscErrorCode code   = memory_alloc("mesh refinement", 3 * m->n_triangles, sizeof *edge, &edge);
    if (!code) code = memory_alloc("mesh refinement", 3 * m->n_triangles, sizeof *middle, &middle);
    if (!code) code = refine_once(m, spacing, edge, middle, &is_done);
    memory_free(&edge);
    memory_free(&middle);
    PetscCall(code);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
