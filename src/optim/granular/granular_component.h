/* The samples of one stress component and their block of A_ss, for solvers that treat stress component by component; and the two
 * solvers `pyramid` and `sp`, which bound each component separately. */
#ifndef SS_OPTIM_GRANULAR_GRANULAR_COMPONENT_H
#define SS_OPTIM_GRANULAR_GRANULAR_COMPONENT_H
#include "optim/granular/granular_state.h"

typedef struct {
  flow_solver  *S;
  int64_t       n;
  int32_t      *sample;         /* [n] numbers of its samples, ascending */
  sparse_rows   D, DT;          /* its rows of D */
  sparse_rows   T, TT;          /* staggered only: cells from samples, the mean of the samples around a cell; empty: one sample a cell, in order */
  flow_coupling F;              /* its part of F_s, samples numbered here */
  flow_coupled  coupled;
  double       *x, *b, *lo, *hi; /* [n] of its quadratic program, whose unknown is a step */
  double       *diagonal, *own;  /* [n] of its Hessian; of A_ee alone */
  double       *hessian;         /* [n_cells] curvature of the constraints, or NULL */
  double       *cells;           /* [n_cells] scratch */
  double        alpha_bar;
} flow_component;

/* All samples whose component is e, or all of them for e < 0. *out is empty after a failure; flow_component_destroy takes both. */
PetscErrorCode flow_component_create(flow_solver *S, int e, flow_component *out);
void           flow_component_destroy(flow_component *k);
/* y = (A_ee + T^T hessian T) x; context is a flow_component. */
void flow_component_apply(void *context, const double *restrict x, double *restrict y);
/* y [n_cells] = T x, and x += T^T y */
void flow_component_to_cells(const flow_component *k, const double *restrict x, double *restrict y);
void flow_component_from_cells(const flow_component *k, const double *restrict y, double *restrict x);
/* k->x: step that minimises the quadratic program, from 0, with k->b, lo, hi, diagonal as they stand; apply gets k. */
PetscErrorCode flow_component_solve(flow_component *k, void (*apply)(void *context, const double *restrict x, double *restrict y));
/* lo, hi of a step from s within +-width times the radius at each sample; without pyramid (width INFINITY) free, but for samples
 * that carry nothing. */
void flow_component_bounds(flow_component *k, double width);
extern const flow_stress_solver flow_stress_pyramid, flow_stress_sp;
#endif
