/* Does a surface pass through itself? Two triangles cross where an edge of one goes through the inside of the other. */
#include "core/box_tree.h"
#include "core/math3.h"
#include "core/memory.h"
#include "discretize/mesh/triangle_mesh.h"
#include <float.h>

/* On which side of the plane abc is d: +1, -1, or 0 where round-off could decide. The bound is that of [Shewchuk1997]: a
 * few units in the last place of what the terms add up to without their signs. A point that a triangle shares gives exactly 0. */
static int side_of(const double *a, const double *b, const double *c, const double *d)
{
  double u[3], v[3], w[3], determinant = 0.0, permanent = 0.0;
  v3_sub(u, a, d), v3_sub(v, b, d), v3_sub(w, c, d);
  for (int k = 0; k < 3; ++k) {
    const int    i = (k + 1) % 3, j = (k + 2) % 3;
    const double first = v[i] * w[j], second = v[j] * w[i];
    determinant += u[k] * (first - second);
    permanent += fabs(u[k]) * (fabs(first) + fabs(second));
  }
  if (!(fabs(determinant) > 8.0 * DBL_EPSILON * permanent)) return 0;
  return determinant > 0.0 ? 1 : -1;
}

/* The ends are on different sides for certain, and the way between them does not miss the triangle for certain: where it meets the rim,
 * as parts that were drawn on one lattice like to do, the neighbour beyond the rim would say the same. */
static bool goes_through(const double *p, const double *q, const double *const t[3])
{
  if (side_of(t[0], t[1], t[2], p) * side_of(t[0], t[1], t[2], q) >= 0) return false;
  const int s[3] = {side_of(p, q, t[0], t[1]), side_of(p, q, t[1], t[2]), side_of(p, q, t[2], t[0])};
  return s[0] * s[1] >= 0 && s[1] * s[2] >= 0 && s[2] * s[0] >= 0;
}

static void corners(const triangle_mesh *m, int64_t t, const double *x[3])
{
  for (int i = 0; i < 3; ++i) x[i] = m->x + 3 * (int64_t)m->tri[3 * t + i];
}

static bool cross(const triangle_mesh *m, int64_t s, int64_t t)
{
  const double *a[3], *b[3];
  corners(m, s, a), corners(m, t, b);
  for (int i = 0; i < 3; ++i)
    if (goes_through(a[i], a[(i + 1) % 3], b) || goes_through(b[i], b[(i + 1) % 3], a)) return true;
  return false;
}

/* How many triangles after t cross t, and the first of them. */
static int64_t count_partners(const triangle_mesh *m, const box_tree *tree, double *const box[6], int64_t t, int32_t *partner)
{
  const double min[3] = {box[0][t], box[1][t], box[2][t]}, max[3] = {box[3][t], box[4][t], box[5][t]};
  int32_t      near[BOX_TREE_WIDTH];
  int64_t      n = 0;
  box_walk     walk;
  *partner = -1;
  box_walk_begin(&walk, tree, min, max);
  for (int n_near; (n_near = box_walk_next(&walk, near)) > 0;)
    for (int i = 0; i < n_near; ++i) {
      if (near[i] <= t || !cross(m, t, near[i])) continue;
      ++n;
      if (*partner < 0 || near[i] < *partner) *partner = near[i];
    }
  return n;
}

PetscErrorCode triangle_mesh_crossings(const triangle_mesh *m, int64_t *n, int32_t first[2])
{
  const int64_t n_triangles = m->n_triangles;
  int64_t       count       = 0;
  double       *box[6]      = {NULL};
  int32_t      *partner     = NULL;
  box_tree      tree        = {0};
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
#pragma omp parallel for schedule(dynamic, 256) reduction(+ : count)
  for (int64_t t = 0; t < n_triangles; ++t) count += count_partners(m, &tree, box, t, &partner[t]);
  for (int64_t t = n_triangles - 1; t >= 0; --t)
    if (partner[t] >= 0) first[0] = (int32_t)t, first[1] = partner[t];
  *n = count;
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
  PetscCall(triangle_mesh_crossings(m, &n, pair));
  if (n > 0) {
    const double *x = m->x + 3 * (int64_t)m->tri[3 * (int64_t)pair[0]];
    (void)snprintf(text, size, "the surface passes through itself: %lld pairs of triangles cross, the first near (%.7g, %.7g, %.7g); untangle it, or make what overlaps "
                   "shapes or bodies of their own", (long long)n, x[0], x[1], x[2]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
