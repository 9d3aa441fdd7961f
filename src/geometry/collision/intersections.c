/* Implementation: a tree of the boxes of triangles (box_tree.h), and one query with exact predicates per edge. */
#include "geometry/collision/intersections.h"
#include "core/math3.h"
#include "core/memory.h"
#include "geometry/primitive/segment_triangle.h"
#include <stdlib.h>
#include <string.h>

struct intersections {
  int64_t             n_vertices, n_edges, n_triangles;
  int32_t             n_bodies;
  int32_t            *edge, *triangle, *body; /* copies; body NULL if n_bodies = 0 */
  const pair_classes *pairs;
  bool               *can_touch;
  double             *box[6]; /* [n_triangles] */
  box_tree            tree;
  int32_t            *count; /* [n_edges] number of triangles that each edge intersects */
  int64_t             capacity;
  intersection       *list;
};

static PetscErrorCode check_surfaces(const broad_phase_surfaces *s)
{
  PetscFunctionBegin;
  for (int64_t i = 0; i < 2 * s->n_edges; ++i)
    PetscCheck(s->edge[i] >= 0 && s->edge[i] < s->n_vertices, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "edge %lld has vertex %d, which does not exist", (long long)(i / 2), s->edge[i]);
  for (int64_t i = 0; i < 3 * s->n_triangles; ++i)
    PetscCheck(s->triangle[i] >= 0 && s->triangle[i] < s->n_vertices, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "triangle %lld has vertex %d, which does not exist", (long long)(i / 3), s->triangle[i]);
  for (int64_t i = 0; i < s->n_vertices && s->n_bodies > 0; ++i)
    PetscCheck(s->body[i] >= 0 && s->body[i] < s->n_bodies, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "vertex %lld has body %d, which does not exist", (long long)i, s->body[i]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode intersections_create(const broad_phase_surfaces *s, intersections **out)
{
  intersections *f;
  PetscFunctionBegin;
  *out = NULL;
  PetscCall(check_surfaces(s));
  PetscCall(memory_alloc("intersections", 1, sizeof *f, &f));
  *out           = f;
  f->n_vertices  = s->n_vertices;
  f->n_edges     = s->n_edges;
  f->n_triangles = s->n_triangles;
  f->n_bodies    = s->n_bodies;
  f->pairs       = s->pairs;
  PetscCall(memory_copy("intersections", 2 * s->n_edges, sizeof *f->edge, s->edge, &f->edge));
  PetscCall(memory_copy("intersections", 3 * s->n_triangles, sizeof *f->triangle, s->triangle, &f->triangle));
  PetscCall(memory_copy("intersections", s->n_bodies > 0 ? s->n_vertices : 0, sizeof *f->body, s->body, &f->body));
  PetscCall(memory_copy("intersections", pair_n_slots(s->pairs, s->n_bodies), sizeof *f->can_touch, s->can_touch, &f->can_touch));
  for (int k = 0; k < 6; ++k) PetscCall(memory_alloc("intersections", s->n_triangles, sizeof(double), &f->box[k]));
  PetscCall(memory_alloc("intersections", s->n_edges, sizeof *f->count, &f->count));
  PetscCall(box_tree_create(s->n_triangles, &f->tree));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void intersections_destroy(intersections **out)
{
  if (!out || !*out) return;
  intersections *f = *out;
  box_tree_clear(&f->tree);
  for (int k = 0; k < 6; ++k) memory_free(&f->box[k]);
  MEMORY_FREE(&f->edge, &f->triangle, &f->body, &f->can_touch, &f->count, &f->list, out);
}

static segment_intersection classify_pair(const intersections *f, const double *x, int64_t edge, int32_t triangle)
{
  const int32_t *e = f->edge + 2 * edge, *t = f->triangle + 3 * (int64_t)triangle;
  if (f->n_bodies > 0 && !f->can_touch[pair_slot(f->pairs, f->n_bodies, f->body[e[0]], f->body[t[0]])]) return SEGMENT_APART;
  int corner[2] = {-1, -1};
  for (int i = 0; i < 2; ++i)
    for (int k = 0; k < 3; ++k)
      if (e[i] == t[k]) corner[i] = k;
  if (corner[0] >= 0 && corner[1] >= 0) return SEGMENT_APART;
  const double *c[3] = {x + 3 * (int64_t)t[0], x + 3 * (int64_t)t[1], x + 3 * (int64_t)t[2]};
  const double *p = x + 3 * (int64_t)e[0], *q = x + 3 * (int64_t)e[1];
  for (int i = 0; i < 2; ++i) {
    const int k = corner[i];
    if (k >= 0) return segment_intersects_adjacent_triangle(c[k], i == 0 ? q : p, c[(k + 1) % 3], c[(k + 2) % 3]);
  }
  return segment_intersects_triangle(p, q, c[0], c[1], c[2]);
}

/* Number of triangles that an edge intersects; out (may be NULL): the intersections in the order of the tree. */
static int32_t intersect_edge(const intersections *f, const double *x, int64_t edge, intersection *out)
{
  const double *p = x + 3 * (int64_t)f->edge[2 * edge], *q = x + 3 * (int64_t)f->edge[2 * edge + 1];
  double        min[3], max[3];
  int32_t       near[BOX_TREE_WIDTH], n = 0;
  box_walk      walk;
  for (int k = 0; k < 3; ++k) min[k] = fmin(p[k], q[k]), max[k] = fmax(p[k], q[k]);
  box_walk_begin(&walk, &f->tree, min, max);
  for (int n_near; (n_near = box_walk_next(&walk, near)) > 0;)
    for (int i = 0; i < n_near; ++i) {
      const segment_intersection m = classify_pair(f, x, edge, near[i]);
      if (m == SEGMENT_APART) continue;
      if (out) out[n] = (intersection){(int32_t)edge, near[i], m == SEGMENT_CROSSES};
      ++n;
    }
  return n;
}

static int by_triangle(const void *a, const void *b)
{
  const int32_t s = ((const intersection *)a)->triangle, t = ((const intersection *)b)->triangle;
  return (s > t) - (s < t);
}

static void fit_boxes(intersections *f, const double *x)
{
#pragma omp parallel for schedule(static)
  for (int64_t t = 0; t < f->n_triangles; ++t)
    for (int k = 0; k < 3; ++k) {
      const double a = x[3 * (int64_t)f->triangle[3 * t] + k], b = x[3 * (int64_t)f->triangle[3 * t + 1] + k],
                   c   = x[3 * (int64_t)f->triangle[3 * t + 2] + k];
      f->box[k][t]     = fmin(fmin(a, b), c);
      f->box[3 + k][t] = fmax(fmax(a, b), c);
    }
  box_tree_fit(&f->tree, f->box);
}

PetscErrorCode intersections_find(intersections *f, const double *x, int64_t *bad, int64_t *n, const intersection **list)
{
  PetscFunctionBegin;
  *n    = 0;
  *list = NULL;
  *bad  = -1;
  for (int64_t i = 0; i < 3 * f->n_vertices && *bad < 0; ++i)
    if (!isfinite(x[i])) *bad = i / 3;
  if (*bad >= 0 || f->n_triangles == 0) PetscFunctionReturn(PETSC_SUCCESS);
  fit_boxes(f, x);
#pragma omp parallel for schedule(dynamic, 256)
  for (int64_t e = 0; e < f->n_edges; ++e) f->count[e] = intersect_edge(f, x, e, NULL);
  for (int64_t e = 0; e < f->n_edges; ++e) *n += f->count[e];
  if (*n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(memory_reserve("intersections", *n, sizeof *f->list, &f->capacity, &f->list));
  /* Few edges have intersections; only those are queried again. */
  for (int64_t e = 0, at = 0; e < f->n_edges; at += f->count[e++])
    if (f->count[e] > 0) {
      (void)intersect_edge(f, x, e, f->list + at);
      qsort(f->list + at, (size_t)f->count[e], sizeof *f->list, by_triangle);
    }
  *list = f->list;
  PetscFunctionReturn(PETSC_SUCCESS);
}
