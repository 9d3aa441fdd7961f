/* Implementation: square lattice on each side of a box, subdivided icosahedron for a sphere, rings of vertices around an axis (ring_mesh.h) otherwise. */
#include "geometry/triangle_mesh/triangle_mesh_primitives.h"
#include "core/math3.h"
#include "core/memory.h"
#include "geometry/triangle_mesh/ring_mesh.h"

enum { MAX_VERTICES = 10000000 };

static PetscErrorCode check_size(double n_vertices)
{
  PetscFunctionBegin;
  PetscCheck(n_vertices <= MAX_VERTICES, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "the surface would need %.0f vertices (at most %d): choose a larger surface spacing", n_vertices, MAX_VERTICES);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* number of segments; a double until check_size has bounded it */
static double segment_count(double length, double spacing, double least)
{
  return spacing > 0.0 ? fmax(least, ceil(length / spacing - 1e-9)) : least;
}

static void add_triangle(triangle_mesh *m, int64_t *at, int64_t a, int64_t b, int64_t c)
{
  m->tri[(*at)++] = (int32_t)a;
  m->tri[(*at)++] = (int32_t)b;
  m->tri[(*at)++] = (int32_t)c;
}

/* ---- box: the lattice points on its surface ---- */

/* Index of lattice point (i, j, k) among those on the surface, counted slab by slab. */
static int64_t box_vertex(const int64_t n[3], int64_t i, int64_t j, int64_t k)
{
  const int64_t full = (n[1] + 1) * (n[2] + 1), ring = 2 * (n[1] + n[2]);
  if (i == 0 || i == n[0]) return (i == 0 ? 0 : full + (n[0] - 1) * ring) + j * (n[2] + 1) + k;
  const int64_t base = full + (i - 1) * ring; /* around the border of the slab */
  if (j == 0) return base + k;
  if (j == n[1]) return base + (n[2] + 1) + k;
  return base + 2 * (n[2] + 1) + 2 * (j - 1) + (k == 0 ? 0 : 1);
}

PetscErrorCode triangle_mesh_box(const double min[3], const double max[3], double spacing, triangle_mesh **out)
{
  triangle_mesh *m = NULL;
  double         size[3];
  int64_t        n[3], at = 0;
  PetscFunctionBegin;
  for (int k = 0; k < 3; ++k) size[k] = segment_count(max[k] - min[k], spacing, 1.0);
  PetscCall(check_size(2.0 * (size[0] * size[1] + size[1] * size[2] + size[2] * size[0]) + 2.0));
  for (int k = 0; k < 3; ++k) n[k] = (int64_t)size[k];
  const int64_t faces = n[0] * n[1] + n[1] * n[2] + n[2] * n[0];
  PetscCall(triangle_mesh_create(2 * faces + 2, 4 * faces, &m));
  for (int64_t i = 0; i <= n[0]; ++i)
    for (int64_t j = 0; j <= n[1]; ++j) {
      const bool    is_rim = i == 0 || i == n[0] || j == 0 || j == n[1];
      const int64_t stride = is_rim ? 1 : n[2];
      for (int64_t k = 0; k <= n[2]; k += stride) {
        const int64_t l[3] = {i, j, k};
        double       *x    = &m->x[3 * box_vertex(n, i, j, k)];
        for (int q = 0; q < 3; ++q)
          x[q] = l[q] == 0 ? min[q] : l[q] == n[q] ? max[q] : min[q] + (max[q] - min[q]) * (double)l[q] / (double)n[q];
      }
    }
  for (int axis = 0; axis < 3; ++axis) {
    const int u = (axis + 1) % 3, v = (axis + 2) % 3;
    for (int side = 0; side < 2; ++side)
      for (int64_t a = 0; a < n[u]; ++a)
        for (int64_t b = 0; b < n[v]; ++b) {
          int64_t corner[4];
          for (int q = 0; q < 4; ++q) {
            int64_t l[3];
            l[axis] = side * n[axis], l[u] = a + (q == 1 || q == 2), l[v] = b + (q >= 2);
            corner[q] = box_vertex(n, l[0], l[1], l[2]);
          }
          /* (u, v, axis) is right-handed: counter-clockwise seen from +axis. The diagonals alternate for the best possible
           * symmetry. */
          const int s = (a + b) % 2;
          if (side) {
            add_triangle(m, &at, corner[s], corner[s + 1], corner[s + 2]);
            add_triangle(m, &at, corner[s], corner[s + 2], corner[(s + 3) % 4]);
          } else {
            add_triangle(m, &at, corner[s], corner[s + 2], corner[s + 1]);
            add_triangle(m, &at, corner[s], corner[(s + 3) % 4], corner[s + 2]);
          }
        }
  }
  *out = m;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- sphere: icosahedron with every face cut into n^2 triangles ---- */

static void icosahedron(double x[12][3], int face[20][3])
{
  static const int f[20][3] = {{0, 11, 5},  {0, 5, 1},  {0, 1, 7},  {0, 7, 10}, {0, 10, 11}, {1, 5, 9}, {5, 11, 4},
                               {11, 10, 2}, {10, 7, 6}, {7, 1, 8},  {3, 9, 4},  {3, 4, 2},   {3, 2, 6}, {3, 6, 8},
                               {3, 8, 9},   {4, 9, 5},  {2, 4, 11}, {6, 2, 10}, {8, 6, 7},   {9, 8, 1}};
  const double     g        = 0.5 * (1.0 + sqrt(5.0));
  const double     v[12][3] = {{-1, g, 0},  {1, g, 0},  {-1, -g, 0}, {1, -g, 0}, {0, -1, g},  {0, 1, g},
                               {0, -1, -g}, {0, 1, -g}, {g, 0, -1},  {g, 0, 1},  {-g, 0, -1}, {-g, 0, 1}};
  for (int i = 0; i < 12; ++i) v3_scale(x[i], 1.0 / v3_norm(v[i]), v[i]);
  memcpy(face, f, sizeof f);
}

/* Great-circle interpolation gives edges of similar length; flat subdivision makes them shorter near the corners. The five triangles at a corner of the
 * icosahedron would give it 0.89 of the mean area of a vertex; CORNERS makes the edges near corners longer by this fraction. */
static void slerp(double *o, const double *a, const double *b, double fraction)
{
  static const double CORNERS = 0.01;
  const double        t       = fraction + CORNERS * sin(2.0 * M_PI * fraction) / (2.0 * M_PI);
  double              c[3];
  v3_cross(c, a, b);
  const double angle = atan2(v3_norm(c), v3_dot(a, b));
  const double wa = angle > 0.0 ? sin((1.0 - t) * angle) / sin(angle) : 1.0 - t, wb = angle > 0.0 ? sin(t * angle) / sin(angle) : t;
  for (int k = 0; k < 3; ++k) o[k] = wa * a[k] + wb * b[k];
  v3_scale(o, 1.0 / v3_norm(o), o);
}

/* Point (i, j) of a face with weights (n - i - j, i, j)/n: the mean of the interpolations along the three directions of rows. */
static void face_point(double *o, const double *a, const double *b, const double *c, int64_t i, int64_t j, int64_t n)
{
  const double *v[3]   = {a, b, c};
  const int64_t w[3]   = {n - i - j, i, j};
  double        sum[3] = {0};
  for (int q = 0; q < 3; ++q) { /* row at constant weight of v[q] */
    const int64_t rest = n - w[q];
    double        p[3], r[3], x[3];
    if (rest == 0) v3_copy(x, v[q]);
    else {
      slerp(p, v[q], v[(q + 1) % 3], (double)rest / (double)n);
      slerp(r, v[q], v[(q + 2) % 3], (double)rest / (double)n);
      slerp(x, p, r, (double)w[(q + 2) % 3] / (double)rest);
    }
    v3_add(sum, sum, x);
  }
  v3_scale(o, 1.0 / v3_norm(sum), sum);
}

PetscErrorCode triangle_mesh_sphere(const double center[3], double radius, double spacing, triangle_mesh **out)
{
  triangle_mesh *m = NULL;
  double         corner[12][3];
  int            face[20][3], edge[12][12];
  int64_t        at = 0;
  PetscFunctionBegin;
  const double cuts = segment_count(1.1071487177940904 * radius, spacing, 1.0); /* an edge spans atan 2 */
  PetscCall(check_size(10.0 * cuts * cuts + 2.0));
  const int64_t n = (int64_t)cuts, n_edge = n - 1, n_face = (n - 1) * (n - 2) / 2;
  PetscCall(triangle_mesh_create(10 * n * n + 2, 20 * n * n, &m));
  icosahedron(corner, face);
  for (int i = 0; i < 12; ++i) v3_copy(&m->x[3 * i], corner[i]);
  int n_edges = 0;
  for (int f = 0; f < 20; ++f)
    for (int q = 0; q < 3; ++q) {
      const int a = face[f][q], b = face[f][(q + 1) % 3];
      if (a > b) continue;
      edge[a][b] = edge[b][a] = n_edges++;
      for (int64_t i = 1; i < n; ++i)
        slerp(&m->x[3 * (12 + (int64_t)edge[a][b] * n_edge + i - 1)], corner[a], corner[b], (double)i / (double)n);
    }
  for (int f = 0; f < 20; ++f) {
    const int    *c    = face[f];
    const int64_t base = 12 + 30 * n_edge + f * n_face;
    int64_t       k    = base;
    for (int64_t i = 1; i < n; ++i)
      for (int64_t j = 1; i + j < n; ++j) face_point(&m->x[3 * k++], corner[c[0]], corner[c[1]], corner[c[2]], i, j, n);
        /* index of point (i, j) of this face */
#define ON_EDGE(a, b, t) (12 + (int64_t)edge[a][b] * n_edge + ((a) < (b) ? (t) : n - (t)) - 1)
#define POINT(i, j)                                                                                                                        \
  ((i) == n         ? c[1]                                                                                                                 \
   : (j) == n       ? c[2]                                                                                                                 \
   : (i) + (j) == 0 ? c[0]                                                                                                                 \
   : (j) == 0       ? ON_EDGE(c[0], c[1], i)                                                                                               \
   : (i) == 0       ? ON_EDGE(c[0], c[2], j)                                                                                               \
   : (i) + (j) == n ? ON_EDGE(c[1], c[2], j)                                                                                               \
                    : base + ((i)-1) * (n - 1) - (i) * ((i)-1) / 2 + (j)-1)
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; i + j < n; ++j) {
        add_triangle(m, &at, POINT(i, j), POINT(i + 1, j), POINT(i, j + 1));
        if (i + j + 1 < n) add_triangle(m, &at, POINT(i + 1, j), POINT(i + 1, j + 1), POINT(i, j + 1));
      }
#undef POINT
#undef ON_EDGE
  }
  for (int64_t i = 0; i < m->n_vertices; ++i)
    for (int k = 0; k < 3; ++k) m->x[3 * i + k] = center[k] + radius * m->x[3 * i + k];
  *out = m;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- surfaces of revolution, and ellipsoids ---- */

/* A piece of a meridian: a straight line from (rho, z) at t = 0 to t = 1, or an arc about (center_rho, center_z) with angles from the direction of rho
 * to that of the axis. */
typedef struct {
  bool   is_arc;
  double rho[2], z[2];
  double radius, center_rho, center_z, angle[2];
} curve;

enum { MOST_CURVES = 3 }; /* of one smooth piece, see triangle_mesh_capsule */

typedef struct {
  int    n;                      /* curves of one piece */
  double share[MOST_CURVES + 1]; /* t at the ends of the curves, ascending from 0 to 1 */
  curve  curve[MOST_CURVES];
} smooth_piece;

typedef struct {
  double        center[3], axis[3], e1[3], e2[3];
  smooth_piece *piece;
} revolution;

/* Unit vectors e1, e2 with (e1, e2, a) right-handed. */
static void frame_of_axis(const double *a, double *e1, double *e2)
{
  int k = 0;
  for (int i = 1; i < 3; ++i)
    if (fabs(a[i]) < fabs(a[k])) k = i;
  for (int i = 0; i < 3; ++i) e1[i] = (i == k) - a[k] * a[i];
  v3_scale(e1, 1.0 / v3_norm(e1), e1);
  v3_cross(e2, a, e1);
}

/* (rho, z) at t in [0, 1] along a curve, and the derivatives by t. */
static void curve_point(const curve *c, double t, double p[2], double p_t[2])
{
  if (c->is_arc) {
    const double turn = c->angle[1] - c->angle[0], angle = c->angle[0] + t * turn;
    p[0] = c->center_rho + c->radius * cos(angle), p_t[0] = -turn * c->radius * sin(angle);
    p[1] = c->center_z + c->radius * sin(angle), p_t[1] = turn * c->radius * cos(angle);
  } else {
    p_t[0] = c->rho[1] - c->rho[0], p_t[1] = c->z[1] - c->z[0];
    p[0] = c->rho[0] + t * p_t[0], p[1] = c->z[0] + t * p_t[1];
  }
  /* exact at the ends: a pole has rho = 0, and a ring on an edge lies on both pieces */
  if (t == 0.0 || t == 1.0) p[0] = c->rho[t == 1.0], p[1] = c->z[t == 1.0];
}

static void revolution_point(const void *context, int i, double t, double angle, double x[3], double x_t[3], double x_angle[3])
{
  const revolution   *r = context;
  const smooth_piece *s = &r->piece[i];
  double              p[2], p_t[2];
  int                 k = 0;
  while (k + 1 < s->n && t >= s->share[k + 1]) ++k;
  const double part = s->share[k + 1] - s->share[k], cosine = cos(angle), sine = sin(angle);
  curve_point(&s->curve[k], (t - s->share[k]) / part, p, p_t);
  for (int j = 0; j < 3; ++j) {
    const double out = cosine * r->e1[j] + sine * r->e2[j];
    x[j]             = r->center[j] + p[0] * out + p[1] * r->axis[j];
    x_t[j]           = (p_t[0] * out + p_t[1] * r->axis[j]) / part;
    x_angle[j]       = p[0] * (cosine * r->e2[j] - sine * r->e1[j]);
  }
}

/* One piece of curves that meet without an edge; t is proportional to the length. */
static void join_curves(int n, const curve *c, smooth_piece *out)
{
  double sum = 0.0;
  out->n     = n;
  for (int k = 0; k < n; ++k) {
    out->curve[k] = c[k];
    out->share[k] = sum;
    sum += c[k].is_arc ? c[k].radius * fabs(c[k].angle[1] - c[k].angle[0]) : hypot(c[k].rho[1] - c[k].rho[0], c[k].z[1] - c[k].z[0]);
  }
  for (int k = 0; k < n; ++k) out->share[k] /= sum;
  out->share[n] = 1.0;
}

static curve line(double rho0, double z0, double rho1, double z1) { return (curve){.rho = {rho0, rho1}, .z = {z0, z1}}; }
/* with the exact ends (rho0, z0) and (rho1, z1) */
static curve arc(double center_rho, double center_z, double radius, double from, double to, double rho0, double z0, double rho1, double z1)
{
  return (curve){true, {rho0, rho1}, {z0, z1}, radius, center_rho, center_z, {from, to}};
}

static PetscErrorCode revolve(const double center[3], const double axis[3], int n, smooth_piece *piece, bool is_closed, double spacing,
                              triangle_mesh **out)
{
  revolution         r = {.piece = piece};
  const ring_surface s = {n, is_closed, true, revolution_point, &r};
  PetscFunctionBegin;
  v3_copy(r.center, center);
  v3_scale(r.axis, 1.0 / v3_norm(axis), axis);
  frame_of_axis(r.axis, r.e1, r.e2);
  PetscCall(ring_mesh_create(&s, spacing, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The spacing that gives at least `least` points on a circle of this radius. It is not refined below a 400th of the length of the shape, because
 * vertices have equal areas: a fibre would need as many rings as its length has widths. Slender shapes have at least three points. */
static double bounded_spacing(double spacing, double radius, double least, double length)
{
  static const double RINGS = 400.0;
  const double        most  = fmax(2.0 * M_PI * radius / least, length / RINGS);
  return spacing > 0.0 ? fmin(spacing, most) : most;
}

static double axis_of(const double a[3], const double b[3], double *center, double *axis)
{
  double d[3];
  v3_sub(d, b, a);
  const double length = v3_norm(d);
  v3_scale(axis, 1.0 / length, d);
  for (int k = 0; k < 3; ++k) center[k] = 0.5 * (a[k] + b[k]);
  return length;
}

PetscErrorCode triangle_mesh_cylinder(const double a[3], const double b[3], double radius, double spacing, triangle_mesh **out)
{
  double       center[3], axis[3];
  smooth_piece piece[3];
  PetscFunctionBegin;
  const double half = 0.5 * axis_of(a, b, center, axis);
  const curve  low = line(0.0, -half, radius, -half), side = line(radius, -half, radius, half), high = line(radius, half, 0.0, half);
  join_curves(1, &low, &piece[0]);
  join_curves(1, &side, &piece[1]);
  join_curves(1, &high, &piece[2]);
  PetscCall(revolve(center, axis, 3, piece, false, bounded_spacing(spacing, radius, 12.0, 2.0 * half), out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode triangle_mesh_capsule(const double a[3], const double b[3], double radius, double spacing, triangle_mesh **out)
{
  double       center[3], axis[3];
  smooth_piece piece;
  PetscFunctionBegin;
  const double half = 0.5 * axis_of(a, b, center, axis), top = half + radius, q = 0.5 * M_PI;
  const curve  c[3] = {arc(0.0, -half, radius, -q, 0.0, 0.0, -top, radius, -half), line(radius, -half, radius, half),
                       arc(0.0, half, radius, 0.0, q, radius, half, 0.0, top)};
  join_curves(3, c, &piece);
  PetscCall(revolve(center, axis, 1, &piece, false, bounded_spacing(spacing, radius, 12.0, 2.0 * half), out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode triangle_mesh_torus(const double center[3], const double axis[3], double major, double minor, double spacing,
                                   triangle_mesh **out)
{
  smooth_piece piece;
  const curve  c = arc(major, 0.0, minor, 0.0, 2.0 * M_PI, major + minor, 0.0, major + minor, 0.0);
  PetscFunctionBegin;
  join_curves(1, &c, &piece);
  PetscCall(revolve(center, axis, 1, &piece, true,
                    fmin(bounded_spacing(spacing, major + minor, 16.0, 0.0), bounded_spacing(spacing, minor, 8.0, 2.0 * M_PI * major)),
                    out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode triangle_mesh_revolution(const double center[3], const double axis[3], int n, const double *along, const double *radius,
                                        double spacing, triangle_mesh **out)
{
  smooth_piece *piece;
  double        widest = 0.0;
  int           m      = 0;
  PetscFunctionBegin;
  PetscCall(memory_alloc("profile", n + 1, sizeof *piece, &piece));
  for (int i = 0; i < n; ++i) widest = fmax(widest, radius[i]);
  for (int i = 0; i <= n; ++i) { /* caps at both ends, unless the profile starts or ends on the axis */
    const double r0 = i > 0 ? radius[i - 1] : 0.0, z0 = along[i > 0 ? i - 1 : 0], r1 = i < n ? radius[i] : 0.0,
                 z1 = along[i < n ? i : n - 1];
    const curve c   = line(r0, z0, r1, z1);
    if (r0 > 0.0 || r1 > 0.0) join_curves(1, &c, &piece[m++]);
  }
  const PetscErrorCode code = revolve(center, axis, m, piece, false, bounded_spacing(spacing, widest, 12.0, along[n - 1] - along[0]), out);
  memory_free(&piece);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  double center[3], radii[3];
  int    axis; /* of the rings */
} ellipsoid;

static void ellipsoid_point(const void *context, int i, double t, double angle, double x[3], double x_t[3], double x_angle[3])
{
  const ellipsoid *e = context;
  const int        k = e->axis, u = (k + 1) % 3, v = (k + 2) % 3;
  (void)i;
  const double s = t == 0.0 || t == 1.0 ? 0.0 : sin(M_PI * t), c = -cos(M_PI * t);
  x[u] = e->center[u] + e->radii[u] * s * cos(angle), x_t[u] = -M_PI * e->radii[u] * c * cos(angle),
  x_angle[u] = -e->radii[u] * s * sin(angle);
  x[v] = e->center[v] + e->radii[v] * s * sin(angle), x_t[v] = -M_PI * e->radii[v] * c * sin(angle),
  x_angle[v] = e->radii[v] * s * cos(angle);
  x[k] = e->center[k] + e->radii[k] * c, x_t[k] = M_PI * e->radii[k] * s, x_angle[k] = 0.0;
}

PetscErrorCode triangle_mesh_ellipsoid(const double center[3], const double radii[3], double spacing, triangle_mesh **out)
{
  ellipsoid e = {.axis = 0};
  PetscFunctionBegin;
  v3_copy(e.center, center);
  v3_copy(e.radii, radii);
  for (int i = 0; i < 3; ++i) { /* the other two radii are the closest ones */
    const double one  = fabs(log(radii[(i + 1) % 3] / radii[(i + 2) % 3])),
                 best = fabs(log(radii[(e.axis + 1) % 3] / radii[(e.axis + 2) % 3]));
    if (one < best) e.axis = i;
  }
  const int          k = e.axis;
  const double       a = radii[(k + 1) % 3], b = radii[(k + 2) % 3];
  const ring_surface s = {1, false, a == b, ellipsoid_point, &e};
  PetscCall(ring_mesh_create(&s, bounded_spacing(spacing, fmin(a, b), 5.0, 2.0 * radii[k]), out));
  PetscFunctionReturn(PETSC_SUCCESS);
}
