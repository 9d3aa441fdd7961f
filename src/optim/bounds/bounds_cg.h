/* Preconditioned conjugate gradients on the free unknowns of a bound-constrained quadratic program. The linear solver of
 * active_set, of the comparison methods, and the method `cg` itself. */
#ifndef SS_OPTIM_BOUNDS_BOUNDS_CG_H
#define SS_OPTIM_BOUNDS_BOUNDS_CG_H
#include "optim/bounds/bounds_face.h"

typedef struct {
  int64_t   n, n_chunks;
  double   *p, *Ap, *z, *phi; /* [n] */
  box_part *part;
} box_cg_space;
PetscErrorCode box_cg_space_create(int64_t n, box_cg_space *out);
void           box_cg_space_destroy(box_cg_space *s);

/* Minimise over the free unknowns until |g_F|_D <= target, at most `max` iterations; the other unknowns keep their values. x and
 * g = A x - b are updated. is_free [n]; `face` must have been updated with it. Increments r->iterations and r->products. */
typedef enum { BOX_CG_OK, BOX_CG_ITERATIONS, BOX_CG_NO_CURVATURE, BOX_CG_NOT_FINITE } box_cg_verdict;
box_cg_verdict box_cg(const box_qp *q, box_face *face, const uint8_t *is_free, double target, int64_t max, double *x, double *g, box_cg_space *s,
                      box_result *r);
/* A box_solve_function that ignores the bounds. */
PetscErrorCode box_solve_cg(const box_qp *q, const box_options *o, double *x, box_result *r);
#endif
