#include "optim/bounds/bounds_shift.h"
#include "core/memory.h"
#include <string.h>

static void apply(void *context, const double *restrict x, double *restrict y)
{
  const box_shift *s = context;
  const int64_t    n = s->q->n;
  s->q->apply(s->q->context, x, y);
  BOX_CHUNKS(n) {
    BOX_RANGE(n);
    for (int64_t i = first; i < last; ++i) y[i] += s->shift[i] * x[i];
  }
}

PetscErrorCode box_shift_create(const box_qp *q, int preconditioner, box_shift *out)
{
  double **const vectors[] = {&out->shift, &out->diagonal, &out->lo, &out->hi, &out->g, &out->rest, &out->y, &out->step};
  PetscFunctionBegin;
  *out = (box_shift){.q = q};
  for (size_t k = 0; k < sizeof vectors / sizeof *vectors; ++k)
    PetscCall(memory_alloc("vector of a shifted program", q->n, sizeof(double), vectors[k]));
  PetscCall(memory_alloc("free set of a shifted program", q->n, 1, &out->is_free));
  PetscCall(box_cg_space_create(q->n, &out->space));
  for (int64_t i = 0; i < q->n; ++i) {
    out->diagonal[i] = q->diagonal[i];
    out->lo[i]       = q->lo ? q->lo[i] : -INFINITY;
    out->hi[i]       = q->hi ? q->hi[i] : INFINITY;
    out->is_free[i]  = out->lo[i] < out->hi[i];
  }
  out->shifted = (box_qp){.n = q->n, .apply = apply, .context = out, .diagonal = out->diagonal, .b = q->b};
  if (q->grid) {
    out->grid          = *q->grid;
    out->grid.levels   = NULL;
    out->grid.diagonal = NULL;
    PetscCall(memory_alloc("shifted diagonal of a grid matrix", q->grid->n, sizeof(double), &out->grid.diagonal));
    memcpy(out->grid.diagonal, q->grid->diagonal, (size_t)q->grid->n * sizeof(double));
    out->shifted.grid = &out->grid;
  }
  PetscCall(box_face_create(&out->shifted, preconditioner, &out->face));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void box_shift_destroy(box_shift *s)
{
  double **const vectors[] = {&s->shift, &s->diagonal, &s->lo, &s->hi, &s->g, &s->rest, &s->y, &s->step, &s->grid.diagonal};
  box_face_destroy(&s->face);
  if (s->grid.levels) box_levels_destroy(&s->grid.levels);
  for (size_t k = 0; k < sizeof vectors / sizeof *vectors; ++k) memory_free(vectors[k]);
  memory_free(&s->is_free);
  box_cg_space_destroy(&s->space);
}

box_cg_verdict box_shift_solve(box_shift *s, double target, box_result *r)
{
  const box_qp *q = s->q;
  for (int64_t i = 0; i < q->n; ++i) s->diagonal[i] = q->diagonal[i] + s->shift[i];
  for (int64_t i = 0; q->grid && i < q->grid->n; ++i) s->grid.diagonal[i] = q->grid->diagonal[i] + s->shift[i];
  box_face_renew(s->face);
  box_face_update(s->face, s->is_free);
  memset(s->step, 0, (size_t)q->n * sizeof *s->step);
  return box_cg(&s->shifted, s->face, s->is_free, target, BOX_SHIFT_INNER, s->step, s->rest, &s->space, r);
}

double box_shift_answer(box_shift *s, const double *x, const double *g, box_result *r)
{
  const box_qp *q = s->q;
  for (int64_t i = 0; i < q->n; ++i) {
    const double to = x[i] - g[i] / q->diagonal[i];
    s->y[i] = to <= s->lo[i] ? s->lo[i] : to >= s->hi[i] ? s->hi[i] : box_clip(x[i], s->lo[i], s->hi[i]);
  }
  ++r->products;
  return box_residual(q, s->y, s->rest, NULL);
}
