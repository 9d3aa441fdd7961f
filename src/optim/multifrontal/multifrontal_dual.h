/* Solves with S + sum_a J_a^T G_a J_a by Woodbury's identity in the space of the active terms (G_a not 0), with G = B B^T and W = J S^-1 J^T,
 *
 *   (S + J^T G J)^-1 = S^-1 - S^-1 J^T B (1 + B^T W B)^-1 B^T J S^-1,
 *
 * where S is the Schur complement of the late unknowns in A (multifrontal.h). For each G only 1 + B^T W B is factored, a matrix of three
 * rows per active term. Rows of W are computed when a term is active for the first time. Used by sap_hessian.c. */
#ifndef SS_OPTIM_MULTIFRONTAL_MULTIFRONTAL_DUAL_H
#define SS_OPTIM_MULTIFRONTAL_MULTIFRONTAL_DUAL_H
#include "optim/multifrontal/multifrontal.h"

typedef struct multifrontal_dual multifrontal_dual;

/* Create for a factor set by multifrontal_factor_set and the terms of its tree; both are borrowed and must not change. */
PetscErrorCode multifrontal_dual_create(const multifrontal_factor *f, const multifrontal_terms *t, multifrontal_dual **out);
void           multifrontal_dual_destroy(multifrontal_dual **d);
/* Number of multiplications of multifrontal_dual_set for G [t->n][9]: `now` for 1 + B^T W B, `missing` for rows of W that are not computed
 * yet. `now` is INFINITY if the arrays would exceed the memory limit of 0.5 GB. */
void multifrontal_dual_work(const multifrontal_dual *d, const double *G, double *now, double *missing);
/* Factor 1 + B^T W B for G [t->n][9]. *is_usable false: it is not positive definite, or G is so stiff that the identity would lose more than six
 * digits; do not call multifrontal_dual_solve. */
PetscErrorCode multifrontal_dual_set(multifrontal_dual *d, const double *G, bool *is_usable);
/* x [n] <- (S + J^T G J)^-1 x on late unknowns. Early entries must be 0 and remain 0. */
void multifrontal_dual_solve(const multifrontal_dual *d, double *x);
#endif
