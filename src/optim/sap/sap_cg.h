/* Conjugate gradients on H = A + J^T G J with products by A from outside, preconditioned by the exact factor of H among the
 * unknowns that terms touch, which takes care of stiff contacts, and by 3 x 3 blocks of A elsewhere. Threaded; the same bits on
 * any number of threads if products are. */
#ifndef SS_OPTIM_SAP_SAP_CG_H
#define SS_OPTIM_SAP_SAP_CG_H
#include "optim/multifrontal/multifrontal.h"

/* A, symmetric positive definite, by its products. */
typedef struct {
  void              *context;
  PetscErrorCode   (*product)(void *context, const double *x, double *y); /* y = A x, [n] */
  /* v += what makes the sums of A v less by those of rest = A v - wanted, where whole bodies can be shifted, to rounding: linear momentum
   * is kept whatever the tolerance. NULL: there is no such thing. */
  PetscErrorCode   (*balance)(void *context, const double *rest, double *v);
  const sparse_rows *A; /* its entries, for preconditioning: both triangles; NULL, where there are no terms: */
  int64_t n;            /* its rows, */
  /* its diagonal blocks, block [(n + 2)/3][9], those of three unknowns after the other, with ones where there is no unknown; and what squares
   * of residuals are weighed with, weight [n], in the norm below. */
  PetscErrorCode   (*blocks)(void *context, double *block, double *weight);
} sap_operator;

typedef struct sap_cg sap_cg;
/* Both are borrowed; t NULL: there are no terms. */
PetscErrorCode sap_cg_create(const sap_operator *o, const front_terms *t, sap_cg **out);
void           sap_cg_destroy(sap_cg **c);
/* Take G [t->n][9]. *is_definite false: it cannot be used. */
PetscErrorCode sap_cg_set(sap_cg *c, const double *G, bool *is_definite);
/* |D x|, D as below. */
double         sap_cg_size(sap_cg *c, const double *x);
/* x with |D (H x - b)| <= tolerance, D = diag(A)^-1/2 (sqrt(weight) where A is not given), from 0, and Ax = A x; after most_iterations or where rounding is all that is
 * left, as near as it came. H = A before the first sap_cg_set. x is a direction of descent however early it ends. */
PetscErrorCode sap_cg_solve(sap_cg *c, const double *b, double tolerance, int64_t most_iterations, double *x, double *Ax,
                            int64_t *iterations);
/* The same for products that are not symmetric, by GMRES preconditioned from the right, which minimises |D (H x - b)|; x need not lead
 * downhill. */
PetscErrorCode sap_gmres_solve(sap_cg *c, const double *b, double tolerance, int64_t most_iterations, double *x, double *Ax,
                               int64_t *iterations);
#endif
