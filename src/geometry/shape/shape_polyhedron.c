/* Intersections of boxes and half-spaces are convex polyhedra: their corners, edges and faces can be had exactly, without a grid. */
#include "core/math3.h"
#include "core/memory.h"
#include "geometry/shape/shape.h"

enum { MAX_FACES = 64 };

typedef struct {
  int    n;
  double normal[MAX_FACES][3], offset[MAX_FACES]; /* the solid is where normal . x <= offset */
} half_spaces;

/* Two that agree to round-off are one, or their common face would be drawn twice. */
static bool add_half_space(half_spaces *h, const double c[3], const double R[9], const double normal[3], double offset, double scale)
{
  double n[3];
  m3_mulv(n, R, normal);
  v3_scale(n, 1.0 / v3_norm(n), n);
  offset += v3_dot(n, c);
  for (int i = 0; i < h->n; ++i) {
    double d[3];
    v3_sub(d, n, h->normal[i]);
    if (v3_norm(d) < 1e-12 && fabs(offset - h->offset[i]) < 1e-12 * scale) return true;
  }
  if (h->n == MAX_FACES) return false;
  v3_copy(h->normal[h->n], n);
  h->offset[h->n++] = offset;
  return true;
}

/* False: not a polyhedron, or one of too many faces. (c, R): the pose of what s is part of. */
static bool collect(half_spaces *h, const shape_spec *s, const double c[3], const double R[9], double scale)
{
  double own_c[3], own_R[9], at[3], turn[9];
  (void)shape_pose(s, own_c, own_R);
  m3_mulv(at, R, own_c);
  v3_axpy(at, 1.0, c);
  m3_mul(turn, R, own_R);
  if (s->plane) return add_half_space(h, at, turn, s->plane->normal, shape_plane_offset(s->plane), scale);
  if (s->box) {
    for (int k = 0; k < 6; ++k) {
      double normal[3] = {0.0, 0.0, 0.0};
      normal[k / 2]    = k % 2 ? 1.0 : -1.0;
      if (!add_half_space(h, at, turn, normal, k % 2 ? s->box->max[k / 2] : -s->box->min[k / 2], scale)) return false;
    }
    return true;
  }
  for (int i = 0; i < s->intersect.n; ++i)
    if (!collect(h, s->intersect.item[i].value, at, turn, scale)) return false;
  return s->intersect.n > 0;
}

static bool is_inside(const half_spaces *h, const double *x, double tolerance)
{
  for (int i = 0; i < h->n; ++i)
    if (v3_dot(h->normal[i], x) > h->offset[i] + tolerance) return false;
  return true;
}

/* Corners: where three planes meet inside all others; room for `capacity`, or only counted (x NULL). */
static int64_t corners(const half_spaces *h, double tolerance, double *x)
{
  int64_t n = 0;
  for (int i = 0; i < h->n; ++i)
    for (int j = i + 1; j < h->n; ++j)
      for (int k = j + 1; k < h->n; ++k) {
        const double *a = h->normal[i], *b = h->normal[j], *c = h->normal[k];
        double        bc[3], ca[3], ab[3], p[3] = {0.0, 0.0, 0.0};
        v3_cross(bc, b, c);
        v3_cross(ca, c, a);
        v3_cross(ab, a, b);
        const double det = v3_dot(a, bc);
        if (fabs(det) < 1e-9) continue;
        v3_axpy(p, h->offset[i] / det, bc);
        v3_axpy(p, h->offset[j] / det, ca);
        v3_axpy(p, h->offset[k] / det, ab);
        bool is_new = is_inside(h, p, tolerance);
        for (int64_t q = 0; q < n && is_new; ++q) {
          double d[3];
          v3_sub(d, p, x + 3 * q);
          is_new = v3_norm(d) > 4.0 * tolerance;
        }
        if (is_new) v3_copy(x + 3 * n++, p);
      }
  return n;
}

/* The corners of face i, counter-clockwise seen from outside; fan [n] their numbers. */
static int face_corners(const half_spaces *h, int i, int64_t n_corners, const double *x, double tolerance, int32_t *fan, double *angle)
{
  const double *n = h->normal[i];
  double        center[3] = {0.0, 0.0, 0.0}, u[3], v[3];
  int           m = 0;
  for (int64_t q = 0; q < n_corners; ++q)
    if (fabs(v3_dot(n, x + 3 * q) - h->offset[i]) < 4.0 * tolerance) fan[m++] = (int32_t)q;
  if (m < 3) return 0; /* a plane that cuts nothing off */
  for (int q = 0; q < m; ++q) v3_axpy(center, 1.0 / m, x + 3 * (int64_t)fan[q]);
  v3_sub(u, x + 3 * (int64_t)fan[0], center);
  v3_cross(v, n, u);
  for (int q = 0; q < m; ++q) {
    double d[3];
    v3_sub(d, x + 3 * (int64_t)fan[q], center);
    angle[q] = atan2(v3_dot(d, v), v3_dot(d, u));
  }
  for (int q = 1; q < m; ++q) /* few: by insertion */
    for (int p = q; p > 0 && angle[p] < angle[p - 1]; --p) {
      const double  t = angle[p];
      const int32_t f = fan[p];
      angle[p] = angle[p - 1], angle[p - 1] = t;
      fan[p] = fan[p - 1], fan[p - 1] = f;
    }
  return m;
}

PetscErrorCode shape_polyhedron(const shape_spec *s, const double min[3], const double max[3], triangle_mesh **out)
{
  half_spaces h     = {0};
  double     *x     = NULL, *angle = NULL, size[3], origin[3] = {0.0, 0.0, 0.0};
  int32_t    *fan   = NULL;
  const double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  PetscFunctionBegin;
  *out = NULL;
  v3_sub(size, max, min);
  const double scale = v3_norm(size) + fmax(v3_norm(min), v3_norm(max)), tolerance = 1e-12 * scale;
  if (!collect(&h, s, origin, identity, scale)) PetscFunctionReturn(PETSC_SUCCESS);
  const int64_t most = (int64_t)h.n * (h.n - 1) * (h.n - 2) / 6;
  PetscCall(memory_alloc("polyhedron", 3 * most + 3, sizeof *x, &x));
  const int64_t n = corners(&h, tolerance, x);
  PetscCall(memory_alloc("polyhedron", n + 1, sizeof *fan, &fan));
  PetscCall(memory_alloc("polyhedron", n + 1, sizeof *angle, &angle));
  int64_t n_triangles = 0;
  for (int pass = 0; pass < 2; ++pass) { /* count, then fill */
    if (pass == 1) {
      PetscCall(triangle_mesh_create(n, n_triangles, out));
      for (int64_t q = 0; q < 3 * n; ++q) (*out)->x[q] = x[q];
      n_triangles = 0;
    }
    for (int i = 0; i < h.n; ++i) {
      const int m = face_corners(&h, i, n, x, tolerance, fan, angle);
      for (int q = 2; q < m; ++q, ++n_triangles)
        if (pass == 1) {
          int32_t *t = &(*out)->tri[3 * n_triangles];
          t[0] = fan[0], t[1] = fan[q - 1], t[2] = fan[q];
        }
    }
  }
  memory_free(&x);
  memory_free(&fan);
  memory_free(&angle);
  PetscFunctionReturn(PETSC_SUCCESS);
}
