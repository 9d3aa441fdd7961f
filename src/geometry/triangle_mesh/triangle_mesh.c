#include "geometry/triangle_mesh/triangle_mesh.h"
#include "core/math3.h"
#include "core/memory.h"
#include <float.h>

PetscErrorCode triangle_mesh_create(int64_t n_vertices, int64_t n_triangles, triangle_mesh **out)
{
  triangle_mesh *m    = NULL;
  PetscErrorCode code = PETSC_SUCCESS;
  PetscFunctionBegin;
  PetscCheck(n_vertices >= 0 && n_triangles >= 0 && n_vertices <= INT32_MAX && n_triangles <= INT32_MAX, PETSC_COMM_SELF,
             PETSC_ERR_ARG_OUTOFRANGE, "a triangle mesh cannot have %lld vertices and %lld triangles", (long long)n_vertices,
             (long long)n_triangles);
  PetscCall(memory_alloc("triangle mesh", 1, sizeof *m, &m));
  code = memory_alloc("mesh vertices", 3 * n_vertices, sizeof *m->x, &m->x);
  if (!code) code = memory_alloc("mesh triangles", 3 * n_triangles, sizeof *m->tri, &m->tri);
  if (code) triangle_mesh_destroy(&m);
  PetscCall(code);
  m->n_vertices  = n_vertices;
  m->n_triangles = n_triangles;
  *out           = m;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode triangle_mesh_copy(const triangle_mesh *m, triangle_mesh **out)
{
  PetscFunctionBegin;
  PetscCall(triangle_mesh_create(m->n_vertices, m->n_triangles, out));
  if (m->n_vertices) memcpy((*out)->x, m->x, 3 * (size_t)m->n_vertices * sizeof *m->x);
  if (m->n_triangles) memcpy((*out)->tri, m->tri, 3 * (size_t)m->n_triangles * sizeof *m->tri);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void triangle_mesh_destroy(triangle_mesh **m)
{
  if (!m || !*m) return;
  memory_free(&(*m)->x);
  memory_free(&(*m)->tri);
  memory_free(m);
}

void triangle_mesh_transform(triangle_mesh *m, const double c[3], const double R[9])
{
  for (int64_t i = 0; i < m->n_vertices; ++i) {
    double y[3];
    m3_mulv(y, R, &m->x[3 * i]);
    v3_add(&m->x[3 * i], c, y);
  }
}

void triangle_mesh_scale(triangle_mesh *m, double factor)
{
  for (int64_t i = 0; i < 3 * m->n_vertices; ++i) m->x[i] *= factor;
}

void triangle_mesh_flip(triangle_mesh *m)
{
  for (int64_t t = 0; t < m->n_triangles; ++t) {
    const int32_t b    = m->tri[3 * t + 1];
    m->tri[3 * t + 1] = m->tri[3 * t + 2];
    m->tri[3 * t + 2] = b;
  }
}

void triangle_mesh_bounds(const triangle_mesh *m, double min[3], double max[3])
{
  for (int k = 0; k < 3; ++k) min[k] = INFINITY, max[k] = -INFINITY;
  for (int64_t i = 0; i < m->n_vertices; ++i)
    for (int k = 0; k < 3; ++k) {
      min[k] = fmin(min[k], m->x[3 * i + k]);
      max[k] = fmax(max[k], m->x[3 * i + k]);
    }
}

/* new_index [n_vertices]: where each vertex goes, -1: nowhere. */
static void renumber(triangle_mesh *m, const int32_t *new_index, double *x_new)
{
  for (int64_t i = 0; i < m->n_vertices; ++i)
    if (new_index[i] >= 0) v3_copy(&x_new[3 * (int64_t)new_index[i]], &m->x[3 * i]);
  for (int64_t i = 0; i < 3 * m->n_triangles; ++i) m->tri[i] = new_index[m->tri[i]];
}

PetscErrorCode triangle_mesh_compact(triangle_mesh *m)
{
  int32_t *new_index = NULL;
  int64_t  n         = 0;
  PetscFunctionBegin;
  PetscCall(memory_alloc("mesh renumbering", m->n_vertices, sizeof *new_index, &new_index));
  for (int64_t i = 0; i < 3 * m->n_triangles; ++i) new_index[m->tri[i]] = 1;
  for (int64_t i = 0; i < m->n_vertices; ++i) new_index[i] = new_index[i] ? (int32_t)n++ : -1;
  renumber(m, new_index, m->x); /* in place: vertices only move down */
  memory_free(&new_index);
  m->n_vertices = n;
  PetscCall(memory_resize("mesh vertices", 3 * n, sizeof *m->x, &m->x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- sorting ---- */

typedef struct {
  double  key;
  int32_t index;
} sort_item;

static int compare_items(const void *a, const void *b)
{
  const sort_item *p = a, *q = b;
  if (p->key != q->key) return p->key < q->key ? -1 : 1;
  return (p->index > q->index) - (p->index < q->index);
}

/* Cut n vertices across their longest side into halves of whole blocks, and so on: a surface winds through space, so that runs
 * along a space-filling curve jump between its sheets (measured on a torus: spheres around runs of 128 nearly twice as large). */
static void sort_by_halves(const double *x, sort_item *item, int64_t n)
{
  double lo[3] = {INFINITY, INFINITY, INFINITY}, hi[3] = {-INFINITY, -INFINITY, -INFINITY};
  int    axis  = 0;
  if (n <= 4) return;
  for (int64_t i = 0; i < n; ++i)
    for (int k = 0; k < 3; ++k) {
      lo[k] = fmin(lo[k], x[3 * (int64_t)item[i].index + k]);
      hi[k] = fmax(hi[k], x[3 * (int64_t)item[i].index + k]);
    }
  for (int k = 1; k < 3; ++k)
    if (hi[k] - lo[k] > hi[axis] - lo[axis]) axis = k;
  for (int64_t i = 0; i < n; ++i) item[i].key = x[3 * (int64_t)item[i].index + axis];
  qsort(item, (size_t)n, sizeof *item, compare_items);
  int64_t block = 4; /* the largest power of two up to 256 that fits; halves are multiples of it */
  while (block < 256 && 2 * block < n) block *= 2;
  const int64_t half = (n / block + 1) / 2 * block;
  sort_by_halves(x, item, half);
  sort_by_halves(x, item + half, n - half);
}

PetscErrorCode triangle_mesh_sort(triangle_mesh *m)
{
  sort_item *item      = NULL;
  int32_t   *new_index = NULL, *tri = NULL;
  double    *x = NULL;
  PetscFunctionBegin;
  if (m->n_vertices == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(memory_alloc("mesh sorting", m->n_vertices > m->n_triangles ? m->n_vertices : m->n_triangles, sizeof *item, &item));
  PetscCall(memory_alloc("mesh sorting", m->n_vertices, sizeof *new_index, &new_index));
  PetscCall(memory_alloc("mesh sorting", 3 * m->n_vertices, sizeof *x, &x));
  PetscCall(memory_alloc("mesh sorting", 3 * m->n_triangles, sizeof *tri, &tri));
  for (int64_t i = 0; i < m->n_vertices; ++i) item[i].index = (int32_t)i;
  sort_by_halves(m->x, item, m->n_vertices);
  for (int64_t i = 0; i < m->n_vertices; ++i) new_index[item[i].index] = (int32_t)i;
  renumber(m, new_index, x);
  for (int64_t t = 0; t < m->n_triangles; ++t) {
    const int32_t *v     = &m->tri[3 * t];
    const int32_t  least = v[0] < v[1] ? (v[0] < v[2] ? v[0] : v[2]) : (v[1] < v[2] ? v[1] : v[2]);
    item[t]              = (sort_item){(double)least, (int32_t)t};
  }
  qsort(item, (size_t)m->n_triangles, sizeof *item, compare_items);
  for (int64_t t = 0; t < m->n_triangles; ++t) memcpy(&tri[3 * t], &m->tri[3 * (int64_t)item[t].index], 3 * sizeof *tri);
  memory_free(&m->x);
  memory_free(&m->tri);
  m->x = x, m->tri = tri;
  memory_free(&item);
  memory_free(&new_index);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- integrals ---- */

/* Each triangle spans a tetrahedron with the reference point. */
mass_properties triangle_mesh_mass(const triangle_mesh *m)
{
  mass_sum sum = {0};
  double   lo[3], hi[3], o[3];
  if (m->n_triangles == 0) return (mass_properties){0};
  triangle_mesh_bounds(m, lo, hi);
  for (int k = 0; k < 3; ++k) o[k] = 0.5 * (lo[k] + hi[k]);
  for (int64_t t = 0; t < m->n_triangles; ++t) {
    double v[3][3], n[3];
    for (int i = 0; i < 3; ++i) v3_sub(v[i], &m->x[3 * (int64_t)m->tri[3 * t + i]], o);
    v3_cross(n, v[1], v[2]);
    mass_sum_add(&sum, v3_dot(v[0], n) / 6.0, 3, (const double (*)[3])v);
  }
  return mass_sum_properties(&sum, o);
}
