/* Solves with S + sum_a J_a^T G_a J_a by Woodbury's identity in the space of the active terms (G_a not 0), with G = B B^T and
 * W = J S^-1 J^T,
 *
 *   (S + J^T G J)^-1 = S^-1 - S^-1 J^T B (1 + B^T W B)^-1 B^T J S^-1,
 *
 * S the Schur complement of late unknowns in the factor of A. With few active terms, each iteration factors only a matrix of three rows
 * per active term. Rows of W are computed when a term is active for the first time. Used by sap_hessian.c. */
#ifndef SS_OPTIM_MULTIFRONTAL_MULTIFRONTAL_DUAL_H
#define SS_OPTIM_MULTIFRONTAL_MULTIFRONTAL_DUAL_H
#include "optim/multifrontal/multifrontal.h"

typedef struct multifrontal_dual multifrontal_dual;

/* Create for a factor set by multifrontal_factor_set and the terms of its tree; both are borrowed and must not change. */
PetscErrorCode multifrontal_dual_create(const multifrontal_factor *f, const multifrontal_terms *t, multifrontal_dual **out);
void           multifrontal_dual_destroy(multifrontal_dual **d);
/* Multiplications of multifrontal_dual_set for G [t->n][9]: `now` for factoring the small matrix, `missing` for rows of W that are not yet
 * computed. INFINITY: too many rows to store. */
void multifrontal_dual_work(const multifrontal_dual *d, const double *G, double *now, double *missing);
/* Factor for G [t->n][9]. *is_definite false: not positive definite, must not be used. */
PetscErrorCode multifrontal_dual_set(multifrontal_dual *d, const double *G, bool *is_definite);
/* x <- (S + J^T G J)^-1 x, [n], late unknowns; the rest is 0 before and after. */
void multifrontal_dual_solve(const multifrontal_dual *d, double *x);
#endif
