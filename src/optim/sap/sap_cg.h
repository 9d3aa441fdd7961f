/* Conjugate gradients and GMRES (KSP types weightedcg and gmres) for H = A + J^T G J, where A is given by its products. The preconditioner
 * is the exact factor of H on the unknowns of the terms, so stiff contacts do not slow convergence. On all other unknowns it inverts the
 * 3 x 3 diagonal blocks of A. Threaded; the result is bit-identical for any number of threads if the products of the caller are. Used by
 * sap.c and by the implicit steps of single bodies. */
#ifndef SS_OPTIM_SAP_SAP_CG_H
#define SS_OPTIM_SAP_SAP_CG_H
#include "optim/linear/linear_solver.h"
#include "optim/multifrontal/multifrontal.h"

/* A, symmetric positive definite, by its products. */
typedef struct {
  void *context;
  PetscErrorCode (*product)(void *context, const double *x, double *y); /* y = A x, [n] */
  /* Add a translation of each free body to v, so that the sum of A v over the body decreases by the sum of rest = A v - (requested A v).
   * Linear momentum is then conserved to rounding errors for any tolerance. NULL: no correction. */
  PetscErrorCode (*balance)(void *context, const double *rest, double *v);
  const sparse_rows
         *A; /* entries for the preconditioner, both triangles. May be NULL if there are no terms; then n and blocks are required */
  int64_t n; /* rows of A, read only if A is NULL */
  /* Called only if A is NULL. Sets block [(n + 2)/3][9], the diagonal block of each three successive unknowns, with ones on the diagonal
   * after the last unknown. Sets weight [n] of the squared residuals in the norm |D x|. */
  PetscErrorCode (*blocks)(void *context, double *block, double *weight);
} sap_operator;

#define KSPWEIGHTEDCG "weightedcg" /* the KSP type of sap_cg_solve; needs PC type sapblocks */

typedef struct sap_cg sap_cg;
/* Create a solver. o, t and solver are borrowed. t NULL: no terms. solver NULL: a linear_solver with the options prefix sap_ is created. */
PetscErrorCode sap_cg_create(const sap_operator *o, const multifrontal_terms *t, linear_solver *solver, sap_cg **out);
PetscErrorCode sap_cg_register(void); /* register KSP type weightedcg */
void           sap_cg_destroy(sap_cg **c);
/* Set G [t->n][9] (borrowed) and factor the preconditioner. *is_definite false: it is not positive definite and must not be used. */
PetscErrorCode sap_cg_set(sap_cg *c, const double *G, bool *is_definite);
/* Returns |D x| for x [n], D = diag(A)^-1/2, or sqrt(weight) if A is NULL. */
double sap_cg_size(sap_cg *c, const double *x);
/* Iterate from x = 0 until |D (H x - b)| <= tolerance. Output: x [n], Ax = A x [n], number of iterations. Ends early after
 * most_iterations, or when only rounding errors remain. Before the first sap_cg_set H = A. x is a descent direction of
 * 1/2 x^T H x - b^T x also if the iteration ends early. */
PetscErrorCode sap_cg_solve(sap_cg *c, const double *b, double tolerance, int64_t most_iterations, double *x, double *Ax,
                            int64_t *iterations);
/* The same for products that are not symmetric, by GMRES with right preconditioning, which minimises |D (H x - b)|. x is not always a
 * descent direction. */
PetscErrorCode sap_gmres_solve(sap_cg *c, const double *b, double tolerance, int64_t most_iterations, double *x, double *Ax,
                               int64_t *iterations);
#endif
