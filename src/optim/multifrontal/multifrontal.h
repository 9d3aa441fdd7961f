/* Sparse Cholesky factors of A and of A + sum_a J_a^T G_a J_a with the same J and many G: a multifrontal method [DuffReid1983] on
 * dense frontal matrices ("fronts") with LAPACK. The terms are J_a^T G_a J_a, one per contact or constraint. "Early" unknowns, which
 * have no term, are eliminated once. "Late" unknowns have a term or follow one in the elimination tree; they are eliminated whenever G
 * changes. S is the Schur complement of the late unknowns in A. Two elimination orders are compared by their numbers of operations: all
 * early unknowns first, or nested dissection of all unknowns. Threaded over the tree of fronts; the result is bit-identical for any
 * number of threads. Functions that return an error code fail only if memory allocation fails. Used by sap_hessian.c, sap_cg.c and
 * implicit steps. */
#ifndef SS_OPTIM_MULTIFRONTAL_MULTIFRONTAL_H
#define SS_OPTIM_MULTIFRONTAL_MULTIFRONTAL_H
#include "optim/multifrontal/multifrontal_tree.h"

typedef struct multifrontal_factor multifrontal_factor;

/* `t` is borrowed for the lifetime of the factor. */
PetscErrorCode multifrontal_factor_create(const multifrontal_tree *t, multifrontal_factor **out);
void           multifrontal_factor_destroy(multifrontal_factor **f);
void           multifrontal_factor_late(const multifrontal_factor *f, bool *is_late); /* [n] true for late unknowns */
int64_t        multifrontal_factor_size(const multifrontal_factor *f);                /* number of unknowns n */
const int32_t *multifrontal_factor_place(const multifrontal_factor *f);        /* [n] position of each unknown in the elimination order */
double         multifrontal_factor_entries_late(const multifrontal_factor *f); /* number of entries of the factor of S */
double         multifrontal_factor_work_late(const multifrontal_factor *f);    /* multiplications of multifrontal_factor_add */
/* Factor A, whose pattern is contained in that of the tree. *is_definite false: the factor must not be used until a later call
 * succeeds. */
PetscErrorCode multifrontal_factor_set(multifrontal_factor *f, const sparse_rows *A, bool *is_definite);
/* Factor A + sum J_a^T G_a J_a, G [t->n][9] symmetric, for the A of the last multifrontal_factor_set and the terms of the tree. */
PetscErrorCode multifrontal_factor_add(multifrontal_factor *f, const sparse_rows *A, const multifrontal_terms *t, const double *G,
                                       bool *is_definite);
/* x <- A^-1 x, [n]. */
void multifrontal_solve(const multifrontal_factor *f, double *x);
/* x [n] <- late entries of (A + terms)^-1 x. Early entries of x are 0 before and after. */
void multifrontal_solve_late(const multifrontal_factor *f, double *x);
/* The same for A without terms: x <- S^-1 x on late unknowns. */
void multifrontal_solve_plain_late(const multifrontal_factor *f, double *x);
/* X [n_vectors][n] <- L^-1 X, with L the Cholesky factor of S and columns in elimination order. Early entries are 0 before and after. */
PetscErrorCode multifrontal_forward_late(const multifrontal_factor *f, int64_t n_vectors, double *X);
/* y = S x for late unknowns, S their Schur complement in A; x and y [n], only late entries are read and written. */
void multifrontal_product_late(const multifrontal_factor *f, const double *x, double *y);
/* d [n] = diag(S) for late unknowns; other entries are not changed. */
void multifrontal_diagonal_late(const multifrontal_factor *f, double *d);
#endif
