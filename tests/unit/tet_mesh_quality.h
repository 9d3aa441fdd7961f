/* Quality and mass properties of tetrahedral meshes: what the tests of generators and readers compare with closed forms. */
#ifndef SS_TESTS_TET_MESH_QUALITY_H
#define SS_TESTS_TET_MESH_QUALITY_H
#include "core/math3.h"
#include "core/memory.h"
#include "geometry/tet_mesh/tet_mesh.h"
#include "geometry/triangle_mesh/triangle_topology.h"

typedef struct {
  double  min_dihedral_deg, max_dihedral_deg; /* over all six of every tetrahedron */
  double  min_volume, max_volume;             /* [m^3] */
  double  min_edge, max_edge;                 /* [m] */
  double  area;                               /* of the boundary [m^2] */
  int64_t n_boundary_vertices, n_boundary_edges, n_boundary_triangles;
  int64_t euler;         /* vertices - edges + triangles of the boundary: 2 (parts - holes) of a simple solid */
  int64_t n_sharp_edges; /* boundary edges whose triangles' normals differ by more than 30 degrees */
  int64_t n_locked_tets; /* all four vertices on the boundary */
} tet_mesh_quality;

/* The angle at edge (i, j) is the one between the planes through it and the other two corners k and l: between e x (k - i) and
 * e x (l - i), by atan2, which is exact for flat and for sharp ones. */
static inline void tet_mesh_dihedrals_deg(const double *x, const int32_t tet[4], double *min, double *max)
{
  static const int edge[6][4] = {{0, 1, 2, 3}, {0, 2, 1, 3}, {0, 3, 1, 2}, {1, 2, 0, 3}, {1, 3, 0, 2}, {2, 3, 0, 1}};
  *min = 180.0, *max = 0.0;
  for (int q = 0; q < 6; ++q) {
    const double *p = &x[3 * (int64_t)tet[edge[q][0]]];
    double        e[3], u[3], v[3], a[3], b[3], c[3];
    v3_sub(e, &x[3 * (int64_t)tet[edge[q][1]]], p);
    v3_sub(u, &x[3 * (int64_t)tet[edge[q][2]]], p);
    v3_sub(v, &x[3 * (int64_t)tet[edge[q][3]]], p);
    v3_cross(a, e, u);
    v3_cross(b, e, v);
    v3_cross(c, a, b);
    const double angle = atan2(v3_norm(c), v3_dot(a, b)) * 180.0 / M_PI;
    *min = fmin(*min, angle), *max = fmax(*max, angle);
  }
}

static inline void measure_tets(const tet_mesh *m, tet_mesh_quality *q)
{
  for (int64_t t = 0; t < m->n_tets; ++t) {
    const int32_t *v = &m->tet[4 * t];
    double         lo, hi;
    tet_mesh_dihedrals_deg(m->x, v, &lo, &hi);
    q->min_dihedral_deg = fmin(q->min_dihedral_deg, lo), q->max_dihedral_deg = fmax(q->max_dihedral_deg, hi);
    q->min_volume = fmin(q->min_volume, m->volume[t]), q->max_volume = fmax(q->max_volume, m->volume[t]);
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < i; ++j) {
        double e[3];
        v3_sub(e, &m->x[3 * (int64_t)v[i]], &m->x[3 * (int64_t)v[j]]);
        q->min_edge = fmin(q->min_edge, v3_norm(e)), q->max_edge = fmax(q->max_edge, v3_norm(e));
      }
  }
}

static inline double triangle_normal(const triangle_mesh *s, int64_t t, double *unit) /* returns the area */
{
  double e[3], f[3], n[3];
  v3_sub(e, &s->x[3 * (int64_t)s->tri[3 * t + 1]], &s->x[3 * (int64_t)s->tri[3 * t]]);
  v3_sub(f, &s->x[3 * (int64_t)s->tri[3 * t + 2]], &s->x[3 * (int64_t)s->tri[3 * t]]);
  v3_cross(n, e, f);
  const double twice = v3_norm(n);
  v3_scale(unit, twice > 0.0 ? 1.0 / twice : 0.0, n);
  return 0.5 * twice;
}

/* Of a finished mesh. */
static inline PetscErrorCode tet_mesh_measure(const tet_mesh *m, tet_mesh_quality *q)
{
  triangle_topology   *top         = NULL;
  const triangle_mesh *s           = m->surface;
  bool                *is_boundary = NULL;
  PetscFunctionBegin;
  PetscCheck(s, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "a mesh is measured after tet_mesh_finish");
  *q = (tet_mesh_quality){.min_dihedral_deg = 180.0, .min_volume = INFINITY, .max_volume = -INFINITY, .min_edge = INFINITY};
  measure_tets(m, q);
  PetscCall(triangle_topology_create(s->n_vertices, s->n_triangles, s->tri, &top));
  q->n_boundary_vertices  = s->n_vertices;
  q->n_boundary_triangles = s->n_triangles;
  q->n_boundary_edges     = top->n_edges;
  q->euler                = s->n_vertices - top->n_edges + s->n_triangles;
  for (int64_t t = 0; t < s->n_triangles; ++t) {
    double n[3];
    q->area += triangle_normal(s, t, n);
  }
  for (int64_t e = 0; e < top->n_edges; ++e) {
    const int32_t *side = &top->edge_triangle[2 * e];
    double         a[3], b[3];
    if (side[1] < 0) continue;
    (void)triangle_normal(s, side[0], a);
    (void)triangle_normal(s, side[1], b);
    q->n_sharp_edges += v3_dot(a, b) < 0.86602540378443865; /* cos 30 degrees */
  }
  triangle_topology_destroy(&top);
  PetscCall(memory_alloc("mesh quality", m->n_vertices, sizeof *is_boundary, &is_boundary));
  for (int64_t i = 0; i < s->n_vertices; ++i) is_boundary[m->surface_vertex[i]] = true;
  for (int64_t t = 0; t < m->n_tets; ++t) {
    const int32_t *v = &m->tet[4 * t];
    q->n_locked_tets += is_boundary[v[0]] && is_boundary[v[1]] && is_boundary[v[2]] && is_boundary[v[3]];
  }
  memory_free(&is_boundary);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Volume, centre and inertia for unit density. */
static inline mass_properties tet_mesh_mass(const tet_mesh *m)
{
  mass_sum sum = {0};
  if (m->n_tets == 0) return (mass_properties){0};
  const double *o = m->x + 3 * (int64_t)m->tet[0];
  for (int64_t t = 0; t < m->n_tets; ++t) {
    double v[4][3];
    for (int q = 0; q < 4; ++q) v3_sub(v[q], &m->x[3 * (int64_t)m->tet[4 * t + q]], o);
    mass_sum_add(&sum, tet_mesh_signed_volume(m->x, &m->tet[4 * t]), 4, (const double(*)[3])v);
  }
  return mass_sum_properties(&sum, o);
}
#endif
