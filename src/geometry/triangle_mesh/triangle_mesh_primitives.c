/* Implementation: square lattice on each side of a box, subdivided icosahedron for a sphere, rings of vertices around an axis otherwise. */
#include "geometry/triangle_mesh/triangle_mesh_primitives.h"
#include "core/math3.h"
#include "core/memory.h"

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

/* Great-circle interpolation gives edges of similar length; flat subdivision makes them shorter near the corners. */
static void slerp(double *o, const double *a, const double *b, double t)
{
  double c[3];
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

/* ---- surfaces of revolution ---- */

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

/* Revolve a profile of n_rings points (rho, z) around the axis. The points run from low to high z along the outside, with rho > 0.
 * The ends are closed by single vertices (poles) at z_low and z_high. */
static PetscErrorCode revolve(const double center[3], const double axis[3], int64_t n_rings, const double *rho, const double *z,
                              double z_low, double z_high, int64_t n_around, triangle_mesh **out)
{
  triangle_mesh *m = NULL;
  double         e1[3], e2[3];
  int64_t        at = 0;
  PetscFunctionBegin;
  PetscCall(triangle_mesh_create(n_rings * n_around + 2, 2 * n_rings * n_around, &m));
  frame_of_axis(axis, e1, e2);
  for (int64_t r = 0; r < n_rings; ++r)
    for (int64_t s = 0; s < n_around; ++s) { /* every other ring is rotated by half a step, which gives better shaped triangles */
      const double angle = 2.0 * M_PI * ((double)s + 0.5 * (double)(r % 2)) / (double)n_around;
      double      *x     = &m->x[3 * (r * n_around + s)];
      for (int k = 0; k < 3; ++k) x[k] = center[k] + rho[r] * (cos(angle) * e1[k] + sin(angle) * e2[k]) + z[r] * axis[k];
    }
  const int64_t low = n_rings * n_around, high = low + 1;
  for (int k = 0; k < 3; ++k) {
    m->x[3 * low + k]  = center[k] + z_low * axis[k];
    m->x[3 * high + k] = center[k] + z_high * axis[k];
  }
  for (int64_t s = 0; s < n_around; ++s) {
    const int64_t next = (s + 1) % n_around, top = (n_rings - 1) * n_around;
    add_triangle(m, &at, low, next, s);
    for (int64_t r = 0; r + 1 < n_rings; ++r) {
      const int64_t a = r * n_around + s, b = r * n_around + next, c = a + n_around, d = b + n_around;
      if (r % 2 == 0) add_triangle(m, &at, a, b, c), add_triangle(m, &at, b, d, c);
      else add_triangle(m, &at, a, b, d), add_triangle(m, &at, a, d, c);
    }
    add_triangle(m, &at, high, top + s, top + next);
  }
  *out = m;
  PetscFunctionReturn(PETSC_SUCCESS);
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
  double        *rho = NULL, *z = NULL, center[3], axis[3];
  PetscErrorCode code;
  PetscFunctionBegin;
  const double length = axis_of(a, b, center, axis);
  const double around = segment_count(2.0 * M_PI * radius, spacing, 12.0), up = segment_count(length, spacing, 1.0);
  const double in = segment_count(radius, spacing, 1.0);
  PetscCall(check_size(around * (up + 1.0 + 2.0 * (in - 1.0)) + 2.0));
  const int64_t n_in = (int64_t)in, n_up = (int64_t)up, n = n_up + 1 + 2 * (n_in - 1);
  PetscCall(MEMORY_ALLOC("profile", ARRAY(rho, n), ARRAY(z, n)));
  for (int64_t i = 1; i < n_in; ++i) {
    rho[i - 1] = rho[n - i] = radius * (double)i / in;
    z[i - 1] = -0.5 * length, z[n - i] = 0.5 * length;
  }
  for (int64_t i = 0; i <= n_up; ++i) rho[n_in - 1 + i] = radius, z[n_in - 1 + i] = length * ((double)i / up - 0.5);
  code = revolve(center, axis, n, rho, z, -0.5 * length, 0.5 * length, (int64_t)around, out);
  MEMORY_FREE(&rho, &z);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode triangle_mesh_capsule(const double a[3], const double b[3], double radius, double spacing, triangle_mesh **out)
{
  double        *rho = NULL, *z = NULL, center[3], axis[3];
  PetscErrorCode code;
  PetscFunctionBegin;
  const double length = axis_of(a, b, center, axis);
  const double around = segment_count(2.0 * M_PI * radius, spacing, 12.0), up = segment_count(length, spacing, 1.0);
  const double cap = segment_count(0.5 * M_PI * radius, spacing, 3.0);
  PetscCall(check_size(around * (up + 2.0 * cap - 1.0) + 2.0));
  const int64_t n_cap = (int64_t)cap, n_up = (int64_t)up, n = n_up + 1 + 2 * (n_cap - 1);
  PetscCall(MEMORY_ALLOC("profile", ARRAY(rho, n), ARRAY(z, n)));
  for (int64_t i = 1; i < n_cap; ++i) {
    const double angle = 0.5 * M_PI * (double)i / cap;
    rho[i - 1] = rho[n - i] = radius * sin(angle);
    z[i - 1]                = -0.5 * length - radius * cos(angle);
    z[n - i]                = 0.5 * length + radius * cos(angle);
  }
  for (int64_t i = 0; i <= n_up; ++i) rho[n_cap - 1 + i] = radius, z[n_cap - 1 + i] = length * ((double)i / up - 0.5);
  code = revolve(center, axis, n, rho, z, -0.5 * length - radius, 0.5 * length + radius, (int64_t)around, out);
  MEMORY_FREE(&rho, &z);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode triangle_mesh_torus(const double center[3], const double axis[3], double major, double minor, double spacing,
                                   triangle_mesh **out)
{
  triangle_mesh *m = NULL;
  double         a[3], e1[3], e2[3];
  int64_t        at = 0;
  PetscFunctionBegin;
  const double long_way  = segment_count(2.0 * M_PI * (major + minor), spacing, 16.0),
               short_way = segment_count(2.0 * M_PI * minor, spacing, 8.0);
  PetscCall(check_size(long_way * short_way));
  const int64_t n = (int64_t)long_way, k_n = (int64_t)short_way;
  PetscCall(triangle_mesh_create(n * k_n, 2 * n * k_n, &m));
  v3_scale(a, 1.0 / v3_norm(axis), axis);
  frame_of_axis(a, e1, e2);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < k_n; ++j) {
      const double u = 2.0 * M_PI * (double)i / long_way, v = 2.0 * M_PI * (double)j / short_way, rho = major + minor * cos(v);
      for (int k = 0; k < 3; ++k) m->x[3 * (i * k_n + j) + k] = center[k] + rho * (cos(u) * e1[k] + sin(u) * e2[k]) + minor * sin(v) * a[k];
      const int64_t p = i * k_n + j, q = i * k_n + (j + 1) % k_n, r = ((i + 1) % n) * k_n + j, s = ((i + 1) % n) * k_n + (j + 1) % k_n;
      add_triangle(m, &at, p, r, s);
      add_triangle(m, &at, p, s, q);
    }
  *out = m;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode triangle_mesh_ellipsoid(const double center[3], const double radii[3], double spacing, triangle_mesh **out)
{
  const double origin[3] = {0.0, 0.0, 0.0}, longest = fmax(radii[0], fmax(radii[1], radii[2]));
  PetscFunctionBegin;
  PetscCall(triangle_mesh_sphere(origin, 1.0, spacing / longest, out));
  for (int64_t i = 0; i < (*out)->n_vertices; ++i)
    for (int k = 0; k < 3; ++k) (*out)->x[3 * i + k] = center[k] + radii[k] * (*out)->x[3 * i + k];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Add rings from one corner of a profile to the next, the first one included; those on the axis are none. */
static int64_t add_rings(double r0, double z0, double r1, double z1, double spacing, int64_t at, double *rho, double *z)
{
  const int64_t n = (int64_t)segment_count(hypot(r1 - r0, z1 - z0), spacing, 1.0);
  for (int64_t i = 0; i < n; ++i) {
    const double t = (double)i / (double)n, r = r0 + t * (r1 - r0);
    if (r == 0.0) continue;
    if (rho) rho[at] = r, z[at] = z0 + t * (z1 - z0);
    ++at;
  }
  return at;
}

/* All rings of the profile; counts them alone if rho is NULL. */
static int64_t profile_rings(int n, const double *along, const double *radius, double spacing, double *rho, double *z)
{
  int64_t m = radius[0] > 0.0 ? add_rings(0.0, along[0], radius[0], along[0], spacing, 0, rho, z) : 0;
  for (int i = 0; i + 1 < n; ++i) m = add_rings(radius[i], along[i], radius[i + 1], along[i + 1], spacing, m, rho, z);
  return radius[n - 1] > 0.0 ? add_rings(radius[n - 1], along[n - 1], 0.0, along[n - 1], spacing, m, rho, z) : m;
}

PetscErrorCode triangle_mesh_revolution(const double center[3], const double axis[3], int n, const double *along, const double *radius,
                                        double spacing, triangle_mesh **out)
{
  double        *rho = NULL, *z = NULL, a[3], widest = 0.0, length = 0.0;
  PetscErrorCode code;
  PetscFunctionBegin;
  for (int i = 0; i < n; ++i)
    widest = fmax(widest, radius[i]), length += i ? hypot(radius[i] - radius[i - 1], along[i] - along[i - 1]) : 0.0;
  const double around = segment_count(2.0 * M_PI * widest, spacing, 12.0);
  PetscCall(check_size(around * (segment_count(length + radius[0] + radius[n - 1], spacing, 1.0) + n + 2)));
  const int64_t m = profile_rings(n, along, radius, spacing, NULL, NULL);
  v3_scale(a, 1.0 / v3_norm(axis), axis);
  PetscCall(MEMORY_ALLOC("profile", ARRAY(rho, m), ARRAY(z, m)));
  (void)profile_rings(n, along, radius, spacing, rho, z);
  code = revolve(center, a, m, rho, z, along[0], along[n - 1], (int64_t)around, out);
  MEMORY_FREE(&rho, &z);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
