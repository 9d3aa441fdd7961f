/* Implementation: one tree query per primitive, in parallel. Each query first writes to a small array of its primitive (SLOTS). */
#include "geometry/collision/broad_phase.h"
#include "core/memory.h"
#include "core/team.h"
#include <math.h>
#include <string.h>

/* Each query first writes up to SLOTS partners. Queries with more partners run again once memory for all pairs is allocated. */
enum { SLOTS = 16, QUERY_CHUNK = 64, SERIAL_LIMIT = 512 };

/* Storage of one kind of query. */
typedef struct {
  int64_t           n, capacity;
  int32_t          *count; /* [n] */
  int32_t          *slot;  /* [n][SLOTS] */
  int64_t          *start; /* [n] into pair */
  broad_phase_pair *pair;
} query_storage;

struct broad_phase {
  int64_t             n_vertices, n_points, n_edges, n_triangles;
  int32_t             n_bodies, *point, *edge, *triangle, *body;
  const pair_classes *pairs;
  bool               *can_touch;
  double             *point_box[6], *edge_box[6], *triangle_box[6]; /* lower and upper bounds by axis, without margin */
  double              margin;
  box_tree            edges, triangles;
  query_storage       point_triangle, edge_edge;
};

/* ---- creation ---- */

static void clear_query_storage(query_storage *r) { MEMORY_FREE(&r->count, &r->slot, &r->start, &r->pair); }

void broad_phase_destroy(broad_phase **out)
{
  if (!out || !*out) return;
  broad_phase *b = *out;
  for (int k = 0; k < 6; ++k) memory_free(&b->point_box[k]), memory_free(&b->edge_box[k]), memory_free(&b->triangle_box[k]);
  MEMORY_FREE(&b->point, &b->edge, &b->triangle, &b->body, &b->can_touch);
  box_tree_clear(&b->edges);
  box_tree_clear(&b->triangles);
  clear_query_storage(&b->point_triangle);
  clear_query_storage(&b->edge_edge);
  memory_free(out);
}

static PetscErrorCode create_query_storage(int64_t n, query_storage *r)
{
  PetscFunctionBegin;
  r->n = n;
  PetscCall(MEMORY_ALLOC("broad phase", ARRAY(r->count, n), ARRAY(r->slot, SLOTS * n), ARRAY(r->start, n)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Check and copy [n][arity] vertices; from NULL means 0, 1, 2, ... Allocates the boxes. */
static PetscErrorCode copy_primitives(const broad_phase_surfaces *s, const char *what, int64_t n, int arity, const int32_t *from,
                                      int32_t **to, double **box)
{
  PetscFunctionBegin;
  PetscCheck(n >= 0 && n <= INT32_MAX, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "%lld %ss; at most %d are supported", (long long)n, what,
             INT32_MAX);
  PetscCall(memory_alloc("broad phase", n * arity, sizeof **to, to));
  for (int64_t i = 0; i < n * arity; ++i) {
    const int32_t v = from ? from[i] : (int32_t)i;
    PetscCheck(v >= 0 && v < s->n_vertices, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "%s %lld has vertex %d; expected 0 or more, less than %lld", what, (long long)(i / arity), (int)v, (long long)s->n_vertices);
    PetscCheck(s->n_bodies == 0 || s->body[v] == s->body[(*to)[i - i % arity]] || i % arity == 0, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "%s %lld: vertices of different bodies", what, (long long)(i / arity));
    (*to)[i] = v;
  }
  for (int k = 0; k < 6; ++k) PetscCall(memory_alloc("broad phase", n, sizeof **box, &box[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode copy_bodies(const broad_phase_surfaces *s, broad_phase *b)
{
  const int64_t n = s->n_bodies;
  PetscFunctionBegin;
  b->n_bodies = s->n_bodies, b->pairs = s->pairs;
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(memory_alloc("broad phase", s->n_vertices, sizeof *b->body, &b->body));
  PetscCall(memory_copy("broad phase", pair_n_slots(s->pairs, n), sizeof *b->can_touch, s->can_touch, &b->can_touch));
  for (int64_t i = 0; i < s->n_vertices; ++i) {
    PetscCheck(s->body[i] >= 0 && s->body[i] < n, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "vertex %lld has body %d; expected 0 or more, less than %lld", (long long)i, (int)s->body[i], (long long)n);
    b->body[i] = s->body[i];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode copy_surfaces(const broad_phase_surfaces *s, broad_phase *b)
{
  PetscFunctionBegin;
  PetscCheck(s->n_vertices >= 0 && s->n_vertices <= INT32_MAX && s->n_bodies >= 0, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "%lld vertices of %d bodies; at most 2^31 - 1 vertices are supported", (long long)s->n_vertices, (int)s->n_bodies);
  b->n_vertices = s->n_vertices, b->n_points = s->n_points, b->n_edges = s->n_edges, b->n_triangles = s->n_triangles;
  PetscCall(copy_bodies(s, b));
  PetscCall(copy_primitives(s, "point", s->n_points, 1, s->point, &b->point, b->point_box));
  PetscCall(copy_primitives(s, "edge", s->n_edges, 2, s->edge, &b->edge, b->edge_box));
  PetscCall(copy_primitives(s, "triangle", s->n_triangles, 3, s->triangle, &b->triangle, b->triangle_box));
  PetscCall(box_tree_create(s->n_edges, &b->edges));
  PetscCall(box_tree_create(s->n_triangles, &b->triangles));
  PetscCall(create_query_storage(s->n_points, &b->point_triangle));
  PetscCall(create_query_storage(s->n_edges, &b->edge_edge));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode broad_phase_create(const broad_phase_surfaces *s, broad_phase **out)
{
  broad_phase *b = NULL;
  PetscFunctionBegin;
  PetscCall(memory_alloc("broad phase", 1, sizeof *b, &b));
  const PetscErrorCode code = copy_surfaces(s, b);
  if (code) broad_phase_destroy(&b);
  PetscCall(code);
  *out = b;
  PetscFunctionReturn(PETSC_SUCCESS);
}

int64_t broad_phase_rebuilds(const broad_phase *b) { return b->edges.n_rebuilds + b->triangles.n_rebuilds; }

/* ---- boxes ---- */

static inline __attribute__((always_inline)) void fit_swept_boxes(int64_t n, int arity, const int32_t *vertex, const double *x0,
                                                                  const double *x1, double *const box[6])
{
#pragma omp parallel for schedule(static) if (n > SERIAL_LIMIT)
  for (int64_t i = 0; i < n; ++i)
    for (int k = 0; k < 3; ++k) {
      double lo = INFINITY, hi = -INFINITY;
      for (int j = 0; j < arity; ++j) {
        const double a = x0[3 * (int64_t)vertex[arity * i + j] + k], b = x1[3 * (int64_t)vertex[arity * i + j] + k];
        lo = a < lo ? a : lo, lo = b < lo ? b : lo;
        hi = a > hi ? a : hi, hi = b > hi ? b : hi;
      }
      box[k][i] = lo, box[k + 3][i] = hi;
    }
}

PetscErrorCode broad_phase_update(broad_phase *b, const double *x0, const double *x1, double margin, int64_t *bad)
{
  const int64_t n = 3 * b->n_vertices, bad0 = team_first_not_finite(n, x0), bad1 = team_first_not_finite(n, x1);
  PetscFunctionBegin;
  PetscCheck(margin >= 0.0 && isfinite(margin), PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "expected a search margin >= 0");
  *bad = bad0 < n || bad1 < n ? (bad0 < bad1 ? bad0 : bad1) / 3 : -1;
  if (*bad >= 0) PetscFunctionReturn(PETSC_SUCCESS);
  b->margin = margin;
  fit_swept_boxes(b->n_points, 1, b->point, x0, x1, b->point_box);
  fit_swept_boxes(b->n_edges, 2, b->edge, x0, x1, b->edge_box);
  fit_swept_boxes(b->n_triangles, 3, b->triangle, x0, x1, b->triangle_box);
  box_tree_fit(&b->edges, b->edge_box);
  box_tree_fit(&b->triangles, b->triangle_box);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- queries ---- */

typedef enum { POINT_TRIANGLE, EDGE_EDGE } query_kind;

static inline bool is_pair(const broad_phase *b, query_kind kind, int32_t i, int32_t j)
{
  const int32_t *p = kind == EDGE_EDGE ? &b->edge[2 * (int64_t)i] : &b->point[i];
  const int32_t *q = kind == EDGE_EDGE ? &b->edge[2 * (int64_t)j] : &b->triangle[3 * (int64_t)j];
  if (kind == EDGE_EDGE && (j <= i || p[0] == q[0] || p[0] == q[1] || p[1] == q[0] || p[1] == q[1])) return false;
  if (kind == POINT_TRIANGLE && (p[0] == q[0] || p[0] == q[1] || p[0] == q[2])) return false;
  return b->n_bodies == 0 || b->can_touch[pair_slot(b->pairs, b->n_bodies, b->body[p[0]], b->body[q[0]])];
}

/* Number of partners of primitive i. At most `capacity` of them are written to out, `stride` apart. */
static inline __attribute__((always_inline)) int32_t find_partners(const broad_phase *b, query_kind kind, int32_t i, int32_t capacity,
                                                                   int stride, int32_t *out)
{
  double *const *box = kind == EDGE_EDGE ? b->edge_box : b->point_box;
  double         min[3], max[3];
  int32_t        found[BOX_TREE_WIDTH], count = 0;
  box_walk       walk;
  for (int k = 0; k < 3; ++k) { /* rounded outward, so that rounding loses no pair */
    min[k] = b->margin > 0.0 ? nextafter(box[k][i] - b->margin, -INFINITY) : box[k][i];
    max[k] = b->margin > 0.0 ? nextafter(box[k + 3][i] + b->margin, INFINITY) : box[k + 3][i];
  }
  box_walk_begin(&walk, kind == EDGE_EDGE ? &b->edges : &b->triangles, min, max);
  for (int n = box_walk_next(&walk, found); n > 0; n = box_walk_next(&walk, found))
    for (int k = 0; k < n; ++k) {
      if (!is_pair(b, kind, i, found[k])) continue;
      if (count < capacity) out[(int64_t)stride * count] = found[k];
      ++count;
    }
  return count;
}

/* Shell sort with Ciura's gaps, in place; the lists are short. */
static void sort_partners(int32_t n, broad_phase_pair *pair)
{
  static const int32_t gaps[] = {1750, 701, 301, 132, 57, 23, 10, 4, 1};
  for (size_t g = 0; g < sizeof gaps / sizeof *gaps; ++g)
    for (int32_t i = gaps[g]; i < n; ++i) {
      const broad_phase_pair moved = pair[i];
      int32_t                j     = i;
      for (; j >= gaps[g] && pair[j - gaps[g]].second > moved.second; j -= gaps[g]) pair[j] = pair[j - gaps[g]];
      pair[j] = moved;
    }
}

static inline __attribute__((always_inline)) void count_partners(const broad_phase *b, query_kind kind, query_storage *r)
{
  const int32_t *order = kind == EDGE_EDGE ? b->edges.order : NULL; /* spatial neighbours traverse the same nodes */
#pragma omp parallel for schedule(dynamic, QUERY_CHUNK) if (r->n > SERIAL_LIMIT)
  for (int64_t place = 0; place < r->n; ++place) {
    const int64_t i = order ? order[place] : place;
    r->count[i]     = find_partners(b, kind, (int32_t)i, SLOTS, 1, &r->slot[SLOTS * i]);
  }
}

static inline __attribute__((always_inline)) void write_pairs(const broad_phase *b, query_kind kind, query_storage *r)
{
#pragma omp parallel for schedule(dynamic, QUERY_CHUNK) if (r->n > SERIAL_LIMIT)
  for (int64_t i = 0; i < r->n; ++i) {
    const int32_t     n    = r->count[i];
    broad_phase_pair *pair = r->pair + r->start[i];
    if (n > SLOTS) find_partners(b, kind, (int32_t)i, n, 2, &pair->second);
    for (int32_t k = 0; k < n; ++k) pair[k].first = (int32_t)i, pair[k].second = n > SLOTS ? pair[k].second : r->slot[SLOTS * i + k];
    sort_partners(n, pair);
  }
}

static PetscErrorCode allocate_pairs(query_storage *r, int64_t *total)
{
  int64_t sum = 0;
  PetscFunctionBegin;
  for (int64_t i = 0; i < r->n; ++i) r->start[i] = sum, sum += r->count[i];
  if (sum > r->capacity) {
    memory_free(&r->pair);
    r->capacity = 0;
    PetscCall(memory_alloc("candidate pairs", sum + sum / 2, sizeof *r->pair, &r->pair));
    r->capacity = sum + sum / 2;
  }
  *total = sum;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode broad_phase_point_triangle(broad_phase *b, int64_t *n, const broad_phase_pair **out)
{
  PetscFunctionBegin;
  count_partners(b, POINT_TRIANGLE, &b->point_triangle);
  PetscCall(allocate_pairs(&b->point_triangle, n));
  write_pairs(b, POINT_TRIANGLE, &b->point_triangle);
  *out = b->point_triangle.pair;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode broad_phase_edge_edge(broad_phase *b, int64_t *n, const broad_phase_pair **out)
{
  PetscFunctionBegin;
  count_partners(b, EDGE_EDGE, &b->edge_edge);
  PetscCall(allocate_pairs(&b->edge_edge, n));
  write_pairs(b, EDGE_EDGE, &b->edge_edge);
  *out = b->edge_edge.pair;
  PetscFunctionReturn(PETSC_SUCCESS);
}

void broad_phase_walk_triangles(const broad_phase *b, const double min[3], const double max[3], box_walk *walk)
{
  box_walk_begin(walk, &b->triangles, min, max);
}
