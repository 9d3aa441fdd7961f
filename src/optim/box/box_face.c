#include "optim/box/box_face.h"
#include "core/memory.h"
#include "optim/box/box_vector.h"
#include <string.h>

struct box_face {
  const box_qp *q;
  int           kind;
  bool          is_set;
  uint8_t      *is_free; /* [n] */
};

PetscErrorCode box_face_create(const box_qp *q, int preconditioner, box_face **out)
{
  box_face *f = NULL;
  PetscFunctionBegin;
  PetscCall(memory_alloc("face preconditioner", 1, sizeof *f, &f));
  *out     = f;
  f->q     = q;
  f->kind  = preconditioner;
  PetscErrorCode code = memory_alloc("face preconditioner's free set", q->n, 1, &f->is_free);
  if (code) box_face_destroy(out);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void box_face_destroy(box_face **f)
{
  if (!*f) return;
  memory_free(&(*f)->is_free);
  memory_free(f);
}

void box_face_update(box_face *f, const uint8_t *is_free)
{
  const size_t n = (size_t)f->q->n;
  if (f->is_set && memcmp(f->is_free, is_free, n) == 0) return;
  if (n > 0) memcpy(f->is_free, is_free, n);
  f->is_set = true;
}

void box_face_apply(box_face *f, const double *restrict r, double *restrict z)
{
  const int64_t n = f->q->n;
  const double *restrict d        = f->q->diagonal;
  const uint8_t *restrict is_free = f->is_free;
  if (f->kind == BOX_PRECONDITIONER_NONE) {
    BOX_CHUNKS(n) {
      BOX_RANGE(n);
      for (int64_t i = first; i < last; ++i) z[i] = is_free[i] ? r[i] : 0.0;
    }
    return;
  }
  BOX_CHUNKS(n) {
    BOX_RANGE(n);
    for (int64_t i = first; i < last; ++i) z[i] = is_free[i] ? r[i] / d[i] : 0.0;
  }
}
