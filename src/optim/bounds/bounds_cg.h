/* Preconditioned conjugate gradients on the free unknowns of a bound-constrained quadratic program. Linear solver of active_set and of
 * the comparison methods. Also the method `cg`, for which all unknowns are free. */
#ifndef SS_OPTIM_BOUNDS_BOUNDS_CG_H
#define SS_OPTIM_BOUNDS_BOUNDS_CG_H
#include "optim/bounds/bounds_face.h"

/* Work vectors of a solve. */
typedef struct {
  int64_t              n, n_chunks;
  double              *p, *Ap, *z, *phi; /* [n] */
  double              *weight, *step;    /* [n] only for bounds_cg_solve with a KSP */
  bounds_partial_sums *part;             /* [n_chunks] */
} bounds_cg_space;
PetscErrorCode bounds_cg_space_create(int64_t n, bounds_cg_space *out);
void           bounds_cg_space_destroy(bounds_cg_space *s);

typedef enum {
  BOUNDS_CG_OK,
  BOUNDS_CG_ITERATIONS,   /* more than `max` iterations are necessary */
  BOUNDS_CG_NO_CURVATURE, /* p^T A p <= 0 for the search direction p */
  BOUNDS_CG_NOT_FINITE
} bounds_cg_status;
/* Minimise over the free unknowns until |g_F|_D <= target, with at most `max` iterations. g_F are the entries of g = A x - b at free
 * unknowns; |.|_D is the norm of bounds_problem.h. is_free [n]: 1 at free unknowns; call bounds_face_update(face, is_free) before. x and
 * g [n] are updated in place; x keeps its values at unknowns that are not free. Increments r->iterations and r->products. */
bounds_cg_status bounds_cg(const bounds_qp *q, bounds_face *face, const uint8_t *is_free, double target, int64_t max, double *x, double *g,
                           bounds_cg_space *s, bounds_result *r);
#define KSPFACECG "facecg" /* the KSP type of bounds_cg_solve; needs PC type face */
/* The same by the KSP q->solver; NULL: by bounds_cg. With KSP type facecg the bits are those of bounds_cg. Other types solve for the
 * correction of x. */
PetscErrorCode bounds_cg_solve(const bounds_qp *q, bounds_face *face, const uint8_t *is_free, double target, int64_t max, double *x,
                               double *g, bounds_cg_space *s, bounds_result *r, bounds_cg_status *status);
PetscErrorCode bounds_cg_register(void); /* register KSP type facecg */
/* A bounds_solve_function (bounds_problem.h) that ignores the bounds. */
PetscErrorCode bounds_solve_cg(const bounds_qp *q, const bounds_options *o, double *x, bounds_result *r);
#endif
