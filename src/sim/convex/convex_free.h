/* Free motion: where a step would go without contact, m(v) = 0 with the systems' residuals m, by Newton's method with their
 * symmetric and definite tangents; one linear solve where they are linear [convex contact, sec. 2]. */
#ifndef SS_SIM_CONVEX_FREE_H
#define SS_SIM_CONVEX_FREE_H
#include "optim/friction/mass_factor.h"
#include "optim/sap/sap_columns.h"
#include "sim/convex/convex_keys.h"
#include "sim/convex/convex_operator.h"
#include "sim/step/step_frame.h"

typedef struct {
  sparse_rows  A;      /* tangent at v in the step's unknowns, */
  mass_factor *factor; /* and its factor: this, or */
  front_tree   *tree;  /* for large components these two, */
  front_factor *front;
  sap_columns   columns; /* ready for the terms of the step, J by columns */
  bool            is_chosen, is_iterative; /* or neither, but products of A */
  convex_operator by_products;
  sap_cg         *cg;
  int64_t         n_inner;      /* iterations of conjugate gradients */
  double      *v, *dv; /* [n] */
  double      *g;      /* [n] what the systems say at l->v */
  double      *full;   /* [n_full] work */
  double      *right;  /* [n] work */
} convex_motion;

/* *m, zeros, starts at v0, which l->v is. J: three rows for each term of the step's cost. */
PetscErrorCode convex_motion_create(const step_layout *l, const step_unknowns *u, const sparse_rows *J, convex_motion *m);
void           convex_motion_destroy(convex_motion *m);
/* m->g at m->v, whose l->v and poses follow; *norm |D^-1 g| in units of acceleration_scale. */
PetscErrorCode convex_motion_evaluate(convex_motion *m, step_layout *l, const step_unknowns *u, double *norm, step_verdict *verdict,
                                      step_report *report);
/* x <- A^-1 x, by products with an error below `tolerance` in the norm below. */
PetscErrorCode convex_motion_divide(convex_motion *m, double tolerance, double *x);
/* m->A and its factor where it was evaluated last. Not definite at the start of a step is an error: something has no mass. */
PetscErrorCode convex_motion_linearise(convex_motion *m, const step_layout *l, const step_unknowns *u, bool is_start,
                                       step_verdict *verdict);
/* Bring m->v to free motion, with A there. */
PetscErrorCode convex_motion_solve(convex_motion *m, step_layout *l, const step_unknowns *u, step_verdict *verdict,
                                   step_report *report);
/* |D^-1 x| of x [n]. */
double convex_motion_norm(const step_layout *l, const step_unknowns *u, const double *x);
/* Materials that are linear about rotations take those that m->v leads to; see body_ops.relinearise. */
PetscErrorCode convex_motion_relinearise(const convex_motion *m, step_layout *l, const step_unknowns *u, bool *has_changed);
#endif
