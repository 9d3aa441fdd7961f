#include "sim/step/step_operator.h"
#include "core/memory.h"
#include <math.h>
#include <string.h>

enum { PARALLEL = 4096 };

void step_operator_destroy(step_operator *o) { memory_free(&o->x), memory_free(&o->y); }

bool step_operator_exists(const step_layout *l)
{
  bool exists = true;
  for (int i = 0; i < l->scene->n_systems; ++i) {
    const body *b = l->scene->systems[i];
    exists &= b->n_blocks == 0 || (b->ops->tangent && b->ops->block_diagonal);
  }
  return exists;
}

/* y [n_full] = (systems' tangent) x */
static PetscErrorCode multiply(const step_layout *l, const double *x, double *y)
{
  PetscFunctionBegin;
  memset(y, 0, (size_t)(3 * l->n_blocks) * sizeof *y);
  for (int i = 0; i < l->scene->n_systems; ++i) {
    const body   *b      = l->scene->systems[i];
    const int64_t offset = 3 * b->first_block;
    if (b->n_blocks > 0) PetscCall(b->ops->tangent(b, x + offset, y + offset, false));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode product(void *context, const double *x, double *y)
{
  step_operator *o = context;
  PetscFunctionBegin;
  ++o->n_products;
  if (o->u->is_all) {
    PetscCall(multiply(o->l, x, y));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  step_unknowns_spread(o->u, x, o->x);
  PetscCall(multiply(o->l, o->x, o->y));
  step_unknowns_fold(o->u, o->y, y);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* *is [n_blocks], which blocks of b are velocities of places: a rod's are those of its nodes, its others turn. NULL: all are. */
static PetscErrorCode find_places(const body *b, bool **is)
{
  PetscFunctionBegin;
  *is = NULL;
  if (!b->ops->segments || b->ops->points != POINT_WEIGHTED) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(memory_alloc("places", b->n_blocks, sizeof **is, is));
  for (int64_t c = 0; c < b->ops->n_clusters(b); ++c) {
    double  center[3], radius, weight[POINT_MAX_WEIGHTS];
    int32_t block[POINT_MAX_WEIGHTS];
    int64_t first, end;
    b->ops->cluster(b, c, center, &radius, &first, &end);
    for (int64_t i = first; i < end; ++i)
      for (int k = b->ops->point_row(b, i, block, weight) - 1; k >= 0; --k) (*is)[block[k]] = true;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
static bool is_place(const bool *is, const body *b, int64_t i) { return !is || is[i / 3 - b->first_block]; }

/* Can b be shifted freely? Then its tangent makes of a translation mass times it. x, y: work on all blocks, x is zero and left so. */
static PetscErrorCode is_shiftable(const step_operator *o, const body *b, const bool *places, bool *is)
{
  static const double along[3] = {1.0, 0.7, -0.4};
  const int64_t       first = 3 * b->first_block, end = first + 3 * b->n_blocks;
  double              miss = 0.0, size = 0.0;
  PetscFunctionBegin;
  for (int64_t i = first; i < end; ++i) o->x[i] = is_place(places, b, i) ? along[i % 3] : 0.0, o->y[i] = 0.0;
  PetscCall(b->ops->tangent(b, o->x + first, o->y + first, false));
  for (int64_t i = first; i < end; ++i) {
    const double pull = o->l->scale[i] * o->x[i];
    miss += (o->y[i] - pull) * (o->y[i] - pull), size += pull * pull;
    o->x[i] = 0.0;
  }
  *is = miss <= 1e-18 * size;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One system. */
static PetscErrorCode balance_system(const step_operator *o, const body *b, const double *rest, double *v)
{
  const int64_t first = 3 * b->first_block, end = first + 3 * (b->ops->points == POINT_RIGID ? 1 : b->n_blocks);
  double        sum[3] = {0.0, 0.0, 0.0}, mass[3] = {0.0, 0.0, 0.0};
  bool         *places, is = true;
  PetscFunctionBegin;
  PetscCall(find_places(b, &places));
  const PetscErrorCode code = b->ops->points == POINT_RIGID ? PETSC_SUCCESS : is_shiftable(o, b, places, &is);
  for (int64_t i = first; i < end && !code && is; ++i)
    if (is_place(places, b, i)) sum[i % 3] += rest[i], mass[i % 3] += o->l->scale[i];
  for (int64_t i = first; i < end && !code && is; ++i)
    if (is_place(places, b, i)) v[i] -= sum[i % 3] / mass[i % 3];
  memory_free(&places);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A system is shifted by what makes the sum of its forces right: all of it alike, or the centre of a rigid body. */
static PetscErrorCode balance(void *context, const double *rest, double *v)
{
  const step_operator *o = context;
  PetscFunctionBegin;
  for (int s = 0; s < o->l->scene->n_systems && o->u->is_all; ++s) {
    const body *b = o->l->scene->systems[s];
    if (!b->ops->is_reduced && b->n_blocks > 0) PetscCall(balance_system(o, b, rest, v));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Blocks are those of whole nodes: three unknowns after the other may be of two, which are not coupled then. */
static PetscErrorCode blocks(void *context, double *block, double *weight)
{
  const step_operator *o = context;
  const step_layout   *l = o->l;
  const int64_t        n = o->u->n;
  const int32_t       *own = o->u->own;
  double              *full = block;
  PetscFunctionBegin;
  if (!o->u->is_all) PetscCall(memory_alloc("diagonal blocks", 9 * l->n_blocks, sizeof *full, &full));
  PetscErrorCode code = PETSC_SUCCESS;
  for (int s = 0; s < l->scene->n_systems && !code; ++s) {
    const body *b = l->scene->systems[s];
    if (b->n_blocks > 0) code = b->ops->block_diagonal(b, full + 9 * b->first_block);
  }
#pragma omp parallel for schedule(static) if (n >= PARALLEL)
  for (int64_t q = 0; q < (n + 2) / 3; ++q)
    for (int i = 0; i < 3; ++i) {
      const int64_t r = 3 * q + i;
      double *const to = block + 9 * q + 3 * i;
      if (!o->u->is_all) to[i] = 1.0;
      if (r >= n) continue;
      const int64_t from = o->u->is_all ? r : own[r];
      weight[r]          = l->inverse_scale[from] * l->inverse_scale[from];
      for (int64_t j = 0; j < 3 && 3 * q + j < n && !o->u->is_all; ++j)
        if (own[3 * q + j] / 3 == from / 3) to[j] = full[9 * (from / 3) + 3 * (from % 3) + own[3 * q + j] % 3];
    }
  if (!o->u->is_all) memory_free(&full);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode step_operator_create(const step_layout *l, const step_unknowns *u, const sparse_rows *A, step_operator *o)
{
  PetscFunctionBegin;
  *o = (step_operator){.l = l, .u = u, .operator = {.product = product, .balance = balance, .A = A, .n = u->n, .blocks = blocks}};
  o->operator.context = o;
  PetscCall(memory_alloc("products", u->n_full, sizeof *o->x, &o->x));
  PetscCall(memory_alloc("products", u->n_full, sizeof *o->y, &o->y));
  PetscFunctionReturn(PETSC_SUCCESS);
}
