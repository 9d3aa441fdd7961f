/* Implementation of cloth_mesh.h: meshes of sheets, and links of cloth meshes. */
#include "discretize/cloth/cloth_mesh.h"
#include "core/memory.h"
#include "geometry/triangle_mesh/triangle_topology.h"

PetscErrorCode cloth_sheet(const double corner[3], const double u[3], const double v[3], const int64_t cells[2], triangle_mesh **out)
{
  const int64_t n = cells[0], m = cells[1];
  PetscFunctionBegin;
  PetscCall(triangle_mesh_create((n + 1) * (m + 1), 2 * n * m, out));
  for (int64_t j = 0; j <= m; ++j)
    for (int64_t i = 0; i <= n; ++i)
      for (int k = 0; k < 3; ++k)
        (*out)->x[3 * (i + (n + 1) * j) + k] = corner[k] + u[k] * ((double)i / (double)n) + v[k] * ((double)j / (double)m);
  for (int64_t j = 0; j < m; ++j)
    for (int64_t i = 0; i < n; ++i) {
      const int32_t a = (int32_t)(i + (n + 1) * j), b = a + 1, c = b + (int32_t)(n + 1), d = c - 1; /* around the cell */
      const int32_t even[6] = {a, b, c, a, c, d}, odd[6] = {a, b, d, b, c, d};
      for (int k = 0; k < 6; ++k) (*out)->tri[6 * (i + n * j) + k] = (i + j) % 2 ? odd[k] : even[k];
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void cloth_mesh_add(int32_t *list, int64_t *n, int32_t a, int32_t b)
{
  list[2 * *n]     = a;
  list[2 * *n + 1] = b;
  ++*n;
}

PetscErrorCode cloth_links_create(const triangle_mesh *m, const int64_t *cells, cloth_links *out)
{
  triangle_topology *t;
  PetscFunctionBegin;
  *out = (cloth_links){0};
  PetscCall(triangle_topology_create(m->n_vertices, m->n_triangles, m->tri, &t));
  int32_t **pairs[] = {&out->stretch, &out->shear, &out->across};
  for (int k = 0; k < 3; ++k) PetscCall(memory_alloc("cloth links", 2 * t->n_edges, sizeof(int32_t), pairs[k]));
  PetscCall(memory_alloc("cloth hinges", 4 * t->n_edges, sizeof(int32_t), &out->hinge));
  for (int64_t e = 0; e < t->n_edges; ++e) {
    const int32_t *end = t->edge + 2 * e, *side = t->edge_triangle + 2 * e;
    const bool     is_diagonal = cells && end[1] - end[0] != 1 && end[1] - end[0] != cells[0] + 1;
    int32_t        tip[2]      = {-1, -1};
    cloth_mesh_add(is_diagonal ? out->shear : out->stretch, is_diagonal ? &out->n_shear : &out->n_stretch, end[0], end[1]);
    if (side[1] < 0) continue;
    for (int k = 0; k < 2; ++k)
      for (int i = 0; i < 3; ++i)
        if (t->side_edge[3 * (int64_t)side[k] + i] == e) tip[k] = t->tri[3 * (int64_t)side[k] + i];
    cloth_mesh_add(is_diagonal ? out->shear : out->across, is_diagonal ? &out->n_shear : &out->n_across, tip[0], tip[1]);
    /* In the first triangle the corner after the tip begins the edge. */
    const int     i    = triangle_topology_corner(t, side[0], tip[0]);
    const int32_t from = t->tri[3 * (int64_t)side[0] + (i + 1) % 3], to = t->tri[3 * (int64_t)side[0] + (i + 2) % 3];
    const int32_t hinge[4] = {from, to, tip[0], tip[1]};
    for (int k = 0; k < 4; ++k) out->hinge[4 * out->n_hinges + k] = hinge[k];
    ++out->n_hinges;
  }
  triangle_topology_destroy(&t);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void cloth_links_destroy(cloth_links *l)
{
  MEMORY_FREE(&l->stretch, &l->shear, &l->across, &l->hinge);
  *l = (cloth_links){0};
}
