/* Free motion: where a step would go without contact, m(v) = 0 with the systems' residuals m, by Newton's method with their
 * symmetric and definite tangents, or with exact ones while these serve; one linear solve where they are linear [convex contact,
 * sec. 2]. */
#ifndef SS_SIM_STEP_STEP_MOTION_H
#define SS_SIM_STEP_STEP_MOTION_H
#include "optim/friction/mass_factor.h"
#include "optim/sap/sap_columns.h"
#include "sim/step/solver_options.h"
#include "sim/step/step_frame.h"
#include "sim/step/step_unknowns.h"

enum { MOTION_AUTO, MOTION_DIRECT, MOTION_ITERATIVE };
typedef struct {
  int  linear;        /* MOTION_...: how linear systems are solved */
  bool wants_tangent; /* A where the motion ends is asked for, and linear systems are solved to the end for its sake; J may have terms */
  const bool *tries_exact; /* [n_systems] by products and GMRES: tangents as they are while they serve, body_ops.set_definite
                            * being ours; NULL: of none */
  const newton_options *newton; /* borrowed */
} step_motion_options;

typedef struct {
  step_motion_options options;
  sparse_rows  A;      /* tangent at v in the step's unknowns, */
  mass_factor *factor; /* and its factor: this, or */
  front_tree   *tree;  /* for large components these two, */
  front_factor *front;
  sap_columns   columns; /* ready for the terms of the step, J by columns */
  bool            is_chosen, is_iterative; /* or neither, but products of A, */
  bool            is_matrix_free;          /* without A itself, */
  bool            is_part;                 /* with what of A preconditions its products, */
  bool            was_slow;                /* but too slowly */
  bool            has_tangent;             /* the systems know theirs at v */
  bool            is_exact;                /* which is as it is, not made definite */
  step_operator by_products;
  sap_cg         *cg;
  int64_t         n_inner;      /* iterations of conjugate gradients */
  double      *v, *dv; /* [n] */
  double      *g;      /* [n] what the systems say at l->v */
  double      *full;   /* [n_full] work */
  double      *right;  /* [n] work */
} step_motion;

/* *m, zeros, starts at l->v. J: three rows for each term of the step's cost; NULL: there are none. */
PetscErrorCode step_motion_create(const step_layout *l, const step_unknowns *u, const step_motion_options *o, const sparse_rows *J,
                                  step_motion *m);
void           step_motion_destroy(step_motion *m);
/* m->g at m->v, whose l->v and poses follow; *norm |D^-1 g| in units of acceleration_scale. */
PetscErrorCode step_motion_evaluate(step_motion *m, step_layout *l, const step_unknowns *u, double *norm, step_verdict *verdict,
                                      step_report *report);
/* x <- A^-1 x, by products with an error below `tolerance` in the norm below. */
PetscErrorCode step_motion_divide(step_motion *m, double tolerance, double *x);
/* m->A and its factor where it was evaluated last. Not definite at the start of a step is an error: something has no mass. */
PetscErrorCode step_motion_linearise(step_motion *m, const step_layout *l, const step_unknowns *u, bool is_start,
                                       step_verdict *verdict);
/* Bring m->v to free motion, with A there if that is wanted. */
PetscErrorCode step_motion_solve(step_motion *m, step_layout *l, const step_unknowns *u, step_verdict *verdict,
                                   step_report *report);
/* From the next evaluation on tangents of systems that may have exact ones are so, or definite again. */
void step_motion_set_exact(step_motion *m, const step_layout *l, bool is_exact);
/* |D^-1 x| of x [n]. */
double step_motion_norm(const step_layout *l, const step_unknowns *u, const double *x);
/* Materials that are linear about rotations take those that m->v leads to; see body_ops.relinearise. */
PetscErrorCode step_motion_relinearise(const step_motion *m, step_layout *l, const step_unknowns *u, bool *has_changed);
#endif
