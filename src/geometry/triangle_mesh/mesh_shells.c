/* Implementation: triangles sorted by shell; winding numbers of the shells whose bounds contain the test point. */
#include "geometry/triangle_mesh/mesh_shells.h"
#include "core/math3.h"
#include "core/memory.h"
#include "geometry/primitive/winding.h"

static const double BELOW = 1e-6; /* depth of the test point, relative to the size of its triangle */

typedef struct {
  int64_t  n;        /* number of shells */
  int64_t *start;    /* [n + 1] */
  int32_t *triangle; /* [n_triangles][3] vertices, sorted by shell */
  double  *box;      /* [n][6] bounds */
} shell_list;

static int32_t find_root(int32_t *parent, int32_t i)
{
  while (parent[i] != i) i = parent[i] = parent[parent[i]];
  return i;
}

/* Shells are numbered by their first triangle. Triangles with a common vertex belong to one shell. */
static PetscErrorCode list_shells(const triangle_mesh *m, shell_list *s)
{
  int32_t *root, *number;
  PetscFunctionBegin;
  PetscCall(MEMORY_ALLOC("shells", ARRAY(root, m->n_vertices), ARRAY(number, m->n_vertices)));
  for (int64_t i = 0; i < m->n_vertices; ++i) root[i] = (int32_t)i, number[i] = -1;
  for (int64_t t = 0; t < m->n_triangles; ++t)
    for (int k = 1; k < 3; ++k) {
      const int32_t a = find_root(root, m->tri[3 * t]), b = find_root(root, m->tri[3 * t + k]);
      root[a < b ? b : a] = a < b ? a : b;
    }
  for (int64_t t = 0; t < m->n_triangles; ++t) {
    int32_t *at = &number[find_root(root, m->tri[3 * t])];
    if (*at < 0) *at = (int32_t)s->n++;
  }
  PetscCall(MEMORY_ALLOC("shells", ARRAY(s->start, s->n + 2), ARRAY(s->triangle, 3 * m->n_triangles), ARRAY(s->box, 6 * s->n)));
  for (int64_t t = 0; t < m->n_triangles; ++t) ++s->start[number[find_root(root, m->tri[3 * t])] + 2];
  for (int64_t i = 0; i < s->n; ++i) s->start[i + 2] += s->start[i + 1];
  for (int64_t i = 0; i < s->n; ++i)
    for (int k = 0; k < 3; ++k) s->box[6 * i + k] = INFINITY, s->box[6 * i + 3 + k] = -INFINITY;
  for (int64_t t = 0; t < m->n_triangles; ++t) {
    const int32_t i = number[find_root(root, m->tri[3 * t])];
    for (int k = 0; k < 3; ++k) {
      const double *x                      = m->x + 3 * (int64_t)m->tri[3 * t + k];
      s->triangle[3 * s->start[i + 1] + k] = m->tri[3 * t + k];
      for (int c = 0; c < 3; ++c) {
        s->box[6 * i + c]     = fmin(s->box[6 * i + c], x[c]);
        s->box[6 * i + 3 + c] = fmax(s->box[6 * i + 3 + c], x[c]);
      }
    }
    ++s->start[i + 1]; /* becomes the start of shell i + 1 */
  }
  MEMORY_FREE(&root, &number);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static bool is_in_box(const double *box, const double *p)
{
  for (int c = 0; c < 3; ++c)
    if (p[c] < box[c] || p[c] > box[3 + c]) return false;
  return true;
}

/* Winding number of all shells around the point below triangle t (vertices); false: the point lies on a surface. at: centre of t. */
static bool winding_below(const triangle_mesh *m, const shell_list *s, const int32_t *t, double at[3], int64_t *winding)
{
  const double *p = m->x + 3 * (int64_t)t[0], *q = m->x + 3 * (int64_t)t[1], *r = m->x + 3 * (int64_t)t[2];
  double        e[3], f[3], n[3], x[3];
  v3_sub(e, q, p), v3_sub(f, r, p), v3_cross(n, e, f);
  const double twice_area = v3_norm(n);
  for (int c = 0; c < 3; ++c) at[c] = (p[c] + q[c] + r[c]) / 3.0;
  v3_copy(x, at);
  v3_axpy(x, -BELOW / sqrt(twice_area), n);
  *winding = 0;
  for (int64_t i = 0; i < s->n; ++i) {
    int64_t one = 0;
    if (!is_in_box(s->box + 6 * i, x)) continue;
    if (!winding_number(s->start[i + 1] - s->start[i], s->triangle + 3 * s->start[i], m->x, x, &one)) return false;
    *winding += one;
  }
  return true;
}

PetscErrorCode mesh_shells_check(const triangle_mesh *m, int64_t *n_wrong, double at[3], int64_t *winding)
{
  shell_list s = {0};
  PetscFunctionBegin;
  *n_wrong = 0;
  PetscCall(list_shells(m, &s));
  for (int64_t i = 0; i < s.n && s.n > 1; ++i) {
    double  center[3];
    int64_t below = 1;
    for (int64_t t = s.start[i]; t < s.start[i + 1]; ++t) /* the first triangle, unless its point lies on another surface */
      if (winding_below(m, &s, s.triangle + 3 * t, center, &below)) break;
      else below = 1;
    if (below == 1 || ++*n_wrong > 1) continue;
    v3_copy(at, center);
    *winding = below;
  }
  MEMORY_FREE(&s.start, &s.triangle, &s.box);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mesh_shells_text(const triangle_mesh *m, size_t size, char *text)
{
  int64_t n, winding;
  double  at[3];
  PetscFunctionBegin;
  if (size) text[0] = '\0';
  PetscCall(mesh_shells_check(m, &n, at, &winding));
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (winding > 1)
    (void)snprintf(
        text, size,
        "%lld shells are duplicated or nested in another shell of the same orientation, the first at (%.7g, %.7g, %.7g), so that "
        "their mass would count %lld times; remove the inner or repeated shells, or reverse the orientation of cavities",
        (long long)n, at[0], at[1], at[2], (long long)winding);
  else
    (void)snprintf(text, size,
                   "%lld shells are inside out, the first at (%.7g, %.7g, %.7g); reverse their orientation. Only cavities inside another "
                   "shell are oriented inwards",
                   (long long)n, at[0], at[1], at[2]);
  PetscFunctionReturn(PETSC_SUCCESS);
}
