/* Conjugate gradients without bounds: what a solver that ignores walls coming apart would do, and the measure of all others' cost.
 * */
#include "core/memory.h"
#include "optim/bounds/bounds_cg.h"
#include <string.h>

enum { ITERATIONS = 5000 };

PetscErrorCode box_solve_cg(const box_qp *q, const box_options *o, double *x, box_result *r)
{
  const box_qp free_qp = {.n = q->n, .apply = q->apply, .context = q->context, .diagonal = q->diagonal, .b = q->b, .grid = q->grid};
  box_cg_space s       = {0};
  box_face    *face    = NULL;
  uint8_t     *is_free = NULL;
  double      *g       = NULL;
  PetscFunctionBegin;
  PetscErrorCode code = box_cg_space_create(q->n, &s);
  if (!code) code = memory_alloc("free set", q->n, 1, &is_free);
  if (!code) code = memory_alloc("gradient", q->n, sizeof *g, &g);
  if (!code) code = box_face_create(&free_qp, o->preconditioner, &face);
  if (!code) {
    memset(is_free, 1, (size_t)q->n);
    box_face_update(face, is_free);
    box_gradient(q, x, g, r);
    switch (box_cg(q, face, is_free, r->target, o->max_iterations > 0 ? o->max_iterations : ITERATIONS, x, g, &s, r)) {
    case BOX_CG_OK: break;
    case BOX_CG_ITERATIONS: r->verdict = BOX_ITERATIONS; break;
    case BOX_CG_NO_CURVATURE: r->verdict = BOX_UNBOUNDED; break;
    case BOX_CG_NOT_FINITE: r->verdict = BOX_NOT_FINITE; break;
    }
  }
  box_face_destroy(&face);
  box_cg_space_destroy(&s);
  memory_free(&is_free), memory_free(&g);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
