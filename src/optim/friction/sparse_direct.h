/* Direct solves with one sparse matrix by PETSc's packages: Cholesky for symmetric positive definite matrices (CHOLMOD), LU for
 * general ones (UMFPACK), or the packages named by the PETSc options -friction_cholesky_type and -friction_lu_type. Serial code only. */
#ifndef SS_OPTIM_FRICTION_SPARSE_DIRECT_H
#define SS_OPTIM_FRICTION_SPARSE_DIRECT_H
#include "core/sparse_rows.h"
#include "optim/linear/linear_solver.h"

typedef struct sparse_direct sparse_direct;
typedef enum { SPARSE_DIRECT_CHOLESKY, SPARSE_DIRECT_LU } sparse_direct_kind;

/* Analyse and factor. *is_regular false, and *out still usable for sparse_direct_refactor: the matrix is singular or, for
 * Cholesky, not positive definite. Cholesky reads both triangles' pattern and expects them equal. */
PetscErrorCode sparse_direct_create(sparse_direct_kind kind, const sparse_rows *a, bool *is_regular, sparse_direct **out);
/* The same pattern with other values: the ordering is kept. */
PetscErrorCode sparse_direct_refactor(sparse_direct *s, const sparse_rows *a, bool *is_regular);
/* x = A^-1 b. x == b is fine. */
PetscErrorCode sparse_direct_solve(sparse_direct *s, const double *b, double *x);
/* The same by a KSP with PC type sparsedirect; a: the matrix that was factored. solver NULL: sparse_direct_solve. */
PetscErrorCode sparse_direct_solve_by(linear_solver *solver, sparse_direct *s, const sparse_rows *a, const double *b, double *x);
/* sparse_direct_solve for n_vectors of them, one after the other in memory: B, X [n_vectors][n], not the same. Many at once cost a fraction
 * of one each. */
PetscErrorCode sparse_direct_solve_many(sparse_direct *s, int64_t n_vectors, double *b, double *x);
void           sparse_direct_destroy(sparse_direct **s);
/* Factor a unit matrix, so that all options of the package are read and its name is checked. */
PetscErrorCode sparse_direct_probe(sparse_direct_kind kind);
#endif
