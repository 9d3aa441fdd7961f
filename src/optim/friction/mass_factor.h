/* A symmetric positive definite matrix that couples few unknowns at a time, as the mass-like matrices of many bodies do: split
 * into its connected components, each factored by what its structure suggests. Small and dense ones (rigid bodies, super-helices)
 * and narrow bands (rods) get a band L D L^T, after a reverse Cuthill-McKee ordering where that narrows the band; wide ones
 * (meshes) a sparse Cholesky factor of PETSc's. Components are factored and solved in parallel; the bits do not depend on the
 * number of threads. */
#ifndef SS_OPTIM_FRICTION_MASS_FACTOR_H
#define SS_OPTIM_FRICTION_MASS_FACTOR_H
#include "core/sparse_rows.h"

typedef struct mass_factor mass_factor;

/* M [n x n] with both triangles, of which the lower one is read. Not positive definite: PETSC_ERR_MAT_CH_ZRPVT naming the row. */
PetscErrorCode mass_factor_create(const sparse_rows *M, mass_factor **out);
/* The same for matrices that will have other values: what is in the pattern counts as coupled, zero or not. */
PetscErrorCode mass_factor_create_pattern(const sparse_rows *M, mass_factor **out);
/* Of one made so, with other values in the same pattern; components and orderings are kept. *is_definite false: it is no factor of
 * anything until this succeeds. */
PetscErrorCode mass_factor_refactor(mass_factor *f, const sparse_rows *M, bool *is_definite);
void           mass_factor_destroy(mass_factor **f);
/* Would some component of M be left to a package, no band being narrow enough? */
PetscErrorCode mass_factor_wants_package(const sparse_rows *M, bool *is_wanted);

/* The order of the components: component c holds the places start[c] ... start[c+1]-1, and dof[place] is the unknown there. */
int64_t        mass_factor_n_components(const mass_factor *f);
const int64_t *mass_factor_start(const mass_factor *f); /* [n_components+1] */
const int32_t *mass_factor_dof(const mass_factor *f);   /* [n] */
const int32_t *mass_factor_place(const mass_factor *f); /* [n] the inverse: unknown -> place */
/* May several threads solve with component c at once? Not with PETSc's factors. */
bool mass_factor_is_threadable(const mass_factor *f, int64_t c);

/* Multiplications of a solve with all components, about. */
double mass_factor_work(const mass_factor *f);

/* x <- M_c^-1 x for 1 or 3 vectors side by side, x [start[c+1]-start[c]][n_vectors] in places. */
void mass_factor_solve_component(const mass_factor *f, int64_t c, int n_vectors, double *x);
/* block [3][3] += y^T M_c^-1 y of a band (one that is threadable), by half a solve: y [start[c+1]-start[c]][3], zero in its first `low` rows, is lost. */
void mass_factor_gram(const mass_factor *f, int64_t c, int64_t low, double *y, double *block);
/* The same as mass_factor_solve_component with a component of a package, for vectors one after the other: b, x [n_vectors][start[c+1]-start[c]], not the same. */
PetscErrorCode mass_factor_solve_many(const mass_factor *f, int64_t c, int64_t n_vectors, double *b, double *x);
/* The same with all components, x [n] in places. Threaded. */
void mass_factor_solve_places(const mass_factor *f, double *x);
#endif
