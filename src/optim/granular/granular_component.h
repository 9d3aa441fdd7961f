/* One stress component of the granular problem (granular_problem.h): its samples, its rows of D and F_s, and its quadratic program. Used
 * by the stress solvers that treat stress component by component (augmented_lagrangian, pyramid, sp). This module also contains the
 * solvers `pyramid` and `sp`, which bound each component separately. */
#ifndef SS_OPTIM_GRANULAR_GRANULAR_COMPONENT_H
#define SS_OPTIM_GRANULAR_GRANULAR_COMPONENT_H
#include "optim/granular/granular_state.h"

/* Relative increase of the diagonal in `sp`. It makes the single system of all components positive definite. */
#define GRANULAR_SP_SHIFT 1e-3

typedef struct {
  granular_solver *S;
  int64_t          n;
  int32_t         *sample; /* [n] global indices of the samples, ascending */
  sparse_rows      D, DT;  /* rows of D of these samples, and their transpose */
  sparse_rows T, TT;   /* staggered only: mean of the samples around each cell, and the transpose; empty: one sample per cell, in order */
  granular_coupling F; /* entries of F_s of these samples, numbered 0 ... n - 1 */
  granular_coupled  coupled;         /* F, ordered for its products */
  double           *x, *b, *lo, *hi; /* [n] quadratic program whose unknown x is the step of the stress [Pa] */
  double           *diagonal, *own;  /* [n] diagonal of the Hessian; diagonal of A_ee, the block of the component without constraints */
  double           *hessian;         /* [n_cells] second derivative of the constraint penalty; NULL: none */
  double           *cells;           /* [n_cells] scratch */
  double            alpha_bar;       /* step length of MPRGP (bounds_result) */
} granular_component;

/* Create component e = 0 ... 4, or one "component" of all samples for e < 0. After a failure *out is empty and may be destroyed. */
PetscErrorCode granular_component_create(granular_solver *S, int e, granular_component *out);
void           granular_component_destroy(granular_component *k);
/* y = (A_ee + T^T hessian T) x; context is a granular_component. */
void granular_component_apply(void *context, const double *restrict x, double *restrict y);
/* y [n_cells] = T x, x [n]; and x += T^T y. */
void granular_component_to_cells(const granular_component *k, const double *restrict x, double *restrict y);
void granular_component_from_cells(const granular_component *k, const double *restrict y, double *restrict x);
/* Set k->x to the step that minimises the quadratic program with the current k->b, lo, hi and diagonal, from the initial guess 0. `apply`
 * computes the products with its matrix and receives k as context. */
PetscErrorCode granular_component_solve(granular_component *k, void (*apply)(void *context, const double *restrict x, double *restrict y));
/* Set lo and hi so that |s + step| <= width times the cone radius at each sample. If width is INFINITY, the step has no bounds, except at
 * samples of radius 0, where the stress becomes 0. */
void                                granular_component_bounds(granular_component *k, double width);
extern const granular_stress_solver granular_stress_pyramid, granular_stress_sp;
#endif
