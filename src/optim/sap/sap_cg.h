/* Conjugate gradients and GMRES (KSP types weightedcg and gmres) on H = A + J^T G J with A given by its products. The preconditioner is
 * the exact factor of H restricted to the unknowns that terms act on, which handles stiff contacts, and 3 x 3 blocks of A elsewhere.
 * Threaded; the result is bit-identical for any number of threads if the products are. Used by sap.c and by implicit steps of single bodies. */
#ifndef SS_OPTIM_SAP_SAP_CG_H
#define SS_OPTIM_SAP_SAP_CG_H
#include "optim/linear/linear_solver.h"
#include "optim/multifrontal/multifrontal.h"

/* A, symmetric positive definite, by its products. */
typedef struct {
  void *context;
  PetscErrorCode (*product)(void *context, const double *x, double *y); /* y = A x, [n] */
  /* Add translations of free bodies to v, so that the sum of A v over each of them decreases by that of rest = A v - requested. Linear
   * momentum is then conserved to rounding errors for any tolerance. NULL: no correction. */
  PetscErrorCode (*balance)(void *context, const double *rest, double *v);
  const sparse_rows *A; /* its entries, for preconditioning: both triangles. May be NULL without terms; then n and blocks are required */
  int64_t            n; /* rows of A, read only if A is NULL */
  /* Only if A is NULL: diagonal blocks, block [(n + 2)/3][9], of each three successive unknowns, ones on the diagonal where there is no
   * unknown; and weight [n] of the squared residuals in the norm below. */
  PetscErrorCode (*blocks)(void *context, double *block, double *weight);
} sap_operator;

#define KSPWEIGHTEDCG "weightedcg" /* the KSP type of sap_cg_solve; needs PC type sapblocks */

typedef struct sap_cg sap_cg;
/* o, t and solver are borrowed; t NULL: no terms. The systems are solved with the options of `solver`; NULL: with prefix sap_. */
PetscErrorCode sap_cg_create(const sap_operator *o, const multifrontal_terms *t, linear_solver *solver, sap_cg **out);
PetscErrorCode sap_cg_register(void); /* the KSP type */
void           sap_cg_destroy(sap_cg **c);
/* Set G [t->n][9] (borrowed) and factor the preconditioner. *is_definite false: not positive definite; it must not be used. */
PetscErrorCode sap_cg_set(sap_cg *c, const double *G, bool *is_definite);
/* |D x|, D as below. */
double sap_cg_size(sap_cg *c, const double *x);
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
