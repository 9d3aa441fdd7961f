/* Factor of a symmetric positive definite block-diagonal matrix, such as the mass-like matrix of many bodies. Each connected component is factored
 * by a method chosen from its structure. Small or dense components (rigid bodies, super-helices) and narrow bands (rods) use a band L D L^T, after
 * a reverse Cuthill-McKee ordering if that narrows the band. Wide bands (meshes) use a sparse Cholesky factor of a PETSc package. Components are
 * factored and solved in parallel; the bits do not depend on the number of threads. Used by delassus.c, sap and sim. */
#ifndef SS_OPTIM_FRICTION_MASS_FACTOR_H
#define SS_OPTIM_FRICTION_MASS_FACTOR_H
#include "core/sparse_rows.h"

typedef struct mass_factor mass_factor;

/* Factor M [n x n], given with both triangles; only the lower one is read. PETSC_ERR_MAT_CH_ZRPVT with the row if M is not positive definite. */
PetscErrorCode mass_factor_create(const sparse_rows *M, mass_factor **out);
/* The same for a matrix whose values will change: every entry of the pattern counts as a coupling, also if it is zero. */
PetscErrorCode mass_factor_create_pattern(const sparse_rows *M, mass_factor **out);
/* Factor new values in the same pattern, for a factor from mass_factor_create_pattern; components and orderings are reused. *is_definite
 * false: M is not positive definite, and the factor must not be used until a later call succeeds. */
PetscErrorCode mass_factor_refactor(mass_factor *f, const sparse_rows *M, bool *is_definite);
void           mass_factor_destroy(mass_factor **f);
/* *is_wanted: at least one component needs a PETSc package, because its band is wide in every ordering. */
PetscErrorCode mass_factor_needs_package(const sparse_rows *M, bool *is_wanted);

/* The factor orders unknowns by component; a place is a position in this order. Component c has the places start[c] ... start[c+1]-1, and
 * dof[place] is the unknown at a place. */
int64_t        mass_factor_n_components(const mass_factor *f);
const int64_t *mass_factor_start(const mass_factor *f); /* [n_components+1] */
const int32_t *mass_factor_dof(const mass_factor *f);   /* [n] */
const int32_t *mass_factor_place(const mass_factor *f); /* [n] place of each unknown */
/* Returns true if several threads may solve with component c at the same time. False for factors of PETSc packages. */
bool mass_factor_is_threadable(const mass_factor *f, int64_t c);

/* Approximate number of multiplications of a solve with all components. */
double mass_factor_work(const mass_factor *f);

/* In the next four functions vectors are ordered by places; n_c = start[c+1] - start[c]. */
/* x [n_c][n_vectors] <- M_c^-1 x for n_vectors = 1 or 3. */
void mass_factor_solve_component(const mass_factor *f, int64_t c, int n_vectors, double *x);
/* block [3][3] += y^T M_c^-1 y, for a threadable component. y [n_c][3] must be 0 in its first `low` rows; it is overwritten. */
void mass_factor_gram(const mass_factor *f, int64_t c, int64_t low, double *y, double *block);
/* x = M_c^-1 b for a component of a package; b, x [n_vectors][n_c], not the same array. */
PetscErrorCode mass_factor_solve_many(const mass_factor *f, int64_t c, int64_t n_vectors, double *b, double *x);
/* x [n] <- M^-1 x. Threaded. */
void mass_factor_solve_places(const mass_factor *f, double *x);
#endif
