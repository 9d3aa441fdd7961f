#include "geometry/tet_mesh/tet_mesh_faces.h"
#include "core/math3.h"
#include "core/memory.h"
#include "core/sort.h"

/* Three numbers of 31 bits do not fit one key: sorting by the last, then stably by the first two, does the same. */
PetscErrorCode tet_faces_sort(const tet_mesh *m, int32_t **face)
{
  const int64_t n   = 4 * m->n_tets;
  uint64_t     *key = NULL;
  int32_t      *perm = NULL, *first = NULL;
  PetscFunctionBegin;
  PetscCall(memory_alloc("mesh faces", n, sizeof *key, &key));
  PetscCall(memory_alloc("mesh faces", n, sizeof *first, &first));
  PetscCall(memory_alloc("mesh faces", n, sizeof *perm, &perm));
  for (int64_t i = 0; i < n; ++i) {
    int32_t v[3];
    (void)tet_face_sorted(m, (int32_t)i, v);
    key[i] = (uint64_t)v[2];
  }
  PetscCall(sort_keys(n, 32, key, first));
  for (int64_t i = 0; i < n; ++i) {
    int32_t v[3];
    (void)tet_face_sorted(m, first[i], v);
    key[i] = (uint64_t)v[0] << 32 | (uint64_t)v[1];
  }
  PetscCall(sort_keys(n, 64, key, perm));
  for (int64_t i = 0; i < n; ++i) perm[i] = first[perm[i]];
  memory_free(&key);
  memory_free(&first);
  *face = perm;
  PetscFunctionReturn(PETSC_SUCCESS);
}

int64_t tet_faces_run(const tet_mesh *m, const int32_t *face, int64_t at)
{
  const int64_t n = 4 * m->n_tets;
  int32_t       a[3], b[3];
  int64_t       end = at + 1;
  (void)tet_face_sorted(m, face[at], a);
  for (; end < n; ++end) {
    (void)tet_face_sorted(m, face[end], b);
    if (a[0] != b[0] || a[1] != b[1] || a[2] != b[2]) break;
  }
  return end;
}

PetscErrorCode tet_faces_boundary(const tet_mesh *m, int64_t *n_out, int32_t **tri, int32_t **tet)
{
  int32_t *face = NULL;
  bool    *is_boundary = NULL;
  int64_t  n = 0;
  PetscFunctionBegin;
  PetscCall(tet_faces_sort(m, &face));
  PetscCall(memory_alloc("mesh faces", 4 * m->n_tets, sizeof *is_boundary, &is_boundary));
  for (int64_t i = 0, end; i < 4 * m->n_tets; i = end) {
    end = tet_faces_run(m, face, i);
    if (end == i + 1) is_boundary[face[i]] = true, ++n;
  }
  PetscCall(memory_alloc("mesh surface", 3 * n, sizeof **tri, tri));
  PetscCall(memory_alloc("mesh surface", n, sizeof **tet, tet));
  *n_out = n;
  n      = 0;
  for (int64_t f = 0; f < 4 * m->n_tets; ++f) {
    if (!is_boundary[f]) continue;
    for (int k = 0; k < 3; ++k) (*tri)[3 * n + k] = m->tet[4 * (f / 4) + TET_FACE[f % 4][k]];
    (*tet)[n++] = (int32_t)(f / 4);
  }
  memory_free(&face);
  memory_free(&is_boundary);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tet_faces_surface(const tet_mesh *m, int64_t n, const int32_t *tri, triangle_mesh **surface, int32_t **vertex)
{
  int32_t       *number = NULL;
  triangle_mesh *s      = NULL;
  int64_t        n_used = 0;
  PetscFunctionBegin;
  PetscCall(memory_alloc("mesh surface", m->n_vertices, sizeof *number, &number));
  for (int64_t i = 0; i < 3 * n; ++i) number[tri[i]] = 1;
  for (int64_t i = 0; i < m->n_vertices; ++i) n_used += number[i];
  PetscCall(triangle_mesh_create(n_used, n, &s));
  PetscCall(memory_alloc("mesh surface", n_used, sizeof **vertex, vertex));
  n_used = 0;
  for (int64_t i = 0; i < m->n_vertices; ++i) {
    if (!number[i]) continue;
    v3_copy(&s->x[3 * n_used], &m->x[3 * i]);
    (*vertex)[n_used] = (int32_t)i;
    number[i]         = (int32_t)n_used++;
  }
  for (int64_t i = 0; i < 3 * n; ++i) s->tri[i] = number[tri[i]];
  memory_free(&number);
  *surface = s;
  PetscFunctionReturn(PETSC_SUCCESS);
}
