/* Implementation: dual contouring with one vertex for each sheet of the surface that crosses a cell [Nielson2004]. Thin walls and
 * sharp rims therefore remain closed surfaces; a single vertex per cell would merge their two sheets. */
#include "geometry/level_set/level_set_contour.h"
#include "core/eigen3.h"
#include "core/math3.h"
#include "core/memory.h"

enum { MAX_CELLS = 30000000 };

typedef struct {
  const level_set *phi;
  int64_t          n[3]; /* cells; nodes are one more */
  double           origin[3], h;
  double          *value;  /* [nodes] */
  int32_t         *vertex; /* [cells] first vertex of the cell */
  /* Indexed by the signs of the corners of a cell (bit q: corner q is inside): the number of sheets, and the sheet of each edge;
   * -1: the edge is not crossed. Edge 4 axis + i runs along axis, from the corner offset by i & 1 in axis + 1 and i >> 1 in axis +
   * 2. */
  int8_t n_sheets[256], sheet[256][12];
} contour;

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

/* Zero of phi between two nodes, by bisection, because boolean combinations have kinks. */
static void find_crossing(const contour *c, const double *a, double fa, const double *b, double *x)
{
  double lo = 0.0, hi = 1.0;
  for (int i = 0; i < 40; ++i) {
    const double t = 0.5 * (lo + hi);
    for (int k = 0; k < 3; ++k) x[k] = a[k] + t * (b[k] - a[k]);
    if ((level_set_value(c->phi, x) < 0.0) == (fa < 0.0)) lo = t;
    else hi = t;
  }
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

/* x: least-squares fit of the tangent planes at n points p on the surface, clamped to [lo, hi]. */
static void fit_points(const contour *c, int n, double p[][3], const double *lo, const double *hi, double *x)
{
  double mean[3] = {0}, A[9] = {0}, r[3] = {0};
  for (int q = 0; q < n; ++q) v3_axpy(mean, 1.0 / n, p[q]);
  for (int q = 0; q < n; ++q) {
    double g[3], d[3], t[9];
    (void)level_set_eval(c->phi, p[q], g, NULL);
    const double length = v3_norm(g);
    if (!(length > 0.0)) continue;
    v3_scale(g, 1.0 / length, g);
    v3_sub(d, p[q], mean);
    m3_outer(t, g, g);
    m3_axpy(A, 1.0, t);
    v3_axpy(r, v3_dot(g, d), g);
  }
  fit_planes(A, r, x);
  for (int d = 0; d < 3; ++d) x[d] = fmin(fmax(x[d] + mean[d], lo[d]), hi[d]);
}

/* Move x onto the surface along the gradient, within [lo, hi] (may be NULL), by at most four Newton steps. */
static void project_onto_surface(const contour *c, double *x, const double *lo, const double *hi)
{
  for (int step = 0; step < 4; ++step) {
    double       g[3];
    const double v = level_set_eval(c->phi, x, g, NULL), g2 = v3_dot(g, g);
    if (!(g2 > 0.0)) return;
    for (int d = 0; d < 3; ++d) {
      x[d] -= v * g[d] / g2;
      if (lo) x[d] = fmin(fmax(x[d], lo[d]), hi[d]);
    }
  }
}

static void sheet_vertex(const contour *c, int64_t i, int64_t j, int64_t k, const int8_t *sheet, int number, double *x)
{
  const int64_t at[3] = {i, j, k};
  double        p[12][3], lo[3], hi[3];
  int           n = 0;
  for (int axis = 0; axis < 3; ++axis)
    for (int q = 0; q < 4; ++q) {
      int64_t a[3], b[3];
      double  xa[3], xb[3];
      memcpy(a, at, sizeof a);
      a[(axis + 1) % 3] += q & 1, a[(axis + 2) % 3] += q >> 1;
      memcpy(b, a, sizeof b);
      ++b[axis];
      const double fa = c->value[node_at(c, a[0], a[1], a[2])];
      if (sheet[4 * axis + q] != number) continue;
      for (int d = 0; d < 3; ++d) xa[d] = c->origin[d] + c->h * (double)a[d], xb[d] = c->origin[d] + c->h * (double)b[d];
      find_crossing(c, xa, fa, xb, p[n++]);
    }
  for (int d = 0; d < 3; ++d) { lo[d] = c->origin[d] + c->h * ((double)at[d] + 1e-3), hi[d] = lo[d] + c->h * (1.0 - 2e-3); }
  fit_points(c, n, p, lo, hi, x);
  /* repeat with tangent planes at a tenth of the distance: higher order of accuracy at curved edges */
  for (int pass = 0; pass < 2; ++pass) {
    for (int q = 0; q < n; ++q) {
      for (int d = 0; d < 3; ++d) p[q][d] = x[d] + 0.1 * (p[q][d] - x[d]);
      project_onto_surface(c, p[q], NULL, NULL);
    }
    fit_points(c, n, p, lo, hi, x);
  }
  /* The fit stays inside its cell, because otherwise two vertices could coincide in a corner. The final projection may leave the
   * cell. */
  for (int d = 0; d < 3; ++d) lo[d] -= 0.25 * c->h, hi[d] += 0.25 * c->h;
  project_onto_surface(c, x, lo, hi);
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

/* Two triangles for the quadrilateral of the four cells around every crossed edge; only counted if tri is NULL. The diagonal that
 * is closer to the surface is used, unless it gives a triangle of nearly zero area (three corners on a sharp edge). Returns the
 * number of triangles. */
static int64_t add_quads(const contour *c, const double *x, int32_t *tri)
{
  int64_t n = 0;
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
          if (is_in == (c->value[node_at(c, b[0], b[1], b[2])] < 0.0)) continue;
          if (tri) {
            int32_t q[4];
            for (int s = 0; s < 4; ++s) { /* counter-clockwise around +axis */
              int64_t   cell[3] = {at[0], at[1], at[2]};
              const int at_u = s == 0 || s == 3, at_v = s < 2; /* position of the edge in that cell */
              cell[u] -= at_u, cell[v] -= at_v;
              q[is_in ? s : 3 - s] = c->vertex[cell_at(c, cell[0], cell[1], cell[2])] +
                                     c->sheet[cell_signs(c, cell[0], cell[1], cell[2])][4 * axis + at_u + 2 * at_v];
            }
            double off[2];
            for (int s = 0; s < 2; ++s) {
              double middle[3];
              for (int d = 0; d < 3; ++d) middle[d] = 0.5 * (x[3 * (int64_t)q[s] + d] + x[3 * (int64_t)q[s + 2] + d]);
              off[s] = fabs(level_set_value(c->phi, middle));
            }
            const double  area[2] = {smaller_area(x, q, 0), smaller_area(x, q, 1)};
            const bool    is_flat = fmin(area[0], area[1]) < 1e-3 * fmax(area[0], area[1]);
            const int     s       = is_flat ? area[1] > area[0] : off[1] < off[0];
            const int32_t two[6]  = {q[s], q[s + 1], q[s + 2], q[s], q[s + 2], q[(s + 3) % 4]};
            memcpy(&tri[3 * n], two, sizeof two);
          }
          n += 2;
        }
  }
  return n;
}

static PetscErrorCode extract_surface(contour *c, triangle_mesh **out)
{
  triangle_mesh *m          = NULL;
  int64_t        n_vertices = 0;
  PetscFunctionBegin;
  PetscCall(MEMORY_ALLOC("surface extraction", ARRAY(c->value, (c->n[0] + 1) * (c->n[1] + 1) * (c->n[2] + 1)),
                         ARRAY(c->vertex, c->n[0] * c->n[1] * c->n[2])));
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i <= c->n[0]; ++i)
    for (int64_t j = 0; j <= c->n[1]; ++j)
      for (int64_t k = 0; k <= c->n[2]; ++k) {
        const double x[3]             = {c->origin[0] + c->h * (double)i, c->origin[1] + c->h * (double)j, c->origin[2] + c->h * (double)k};
        c->value[node_at(c, i, j, k)] = level_set_value(c->phi, x);
      }
  for (int64_t i = 0; i < c->n[0]; ++i)
    for (int64_t j = 0; j < c->n[1]; ++j)
      for (int64_t k = 0; k < c->n[2]; ++k) {
        c->vertex[cell_at(c, i, j, k)] = (int32_t)n_vertices;
        n_vertices += c->n_sheets[cell_signs(c, i, j, k)];
      }
  PetscCheck(n_vertices > 0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "no surface found at spacing %g m: the shape is empty or thinner than the spacing", c->h);
  PetscCall(triangle_mesh_create(n_vertices, add_quads(c, NULL, NULL), &m));
  for (int64_t i = 0; i < c->n[0]; ++i)
    for (int64_t j = 0; j < c->n[1]; ++j)
      for (int64_t k = 0; k < c->n[2]; ++k) {
        const int     signs = cell_signs(c, i, j, k);
        const int64_t first = c->vertex[cell_at(c, i, j, k)];
        for (int n = 0; n < c->n_sheets[signs]; ++n) sheet_vertex(c, i, j, k, c->sheet[signs], n, &m->x[3 * (first + n)]);
      }
  (void)add_quads(c, m->x, m->tri);
  *out = m;
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
  MEMORY_FREE(&c.value, &c.vertex);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
