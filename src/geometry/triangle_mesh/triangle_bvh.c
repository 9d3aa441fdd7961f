/* Implementation: tree by median splits, at most four triangles per leaf; depth-first search that visits the closer child first. */
#include "geometry/triangle_mesh/triangle_bvh.h"
#include "core/math3.h"
#include "core/memory.h"
#include "geometry/primitive/triangle_nearest.h"

enum { LEAF_SIZE = 4, MAX_DEPTH = 64 };

typedef struct {
  double  min[3], max[3];
  int32_t first, count; /* leaf: count > 0 triangles, from `first` on; inner node: count = 0, children `first` and `first` + 1 */
} bvh_node;

struct triangle_bvh {
  const triangle_mesh *m;
  int32_t              n_nodes;
  bvh_node            *node;
  int32_t             *order;         /* [n_triangles] leaf contents */
  double              *face_normal;   /* [n_triangles][3] unit */
  double              *edge_normal;   /* [n_triangles][3][3] of edge i from vertex i to i + 1: sum of both faces */
  double              *vertex_normal; /* [n_vertices][3] angle-weighted sum */
};

void triangle_bvh_destroy(triangle_bvh **b)
{
  if (!b || !*b) return;
  MEMORY_FREE(&(*b)->node, &(*b)->order, &(*b)->face_normal, &(*b)->edge_normal, &(*b)->vertex_normal, b);
}

/* ---- pseudonormals ---- */

typedef struct {
  int32_t low, high, side; /* side = 3 * triangle + i */
} edge_side;

static int compare_sides(const void *a, const void *b)
{
  const edge_side *p = a, *q = b;
  if (p->low != q->low) return p->low < q->low ? -1 : 1;
  if (p->high != q->high) return p->high < q->high ? -1 : 1;
  return (p->side > q->side) - (p->side < q->side);
}

static PetscErrorCode build_normals(triangle_bvh *b)
{
  const triangle_mesh *m    = b->m;
  const int64_t        n    = m->n_triangles;
  edge_side           *side = NULL;
  PetscFunctionBegin;
  PetscCall(memory_alloc("mesh edges", 3 * n, sizeof *side, &side));
  for (int64_t t = 0; t < n; ++t) {
    const int32_t *v = &m->tri[3 * t];
    double         e[3][3], *f = &b->face_normal[3 * t];
    for (int i = 0; i < 3; ++i) v3_sub(e[i], &m->x[3 * (int64_t)v[(i + 1) % 3]], &m->x[3 * (int64_t)v[i]]);
    v3_cross(f, e[0], e[1]);
    v3_scale(f, 1.0 / v3_norm(f), f);
    for (int i = 0; i < 3; ++i) {
      double        c[3];
      const double *in = e[(i + 2) % 3], *out = e[i];
      v3_cross(c, in, out);
      v3_axpy(&b->vertex_normal[3 * (int64_t)v[i]], atan2(v3_norm(c), -v3_dot(in, out)), f);
      const int32_t p = v[i], q = v[(i + 1) % 3];
      side[3 * t + i] = (edge_side){p < q ? p : q, p < q ? q : p, (int32_t)(3 * t + i)};
    }
  }
  qsort(side, (size_t)(3 * n), sizeof *side, compare_sides);
  for (int64_t i = 0; i + 1 < 3 * n; i += 2) { /* a sound mesh has every edge exactly twice */
    double sum[3];
    v3_add(sum, &b->face_normal[3 * (int64_t)(side[i].side / 3)], &b->face_normal[3 * (int64_t)(side[i + 1].side / 3)]);
    v3_copy(&b->edge_normal[3 * (int64_t)side[i].side], sum);
    v3_copy(&b->edge_normal[3 * (int64_t)side[i + 1].side], sum);
  }
  memory_free(&side);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the tree ---- */

static void triangle_center(const triangle_mesh *m, int32_t t, double *c)
{
  for (int k = 0; k < 3; ++k)
    c[k] = m->x[3 * (int64_t)m->tri[3 * (int64_t)t] + k] + m->x[3 * (int64_t)m->tri[3 * (int64_t)t + 1] + k] +
           m->x[3 * (int64_t)m->tri[3 * (int64_t)t + 2] + k];
}

/* Hoare's selection by (centre along the axis, index): partially sort order[lo..hi] so that order[middle] is correct. */
static void select_median(const double *key, int32_t *order, int32_t lo, int32_t hi, int32_t middle)
{
#define BEFORE(p, q) (key[p] < key[q] || (key[p] == key[q] && (p) < (q)))
  while (lo < hi) {
    const int32_t pivot = order[lo + (hi - lo) / 2];
    int32_t       i = lo, j = hi;
    while (i <= j) {
      while (BEFORE(order[i], pivot)) ++i;
      while (BEFORE(pivot, order[j])) --j;
      if (i <= j) {
        const int32_t swap = order[i];
        order[i++]         = order[j];
        order[j--]         = swap;
      }
    }
    if (middle <= j) hi = j;
    else if (middle >= i) lo = i;
    else return;
  }
#undef BEFORE
}

static void fit_box(const triangle_mesh *m, const int32_t *order, bvh_node *node, int32_t first, int32_t count)
{
  for (int k = 0; k < 3; ++k) node->min[k] = INFINITY, node->max[k] = -INFINITY;
  for (int32_t i = first; i < first + count; ++i)
    for (int q = 0; q < 3; ++q)
      for (int k = 0; k < 3; ++k) {
        const double x = m->x[3 * (int64_t)m->tri[3 * (int64_t)order[i] + q] + k];
        node->min[k] = fmin(node->min[k], x), node->max[k] = fmax(node->max[k], x);
      }
}

/* Split at the median of the longest axis of the centres; depth is then at most log2 n. `key` is work space. */
static void build_tree(triangle_bvh *b, const double *center, double *key)
{
  struct {
    int32_t node, first, count;
  } stack[2 * MAX_DEPTH];
  int top         = 0;
  b->n_nodes      = 1;
  stack[top].node = 0, stack[top].first = 0, stack[top++].count = (int32_t)b->m->n_triangles;
  while (top > 0) {
    --top;
    const int32_t first = stack[top].first, count = stack[top].count;
    bvh_node     *node = &b->node[stack[top].node];
    fit_box(b->m, b->order, node, first, count);
    node->first = first, node->count = count;
    if (count <= LEAF_SIZE) continue;
    double lo[3] = {INFINITY, INFINITY, INFINITY}, hi[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (int32_t i = first; i < first + count; ++i)
      for (int k = 0; k < 3; ++k) {
        lo[k] = fmin(lo[k], center[3 * (int64_t)b->order[i] + k]);
        hi[k] = fmax(hi[k], center[3 * (int64_t)b->order[i] + k]);
      }
    int axis = 0;
    for (int k = 1; k < 3; ++k)
      if (hi[k] - lo[k] > hi[axis] - lo[axis]) axis = k;
    for (int32_t i = first; i < first + count; ++i) key[b->order[i]] = center[3 * (int64_t)b->order[i] + axis];
    const int32_t half = count / 2;
    select_median(key, b->order, first, first + count - 1, first + half);
    node->first = b->n_nodes, node->count = 0;
    stack[top].node = b->n_nodes++, stack[top].first = first, stack[top++].count = half;
    stack[top].node = b->n_nodes++, stack[top].first = first + half, stack[top++].count = count - half;
  }
}

static PetscErrorCode bvh_fill(triangle_bvh *b)
{
  const int64_t n      = b->m->n_triangles;
  double       *center = NULL, *key = NULL;
  PetscFunctionBegin;
  PetscCall(MEMORY_ALLOC("triangle bvh", ARRAY(b->node, 2 * n), ARRAY(b->order, n), ARRAY(b->face_normal, 3 * n),
                         ARRAY(b->edge_normal, 9 * n), ARRAY(b->vertex_normal, 3 * b->m->n_vertices)));
  PetscCall(build_normals(b));
  PetscCall(MEMORY_ALLOC("mesh tree", ARRAY(center, 3 * n), ARRAY(key, n)));
  for (int64_t t = 0; t < n; ++t) {
    b->order[t] = (int32_t)t;
    triangle_center(b->m, (int32_t)t, &center[3 * t]);
  }
  build_tree(b, center, key);
  MEMORY_FREE(&center, &key);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode triangle_bvh_create(const triangle_mesh *m, triangle_bvh **out)
{
  triangle_bvh *b = NULL;
  PetscFunctionBegin;
  PetscCheck(m->n_triangles > 0 && m->n_triangles <= INT32_MAX / 3, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "distances require a mesh with 1 to 715 million triangles, but this mesh has %lld", (long long)m->n_triangles);
  PetscCall(memory_alloc("mesh tree", 1, sizeof *b, &b));
  b->m                      = m;
  const PetscErrorCode code = bvh_fill(b);
  if (code) triangle_bvh_destroy(&b);
  PetscCall(code);
  *out = b;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- queries ---- */

/* Squared distance of p from triangle (a, b, c), its closest point q and the feature of q (triangle_nearest.h). q is computed from
 * a corner of its feature rather than from all three corners, so that a vertex is reproduced exactly. */
static double nearest_on_triangle(const double *a, const double *b, const double *c, const double *p, double *q, int *feature)
{
  const double *corner[3] = {a, b, c};
  double        w[3], d[3];
  *feature       = triangle_nearest(a, b, c, p, w);
  const int from = *feature == 1 || *feature == 4 ? 1 : *feature == 2 ? 2 : 0;
  v3_copy(q, corner[from]);
  for (int i = 0; i < 3; ++i) {
    if (i == from || w[i] == 0.0) continue;
    v3_sub(d, corner[i], corner[from]);
    v3_axpy(q, w[i], d);
  }
  v3_sub(d, p, q);
  return v3_dot(d, d);
}

static double box_distance2(const bvh_node *node, const double *x)
{
  double s = 0.0;
  for (int k = 0; k < 3; ++k) {
    const double below = node->min[k] - x[k], above = x[k] - node->max[k]; /* no fmax: gcc calls the library for it */
    const double most = below > above ? below : above, d = most > 0.0 ? most : 0.0;
    s += d * d;
  }
  return s;
}

typedef struct {
  double  distance2, q[3];
  int32_t triangle;
  int     feature;
} bvh_hit;

static void try_triangle(const triangle_bvh *b, int32_t t, const double *x, bvh_hit *best)
{
  const int32_t *v = &b->m->tri[3 * (int64_t)t];
  double         q[3];
  int            feature;
  const double   d2 =
      nearest_on_triangle(&b->m->x[3 * (int64_t)v[0]], &b->m->x[3 * (int64_t)v[1]], &b->m->x[3 * (int64_t)v[2]], x, q, &feature);
  if (d2 < best->distance2) {
    best->distance2 = d2, best->triangle = t, best->feature = feature;
    v3_copy(best->q, q);
  }
}

double triangle_bvh_distance_below(const triangle_bvh *b, const double x[3], double limit, int32_t *hint, double nearest[3])
{
  bvh_hit best = {.distance2 = INFINITY, .triangle = -1};
  struct {
    int32_t node;
    double  distance2;
  } stack[2 * MAX_DEPTH];
  int top = 0;
  if (hint && *hint >= 0) try_triangle(b, *hint, x, &best);
  const bool can_stop = limit <= 0.0; /* the distance is at least minus that of any triangle */
  bool       has_end  = can_stop && -sqrt(best.distance2) >= limit;
  stack[top].node = 0, stack[top++].distance2 = box_distance2(&b->node[0], x);
  while (top > 0 && !has_end) {
    --top;
    if (stack[top].distance2 >= best.distance2) continue;
    const bvh_node *node = &b->node[stack[top].node];
    if (node->count > 0) {
      for (int32_t i = 0; i < node->count; ++i) try_triangle(b, b->order[node->first + i], x, &best);
      has_end = can_stop && -sqrt(best.distance2) >= limit;
      continue;
    }
    const double  d0 = box_distance2(&b->node[node->first], x), d1 = box_distance2(&b->node[node->first + 1], x);
    const int32_t far = node->first + (d0 <= d1);
    stack[top].node = far, stack[top++].distance2 = d0 <= d1 ? d1 : d0; /* the closer child is visited first */
    stack[top].node = 2 * node->first + 1 - far, stack[top++].distance2 = d0 <= d1 ? d0 : d1;
  }
  const int64_t t = best.triangle;
  const double *n = best.feature == 6  ? &b->face_normal[3 * t]
                    : best.feature > 2 ? &b->edge_normal[3 * (3 * t + best.feature - 3)]
                                       : &b->vertex_normal[3 * (int64_t)b->m->tri[3 * t + best.feature]];
  double        d[3];
  v3_sub(d, x, best.q);
  if (hint) *hint = best.triangle;
  if (nearest) v3_copy(nearest, best.q);
  return v3_dot(d, n) >= 0.0 ? sqrt(best.distance2) : -sqrt(best.distance2);
}

double triangle_bvh_distance(const triangle_bvh *b, const double x[3], int32_t *hint, double nearest[3])
{
  return triangle_bvh_distance_below(b, x, INFINITY, hint, nearest);
}
