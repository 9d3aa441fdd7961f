#include "geometry/tet_mesh/tet_mesh.h"
#include "core/math3.h"
#include "core/memory.h"
#include "geometry/tet_mesh/tet_mesh_faces.h"

PetscErrorCode tet_mesh_create(int64_t n_vertices, int64_t n_tets, tet_mesh **out)
{
  tet_mesh      *m    = NULL;
  PetscErrorCode code = PETSC_SUCCESS;
  PetscFunctionBegin;
  PetscCheck(n_vertices >= 0 && n_tets >= 0 && n_vertices <= INT32_MAX && n_tets <= INT32_MAX / 4, PETSC_COMM_SELF,
             PETSC_ERR_ARG_OUTOFRANGE, "a tetrahedral mesh cannot have %lld vertices and %lld tetrahedra", (long long)n_vertices,
             (long long)n_tets);
  PetscCall(memory_alloc("tetrahedral mesh", 1, sizeof *m, &m));
  code = memory_alloc("mesh vertices", 3 * n_vertices, sizeof *m->x, &m->x);
  if (!code) code = memory_alloc("mesh tetrahedra", 4 * n_tets, sizeof *m->tet, &m->tet);
  if (code) tet_mesh_destroy(&m);
  PetscCall(code);
  m->n_vertices = n_vertices;
  m->n_tets     = n_tets;
  *out          = m;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void drop_derived(tet_mesh *m)
{
  memory_free(&m->volume);
  memory_free(&m->vertex_volume);
  triangle_mesh_destroy(&m->surface);
  memory_free(&m->surface_vertex);
  memory_free(&m->surface_tet);
}

void tet_mesh_destroy(tet_mesh **m)
{
  if (!m || !*m) return;
  drop_derived(*m);
  memory_free(&(*m)->x);
  memory_free(&(*m)->tet);
  memory_free(m);
}

double tet_mesh_signed_volume(const double *x, const int32_t tet[4])
{
  double e[3][3], n[3];
  for (int i = 0; i < 3; ++i) v3_sub(e[i], &x[3 * (int64_t)tet[i + 1]], &x[3 * (int64_t)tet[0]]);
  v3_cross(n, e[0], e[1]);
  return v3_dot(n, e[2]) / 6.0;
}

static void fill_volumes(tet_mesh *m)
{
  #pragma omp parallel for schedule(static)
  for (int64_t t = 0; t < m->n_tets; ++t) m->volume[t] = tet_mesh_signed_volume(m->x, &m->tet[4 * t]);
  for (int64_t i = 0; i < m->n_vertices; ++i) m->vertex_volume[i] = 0.0;
  for (int64_t t = 0; t < m->n_tets; ++t) /* in order, by one thread: once per mesh */
    for (int i = 0; i < 4; ++i) m->vertex_volume[m->tet[4 * t + i]] += 0.25 * m->volume[t];
}

PetscErrorCode tet_mesh_finish(tet_mesh *m)
{
  int32_t *tri = NULL;
  int64_t  n   = 0;
  PetscFunctionBegin;
  drop_derived(m);
  PetscCall(memory_alloc("mesh volumes", m->n_tets, sizeof *m->volume, &m->volume));
  PetscCall(memory_alloc("mesh volumes", m->n_vertices, sizeof *m->vertex_volume, &m->vertex_volume));
  fill_volumes(m);
  PetscCall(tet_faces_boundary(m, &n, &tri, &m->surface_tet));
  PetscCall(tet_faces_surface(m, n, tri, &m->surface, &m->surface_vertex));
  memory_free(&tri);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void tet_mesh_transform(tet_mesh *m, const double c[3], const double R[9])
{
  for (int64_t i = 0; i < m->n_vertices; ++i) {
    double y[3];
    m3_mulv(y, R, &m->x[3 * i]);
    v3_add(&m->x[3 * i], c, y);
  }
  if (m->surface) {
    triangle_mesh_transform(m->surface, c, R);
    fill_volumes(m);
  }
}

void tet_mesh_scale(tet_mesh *m, double factor)
{
  for (int64_t i = 0; i < 3 * m->n_vertices; ++i) m->x[i] *= factor;
  if (m->surface) {
    triangle_mesh_scale(m->surface, factor);
    fill_volumes(m);
  }
}

PetscErrorCode tet_mesh_compact(tet_mesh *m, int32_t *new_index)
{
  int32_t *own = NULL;
  int64_t  n   = 0;
  PetscFunctionBegin;
  PetscCall(memory_alloc("mesh renumbering", m->n_vertices, sizeof *own, &own));
  for (int64_t i = 0; i < 4 * m->n_tets; ++i) own[m->tet[i]] = 1;
  for (int64_t i = 0; i < m->n_vertices; ++i) {
    if (own[i]) v3_copy(&m->x[3 * n], &m->x[3 * i]); /* in place: vertices only move down */
    own[i] = own[i] ? (int32_t)n++ : -1;
    if (new_index) new_index[i] = own[i];
  }
  for (int64_t i = 0; i < 4 * m->n_tets; ++i) m->tet[i] = own[m->tet[i]];
  memory_free(&own);
  drop_derived(m);
  m->n_vertices = n;
  PetscCall(memory_resize("mesh vertices", 3 * n, sizeof *m->x, &m->x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

mass_properties tet_mesh_mass(const tet_mesh *m)
{
  mass_sum sum = {0};
  if (m->n_tets == 0) return (mass_properties){0};
  const double *o = m->x + 3 * (int64_t)m->tet[0];
  for (int64_t t = 0; t < m->n_tets; ++t) {
    double v[4][3];
    for (int q = 0; q < 4; ++q) v3_sub(v[q], &m->x[3 * (int64_t)m->tet[4 * t + q]], o);
    mass_sum_add(&sum, tet_mesh_signed_volume(m->x, &m->tet[4 * t]), 4, (const double (*)[3])v);
  }
  return mass_sum_properties(&sum, o);
}
