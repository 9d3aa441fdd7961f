/* Direct solves with one sparse matrix by PETSc's packages: Cholesky for symmetric positive definite matrices (CHOLMOD), LU for
 * general ones (UMFPACK), or the packages named by the PETSc options -friction_cholesky_type and -friction_lu_type. Serial code only. */
#ifndef SS_OPTIM_FRICTION_SPARSE_DIRECT_H
#define SS_OPTIM_FRICTION_SPARSE_DIRECT_H
#include "core/sparse_rows.h"
#include "optim/linear/linear_solver.h"

typedef struct sparse_direct sparse_direct;
typedef enum { SPARSE_DIRECT_CHOLESKY, SPARSE_DIRECT_LU } sparse_direct_kind;

/* Analyse and factor the matrix a. Its pattern must be symmetric for Cholesky. *is_regular false: a is singular or, for Cholesky, not
 * positive definite; *out may then be used only for sparse_direct_refactor. */
PetscErrorCode sparse_direct_create(sparse_direct_kind kind, const sparse_rows *a, bool *is_regular, sparse_direct **out);
/* Factor a matrix with the same pattern and other values. The ordering is reused. */
PetscErrorCode sparse_direct_refactor(sparse_direct *s, const sparse_rows *a, bool *is_regular);
/* x = A^-1 b, both [n]; x may be b. */
PetscErrorCode sparse_direct_solve(sparse_direct *s, const double *b, double *x);
/* The same by the KSP `solver` with PC type sparsedirect. a: the matrix that was factored. solver NULL: as sparse_direct_solve. */
PetscErrorCode sparse_direct_solve_by(linear_solver *solver, sparse_direct *s, const sparse_rows *a, const double *b, double *x);
/* sparse_direct_solve for n_vectors right-hand sides; b, x [n_vectors][n], not the same array. One call costs much less than n_vectors calls. */
PetscErrorCode sparse_direct_solve_many(sparse_direct *s, int64_t n_vectors, double *b, double *x);
void           sparse_direct_destroy(sparse_direct **s);
/* Check PETSc's options for the package: factor a unit matrix, so that its name and all its options are read. */
PetscErrorCode sparse_direct_probe(sparse_direct_kind kind);
#endif
