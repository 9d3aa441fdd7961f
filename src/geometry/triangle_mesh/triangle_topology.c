/* Implementation: the sides of all triangles are sorted by their vertices; consecutive sides with equal vertices form an edge. */
#include "geometry/triangle_mesh/triangle_topology.h"
#include "core/memory.h"
#include "core/sort.h"

/* Sides in ascending order of (low vertex, high vertex), equal ones by triangle: the sort is stable. */
static PetscErrorCode sort_sides(const triangle_topology *t, uint64_t **key, int32_t **side)
{
  const int64_t n = 3 * t->n_triangles;
  PetscFunctionBegin;
  PetscCall(MEMORY_ALLOC("triangle topology", ARRAY(*key, n), ARRAY(*side, n)));
  for (int64_t i = 0; i < n; ++i) {
    const int64_t first = i - i % 3;
    const int32_t a = t->tri[first + (i + 1) % 3], b = t->tri[first + (i + 2) % 3];
    PetscCheck(a != b, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "triangle %lld contains vertex %d twice; remove the triangle",
               (long long)(i / 3), (int)a);
    (*key)[i] = (uint64_t)(a < b ? a : b) << 32 | (uint64_t)(a < b ? b : a);
  }
  PetscCall(sort_keys(n, 64, *key, *side));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode link_neighbors(triangle_topology *t, int32_t p, int32_t q)
{
  const int32_t a = t->tri[p - p % 3 + (p + 1) % 3], b = t->tri[q - q % 3 + (q + 1) % 3];
  PetscFunctionBegin;
  PetscCheck(a != b, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "triangles %d and %d are neighbours with opposite orientations; make the orientation consistent", (int)(p / 3), (int)(q / 3));
  t->neighbor[p]      = q / 3;
  t->neighbor_side[p] = q % 3;
  t->neighbor[q]      = p / 3;
  t->neighbor_side[q] = p % 3;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Runs of equal keys are edges. */
static PetscErrorCode fill_edges(triangle_topology *t, const uint64_t *key, const int32_t *side)
{
  const int64_t n = 3 * t->n_triangles;
  int64_t       e = 0;
  PetscFunctionBegin;
  for (int64_t i = 0, end; i < n; i = end, ++e) {
    for (end = i + 1; end < n && key[end] == key[i];) ++end;
    PetscCheck(end - i <= 2, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
               "%lld triangles share the edge between vertices %d and %d: this is not a surface; remove the surplus triangles",
               (long long)(end - i), (int)(key[i] >> 32), (int)(key[i] & UINT32_MAX));
    t->edge[2 * e]              = (int32_t)(key[i] >> 32);
    t->edge[2 * e + 1]          = (int32_t)(key[i] & UINT32_MAX);
    t->edge_triangle[2 * e]     = side[i] / 3;
    t->edge_triangle[2 * e + 1] = end - i == 2 ? side[i + 1] / 3 : -1;
    for (int64_t j = i; j < end; ++j) t->side_edge[side[j]] = (int32_t)e;
    if (end - i == 2) PetscCall(link_neighbors(t, side[i], side[i + 1]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void fill_fans(triangle_topology *t)
{
  for (int64_t i = 0; i < 3 * t->n_triangles; ++i) ++t->fan_start[t->tri[i] + 1];
  for (int64_t v = 0; v < t->n_vertices; ++v) t->fan_start[v + 1] += t->fan_start[v];
  /* fan_start[v] runs through v's entries and ends where v + 1 starts: shift back afterwards. */
  for (int64_t i = 0; i < 3 * t->n_triangles; ++i) t->fan[t->fan_start[t->tri[i]]++] = (int32_t)(i / 3);
  for (int64_t v = t->n_vertices; v > 0; --v) t->fan_start[v] = t->fan_start[v - 1];
  t->fan_start[0] = 0;
}

static PetscErrorCode triangle_topology_fill(triangle_topology *t, const int32_t *tri, uint64_t **key, int32_t **side)
{
  const int64_t n = 3 * t->n_triangles;
  PetscFunctionBegin;
  PetscCall(memory_alloc("topology triangles", n, sizeof *t->tri, &t->tri));
  for (int64_t i = 0; i < n; ++i) t->tri[i] = tri[i];
  PetscCall(sort_sides(t, key, side));
  for (int64_t i = 0; i < n; ++i) t->n_edges += i == 0 || (*key)[i] != (*key)[i - 1];
  PetscCall(MEMORY_ALLOC("triangle topology", ARRAY(t->neighbor, n), ARRAY(t->neighbor_side, n), ARRAY(t->side_edge, n),
                         ARRAY(t->edge, 2 * t->n_edges), ARRAY(t->edge_triangle, 2 * t->n_edges), ARRAY(t->fan, n),
                         ARRAY(t->fan_start, t->n_vertices + 1)));
  for (int64_t i = 0; i < n; ++i) t->neighbor[i] = t->neighbor_side[i] = -1;
  PetscCall(fill_edges(t, *key, *side));
  fill_fans(t);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode triangle_topology_create(int64_t n_vertices, int64_t n_triangles, const int32_t *tri, triangle_topology **out)
{
  uint64_t *key  = NULL;
  int32_t  *side = NULL;
  PetscFunctionBegin;
  PetscCheck(n_triangles <= INT32_MAX / 3 && n_vertices < INT32_MAX, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "a mesh of %lld triangles is too large (at most 715 million)", (long long)n_triangles);
  PetscCall(memory_alloc("surface topology", 1, sizeof **out, out));
  (*out)->n_vertices          = n_vertices;
  (*out)->n_triangles         = n_triangles;
  const PetscErrorCode failed = triangle_topology_fill(*out, tri, &key, &side);
  MEMORY_FREE(&key, &side);
  if (failed) triangle_topology_destroy(out);
  PetscCall(failed);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void triangle_topology_destroy(triangle_topology **out)
{
  if (!out || !*out) return;
  triangle_topology *t = *out;
  MEMORY_FREE(&t->tri, &t->neighbor, &t->neighbor_side, &t->edge, &t->edge_triangle, &t->side_edge, &t->fan, &t->fan_start, out);
}
