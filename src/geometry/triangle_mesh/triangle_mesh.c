/* Implementation: storage, renumbering, integrals, defects, self-intersections and refinement. */
#include "geometry/triangle_mesh/triangle_mesh.h"
#include "core/math3.h"
#include "core/memory.h"
#include "geometry/primitive/box_tree.h"
#include "geometry/primitive/segment_triangle.h"
#include <float.h>

PetscErrorCode triangle_mesh_create(int64_t n_vertices, int64_t n_triangles, triangle_mesh **out)
{
  triangle_mesh *m    = NULL;
  PetscErrorCode code = PETSC_SUCCESS;
  PetscFunctionBegin;
  PetscCheck(n_vertices >= 0 && n_triangles >= 0 && n_vertices <= INT32_MAX && n_triangles <= INT32_MAX, PETSC_COMM_SELF,
             PETSC_ERR_ARG_OUTOFRANGE, "a triangle mesh cannot have %lld vertices and %lld triangles", (long long)n_vertices,
             (long long)n_triangles);
  PetscCall(memory_alloc("triangle mesh", 1, sizeof *m, &m));
  code = memory_alloc("mesh vertices", 3 * n_vertices, sizeof *m->x, &m->x);
  if (!code) code = memory_alloc("mesh triangles", 3 * n_triangles, sizeof *m->tri, &m->tri);
  if (code) triangle_mesh_destroy(&m);
  PetscCall(code);
  m->n_vertices  = n_vertices;
  m->n_triangles = n_triangles;
  *out           = m;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode triangle_mesh_copy(const triangle_mesh *m, triangle_mesh **out)
{
  PetscFunctionBegin;
  PetscCall(triangle_mesh_create(m->n_vertices, m->n_triangles, out));
  if (m->n_vertices) memcpy((*out)->x, m->x, 3 * (size_t)m->n_vertices * sizeof *m->x);
  if (m->n_triangles) memcpy((*out)->tri, m->tri, 3 * (size_t)m->n_triangles * sizeof *m->tri);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void triangle_mesh_destroy(triangle_mesh **m)
{
  if (!m || !*m) return;
  MEMORY_FREE(&(*m)->x, &(*m)->tri, m);
}

void triangle_mesh_transform(triangle_mesh *m, const double c[3], const double R[9])
{
  for (int64_t i = 0; i < m->n_vertices; ++i) {
    double y[3];
    m3_mulv(y, R, &m->x[3 * i]);
    v3_add(&m->x[3 * i], c, y);
  }
}

void triangle_mesh_scale(triangle_mesh *m, double factor)
{
  for (int64_t i = 0; i < 3 * m->n_vertices; ++i) m->x[i] *= factor;
}

void triangle_mesh_flip(triangle_mesh *m)
{
  for (int64_t t = 0; t < m->n_triangles; ++t) {
    const int32_t b   = m->tri[3 * t + 1];
    m->tri[3 * t + 1] = m->tri[3 * t + 2];
    m->tri[3 * t + 2] = b;
  }
}

void triangle_mesh_bounds(const triangle_mesh *m, double min[3], double max[3])
{
  for (int k = 0; k < 3; ++k) min[k] = INFINITY, max[k] = -INFINITY;
  for (int64_t i = 0; i < m->n_vertices; ++i)
    for (int k = 0; k < 3; ++k) {
      min[k] = fmin(min[k], m->x[3 * i + k]);
      max[k] = fmax(max[k], m->x[3 * i + k]);
    }
}

/* new_index [n_vertices]: new number of each vertex; -1: removed. */
static void renumber(triangle_mesh *m, const int32_t *new_index, double *x_new)
{
  for (int64_t i = 0; i < m->n_vertices; ++i)
    if (new_index[i] >= 0) v3_copy(&x_new[3 * (int64_t)new_index[i]], &m->x[3 * i]);
  for (int64_t i = 0; i < 3 * m->n_triangles; ++i) m->tri[i] = new_index[m->tri[i]];
}

PetscErrorCode triangle_mesh_compact(triangle_mesh *m)
{
  int32_t *new_index = NULL;
  int64_t  n         = 0;
  PetscFunctionBegin;
  PetscCall(memory_alloc("mesh renumbering", m->n_vertices, sizeof *new_index, &new_index));
  for (int64_t i = 0; i < 3 * m->n_triangles; ++i) new_index[m->tri[i]] = 1;
  for (int64_t i = 0; i < m->n_vertices; ++i) new_index[i] = new_index[i] ? (int32_t)n++ : -1;
  renumber(m, new_index, m->x); /* in place: vertices only move down */
  memory_free(&new_index);
  m->n_vertices = n;
  PetscCall(memory_resize("mesh vertices", 3 * n, sizeof *m->x, &m->x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- sorting ---- */

typedef struct {
  double  key;
  int32_t index;
} sort_item;

static int compare_items(const void *a, const void *b)
{
  const sort_item *p = a, *q = b;
  if (p->key != q->key) return p->key < q->key ? -1 : 1;
  return (p->index > q->index) - (p->index < q->index);
}

/* Sort n vertices by recursive bisection across the longest side of their bounds; each half consists of whole blocks. A
 * space-filling curve would jump between the sheets of a surface (measured on a torus: bounding spheres of runs of 128 nearly twice
 * as large). */
static void sort_by_bisection(const double *x, sort_item *item, int64_t n)
{
  double lo[3] = {INFINITY, INFINITY, INFINITY}, hi[3] = {-INFINITY, -INFINITY, -INFINITY};
  int    axis = 0;
  if (n <= 4) return;
  for (int64_t i = 0; i < n; ++i)
    for (int k = 0; k < 3; ++k) {
      lo[k] = fmin(lo[k], x[3 * (int64_t)item[i].index + k]);
      hi[k] = fmax(hi[k], x[3 * (int64_t)item[i].index + k]);
    }
  for (int k = 1; k < 3; ++k)
    if (hi[k] - lo[k] > hi[axis] - lo[axis]) axis = k;
  for (int64_t i = 0; i < n; ++i) item[i].key = x[3 * (int64_t)item[i].index + axis];
  qsort(item, (size_t)n, sizeof *item, compare_items);
  int64_t block = 4; /* the largest power of two up to 256 that fits; the size of the first half is a multiple of it */
  while (block < 256 && 2 * block < n) block *= 2;
  const int64_t half = (n / block + 1) / 2 * block;
  sort_by_bisection(x, item, half);
  sort_by_bisection(x, item + half, n - half);
}

PetscErrorCode triangle_mesh_sort(triangle_mesh *m)
{
  sort_item *item      = NULL;
  int32_t   *new_index = NULL, *tri = NULL;
  double    *x = NULL;
  PetscFunctionBegin;
  if (m->n_vertices == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MEMORY_ALLOC("mesh sorting", ARRAY(item, m->n_vertices > m->n_triangles ? m->n_vertices : m->n_triangles),
                         ARRAY(new_index, m->n_vertices), ARRAY(x, 3 * m->n_vertices), ARRAY(tri, 3 * m->n_triangles)));
  for (int64_t i = 0; i < m->n_vertices; ++i) item[i].index = (int32_t)i;
  sort_by_bisection(m->x, item, m->n_vertices);
  for (int64_t i = 0; i < m->n_vertices; ++i) new_index[item[i].index] = (int32_t)i;
  renumber(m, new_index, x);
  for (int64_t t = 0; t < m->n_triangles; ++t) {
    const int32_t *v     = &m->tri[3 * t];
    const int32_t  least = v[0] < v[1] ? (v[0] < v[2] ? v[0] : v[2]) : (v[1] < v[2] ? v[1] : v[2]);
    item[t]              = (sort_item){(double)least, (int32_t)t};
  }
  qsort(item, (size_t)m->n_triangles, sizeof *item, compare_items);
  for (int64_t t = 0; t < m->n_triangles; ++t) memcpy(&tri[3 * t], &m->tri[3 * (int64_t)item[t].index], 3 * sizeof *tri);
  MEMORY_FREE(&m->x, &m->tri);
  m->x = x, m->tri = tri;
  MEMORY_FREE(&item, &new_index);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- integrals ---- */

/* Each triangle spans a tetrahedron with the reference point. */
mass_properties triangle_mesh_mass(const triangle_mesh *m)
{
  mass_sum sum = {0};
  double   lo[3], hi[3], o[3];
  if (m->n_triangles == 0) return (mass_properties){0};
  triangle_mesh_bounds(m, lo, hi);
  for (int k = 0; k < 3; ++k) o[k] = 0.5 * (lo[k] + hi[k]);
  for (int64_t t = 0; t < m->n_triangles; ++t) {
    double v[3][3], n[3];
    for (int i = 0; i < 3; ++i) v3_sub(v[i], &m->x[3 * (int64_t)m->tri[3 * t + i]], o);
    v3_cross(n, v[1], v[2]);
    mass_sum_add(&sum, v3_dot(v[0], n) / 6.0, 3, (const double(*)[3])v);
  }
  return mass_sum_properties(&sum, o);
}

/* ==== defects ==== */

/* The side of a triangle from vertex a to b, stored with its smaller vertex first; `forward` if a < b. */
typedef struct {
  int32_t low, high, triangle, forward;
} edge_use;

static int compare_uses(const void *a, const void *b)
{
  const edge_use *p = a, *q = b;
  if (p->low != q->low) return p->low < q->low ? -1 : 1;
  if (p->high != q->high) return p->high < q->high ? -1 : 1;
  return (p->triangle > q->triangle) - (p->triangle < q->triangle);
}

static int32_t find_root(int32_t *parent, int32_t i)
{
  while (parent[i] != i) i = parent[i] = parent[parent[i]];
  return i;
}

static void unite_sets(int32_t *parent, int32_t a, int32_t b)
{
  a = find_root(parent, a), b = find_root(parent, b);
  if (a < b) parent[b] = a;
  else parent[a] = b;
}

static int32_t corner_of(const triangle_mesh *m, int32_t triangle, int32_t vertex)
{
  for (int32_t i = 0; i < 3; ++i)
    if (m->tri[3 * (int64_t)triangle + i] == vertex) return 3 * triangle + i;
  return 3 * triangle;
}

static void check_vertices_and_indices(const triangle_mesh *m, triangle_mesh_defects *d)
{
  for (int64_t i = 0; i < m->n_vertices; ++i)
    if (!isfinite(m->x[3 * i]) || !isfinite(m->x[3 * i + 1]) || !isfinite(m->x[3 * i + 2]))
      if (d->n_not_finite++ == 0) d->first_not_finite = i;
  for (int64_t t = 0; t < m->n_triangles; ++t) {
    bool is_bad = false;
    for (int i = 0; i < 3; ++i) is_bad = is_bad || m->tri[3 * t + i] < 0 || m->tri[3 * t + i] >= m->n_vertices;
    if (is_bad && d->n_bad_index++ == 0) d->first_bad_index = t;
  }
}

static void check_areas(const triangle_mesh *m, triangle_mesh_defects *d)
{
  for (int64_t t = 0; t < m->n_triangles; ++t) {
    const int32_t *v = &m->tri[3 * t];
    double         e[3][3], n[3], longest = 0.0;
    for (int i = 0; i < 3; ++i) {
      v3_sub(e[i], &m->x[3 * (int64_t)v[(i + 1) % 3]], &m->x[3 * (int64_t)v[i]]);
      longest = fmax(longest, v3_dot(e[i], e[i]));
    }
    v3_cross(n, e[0], e[1]);
    if (v[0] == v[1] || v[1] == v[2] || v[2] == v[0] || !(v3_norm(n) > 1e-12 * longest))
      if (d->n_degenerate++ == 0) d->first_degenerate = t;
  }
}

/* Each edge must be used once in each direction. Triangles that share an edge belong to the same component; their corners at the
 * ends of the edge belong to the same fan. */
static void check_edges(const triangle_mesh *m, edge_use *use, int32_t *fan, int32_t *part, triangle_mesh_defects *d)
{
  const int64_t n = 3 * m->n_triangles;
  for (int64_t i = 0; i < n; ++i) {
    const int32_t a = m->tri[i], b = m->tri[i - i % 3 + (i + 1) % 3];
    use[i] = (edge_use){a < b ? a : b, a < b ? b : a, (int32_t)(i / 3), a < b};
    fan[i] = (int32_t)i;
  }
  for (int64_t t = 0; t < m->n_triangles; ++t) part[t] = (int32_t)t;
  if (n) qsort(use, (size_t)n, sizeof *use, compare_uses); /* use is NULL without triangles */
  for (int64_t i = 0, end; i < n; i = end) {
    for (end = i + 1; end < n && use[end].low == use[i].low && use[end].high == use[i].high;) ++end;
    int64_t *first = NULL;
    if (end - i == 1 && d->n_open++ == 0) first = d->first_open;
    if (end - i > 2 && d->n_nonmanifold++ == 0) first = d->first_nonmanifold;
    if (end - i == 2 && use[i].forward == use[i + 1].forward && d->n_misoriented++ == 0) first = d->first_misoriented;
    if (first) first[0] = use[i].low, first[1] = use[i].high;
    for (int64_t j = i + 1; j < end; ++j) {
      unite_sets(part, use[i].triangle, use[j].triangle);
      unite_sets(fan, corner_of(m, use[i].triangle, use[i].low), corner_of(m, use[j].triangle, use[i].low));
      unite_sets(fan, corner_of(m, use[i].triangle, use[i].high), corner_of(m, use[j].triangle, use[i].high));
    }
  }
}

static void check_fans(const triangle_mesh *m, int32_t *fan, int32_t *part, int32_t *n_fans, triangle_mesh_defects *d)
{
  for (int64_t i = 0; i < 3 * m->n_triangles; ++i)
    if (find_root(fan, (int32_t)i) == i) ++n_fans[m->tri[i]];
  for (int64_t i = 0; i < m->n_vertices; ++i) {
    d->n_unused += n_fans[i] == 0;
    if (n_fans[i] > 1 && d->n_pinched++ == 0) d->first_pinched = i;
  }
  for (int64_t t = 0; t < m->n_triangles; ++t) d->n_parts += find_root(part, (int32_t)t) == t;
}

PetscErrorCode triangle_mesh_check(const triangle_mesh *m, triangle_mesh_defects *out)
{
  edge_use *use = NULL;
  int32_t  *fan = NULL, *part = NULL, *n_fans = NULL;
  PetscFunctionBegin;
  *out                  = (triangle_mesh_defects){0};
  out->first_not_finite = out->first_bad_index = out->first_degenerate = out->first_pinched = -1;
  for (int i = 0; i < 2; ++i) out->first_open[i] = out->first_nonmanifold[i] = out->first_misoriented[i] = -1;
  PetscCheck(m->n_triangles <= INT32_MAX / 3, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "a mesh of %lld triangles is too large (at most 715 million)", (long long)m->n_triangles);
  check_vertices_and_indices(m, out);
  if (out->n_not_finite || out->n_bad_index) PetscFunctionReturn(PETSC_SUCCESS);
  check_areas(m, out);
  PetscCall(MEMORY_ALLOC("triangle mesh", ARRAY(use, 3 * m->n_triangles), ARRAY(fan, 3 * m->n_triangles), ARRAY(part, m->n_triangles),
                         ARRAY(n_fans, m->n_vertices)));
  check_edges(m, use, fan, part, out);
  check_fans(m, fan, part, n_fans, out);
  out->volume = triangle_mesh_mass(m).volume;
  MEMORY_FREE(&use, &fan, &part, &n_fans);
  PetscFunctionReturn(PETSC_SUCCESS);
}

bool triangle_mesh_is_sound(const triangle_mesh_defects *d)
{
  return !d->n_not_finite && !d->n_bad_index && !d->n_degenerate && !d->n_open && !d->n_nonmanifold && !d->n_misoriented && !d->n_pinched &&
         d->volume > 0.0;
}

/* Position "(0.1, 0, 2)" for messages. A vertex number would not help: files count from 0, from 1 or not at all, and unused
 * vertices have been removed. */
typedef struct {
  char text[80];
} place_text;
static place_text place_of(const triangle_mesh *m, int64_t vertex)
{
  place_text p;
  (void)snprintf(p.text, sizeof p.text, "(%.7g, %.7g, %.7g)", m->x[3 * vertex], m->x[3 * vertex + 1], m->x[3 * vertex + 2]);
  return p;
}

void triangle_mesh_defects_text(const triangle_mesh *m, const triangle_mesh_defects *d, size_t size, char *text)
{
#define SAY(...) ((void)snprintf(text, size, __VA_ARGS__))
#define AT(vertex) place_of(m, vertex).text
#define N(n) ((long long)d->n)
  if (size) text[0] = '\0';
  if (d->n_not_finite) SAY("%lld vertices are not finite numbers, the first is vertex %lld", N(n_not_finite), N(first_not_finite));
  else if (d->n_bad_index)
    SAY("%lld triangles refer to vertices that do not exist, the first is triangle %lld", N(n_bad_index), N(first_bad_index));
  else if (d->n_degenerate)
    SAY("%lld triangles have no area, the first has a corner at %s; remove them or merge their vertices", N(n_degenerate),
        AT(m->tri[3 * d->first_degenerate]));
  else if (d->n_nonmanifold)
    SAY("%lld edges have more than two triangles, the first is from %s to %s: this is not the surface of one solid; remove duplicate and "
        "interior triangles",
        N(n_nonmanifold), AT(d->first_nonmanifold[0]), AT(d->first_nonmanifold[1]));
  else if (d->n_open)
    SAY("the surface is open: %lld edges have only one triangle, the first is from %s to %s; close the holes", N(n_open),
        AT(d->first_open[0]), AT(d->first_open[1]));
  else if (d->n_misoriented)
    SAY("neighbouring triangles have opposite orientations at %lld edges, the first is from %s to %s; make the orientation consistent",
        N(n_misoriented), AT(d->first_misoriented[0]), AT(d->first_misoriented[1]));
  else if (d->n_pinched)
    SAY("the surface touches itself at %lld vertices, the first is at %s; separate the parts", N(n_pinched), AT(d->first_pinched));
  else if (d->volume < 0.0) SAY("the surface is inside out (volume %g m^3): reverse the orientation of its triangles", d->volume);
  else if (!(d->volume > 0.0)) SAY("the surface encloses no volume");
#undef N
#undef AT
#undef SAY
}

/* ==== self-intersections: two triangles intersect where an edge of one crosses the other ==== */

/* Distance by which segment pq, which crosses triangle t, would have to move to no longer intersect: past one of its ends, or past
 * the border of the triangle. -1 if an end lies beyond the plane by no more than `slack`. */
static double crossing_distance(const double *p, const double *q, const double *const t[3], double slack)
{
  double e1[3], e2[3], n[3], a[3], x[3];
  v3_sub(e1, t[1], t[0]), v3_sub(e2, t[2], t[0]), v3_sub(a, p, t[0]), v3_sub(x, q, t[0]);
  v3_cross(n, e1, e2);
  v3_scale(n, 1.0 / v3_norm(n), n);
  const double from = v3_dot(n, a), to = v3_dot(n, x);
  double       depth = fmin(fabs(from), fabs(to));
  if (!(depth > slack)) return -1.0;
  for (int k = 0; k < 3; ++k) x[k] = p[k] + from / (from - to) * (q[k] - p[k]);
  for (int i = 0; i < 3; ++i) {
    double e[3], cross[3];
    v3_sub(e, t[(i + 1) % 3], t[i]), v3_sub(a, x, t[i]);
    v3_cross(cross, e, a);
    depth = fmin(depth, v3_norm(cross) / v3_norm(e));
  }
  return depth;
}

static void triangle_corners(const triangle_mesh *m, int64_t t, const double *x[3])
{
  for (int i = 0; i < 3; ++i) x[i] = m->x + 3 * (int64_t)m->tri[3 * t + i];
}

/* Penetration that the rounding of coordinates can cause: 16 units in the last place of the largest coordinate. */
static double rounding_slack(const double *const x[2][3])
{
  double largest = 0.0;
  for (int i = 0; i < 18; ++i) largest = fmax(largest, fabs(x[i / 9][i / 3 % 3][i % 3]));
  return 16.0 * DBL_EPSILON * largest;
}

static bool is_corner(const int32_t *t, int32_t vertex) { return t[0] == vertex || t[1] == vertex || t[2] == vertex; }

/* The bounding boxes of segment pq and triangle t are disjoint. Cheaper than the exact predicates, in particular for coplanar
 * input. */
static bool boxes_are_disjoint(const double *p, const double *q, const double *const t[3])
{
  for (int k = 0; k < 3; ++k)
    if (fmax(p[k], q[k]) < fmin(fmin(t[0][k], t[1][k]), t[2][k]) || fmin(p[k], q[k]) > fmax(fmax(t[0][k], t[1][k]), t[2][k])) return true;
  return false;
}

/* Penetration depth of triangles s and t; -1: they do not cross. Edges that end at a corner of the other triangle do not cross
 * it. */
static double crossing_depth(const triangle_mesh *m, int64_t s, int64_t t)
{
  const double *x[2][3];
  triangle_corners(m, s, x[0]), triangle_corners(m, t, x[1]);
  const double   slack  = rounding_slack((const double *const(*)[3])x);
  double         depth  = -1.0;
  const int32_t *tri[2] = {m->tri + 3 * s, m->tri + 3 * t};
  for (int k = 0; k < 2; ++k)
    for (int i = 0; i < 3; ++i) {
      if (is_corner(tri[1 - k], tri[k][i]) || is_corner(tri[1 - k], tri[k][(i + 1) % 3])) continue;
      const double *p = x[k][i], *q = x[k][(i + 1) % 3], *const *other = x[1 - k];
      if (boxes_are_disjoint(p, q, other)) continue;
      if (segment_crosses_triangle(p, q, other[0], other[1], other[2])) depth = fmax(depth, crossing_distance(p, q, other, slack));
    }
  return depth;
}

/* Number of triangles after t that cross t, the first of them, and the largest penetration depth. */
static int64_t count_partners(const triangle_mesh *m, const box_tree *tree, double *const box[6], int64_t t, int32_t *partner,
                              double *deepest)
{
  const double min[3] = {box[0][t], box[1][t], box[2][t]}, max[3] = {box[3][t], box[4][t], box[5][t]};
  int32_t      near[BOX_TREE_WIDTH];
  int64_t      n = 0;
  box_walk     walk;
  *partner = -1;
  *deepest = 0.0;
  box_walk_begin(&walk, tree, min, max);
  for (int n_near; (n_near = box_walk_next(&walk, near)) > 0;)
    for (int i = 0; i < n_near; ++i) {
      const double depth = near[i] > t ? crossing_depth(m, t, near[i]) : -1.0;
      if (depth < 0.0) continue;
      ++n;
      *deepest = fmax(*deepest, depth);
      if (*partner < 0 || near[i] < *partner) *partner = near[i];
    }
  return n;
}

PetscErrorCode triangle_mesh_crossings(const triangle_mesh *m, int64_t *n, int32_t first[2], double *depth)
{
  const int64_t n_triangles = m->n_triangles;
  int64_t       count       = 0;
  double       *box[6]      = {NULL};
  int32_t      *partner     = NULL;
  box_tree      tree        = {0};
  double        deepest     = 0.0;
  PetscFunctionBegin;
  first[0] = first[1] = -1;
  *n                  = 0;
  for (int k = 0; k < 6; ++k) PetscCall(memory_alloc("triangle boxes", n_triangles, sizeof(double), &box[k]));
  PetscCall(memory_alloc("crossing triangles", n_triangles, sizeof *partner, &partner));
  PetscCall(box_tree_create(n_triangles, &tree));
  for (int64_t t = 0; t < n_triangles; ++t) {
    const double *x[3];
    triangle_corners(m, t, x);
    for (int k = 0; k < 3; ++k) {
      box[k][t]     = fmin(fmin(x[0][k], x[1][k]), x[2][k]);
      box[3 + k][t] = fmax(fmax(x[0][k], x[1][k]), x[2][k]);
    }
  }
  box_tree_fit(&tree, box);
#pragma omp parallel for schedule(dynamic, 256) reduction(+ : count) reduction(max : deepest)
  for (int64_t t = 0; t < n_triangles; ++t) {
    double here;
    count += count_partners(m, &tree, box, t, &partner[t], &here);
    deepest = fmax(deepest, here);
  }
  for (int64_t t = n_triangles - 1; t >= 0; --t)
    if (partner[t] >= 0) first[0] = (int32_t)t, first[1] = partner[t];
  *n = count;
  if (depth) *depth = deepest;
  box_tree_clear(&tree);
  memory_free(&partner);
  for (int k = 0; k < 6; ++k) memory_free(&box[k]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode triangle_mesh_crossings_text(const triangle_mesh *m, size_t size, char *text)
{
  int64_t n;
  int32_t pair[2];
  PetscFunctionBegin;
  if (size) text[0] = '\0';
  PetscCall(triangle_mesh_crossings(m, &n, pair, NULL));
  if (n > 0) {
    const double *x = m->x + 3 * (int64_t)m->tri[3 * (int64_t)pair[0]];
    (void)snprintf(text, size,
                   "the surface passes through itself: %lld pairs of triangles cross, the first near (%.7g, %.7g, %.7g); remove the "
                   "intersections, or define the overlapping "
                   "parts as separate shapes or bodies",
                   (long long)n, x[0], x[1], x[2]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ==== refinement: long edges are split at their midpoint, and their triangles are cut accordingly ==== */

enum { MAX_VERTICES = 10000000 };

typedef struct {
  int32_t low, high, side; /* side = 3 * triangle + i: from vertex i to i + 1 */
} long_edge;

static int compare_edges(const void *a, const void *b)
{
  const long_edge *p = a, *q = b;
  if (p->low != q->low) return p->low < q->low ? -1 : 1;
  if (p->high != q->high) return p->high < q->high ? -1 : 1;
  return (p->side > q->side) - (p->side < q->side);
}

static double triangle_mesh_distance(const double *a, const double *b)
{
  double e[3];
  v3_sub(e, a, b);
  return v3_norm(e);
}

/* Cut triangle v with edge midpoints m (-1: edge not split) into 1 to 4 triangles; returns their number. */
static int cut_triangle(const double *x, const int32_t *v, const int32_t *m, int32_t *out)
{
  int n = (m[0] >= 0) + (m[1] >= 0) + (m[2] >= 0), s = 0;
#define OUT(i, a, b, c) (out[3 * (i)] = (a), out[3 * (i) + 1] = (b), out[3 * (i) + 2] = (c))
  if (n == 0) OUT(0, v[0], v[1], v[2]);
  else if (n == 3) OUT(0, v[0], m[0], m[2]), OUT(1, m[0], v[1], m[1]), OUT(2, m[2], m[1], v[2]), OUT(3, m[0], m[1], m[2]);
  else if (n == 1) {
    while (m[s] < 0) ++s;
    const int32_t a = v[s], b = v[(s + 1) % 3], c = v[(s + 2) % 3];
    OUT(0, a, m[s], c), OUT(1, m[s], b, c);
  } else { /* s: the side that is not split, from a to b */
    while (m[s] >= 0) ++s;
    const int32_t a = v[s], b = v[(s + 1) % 3], c = v[(s + 2) % 3], mb = m[(s + 1) % 3], ma = m[(s + 2) % 3];
    OUT(0, ma, mb, c);
    if (triangle_mesh_distance(&x[3 * (int64_t)a], &x[3 * (int64_t)mb]) <= triangle_mesh_distance(&x[3 * (int64_t)b], &x[3 * (int64_t)ma]))
      OUT(1, a, b, mb), OUT(2, a, mb, ma);
    else OUT(1, a, b, ma), OUT(2, b, mb, ma);
  }
#undef OUT
  return n + 1;
}

static PetscErrorCode refine_once(triangle_mesh *m, double spacing, long_edge *edge, int32_t *middle, bool *is_done)
{
  int64_t  n = 0, n_new = 0, n_tri = 0;
  int32_t *tri = NULL;
  PetscFunctionBegin;
  for (int64_t i = 0; i < 3 * m->n_triangles; ++i) {
    const int32_t a = m->tri[i], b = m->tri[i - i % 3 + (i + 1) % 3];
    middle[i] = -1;
    if (triangle_mesh_distance(&m->x[3 * (int64_t)a], &m->x[3 * (int64_t)b]) > spacing)
      edge[n++] = (long_edge){a < b ? a : b, a < b ? b : a, (int32_t)i};
  }
  *is_done = n == 0;
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  qsort(edge, (size_t)n, sizeof *edge, compare_edges);
  for (int64_t i = 0; i < n; ++i) n_new += i == 0 || edge[i].low != edge[i - 1].low || edge[i].high != edge[i - 1].high;
  PetscCheck(m->n_vertices + n_new <= MAX_VERTICES, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "the surface would need more than %d vertices at spacing %g m: choose a larger surface spacing", MAX_VERTICES, spacing);
  PetscCall(memory_resize("mesh vertices", 3 * (m->n_vertices + n_new), sizeof *m->x, &m->x));
  for (int64_t i = 0; i < n; ++i) {
    if (i == 0 || edge[i].low != edge[i - 1].low || edge[i].high != edge[i - 1].high) {
      for (int k = 0; k < 3; ++k)
        m->x[3 * m->n_vertices + k] = 0.5 * (m->x[3 * (int64_t)edge[i].low + k] + m->x[3 * (int64_t)edge[i].high + k]);
      ++m->n_vertices;
    }
    middle[edge[i].side] = (int32_t)(m->n_vertices - 1);
  }
  PetscCall(memory_alloc("mesh triangles", 3 * (m->n_triangles + n), sizeof *tri, &tri));
  for (int64_t t = 0; t < m->n_triangles; ++t) n_tri += cut_triangle(m->x, &m->tri[3 * t], &middle[3 * t], &tri[3 * n_tri]);
  memory_free(&m->tri);
  m->tri = tri, m->n_triangles = n_tri;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode triangle_mesh_refine(triangle_mesh *m, double spacing)
{
  bool is_done = false;
  PetscFunctionBegin;
  PetscCheck(spacing > 0.0, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "the spacing of a refined surface must be positive");
  while (!is_done) { /* the edge lengths are halved in every pass */
    long_edge     *edge   = NULL;
    int32_t       *middle = NULL;
    PetscErrorCode code   = MEMORY_ALLOC("mesh refinement", ARRAY(edge, 3 * m->n_triangles), ARRAY(middle, 3 * m->n_triangles));
    if (!code) code = refine_once(m, spacing, edge, middle, &is_done);
    MEMORY_FREE(&edge, &middle);
    PetscCall(code);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
