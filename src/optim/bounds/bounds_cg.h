/* Preconditioned conjugate gradients on the free unknowns of a bound-constrained quadratic program. The linear solver of
 * active_set, of the comparison methods, and the method `cg` itself. */
#ifndef SS_OPTIM_BOUNDS_BOUNDS_CG_H
#define SS_OPTIM_BOUNDS_BOUNDS_CG_H
#include "optim/bounds/bounds_face.h"

typedef struct {
  int64_t              n, n_chunks;
  double              *p, *Ap, *z, *phi; /* [n] */
  double              *weight, *step;    /* [n] for a KSP */
  bounds_partial_sums *part;
} bounds_cg_space;
PetscErrorCode bounds_cg_space_create(int64_t n, bounds_cg_space *out);
void           bounds_cg_space_destroy(bounds_cg_space *s);

/* Minimise over the free unknowns until |g_F|_D <= target, at most `max` iterations; the other unknowns keep their values. x and
 * g = A x - b are updated. is_free [n]; `face` must have been updated with it. Increments r->iterations and r->products. */
typedef enum { BOUNDS_CG_OK, BOUNDS_CG_ITERATIONS, BOUNDS_CG_NO_CURVATURE, BOUNDS_CG_NOT_FINITE } bounds_cg_status;
bounds_cg_status bounds_cg(const bounds_qp *q, bounds_face *face, const uint8_t *is_free, double target, int64_t max, double *x, double *g,
                           bounds_cg_space *s, bounds_result *r);
#define KSPFACECG "facecg" /* the KSP type of bounds_cg_solve; needs PC type face */
/* The same by the KSP of q, if there is one: with type facecg the bits are the same. Other types solve for the correction of x. */
PetscErrorCode bounds_cg_solve(const bounds_qp *q, bounds_face *face, const uint8_t *is_free, double target, int64_t max, double *x,
                               double *g, bounds_cg_space *s, bounds_result *r, bounds_cg_status *status);
PetscErrorCode bounds_cg_register(void); /* the KSP type */
/* A bounds_solve_function that ignores the bounds. */
PetscErrorCode bounds_solve_cg(const bounds_qp *q, const bounds_options *o, double *x, bounds_result *r);
#endif
