/* Implementation: recognition of convex polyhedra from triangle meshes (planes, corners, edges, loops), and rigid motions. */
#include "geometry/convex/convex_solid.h"
#include "core/math3.h"
#include "core/memory.h"
#include <string.h>

static const double TOLERANCE = 1e-6; /* relative to the mesh size; mesh files often have single precision */

/* The distinct planes of the triangles. Each plane is that of its largest triangle, which has the smallest error. */
typedef struct {
  int    n;
  double normal[CONVEX_MAX_FACES][3], offset[CONVEX_MAX_FACES], area[CONVEX_MAX_FACES];
} plane_list;

typedef struct {
  uint64_t bits[(CONVEX_MAX_FACES + 63) / 64];
} face_set;

static bool set_has(const face_set *s, int f) { return s->bits[f / 64] >> f % 64 & 1; }

static double mesh_size(const triangle_mesh *m)
{
  double lo[3], hi[3], d[3];
  triangle_mesh_bounds(m, lo, hi);
  v3_sub(d, hi, lo);
  return v3_norm(d);
}

static bool lies_in(const plane_list *l, int f, const triangle_mesh *m, int64_t t, double tolerance)
{
  for (int k = 0; k < 3; ++k)
    if (fabs(v3_dot(l->normal[f], m->x + 3 * (int64_t)m->tri[3 * t + k]) - l->offset[f]) > tolerance) return false;
  return true;
}

/* False if there are fewer than 4 or more than CONVEX_MAX_FACES planes. */
static bool collect_planes(const triangle_mesh *m, double tolerance, plane_list *l)
{
  for (int64_t t = 0; t < m->n_triangles; ++t) {
    const double *a = m->x + 3 * (int64_t)m->tri[3 * t], *b = m->x + 3 * (int64_t)m->tri[3 * t + 1],
                 *c = m->x + 3 * (int64_t)m->tri[3 * t + 2];
    double ab[3], ac[3], n[3];
    v3_sub(ab, b, a);
    v3_sub(ac, c, a);
    v3_cross(n, ab, ac);
    const double area = v3_norm(n);
    if (!(area > 0.0)) continue;
    v3_scale(n, 1.0 / area, n);
    int f = 0;
    while (f < l->n && !(v3_dot(n, l->normal[f]) > 0.5 && lies_in(l, f, m, t, tolerance))) ++f;
    const bool is_new = f == l->n;
    if (is_new && l->n == CONVEX_MAX_FACES) return false;
    if (!is_new && area <= l->area[f]) continue;
    if (is_new) ++l->n;
    l->area[f] = area;
    v3_copy(l->normal[f], n);
    l->offset[f] = (v3_dot(n, a) + v3_dot(n, b) + v3_dot(n, c)) / 3.0;
  }
  return l->n >= 4;
}

/* True if three of the planes in s have linearly independent normals. */
static bool is_corner(const plane_list *l, const face_set *s)
{
  int first = -1, second = -1;
  for (int f = 0; f < l->n; ++f) {
    double n[3];
    if (!set_has(s, f)) continue;
    if (first < 0) {
      first = f;
      continue;
    }
    v3_cross(n, l->normal[first], l->normal[f]);
    if (second < 0) {
      if (v3_norm(n) > 1e-6) second = f;
      continue;
    }
    v3_cross(n, l->normal[first], l->normal[second]);
    if (fabs(v3_dot(n, l->normal[f])) > 1e-9) return true;
  }
  return false;
}

/* Distinct corners among the vertices, with their faces. Returns their number; -1: not convex. */
static int collect_corners(const plane_list *l, const triangle_mesh *m, double tolerance, double *x, face_set *faces)
{
  int n = 0;
  for (int64_t v = 0; v < m->n_vertices; ++v) {
    face_set s = {{0}};
    for (int f = 0; f < l->n; ++f) {
      const double d = v3_dot(l->normal[f], m->x + 3 * v) - l->offset[f];
      if (d > tolerance) return -1;
      if (d > -tolerance) s.bits[f / 64] |= (uint64_t)1 << f % 64;
    }
    if (!is_corner(l, &s)) continue;
    bool is_new = true;
    for (int c = 0; c < n && is_new; ++c) is_new = memcmp(&faces[c], &s, sizeof s) != 0;
    if (!is_new) continue;
    faces[n] = s;
    v3_copy(x + 3 * n++, m->x + 3 * v);
  }
  return n;
}

/* Edges [4] between faces that share two corners. Returns their number; -1 if two faces share three corners, which is impossible
 * for a convex polyhedron. edge may be NULL (count only). */
static int collect_edges(const plane_list *l, int n_corners, const double *x, const face_set *faces, int32_t *edge)
{
  int n = 0;
  for (int f = 0; f < l->n; ++f)
    for (int g = f + 1; g < l->n; ++g) {
      int    found = 0, end[2] = {-1, -1};
      double along[3], d[3];
      for (int c = 0; c < n_corners; ++c)
        if (set_has(&faces[c], f) && set_has(&faces[c], g)) {
          if (found == 2) return -1;
          end[found++] = c;
        }
      if (found < 2) continue;
      v3_cross(along, l->normal[f], l->normal[g]);
      v3_sub(d, x + 3 * end[1], x + 3 * end[0]);
      const bool is_swapped = v3_dot(along, d) < 0.0;
      if (edge) {
        edge[4 * n] = end[is_swapped], edge[4 * n + 1] = end[!is_swapped];
        edge[4 * n + 2] = f, edge[4 * n + 3] = g;
      }
      ++n;
    }
  return n;
}

/* Chain the edges of each face into a loop. Seen from outside, face f is to the left of its edge p -> q, and g to the right. False
 * if the edges do not form closed loops. */
static bool chain_loops(convex_polyhedron *p, int32_t *next)
{
  int n = 0;
  for (int f = 0; f < p->n_faces; ++f) {
    int sides = 0, first = -1;
    for (int e = 0; e < p->n_edges; ++e) {
      const int32_t *edge = p->edge + 4 * e;
      if (edge[2] == f) next[edge[0]] = edge[1], first = edge[0], ++sides;
      if (edge[3] == f) next[edge[1]] = edge[0], first = edge[1], ++sides;
    }
    if (sides < 3 || sides > CONVEX_MAX_SIDES || n + sides > 2 * p->n_edges) return false;
    p->loop_start[f] = n;
    for (int k = 0, c = first; k < sides; ++k, c = next[c]) p->loop[n++] = c;
    if (next[p->loop[n - 1]] != first) return false;
  }
  p->loop_start[p->n_faces] = n;
  return n == 2 * p->n_edges;
}

static PetscErrorCode fill_polyhedron(const plane_list *l, int n_corners, const double *x, const face_set *faces, int n_edges,
                                      convex_polyhedron *p, bool *is_sound)
{
  int32_t *next = NULL;
  PetscFunctionBegin;
  *p        = (convex_polyhedron){.n_corners = n_corners, .n_faces = l->n, .n_edges = n_edges};
  int n_fan = 0;
  for (int c = 0; c < n_corners; ++c)
    for (int f = 0; f < l->n; ++f) n_fan += set_has(&faces[c], f);
  PetscCall(MEMORY_ALLOC("polyhedron", ARRAY(p->x, 3 * n_corners), ARRAY(p->normal, 3 * l->n), ARRAY(p->offset, l->n),
                         ARRAY(p->loop_start, l->n + 1), ARRAY(p->loop, 2 * n_edges), ARRAY(p->edge, 4 * n_edges),
                         ARRAY(p->fan_start, n_corners + 1), ARRAY(p->fan, n_fan)));
  memcpy(p->x, x, 3 * (size_t)n_corners * sizeof *x);
  memcpy(p->normal, l->normal, 3 * (size_t)l->n * sizeof(double));
  memcpy(p->offset, l->offset, (size_t)l->n * sizeof(double));
  (void)collect_edges(l, n_corners, x, faces, p->edge);
  n_fan = 0;
  for (int c = 0; c < n_corners; ++c) {
    p->fan_start[c] = n_fan;
    for (int f = 0; f < l->n; ++f)
      if (set_has(&faces[c], f)) p->fan[n_fan++] = f;
  }
  p->fan_start[n_corners] = n_fan;
  PetscCall(memory_alloc("polyhedron", n_corners, sizeof *next, &next));
  *is_sound = n_corners - n_edges + l->n == 2 && chain_loops(p, next); /* Euler's formula */
  memory_free(&next);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void convex_polyhedron_destroy(convex_polyhedron **out)
{
  convex_polyhedron *p = *out;
  if (!p) return;
  MEMORY_FREE(&p->x, &p->normal, &p->offset, &p->loop_start, &p->loop, &p->edge, &p->fan_start, &p->fan, out);
}

static PetscErrorCode convex_polyhedron_create(const triangle_mesh *m, convex_polyhedron **out)
{
  double    *x     = NULL;
  face_set  *faces = NULL;
  plane_list l;
  bool       is_sound = false;
  PetscFunctionBegin;
  *out                   = NULL;
  l.n                    = 0;
  const double tolerance = TOLERANCE * mesh_size(m);
  if (!collect_planes(m, tolerance, &l)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MEMORY_ALLOC("polyhedron", ARRAY(x, 3 * m->n_vertices), ARRAY(faces, m->n_vertices)));
  const int n_corners = collect_corners(&l, m, tolerance, x, faces);
  const int n_edges   = n_corners < 4 ? -1 : collect_edges(&l, n_corners, x, faces, NULL);
  if (n_edges >= 6) {
    PetscCall(memory_alloc("polyhedron", 1, sizeof **out, out));
    PetscCall(fill_polyhedron(&l, n_corners, x, faces, n_edges, *out, &is_sound));
    if (!is_sound) convex_polyhedron_destroy(out);
  }
  MEMORY_FREE(&x, &faces);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void convex_polyhedron_move(convex_polyhedron *p, const double d[3])
{
  for (int c = 0; c < p->n_corners; ++c) v3_axpy(p->x + 3 * c, 1.0, d);
  for (int f = 0; f < p->n_faces; ++f) p->offset[f] += v3_dot(p->normal + 3 * f, d);
}

static PetscErrorCode convex_polyhedron_scaled(const convex_polyhedron *p, double factor, convex_polyhedron **out)
{
  const int64_t n_loop = p->loop_start[p->n_faces], n_fan = p->fan_start[p->n_corners];
  PetscFunctionBegin;
  PetscCall(memory_alloc("polyhedron", 1, sizeof **out, out));
  convex_polyhedron *o = *out;
  *o                   = (convex_polyhedron){.n_corners = p->n_corners, .n_faces = p->n_faces, .n_edges = p->n_edges};
  PetscCall(MEMORY_ALLOC("polyhedron", ARRAY(o->x, 3 * p->n_corners), ARRAY(o->normal, 3 * p->n_faces), ARRAY(o->offset, p->n_faces),
                         ARRAY(o->loop_start, p->n_faces + 1), ARRAY(o->loop, n_loop), ARRAY(o->edge, 4 * p->n_edges),
                         ARRAY(o->fan_start, p->n_corners + 1), ARRAY(o->fan, n_fan)));
  for (int i = 0; i < 3 * p->n_corners; ++i) o->x[i] = factor * p->x[i];
  for (int i = 0; i < p->n_faces; ++i) o->offset[i] = factor * p->offset[i];
  memcpy(o->normal, p->normal, 3 * (size_t)p->n_faces * sizeof *p->normal);
  memcpy(o->loop_start, p->loop_start, ((size_t)p->n_faces + 1) * sizeof *p->loop_start);
  memcpy(o->loop, p->loop, (size_t)n_loop * sizeof *p->loop);
  memcpy(o->edge, p->edge, 4 * (size_t)p->n_edges * sizeof *p->edge);
  memcpy(o->fan_start, p->fan_start, ((size_t)p->n_corners + 1) * sizeof *p->fan_start);
  memcpy(o->fan, p->fan, (size_t)n_fan * sizeof *p->fan);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ==== solids ==== */

/* Bounding sphere of a sphere, capsule or cylinder. */
static void bound_segment(convex_solid *s)
{
  double half[3];
  for (int k = 0; k < 3; ++k) s->center[k] = 0.5 * (s->from[k] + s->to[k]), half[k] = 0.5 * (s->to[k] - s->from[k]);
  s->bound = s->kind == CONVEX_CYLINDER ? hypot(v3_norm(half), s->radius) : v3_norm(half) + s->radius;
}

void convex_solid_segment(convex_kind kind, const double from[3], const double to[3], double radius, convex_solid *out)
{
  *out = (convex_solid){.kind = kind, .radius = radius};
  v3_copy(out->from, from);
  v3_copy(out->to, to);
  bound_segment(out);
}

void convex_solid_sphere(const double center[3], double radius, convex_solid *out)
{
  convex_solid_segment(CONVEX_SPHERE, center, center, radius, out);
}

void convex_solid_half_space(const double normal[3], double offset, convex_solid *out)
{
  *out = (convex_solid){.kind = CONVEX_HALF_SPACE, .offset = offset, .bound = INFINITY};
  v3_scale(out->normal, 1.0 / v3_norm(normal), normal);
}

PetscErrorCode convex_solid_polyhedron(const triangle_mesh *m, convex_solid *out, bool *is_convex)
{
  convex_polyhedron *p;
  double             lo[3], hi[3];
  PetscFunctionBegin;
  *out = (convex_solid){.kind = CONVEX_POLYHEDRON};
  PetscCall(convex_polyhedron_create(m, &p));
  *is_convex = p != NULL;
  if (!p) PetscFunctionReturn(PETSC_SUCCESS);
  out->polyhedron = p;
  triangle_mesh_bounds(m, lo, hi);
  for (int k = 0; k < 3; ++k) out->center[k] = 0.5 * (lo[k] + hi[k]);
  for (int c = 0; c < p->n_corners; ++c) {
    double d[3];
    v3_sub(d, p->x + 3 * c, out->center);
    out->bound = fmax(out->bound, v3_norm(d));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

void convex_solid_clear(convex_solid *s) { convex_polyhedron_destroy(&s->polyhedron); }

void convex_solid_turn(convex_solid *s, const double c[3], const double R[9])
{
  double x[3];
  if (s->kind == CONVEX_HALF_SPACE) {
    m3_mulv(x, R, s->normal);
    v3_copy(s->normal, x);
    s->offset += v3_dot(x, c);
    return;
  }
  m3_mulv(x, R, s->from);
  v3_add(s->from, x, c);
  m3_mulv(x, R, s->to);
  v3_add(s->to, x, c);
  bound_segment(s);
}

PetscErrorCode convex_solid_scaled(const convex_solid *s, double factor, convex_solid *out)
{
  PetscFunctionBegin;
  *out            = *s;
  out->polyhedron = NULL;
  out->radius *= factor, out->offset *= factor, out->bound *= factor;
  for (int k = 0; k < 3; ++k) out->from[k] *= factor, out->to[k] *= factor, out->center[k] *= factor;
  if (s->polyhedron) PetscCall(convex_polyhedron_scaled(s->polyhedron, factor, &out->polyhedron));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void convex_solid_move(convex_solid *s, const double d[3])
{
  v3_axpy(s->center, 1.0, d);
  v3_axpy(s->from, 1.0, d);
  v3_axpy(s->to, 1.0, d);
  s->offset += v3_dot(s->normal, d);
  if (s->polyhedron) convex_polyhedron_move(s->polyhedron, d);
}
