/* Does a surface pass through itself? Two triangles cross where an edge of one goes through the inside of the other. */
#include "geometry/primitive/box_tree.h"
#include "core/math3.h"
#include "core/memory.h"
#include "geometry/primitive/segment_triangle.h"
#include "geometry/triangle_mesh/triangle_mesh.h"
#include <float.h>

/* How far p, q, which goes through t, would have to be moved to come out: past one of its ends, or past the rim. -1: an end is on the other
 * side by no more than `slack`. */
static double depth_in(const double *p, const double *q, const double *const t[3], double slack)
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

static void corners(const triangle_mesh *m, int64_t t, const double *x[3])
{
  for (int i = 0; i < 3; ++i) x[i] = m->x + 3 * (int64_t)m->tri[3 * t + i];
}

/* What parts that were drawn on one lattice may cross by, their coordinates being rounded: 16 units in the last place of the largest. */
static double slack_of(const double *const x[2][3])
{
  double largest = 0.0;
  for (int i = 0; i < 18; ++i) largest = fmax(largest, fabs(x[i / 9][i / 3 % 3][i % 3]));
  return 16.0 * DBL_EPSILON * largest;
}

static bool is_corner(const int32_t *t, int32_t vertex) { return t[0] == vertex || t[1] == vertex || t[2] == vertex; }

/* The boxes around the two have nothing in common: cheaper to tell than sides, where all lies in one plane. */
static bool is_beside(const double *p, const double *q, const double *const t[3])
{
  for (int k = 0; k < 3; ++k)
    if (fmax(p[k], q[k]) < fmin(fmin(t[0][k], t[1][k]), t[2][k]) || fmin(p[k], q[k]) > fmax(fmax(t[0][k], t[1][k]), t[2][k])) return true;
  return false;
}

/* -1: they do not cross. What ends at a corner of the other is not on both sides of it. */
static double crossing_depth(const triangle_mesh *m, int64_t s, int64_t t)
{
  const double *x[2][3];
  corners(m, s, x[0]), corners(m, t, x[1]);
  const double slack = slack_of((const double *const(*)[3])x);
  double       depth = -1.0;
  const int32_t *tri[2] = {m->tri + 3 * s, m->tri + 3 * t};
  for (int k = 0; k < 2; ++k)
    for (int i = 0; i < 3; ++i) {
      if (is_corner(tri[1 - k], tri[k][i]) || is_corner(tri[1 - k], tri[k][(i + 1) % 3])) continue;
      const double *p = x[k][i], *q = x[k][(i + 1) % 3], *const *other = x[1 - k];
      if (is_beside(p, q, other)) continue;
      if (segment_passes_triangle(p, q, other[0], other[1], other[2])) depth = fmax(depth, depth_in(p, q, other, slack));
    }
  return depth;
}

/* How many triangles after t cross t, the first of them, and how deep at most. */
static int64_t count_partners(const triangle_mesh *m, const box_tree *tree, double *const box[6], int64_t t, int32_t *partner, double *deepest)
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
    corners(m, t, x);
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
    (void)snprintf(text, size, "the surface passes through itself: %lld pairs of triangles cross, the first near (%.7g, %.7g, %.7g); untangle it, or make what overlaps "
                   "shapes or bodies of their own", (long long)n, x[0], x[1], x[2]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
