/* Implementation: dual contouring with one vertex for each sheet of the surface that crosses a cell [Nielson2004]. Thin walls and
 * sharp rims therefore remain closed surfaces; a single vertex per cell would merge their two sheets.
 *
 * The surface does not intersect itself [JuUdeshi2006]: each grid edge that the surface crosses has a polygon, whose corners are the vertices
 * of the four cells at the edge. Vertices lie in their cells. If the connection of two vertices does not cross the face between their
 * cells, it gets a further vertex on that face. A polygon without such vertices is divided by a diagonal, if both triangles lie in the union
 * of the four tetrahedra of the grid edge and two neighbouring vertices. All other polygons are fans around the crossing of the
 * grid edge. The triangles of different polygons then lie in different tetrahedra; those of a fan lie in single cells. Where two sheets in one cell
 * intersect, their vertices move towards the centres of their borders. If that does not suffice, triangle_mesh_crossings finds the intersections. */
#include "geometry/level_set/level_set_contour.h"
#include "core/eigen3.h"
#include "core/math3.h"
#include "core/memory.h"
#include "geometry/primitive/segment_triangle.h"

enum { MAX_CELLS = 30000000 };
static const double MARGIN = 1e-6; /* smallest distance of vertices and crossings from the border of edges, faces and tetrahedra [cells] */

static const double BORDER = 1e-3, ROUNDING = 1e-9; /* the same for fitted vertices; round-off of relative positions */

/* A vertex on the curve in which the surface crosses a face between two cells; key: face and curve, see face_key. */
typedef struct {
  int64_t key;
  int32_t vertex;
} contour_split;

typedef struct {
  const level_set *phi;
  int64_t          n[3]; /* cells; nodes are one more */
  double           origin[3], h;
  double          *value;  /* [nodes] */
  int32_t         *vertex; /* [cells] first vertex of the cell */
  /* Indexed by the signs of the corners of a cell (bit q: corner q is inside): the number of sheets, and the sheet of each edge;
   * -1: the edge is not crossed. Edge 4 axis + i runs along axis, from the corner offset by i & 1 in axis + 1 and i >> 1 in axis +
   * 2. */
  uint8_t n_sheets[256];
  int8_t  sheet[256][12];
  /* the surface; the vertices of cells come first */
  int64_t        n_vertices, x_capacity, n_triangles, tri_capacity, n_split, split_capacity;
  double        *x;     /* [n_vertices][3] */
  int32_t       *tri;   /* [n_triangles][3] */
  contour_split *split; /* [n_split] ascending keys */
} contour;

static double  cross2(const double *a, const double *b) { return a[0] * b[1] - a[1] * b[0]; }
static int64_t node_at(const contour *c, int64_t i, int64_t j, int64_t k) { return (i * (c->n[1] + 1) + j) * (c->n[2] + 1) + k; }
static int64_t cell_at(const contour *c, int64_t i, int64_t j, int64_t k) { return (i * c->n[1] + j) * c->n[2] + k; }

/* ---- sheets ---- */

/* edge along axis, with offsets along `other` and along the third axis */
static int edge_of(int axis, int other, int at_other, int at_third)
{
  return other == (axis + 1) % 3 ? 4 * axis + at_other + 2 * at_third : 4 * axis + at_third + 2 * at_other;
}

static int corner_at(int a, int at_a, int b, int at_b, int at_third) { return at_a << a | at_b << b | at_third << (3 - a - b); }

/* Unite the crossed edges of a face in pairs into one sheet. If all four edges are crossed, the two at each inside corner form a
 * pair. Both cells at a face decide in the same way, so that the sheets match. */
static void unite_edges_of_face(int signs, int axis, int side, int8_t *sheet)
{
  const int u = (axis + 1) % 3, v = (axis + 2) % 3;
  const int edge[4]   = {edge_of(u, v, 0, side), edge_of(v, u, 1, side), edge_of(u, v, 1, side), edge_of(v, u, 0, side)};
  const int corner[4] = {corner_at(u, 0, v, 0, side), corner_at(u, 1, v, 0, side), corner_at(u, 1, v, 1, side),
                         corner_at(u, 0, v, 1, side)};
  int       n = 0, first = -1;
  for (int i = 0; i < 4; ++i) n += sheet[edge[i]] >= 0;
  for (int i = 0; i < 4; ++i) {
    int a = -1, b = -1;
    if (n == 2 && sheet[edge[i]] >= 0) {
      if (first < 0) first = edge[i];
      else a = first, b = edge[i];
    }
    if (n == 4 && (signs >> corner[i] & 1)) a = edge[i], b = edge[(i + 3) % 4]; /* edge i starts and edge i - 1 ends at corner i */
    if (a < 0 || sheet[a] == sheet[b]) continue;
    const int8_t keep = sheet[a] < sheet[b] ? sheet[a] : sheet[b], drop = sheet[a] < sheet[b] ? sheet[b] : sheet[a];
    for (int e = 0; e < 12; ++e)
      if (sheet[e] == drop) sheet[e] = keep;
  }
}

static void tabulate_sheets(contour *c)
{
  for (int signs = 0; signs < 256; ++signs) {
    int8_t *sheet = c->sheet[signs], number[12];
    for (int axis = 0; axis < 3; ++axis)
      for (int i = 0; i < 4; ++i) {
        const int u = (axis + 1) % 3, v = (axis + 2) % 3, a = corner_at(u, i & 1, v, i >> 1, 0), b = a | 1 << axis;
        sheet[4 * axis + i] = (signs >> a & 1) != (signs >> b & 1) ? (int8_t)(4 * axis + i) : -1;
      }
    for (int axis = 0; axis < 3; ++axis)
      for (int side = 0; side < 2; ++side) unite_edges_of_face(signs, axis, side, sheet);
    c->n_sheets[signs] = 0;
    for (int e = 0; e < 12; ++e)
      if (sheet[e] == e) number[e] = c->n_sheets[signs]++;
    for (int e = 0; e < 12; ++e)
      if (sheet[e] >= 0) sheet[e] = number[sheet[e]];
  }
}

static int cell_signs(const contour *c, int64_t i, int64_t j, int64_t k)
{
  int signs = 0;
  for (int q = 0; q < 8; ++q) signs |= (c->value[node_at(c, i + (q & 1), j + (q >> 1 & 1), k + (q >> 2))] < 0.0) << q;
  return signs;
}

/* ---- vertices ---- */

static void node_position(const contour *c, const int64_t at[3], double *x)
{
  for (int d = 0; d < 3; ++d) x[d] = c->origin[d] + c->h * (double)at[d];
}

/* Zero of phi between two nodes, by bisection, because boolean combinations have kinks. fa: value at a */
static void find_crossing(const contour *c, const double *a, double fa, const double *b, double *x)
{
  double         lo = 0.0, hi = 1.0, d[3];
  level_set_pool pool;
  pool.used = 0;
  v3_sub(d, b, a);
  for (int k = 0; k < 3; ++k) x[k] = 0.5 * (a[k] + b[k]);
  const level_set *phi = level_set_within(c->phi, x, 0.5 * v3_norm(d), &pool);
  for (int i = 0; i < 40; ++i) {
    const double t = 0.5 * (lo + hi);
    for (int k = 0; k < 3; ++k) x[k] = a[k] + t * (b[k] - a[k]);
    if ((level_set_implicit(phi, x) < 0.0) == (fa < 0.0)) lo = t;
    else hi = t;
  }
}

/* The crossing of the grid edge that starts at node `at` and runs along axis. */
static void edge_crossing(const contour *c, const int64_t at[3], int axis, double *x)
{
  const int64_t b[3] = {at[0] + (axis == 0), at[1] + (axis == 1), at[2] + (axis == 2)};
  double        xa[3], xb[3];
  node_position(c, at, xa);
  node_position(c, b, xb);
  find_crossing(c, xa, c->value[node_at(c, at[0], at[1], at[2])], xb, x);
  x[axis] = fmin(fmax(x[axis], xa[axis] + MARGIN * c->h), xb[axis] - MARGIN * c->h);
}

/* The least-squares solution x of the tangent planes n_i . (x - p_i) = 0, relative to the mean of the p_i. In directions that the
 * planes do not determine, x is closest to the mean. A = sum n n^T, r = sum n (n . (p - mean)). */
static void fit_planes(const double *A, const double *r, double *x)
{
  double lambda[3], V[9], y[3];
  eigen3_symmetric(A, lambda, V);
  const double largest = fmax(lambda[0], fmax(lambda[1], lambda[2]));
  m3_mulv_t(y, V, r);
  for (int k = 0; k < 3; ++k) y[k] = lambda[k] > 0.05 * largest ? y[k] / lambda[k] : 0.0;
  m3_mulv(x, V, y);
}

/* A cell, or one of its faces: lo[k] = hi[k] along the normal of the face. phi: the level set near it */
typedef struct {
  double           lo[3], hi[3];
  const level_set *phi;
} region;

static double clamp_to_region(const region *r, int d, double x, double share)
{
  const double border = share * (r->hi[d] - r->lo[d]);
  return fmin(fmax(x, r->lo[d] + border), r->hi[d] - border);
}

/* Gradient of phi within the region: without its component along the normal of a face. Returns phi. */
static double gradient_in_region(const region *r, const double *x, double *g)
{
  const double v = level_set_eval(r->phi, x, g, NULL);
  for (int d = 0; d < 3; ++d)
    if (r->lo[d] == r->hi[d]) g[d] = 0.0;
  return v;
}

/* x: least-squares fit of the tangent planes at n points p on the surface, clamped to the region without a thin border. */
static void fit_points(int n, double p[][3], const region *r, double *x)
{
  double mean[3] = {0}, A[9] = {0}, sum[3] = {0};
  for (int q = 0; q < n; ++q) v3_axpy(mean, 1.0 / n, p[q]);
  for (int q = 0; q < n; ++q) {
    double g[3], d[3], t[9];
    (void)gradient_in_region(r, p[q], g);
    const double length = v3_norm(g);
    if (!(length > 0.0)) continue;
    v3_scale(g, 1.0 / length, g);
    v3_sub(d, p[q], mean);
    m3_outer(t, g, g);
    m3_axpy(A, 1.0, t);
    v3_axpy(sum, v3_dot(g, d), g);
  }
  fit_planes(A, sum, x);
  for (int d = 0; d < 3; ++d) x[d] = clamp_to_region(r, d, x[d] + mean[d], BORDER);
}

/* Move x towards the surface along the gradient by at most four Newton steps. is_clamped: x stays in the region without its border; false: only
 * in the plane of a face. */
static void project_onto_surface(const region *r, bool is_clamped, double *x)
{
  for (int step = 0; step < 4; ++step) {
    double       g[3];
    const double v = gradient_in_region(r, x, g), g2 = v3_dot(g, g);
    if (!(g2 > 0.0)) return;
    for (int d = 0; d < 3; ++d) {
      x[d] -= v * g[d] / g2;
      if (is_clamped) x[d] = clamp_to_region(r, d, x[d], BORDER);
    }
  }
}

/* Move x, which is in the region but not on the surface, to the closest zero of phi on its connections to corners of opposite sign. */
static void move_towards_corner(const contour *c, const region *r, double *x)
{
  const double v       = level_set_value(c->phi, x);
  double       closest = INFINITY, best[3] = {x[0], x[1], x[2]};
  for (int q = 0; q < 8; ++q) {
    double corner[3] = {q & 1 ? r->hi[0] : r->lo[0], q & 2 ? r->hi[1] : r->lo[1], q & 4 ? r->hi[2] : r->lo[2]};
    double y[3], d[3];
    for (int k = 0; k < 3; ++k) corner[k] = clamp_to_region(r, k, corner[k], 10.0 * MARGIN);
    if ((level_set_value(c->phi, corner) < 0.0) == (v < 0.0)) continue;
    find_crossing(c, x, v, corner, y);
    v3_sub(d, y, x);
    if (!(v3_norm(d) < closest)) continue;
    closest = v3_norm(d);
    v3_copy(best, y);
  }
  v3_copy(x, best);
}

/* A vertex of the surface inside the region, at a sharp feature if there is one; p [n]: crossings at the border of the region. */
static void place_vertex(const contour *c, int n, double p[][3], region *r, double *x)
{
  level_set_pool pool;
  double         center[3];
  pool.used = 0;
  for (int d = 0; d < 3; ++d) center[d] = 0.5 * (r->lo[d] + r->hi[d]);
  r->phi = level_set_within(c->phi, center, 2.0 * c->h, &pool); /* includes all steps of project_onto_surface */
  fit_points(n, p, r, x);
  /* repeat with tangent planes at a tenth of the distance: higher order of accuracy at curved edges */
  for (int pass = 0; pass < 2; ++pass) {
    for (int q = 0; q < n; ++q) {
      for (int d = 0; d < 3; ++d) p[q][d] = x[d] + 0.1 * (p[q][d] - x[d]);
      project_onto_surface(r, false, p[q]);
    }
    fit_points(n, p, r, x);
  }
  project_onto_surface(r, true, x);
  if (fabs(level_set_value(r->phi, x)) > 1e-9 * c->h) move_towards_corner(c, r, x);
}

static void sheet_vertex(const contour *c, int64_t i, int64_t j, int64_t k, const int8_t *sheet, int number, double *x)
{
  const int64_t at[3] = {i, j, k};
  double        p[12][3];
  region        cell = {0};
  int           n    = 0;
  for (int axis = 0; axis < 3; ++axis)
    for (int q = 0; q < 4; ++q) {
      int64_t a[3];
      if (sheet[4 * axis + q] != number) continue;
      memcpy(a, at, sizeof a);
      a[(axis + 1) % 3] += q & 1, a[(axis + 2) % 3] += q >> 1;
      edge_crossing(c, a, axis, p[n++]);
    }
  node_position(c, at, cell.lo);
  for (int d = 0; d < 3; ++d) cell.hi[d] = cell.lo[d] + c->h;
  place_vertex(c, n, p, &cell, x);
}

/* ---- faces between two cells ---- */

/* Side i of a face with normal `axis` runs along (axis + 1) % 3 for even i, else along (axis + 2) % 3; corner i is its start for i = 0, 1.
 * lower: the corner with the smallest coordinates, also of the cell above the face. */
typedef struct {
  int     axis, signs; /* bit i: corner i is inside; corners counter-clockwise around axis */
  int64_t lower[3];
} cell_face;

static cell_face face_at(const contour *c, int axis, const int64_t lower[3])
{
  cell_face f = {.axis = axis, .lower = {lower[0], lower[1], lower[2]}};
  for (int i = 0; i < 4; ++i) {
    int64_t at[3] = {lower[0], lower[1], lower[2]};
    at[(axis + 1) % 3] += i == 1 || i == 2, at[(axis + 2) % 3] += i >= 2;
    f.signs |= (c->value[node_at(c, at[0], at[1], at[2])] < 0.0) << i;
  }
  return f;
}

static bool side_is_crossed(const cell_face *f, int side) { return (f->signs >> side & 1) != (f->signs >> (side + 1) % 4 & 1); }
static bool face_is_ambiguous(const cell_face *f) { return f->signs == 5 || f->signs == 10; }
/* The curve, 0 or 1, to which the crossing of a side belongs, see unite_edges_of_face. */
static int curve_of_side(const cell_face *f, int side)
{
  if (f->signs == 5) return side == 1 || side == 2;
  return f->signs == 10 && side >= 2;
}

static void side_crossing(const contour *c, const cell_face *f, int side, double *x)
{
  int64_t at[3] = {f->lower[0], f->lower[1], f->lower[2]};
  at[(f->axis + 1) % 3] += side == 1, at[(f->axis + 2) % 3] += side == 2;
  edge_crossing(c, at, side % 2 ? (f->axis + 2) % 3 : (f->axis + 1) % 3, x);
}

/* Vertex of the sheet that crosses a side of the face, in the cell below (above = 0) or above the face. */
static int32_t vertex_at_side(const contour *c, const cell_face *f, int side, int above)
{
  const int along = side % 2 ? (f->axis + 2) % 3 : (f->axis + 1) % 3, across = side % 2 ? (f->axis + 1) % 3 : (f->axis + 2) % 3;
  int64_t   cell[3] = {f->lower[0], f->lower[1], f->lower[2]};
  cell[f->axis] -= !above;
  const int edge = edge_of(along, across, side == 1 || side == 2, !above);
  return c->vertex[cell_at(c, cell[0], cell[1], cell[2])] + c->sheet[cell_signs(c, cell[0], cell[1], cell[2])][edge];
}

/* True if the segment between a and b, on different sides of the face, crosses it. */
static bool segment_crosses_face(const contour *c, const cell_face *f, const double *a, const double *b)
{
  double lower[3];
  node_position(c, f->lower, lower);
  const double t = (lower[f->axis] - a[f->axis]) / (b[f->axis] - a[f->axis]);
  for (int i = 1; i < 3; ++i) {
    const int    d = (f->axis + i) % 3;
    const double y = a[d] + t * (b[d] - a[d]) - lower[d];
    if (!(y > MARGIN * c->h && y < (1.0 - MARGIN) * c->h)) return false;
  }
  return true;
}

static int64_t face_key(const contour *c, const cell_face *f, int curve)
{
  return (f->axis * c->n[0] * c->n[1] * c->n[2] + cell_at(c, f->lower[0], f->lower[1], f->lower[2])) * 2 + curve;
}

static PetscErrorCode add_vertex(contour *c, const double x[3], int32_t *number)
{
  PetscFunctionBegin;
  PetscCheck(c->n_vertices < INT32_MAX, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "the surface has too many vertices: choose a larger spacing");
  PetscCall(memory_reserve("surface extraction", 3 * c->n_vertices + 3, sizeof *c->x, &c->x_capacity, &c->x));
  v3_copy(c->x + 3 * c->n_vertices, x);
  *number = (int32_t)c->n_vertices++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A curve on a face: its two crossings of sides, and a vertex between them. */
typedef struct {
  double end[2][3], x[3];
  int    side; /* the first crossed side */
} face_curve;

static void fit_curve(const contour *c, const cell_face *f, int number, face_curve *out)
{
  double p[2][3];
  region r = {0};
  int    n = 0;
  for (int side = 0; side < 4; ++side)
    if (side_is_crossed(f, side) && curve_of_side(f, side) == number) {
      if (n == 0) out->side = side;
      side_crossing(c, f, side, out->end[n++]);
    }
  node_position(c, f->lower, r.lo);
  for (int d = 0; d < 3; ++d) r.hi[d] = r.lo[d] + (d == f->axis ? 0.0 : c->h);
  memcpy(p, out->end, sizeof p);
  place_vertex(c, n, p, &r, out->x);
}

/* True if the segments (a, b) and (p, q) in a plane with normal `axis` cross. */
static bool segments_cross(int axis, const double *a, const double *b, const double *p, const double *q)
{
  const int    u = (axis + 1) % 3, v = (axis + 2) % 3;
  const double ab[2] = {b[u] - a[u], b[v] - a[v]}, pq[2] = {q[u] - p[u], q[v] - p[v]}, ap[2] = {p[u] - a[u], p[v] - a[v]},
               aq[2] = {q[u] - a[u], q[v] - a[v]}, pa[2] = {-ap[0], -ap[1]}, pb[2] = {b[u] - p[u], b[v] - p[v]};
  return cross2(ab, ap) * cross2(ab, aq) <= 0.0 && cross2(pq, pa) * cross2(pq, pb) <= 0.0;
}

static double distance_to_segment(const double *x, const double *a, const double *b)
{
  double ab[3], ax[3];
  v3_sub(ab, b, a);
  v3_sub(ax, x, a);
  const double bb = v3_dot(ab, ab);
  v3_axpy(ax, bb > 0.0 ? -fmin(fmax(v3_dot(ax, ab) / bb, 0.0), 1.0) : 0.0, ab);
  return v3_norm(ax);
}

static bool curves_are_apart(const contour *c, int axis, const face_curve k[2])
{
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j) {
      if (segments_cross(axis, k[0].end[i], k[0].x, k[1].end[j], k[1].x)) return false;
      if (distance_to_segment(k[i].x, k[!i].end[j], k[!i].x) < BORDER * c->h) return false;
    }
  return true;
}

/* Move the vertices of two curves on one face towards the straight connections of the ends, until the curves do not touch. The connections
 * themselves do not cross. */
static void separate_curves(const contour *c, int axis, face_curve k[2])
{
  static const double share[5] = {1.0, 0.99, 0.9, 0.5, 0.0};
  double              fit[2][3];
  for (int i = 0; i < 2; ++i) v3_copy(fit[i], k[i].x);
  for (int s = 0; s < 5; ++s) {
    for (int i = 0; i < 2; ++i)
      for (int d = 0; d < 3; ++d) k[i].x[d] = 0.5 * (1.0 - share[s]) * (k[i].end[0][d] + k[i].end[1][d]) + share[s] * fit[i][d];
    if (curves_are_apart(c, axis, k)) return;
  }
}

static PetscErrorCode add_split(contour *c, const cell_face *f, int number, const double x[3])
{
  PetscFunctionBegin;
  PetscCall(memory_reserve("surface extraction", c->n_split + 1, sizeof *c->split, &c->split_capacity, &c->split));
  c->split[c->n_split].key = face_key(c, f, number);
  PetscCall(add_vertex(c, x, &c->split[c->n_split++].vertex));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* True if the cell below (above = 0) or above the face has several sheets. */
static bool cell_is_divided(const contour *c, const cell_face *f, int above)
{
  int64_t cell[3] = {f->lower[0], f->lower[1], f->lower[2]};
  cell[f->axis] -= !above;
  return c->n_sheets[cell_signs(c, cell[0], cell[1], cell[2])] > 1;
}

/* Add the vertices on a face: one per curve if there are two curves; else one if the segment between the two cells' vertices does not cross the
 * face, or if one of the cells has several sheets. */
static PetscErrorCode split_face(contour *c, const cell_face *f)
{
  face_curve k[2];
  PetscFunctionBegin;
  fit_curve(c, f, 0, &k[0]);
  if (face_is_ambiguous(f)) {
    fit_curve(c, f, 1, &k[1]);
    separate_curves(c, f->axis, k);
    for (int i = 0; i < 2; ++i) PetscCall(add_split(c, f, i, k[i].x));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  const int32_t a = vertex_at_side(c, f, k[0].side, 0), b = vertex_at_side(c, f, k[0].side, 1);
  if (cell_is_divided(c, f, 0) || cell_is_divided(c, f, 1) || !segment_crosses_face(c, f, c->x + 3 * (int64_t)a, c->x + 3 * (int64_t)b))
    PetscCall(add_split(c, f, 0, k[0].x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode split_faces(contour *c)
{
  PetscFunctionBegin;
  for (int axis = 0; axis < 3; ++axis) { /* in ascending order of face_key */
    int64_t at[3];
    for (at[0] = axis == 0; at[0] < c->n[0]; ++at[0])
      for (at[1] = axis == 1; at[1] < c->n[1]; ++at[1])
        for (at[2] = axis == 2; at[2] < c->n[2]; ++at[2]) {
          const cell_face f = face_at(c, axis, at);
          if (f.signs != 0 && f.signs != 15) PetscCall(split_face(c, &f));
        }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Number of the vertex on the curve of a face; -1: none. */
static int32_t find_split(const contour *c, const cell_face *f, int curve)
{
  const int64_t key = face_key(c, f, curve);
  int64_t       lo = 0, hi = c->n_split;
  while (lo < hi) {
    const int64_t middle = (lo + hi) / 2;
    if (c->split[middle].key < key) lo = middle + 1;
    else hi = middle;
  }
  return lo < c->n_split && c->split[lo].key == key ? c->split[lo].vertex : -1;
}

/* ---- cells with several sheets ---- */

enum { MAX_SHEETS = 4, MAX_SEGMENTS = 24 };

/* The border of a sheet, on the faces of its cell. */
typedef struct {
  int           n;
  const double *x[MAX_SEGMENTS]; /* vertices on faces; each is connected with one crossing of an edge */
  double        end[MAX_SEGMENTS][3];
} sheet_border;

static void collect_borders(const contour *c, const int64_t cell[3], sheet_border border[MAX_SHEETS])
{
  const int8_t *sheet = c->sheet[cell_signs(c, cell[0], cell[1], cell[2])];
  for (int i = 0; i < MAX_SHEETS; ++i) border[i].n = 0;
  for (int axis = 0; axis < 3; ++axis)
    for (int above = 0; above < 2; ++above) {
      int64_t lower[3] = {cell[0], cell[1], cell[2]};
      lower[axis] += above;
      const cell_face f = face_at(c, axis, lower);
      for (int side = 0; side < 4; ++side) {
        if (!side_is_crossed(&f, side)) continue;
        const int     along = side % 2 ? (axis + 2) % 3 : (axis + 1) % 3, across = side % 2 ? (axis + 1) % 3 : (axis + 2) % 3;
        sheet_border *b = &border[sheet[edge_of(along, across, side == 1 || side == 2, above)]];
        b->x[b->n]      = c->x + 3 * (int64_t)find_split(c, &f, curve_of_side(&f, side));
        side_crossing(c, &f, side, b->end[b->n++]);
      }
    }
}

/* True if a triangle of the cone of border a and apex p, and one of border b and apex q, have a common point. */
static bool cones_intersect(const sheet_border *a, const double *p, const sheet_border *b, const double *q)
{
  for (int i = 0; i < a->n; ++i)
    for (int j = 0; j < b->n; ++j) {
      const double *s[3] = {p, a->x[i], a->end[i]}, *t[3] = {q, b->x[j], b->end[j]};
      for (int k = 0; k < 3; ++k)
        if (segment_intersects_triangle(s[k], s[(k + 1) % 3], t[0], t[1], t[2]) != SEGMENT_APART ||
            segment_intersects_triangle(t[k], t[(k + 1) % 3], s[0], s[1], s[2]) != SEGMENT_APART)
          return true;
    }
  return false;
}

/* Move the vertices of the sheets of one cell towards the centres of their borders, until the sheets do not intersect. */
static void separate_sheets_of_cell(contour *c, const int64_t cell[3], int n)
{
  static const double share[5] = {1.0, 0.99, 0.9, 0.5, 0.0};
  sheet_border        border[MAX_SHEETS];
  double              fit[MAX_SHEETS][3], center[MAX_SHEETS][3] = {{0.0}};
  double *const       x = c->x + 3 * (int64_t)c->vertex[cell_at(c, cell[0], cell[1], cell[2])];
  collect_borders(c, cell, border);
  for (int i = 0; i < n; ++i) {
    v3_copy(fit[i], x + 3 * (int64_t)i);
    for (int k = 0; k < border[i].n; ++k) {
      v3_axpy(center[i], 0.5 / border[i].n, border[i].x[k]);
      v3_axpy(center[i], 0.5 / border[i].n, border[i].end[k]);
    }
  }
  for (int s = 0; s < 5; ++s) {
    bool is_apart = true;
    for (int i = 0; i < n; ++i)
      for (int d = 0; d < 3; ++d) x[3 * i + d] = (1.0 - share[s]) * center[i][d] + share[s] * fit[i][d];
    for (int i = 0; i < n && is_apart; ++i)
      for (int j = 0; j < i && is_apart; ++j) is_apart = !cones_intersect(&border[i], x + 3 * (int64_t)i, &border[j], x + 3 * (int64_t)j);
    if (is_apart) return;
  }
}

static void separate_sheets(contour *c)
{
  int64_t cell[3];
  for (cell[0] = 0; cell[0] < c->n[0]; ++cell[0])
    for (cell[1] = 0; cell[1] < c->n[1]; ++cell[1])
      for (cell[2] = 0; cell[2] < c->n[2]; ++cell[2]) {
        const int n = c->n_sheets[cell_signs(c, cell[0], cell[1], cell[2])];
        if (n > 1) separate_sheets_of_cell(c, cell, n);
      }
}

/* ---- triangles ---- */

/* Twice the area of the smaller of the two triangles that the diagonal from corner s to corner s + 2 cuts a quadrilateral into. */
static double smaller_area(const double *x, const int32_t q[4], int s)
{
  double least = INFINITY;
  for (int side = 1; side <= 3; side += 2) {
    double a[3], b[3], across[3];
    v3_sub(a, x + 3 * (int64_t)q[(s + 2) & 3], x + 3 * (int64_t)q[s]);
    v3_sub(b, x + 3 * (int64_t)q[(s + side) & 3], x + 3 * (int64_t)q[s]);
    v3_cross(across, a, b);
    least = fmin(least, v3_norm(across));
  }
  return least;
}

/* True if the two triangles of the diagonal from corner s to s + 2 lie in the union of the four tetrahedra of the grid edge and two
 * neighbouring corners, see the top of this file. The grid edge starts at x0 and runs along axis. */
static bool diagonal_is_inside(const contour *c, const double *x0, int axis, const int32_t q[4], int s)
{
  double p[4][3]; /* relative to the start of the grid edge: two coordinates across it, one along it */
  for (int i = 0; i < 4; ++i)
    for (int d = 0; d < 3; ++d) {
      const int k = (axis + 1 + d) % 3;
      p[i][d]     = (c->x[3 * (int64_t)q[(s + i) & 3] + k] - x0[k]) / c->h;
    }
  const double *a = p[0], *b = p[2], ab[2] = {b[0] - a[0], b[1] - a[1]};
  /* seen along the grid edge, `far` lies on the other side of the diagonal than the grid edge */
  const int     is_turned = (cross2(a, b) > 0.0) != (cross2(p[0], p[1]) > 0.0);
  const double *far = is_turned ? p[3] : p[1], *close = is_turned ? p[1] : p[3];
  const double  across = cross2(ab, far), t = -cross2(a, far) / across, share = -cross2(a, ab) / across; /* a + t (b - a) = share far */
  if (!(fabs(across) > 0.0 && share > -ROUNDING && share < 1.0 - MARGIN && t > 0.0 && t < 1.0)) return false;
  const double z = a[2] + t * (b[2] - a[2]) - share * far[2];
  if (!(z > MARGIN && z < (1.0 - share) - MARGIN * (1.0 - share))) return false;
  /* the triangle (a, b, close) contains the point on the grid edge */
  const double u = cross2(b, close), v = cross2(close, a), w = cross2(a, b), sum = u + v + w;
  if (!(fabs(sum) > 0.0 && fmin(u / sum, fmin(v / sum, w / sum)) > -ROUNDING)) return false;
  const double height = (u * a[2] + v * b[2] + w * close[2]) / sum;
  return height > MARGIN && height < 1.0 - MARGIN;
}

/* The diagonal, 0 or 1, for two triangles of the quadrilateral q: the one closer to the surface, unless it gives a triangle of nearly
 * zero area (three corners on a sharp edge); -1: none is possible. */
static int choose_diagonal(const contour *c, const double *x0, int axis, const int32_t q[4])
{
  double off[2];
  for (int s = 0; s < 2; ++s) {
    double middle[3];
    for (int d = 0; d < 3; ++d) middle[d] = 0.5 * (c->x[3 * (int64_t)q[s] + d] + c->x[3 * (int64_t)q[s + 2] + d]);
    off[s] = fabs(level_set_value(c->phi, middle));
  }
  const double area[2] = {smaller_area(c->x, q, 0), smaller_area(c->x, q, 1)};
  const bool   is_flat = fmin(area[0], area[1]) < 1e-3 * fmax(area[0], area[1]);
  const int    s       = is_flat ? area[1] > area[0] : off[1] < off[0];
  if (diagonal_is_inside(c, x0, axis, q, s)) return s;
  return !is_flat && diagonal_is_inside(c, x0, axis, q, !s) ? !s : -1;
}

static PetscErrorCode add_triangle(contour *c, int32_t i, int32_t j, int32_t k)
{
  PetscFunctionBegin;
  PetscCall(memory_reserve("surface extraction", 3 * c->n_triangles + 3, sizeof *c->tri, &c->tri_capacity, &c->tri));
  int32_t *t = c->tri + 3 * c->n_triangles++;
  t[0] = i, t[1] = j, t[2] = k;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The polygon around the grid edge that starts at node `at` and runs along axis: two triangles, or a fan around a vertex on the grid edge. */
static PetscErrorCode add_polygon(contour *c, int axis, const int64_t at[3], bool is_in)
{
  const int u = (axis + 1) % 3, v = (axis + 2) % 3;
  int32_t   corner[4], split[4], loop[8]; /* counter-clockwise seen from outside; split[i] is between corners i and i + 1 */
  double    x0[3];
  bool      is_split = false;
  int       n        = 0;
  PetscFunctionBegin;
  node_position(c, at, x0);
  for (int s = 0; s < 4; ++s) { /* counter-clockwise around +axis */
    int64_t   cell[3] = {at[0], at[1], at[2]};
    const int at_u = s == 0 || s == 3, at_v = s < 2; /* position of the edge in that cell */
    cell[u] -= at_u, cell[v] -= at_v;
    corner[is_in ? s : 3 - s] =
        c->vertex[cell_at(c, cell[0], cell[1], cell[2])] + c->sheet[cell_signs(c, cell[0], cell[1], cell[2])][4 * axis + at_u + 2 * at_v];
    /* the face to the next cell: the cells differ along u for even s, and along v for odd s */
    int64_t lower[3] = {at[0], at[1], at[2]};
    if (s == 0) --lower[v];
    if (s == 3) --lower[u];
    const cell_face f = face_at(c, s % 2 ? v : u, lower);
    /* v is the first direction of a face with normal u, and `axis` that of a face with normal v */
    const int     side             = s == 0 ? 1 : s == 1 ? 0 : s == 2 ? 3 : 2;
    const int32_t number           = find_split(c, &f, curve_of_side(&f, side));
    split[is_in ? s : (6 - s) % 4] = number;
    is_split                       = is_split || number >= 0;
  }
  const int s = is_split ? -1 : choose_diagonal(c, x0, axis, corner);
  if (s >= 0) {
    PetscCall(add_triangle(c, corner[s], corner[s + 1], corner[s + 2]));
    PetscCall(add_triangle(c, corner[s], corner[s + 2], corner[(s + 3) % 4]));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  double  x[3];
  int32_t middle;
  edge_crossing(c, at, axis, x);
  PetscCall(add_vertex(c, x, &middle));
  for (int i = 0; i < 4; ++i) {
    loop[n++] = corner[i];
    if (split[i] >= 0) loop[n++] = split[i];
  }
  for (int i = 0; i < n; ++i) PetscCall(add_triangle(c, middle, loop[i], loop[(i + 1) % n]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode add_polygons(contour *c)
{
  PetscFunctionBegin;
  for (int axis = 0; axis < 3; ++axis) {
    const int u = (axis + 1) % 3, v = (axis + 2) % 3;
    int64_t   at[3];
    for (at[0] = 0; at[0] <= c->n[0]; ++at[0])
      for (at[1] = 0; at[1] <= c->n[1]; ++at[1])
        for (at[2] = 0; at[2] <= c->n[2]; ++at[2]) {
          if (at[axis] == c->n[axis] || at[u] == 0 || at[v] == 0 || at[u] == c->n[u] || at[v] == c->n[v]) continue;
          int64_t b[3] = {at[0], at[1], at[2]};
          ++b[axis];
          const bool is_in = c->value[node_at(c, at[0], at[1], at[2])] < 0.0;
          if (is_in != (c->value[node_at(c, b[0], b[1], b[2])] < 0.0)) PetscCall(add_polygon(c, axis, at, is_in));
        }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode extract_surface(contour *c, triangle_mesh **out)
{
  PetscFunctionBegin;
  PetscCall(MEMORY_ALLOC("surface extraction", ARRAY(c->value, (c->n[0] + 1) * (c->n[1] + 1) * (c->n[2] + 1)),
                         ARRAY(c->vertex, c->n[0] * c->n[1] * c->n[2])));
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i <= c->n[0]; ++i)
    for (int64_t j = 0; j <= c->n[1]; ++j)
      for (int64_t k = 0; k <= c->n[2]; ++k) {
        double x[3];
        node_position(c, (const int64_t[3]){i, j, k}, x);
        c->value[node_at(c, i, j, k)] = level_set_value(c->phi, x);
      }
  for (int64_t i = 0; i < c->n[0]; ++i)
    for (int64_t j = 0; j < c->n[1]; ++j)
      for (int64_t k = 0; k < c->n[2]; ++k) {
        const int signs                = cell_signs(c, i, j, k);
        c->vertex[cell_at(c, i, j, k)] = (int32_t)c->n_vertices;
        for (int n = 0; n < c->n_sheets[signs]; ++n) {
          double  x[3];
          int32_t number;
          sheet_vertex(c, i, j, k, c->sheet[signs], n, x);
          PetscCall(add_vertex(c, x, &number));
        }
      }
  PetscCheck(c->n_vertices > 0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "no surface found at spacing %g m: the shape is empty or thinner than the spacing; choose a smaller spacing", c->h);
  PetscCall(split_faces(c));
  separate_sheets(c);
  PetscCall(add_polygons(c));
  PetscCall(triangle_mesh_create(c->n_vertices, c->n_triangles, out));
  memcpy((*out)->x, c->x, 3 * (size_t)c->n_vertices * sizeof *c->x);
  memcpy((*out)->tri, c->tri, 3 * (size_t)c->n_triangles * sizeof *c->tri);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode level_set_contour(const level_set *phi, const double min[3], const double max[3], double spacing, triangle_mesh **out)
{
  contour c     = {.phi = phi, .h = spacing};
  double  total = 1.0;
  PetscFunctionBegin;
  PetscCheck(spacing > 0.0, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "the spacing must be positive");
  for (int k = 0; k < 3; ++k) total *= ceil((max[k] - min[k]) / spacing) + 3.0;
  PetscCheck(total <= MAX_CELLS, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "the surface would need %.3g cells at spacing %g m (at most %d): choose a larger surface spacing", total, spacing, MAX_CELLS);
  /* shifted by a fraction of a cell, so that flat faces do not fall on nodes, where the sign of phi = 0 is ambiguous */
  for (int k = 0; k < 3; ++k) {
    c.n[k]      = (int64_t)ceil((max[k] - min[k]) / spacing) + 3;
    c.origin[k] = 0.5 * (min[k] + max[k]) - spacing * (0.5 * (double)c.n[k] + 0.0371 * (k + 1));
  }
  tabulate_sheets(&c);
  const PetscErrorCode code = extract_surface(&c, out);
  MEMORY_FREE(&c.value, &c.vertex, &c.x, &c.tri, &c.split);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
