#include "contact/augury/augury_near.h"
#include "core/box_tree.h"
#include "core/math3.h"
#include "core/memory.h"

#define REACH 3.0  /* cells along each axis within which two points share a node */
#define FACING 0.2 /* least cosine between a side's normal and the way to what it faces */

struct augury_near {
  augury_boundary b;
  const int32_t  *body;
  double          dx;
  box_tree        tree;
  double         *box[6]; /* [n_elements] */
  bool           *is_met; /* [n_elements] */
  bool           *is_near; /* [n_nodes] of elements that are met */
};

PetscErrorCode augury_near_create(const augury_boundary *b, const int32_t *body, double dx, augury_near **out)
{
  PetscFunctionBegin;
  PetscCall(memory_alloc("elements near others", 1, sizeof **out, out));
  augury_near *a = *out;
  a->b = *b, a->body = body, a->dx = dx;
  PetscErrorCode code = box_tree_create(b->n_elements, &a->tree);
  for (int k = 0; k < 6 && !code; ++k) code = memory_alloc("boxes of elements", b->n_elements, sizeof *a->box[k], &a->box[k]);
  if (!code) code = memory_alloc("elements near others", b->n_elements, sizeof *a->is_met, &a->is_met);
  if (!code) code = memory_alloc("elements near others", b->n_nodes, sizeof *a->is_near, &a->is_near);
  if (code) augury_near_destroy(out);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void augury_near_destroy(augury_near **a)
{
  if (!*a) return;
  box_tree_clear(&(*a)->tree);
  for (int k = 0; k < 6; ++k) memory_free(&(*a)->box[k]);
  memory_free(&(*a)->is_met);
  memory_free(&(*a)->is_near);
  memory_free(a);
}

static bool share_a_node(const int32_t *p, const int32_t *q)
{
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j)
      if (p[i] == q[j]) return true;
  return false;
}

static void side_of(const double *x, const int32_t *node, double center[3], double normal[3])
{
  double p[3], q[3];
  for (int k = 0; k < 3; ++k)
    center[k] = (x[3 * (int64_t)node[0] + k] + x[3 * (int64_t)node[1] + k] + x[3 * (int64_t)node[2] + k]) / 3.0;
  v3_sub(p, x + 3 * (int64_t)node[1], x + 3 * (int64_t)node[0]);
  v3_sub(q, x + 3 * (int64_t)node[2], x + 3 * (int64_t)node[0]);
  v3_cross(normal, p, q);
}

static bool face(const double *x, const int32_t *p, const int32_t *q)
{
  double c[2][3], n[2][3], d[3];
  side_of(x, p, c[0], n[0]);
  side_of(x, q, c[1], n[1]);
  v3_sub(d, c[1], c[0]);
  const double length = v3_norm(d);
  return v3_dot(n[0], d) > FACING * length * v3_norm(n[0]) && v3_dot(n[1], d) < -FACING * length * v3_norm(n[1]);
}

/* Does any corner of one come nearer to any of the other? */
static bool close_in(const double *x, const double *v, const int32_t *p, const int32_t *q)
{
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      double d[3], u[3];
      v3_sub(d, x + 3 * (int64_t)q[j], x + 3 * (int64_t)p[i]);
      v3_sub(u, v + 3 * (int64_t)q[j], v + 3 * (int64_t)p[i]);
      if (v3_dot(u, d) < 0.0) return true;
    }
  return false;
}

static void fit(augury_near *a, const double *x)
{
#pragma omp parallel for schedule(static)
  for (int64_t e = 0; e < a->b.n_elements; ++e) {
    const int32_t *node = a->b.element + 3 * e;
    for (int k = 0; k < 3; ++k) {
      const double p = x[3 * (int64_t)node[0] + k], q = x[3 * (int64_t)node[1] + k], r = x[3 * (int64_t)node[2] + k];
      a->box[k][e]     = fmin(p, fmin(q, r)) - 0.5 * REACH * a->dx;
      a->box[3 + k][e] = fmax(p, fmax(q, r)) + 0.5 * REACH * a->dx;
    }
  }
  box_tree_fit(&a->tree, a->box);
}

static bool is_met(const augury_near *a, const double *x, const double *v, int64_t e)
{
  const int32_t *node = a->b.element + 3 * e;
  const double   min[3] = {a->box[0][e], a->box[1][e], a->box[2][e]}, max[3] = {a->box[3][e], a->box[4][e], a->box[5][e]};
  box_walk       w;
  int32_t        other[BOX_TREE_WIDTH];
  box_walk_begin(&w, &a->tree, min, max);
  for (int n = box_walk_next(&w, other); n > 0; n = box_walk_next(&w, other))
    for (int k = 0; k < n; ++k) {
      const int32_t *there = a->b.element + 3 * (int64_t)other[k];
      const bool     is_own = a->body[node[0]] == a->body[there[0]];
      if (is_own && (share_a_node(node, there) || !face(x, node, there))) continue;
      if (close_in(x, v, node, there)) return true;
    }
  return false;
}

PetscErrorCode augury_near_find(augury_near *a, const double *x, const double *v, bool *is_active, int64_t *n)
{
  PetscFunctionBegin;
  fit(a, x);
#pragma omp parallel for schedule(dynamic, 64)
  for (int64_t e = 0; e < a->b.n_elements; ++e) a->is_met[e] = is_met(a, x, v, e);
  memset(a->is_near, 0, (size_t)a->b.n_nodes * sizeof *a->is_near);
  for (int64_t e = 0; e < a->b.n_elements; ++e)
    for (int i = 0; i < 3 && a->is_met[e]; ++i) a->is_near[a->b.element[3 * e + i]] = true;
  *n = 0;
  for (int64_t e = 0; e < a->b.n_elements; ++e) {
    const int32_t *node = a->b.element + 3 * e;
    is_active[e]        = a->is_near[node[0]] || a->is_near[node[1]] || a->is_near[node[2]];
    *n += is_active[e];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
