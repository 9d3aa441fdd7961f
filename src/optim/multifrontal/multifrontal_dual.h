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

typedef struct front_dual front_dual;

/* Create for a factor set by front_factor_set and the terms of its tree; both are borrowed and must not change. */
PetscErrorCode front_dual_create(const front_factor *f, const front_terms *t, front_dual **out);
void           front_dual_destroy(front_dual **d);
/* Multiplications of front_dual_set for G [t->n][9]: `now` for factoring the small matrix, `missing` for rows of W that are not yet
 * computed. INFINITY: too many rows to store. */
void           front_dual_work(const front_dual *d, const double *G, double *now, double *missing);
/* Factor for G [t->n][9]. *is_definite false: not positive definite, must not be used. */
PetscErrorCode front_dual_set(front_dual *d, const double *G, bool *is_definite);
/* x <- (S + J^T G J)^-1 x, [n], late unknowns; the rest is 0 before and after. */
void           front_dual_solve(const front_dual *d, double *x);
#endif
