/* Solves with S + sum_a J_a^T G_a J_a through the space of the terms that act (G_a not 0), by Woodbury's identity with
 * G = B B^T and W = J S^-1 J^T,
 *
 *   (S + J^T G J)^-1 = S^-1 - S^-1 J^T B (1 + B^T W B)^-1 B^T J S^-1,
 *
 * S the complement of late unknowns in the factor of A: where few terms act, each iteration factors a matrix of three rows for
 * each. Rows of W are found when a term acts first. */
#ifndef SS_OPTIM_MULTIFRONTAL_MULTIFRONTAL_DUAL_H
#define SS_OPTIM_MULTIFRONTAL_MULTIFRONTAL_DUAL_H
#include "optim/multifrontal/multifrontal.h"

typedef struct front_dual front_dual;

/* Of a factor that front_factor_set has made, with the terms of its tree; both are borrowed, and may not change. */
PetscErrorCode front_dual_create(const front_factor *f, const front_terms *t, front_dual **out);
void           front_dual_destroy(front_dual **d);
/* Multiplications for G [t->n][9] with what is known: this matrix, and rows of W that are missing. INFINITY: too many to be kept. */
void           front_dual_work(const front_dual *d, const double *G, double *now, double *missing);
/* *is_definite false: it cannot be used. */
PetscErrorCode front_dual_set(front_dual *d, const double *G, bool *is_definite);
/* x <- (S + J^T G J)^-1 x, [n], late unknowns; the rest is 0 before and after. */
void           front_dual_solve(const front_dual *d, double *x);
#endif
