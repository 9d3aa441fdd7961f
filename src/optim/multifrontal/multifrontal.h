/* Sparse Cholesky factors of A and of A + sum_a J_a^T G_a J_a, where J is constant and G changes often. Multifrontal method
 * [DuffReid1983] on dense frontal matrices ("fronts") with LAPACK. Each contact or constraint a contributes one term J_a^T G_a J_a.
 * "Early" unknowns are in no term and are eliminated once. "Late" unknowns are in a term or depend on one in the elimination tree; they
 * are eliminated whenever G changes. S is the Schur complement of the late unknowns in A. The order of elimination is the cheaper of
 * two: all early unknowns first, or nested dissection of all unknowns. Threaded over the tree of fronts; the result is bit-identical for
 * any number of threads. Functions with an error code fail only if memory allocation fails. Used by sap_hessian.c, sap_cg.c and the
 * implicit steps of bodies. */
#ifndef SS_OPTIM_MULTIFRONTAL_MULTIFRONTAL_H
#define SS_OPTIM_MULTIFRONTAL_MULTIFRONTAL_H
#include "optim/multifrontal/multifrontal_tree.h"

typedef struct multifrontal_factor multifrontal_factor;

/* Allocate a factor for the symbolic analysis t, which is borrowed for the lifetime of the factor. */
PetscErrorCode multifrontal_factor_create(const multifrontal_tree *t, multifrontal_factor **out);
void           multifrontal_factor_destroy(multifrontal_factor **f);
void           multifrontal_factor_late(const multifrontal_factor *f, bool *is_late); /* [n] true for late unknowns */
int64_t        multifrontal_factor_size(const multifrontal_factor *f);                /* number of unknowns n */
const int32_t *multifrontal_factor_place(const multifrontal_factor *f);        /* [n] position of each unknown in the elimination order */
double         multifrontal_factor_entries_late(const multifrontal_factor *f); /* number of entries of the factor of S */
double         multifrontal_factor_work_late(const multifrontal_factor *f);    /* multiplications of multifrontal_factor_add */
/* Factor A, whose pattern must be contained in that of the tree. *is_definite false: A is not positive definite, and the factor must not be
 * used until a later call succeeds. */
PetscErrorCode multifrontal_factor_set(multifrontal_factor *f, const sparse_rows *A, bool *is_definite);
/* Factor A + sum J_a^T G_a J_a for the A of the last multifrontal_factor_set and the terms of the tree. G [t->n][9], symmetric blocks.
 * *is_definite as above. */
PetscErrorCode multifrontal_factor_add(multifrontal_factor *f, const sparse_rows *A, const multifrontal_terms *t, const double *G,
                                       bool *is_definite);
/* x [n] <- A^-1 x. */
void multifrontal_solve(const multifrontal_factor *f, double *x);
/* x [n] <- late entries of (A + terms)^-1 x. Early entries of x must be 0 and remain 0. */
void multifrontal_solve_late(const multifrontal_factor *f, double *x);
/* The same for A without terms: x [n] <- S^-1 x on late unknowns. */
void multifrontal_solve_plain_late(const multifrontal_factor *f, double *x);
/* X [n_vectors][n] <- L^-1 X, where L is the Cholesky factor of S. Entries of each vector are in elimination order. Early entries must be 0
 * and remain 0. */
PetscErrorCode multifrontal_forward_late(const multifrontal_factor *f, int64_t n_vectors, double *X);
/* y = S x on late unknowns; x and y [n]. Early entries are neither read nor written. */
void multifrontal_product_late(const multifrontal_factor *f, const double *x, double *y);
/* d [n] = diag(S) on late unknowns; early entries are not changed. */
void multifrontal_diagonal_late(const multifrontal_factor *f, double *d);
#endif
