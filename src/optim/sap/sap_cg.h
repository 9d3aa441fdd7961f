/* Conjugate gradients and GMRES on H = A + J^T G J with A given by its products. The preconditioner is the exact factor of H
 * among the unknowns that terms act on, which handles stiff contacts, and 3 x 3 blocks of A elsewhere. Threaded; the same bits
 * on any number of threads if the products have this property. */
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
/* Solve |D (H x - b)| <= tolerance, D = diag(A)^-1/2 (sqrt(weight) if A is not given), from 0; also Ax = A x. Ends early after
 * most_iterations, or when only rounding errors remain. H = A before the first sap_cg_set. x is a descent direction whenever the
 * iteration ends. */
PetscErrorCode sap_cg_solve(sap_cg *c, const double *b, double tolerance, int64_t most_iterations, double *x, double *Ax,
                            int64_t *iterations);
/* The same for products that are not symmetric, by GMRES with right preconditioning, which minimises |D (H x - b)|; x need not
 * be a descent direction. */
PetscErrorCode sap_gmres_solve(sap_cg *c, const double *b, double tolerance, int64_t most_iterations, double *x, double *Ax,
                               int64_t *iterations);
#endif
