/* Free motion: the velocities of a step without contact. Solves m(v) = 0, with m the residuals of the systems, by Newton's method with
 * symmetric positive definite tangents. Exact tangents are used for selected systems while they converge well. Linear systems need one
 * iteration [ZongJiangHan2024]. Used by formulations convex and hybrid. A problem of the nonlinear driver (nonlinear.h). */
#ifndef SS_SIM_STEP_STEP_MOTION_H
#define SS_SIM_STEP_STEP_MOTION_H
#include "optim/friction/mass_factor.h"
#include "optim/sap/sap_system.h"
#include "sim/step/solver_options.h"
#include "sim/step/step_frame.h"
#include "sim/step/step_unknowns.h"

enum { MOTION_AUTO, MOTION_DIRECT, MOTION_ITERATIVE };
typedef struct {
  int         linear;        /* MOTION_...: method for the linear systems */
  bool        needs_tangent; /* the caller needs the tangent A at the solution: linear systems are solved accurately, and J may be given */
  const bool *tries_exact;   /* [n_systems] systems with exact tangents (products and GMRES) while these converge; sets
                            * body_ops.set_definite. NULL: none */
  const newton_options *newton; /* borrowed */
  linear_solver        *solver; /* borrowed; solves all linear systems */
} step_motion_options;

typedef struct {
  step_motion_options  options;
  sparse_rows          A;      /* tangent at v in the unknowns of the step */
  mass_factor         *factor; /* Cholesky factor of A, for small components */
  multifrontal_tree   *tree;   /* for large components: elimination tree and multifrontal factor */
  multifrontal_factor *front;
  sap_columns          columns;                 /* columns of J, for the terms of the step */
  bool                 waits_for_contact;       /* a simple factor until step_motion_couple is called */
  bool                 is_chosen, is_iterative; /* method chosen; conjugate gradients on products instead of a factor */
  bool                 is_matrix_free;          /* products without assembling A */
  bool                 is_part;                 /* A contains only the entries that precondition the products */
  bool                 was_slow;                /* conjugate gradients without A were too slow in this step */
  bool                 has_tangent;             /* the systems have evaluated their tangents at v */
  bool                 is_exact;                /* these tangents are exact, not projected to definite ones */
  step_operator        by_products;
  sap_cg              *cg;
  int64_t              n_inner; /* total iterations of conjugate gradients or GMRES */
  double              *v, *dv;  /* [n] velocity unknowns and Newton direction */
  double              *g;       /* [n] residual of the systems at l->v */
  double              *full;    /* [n_full] work */
  double              *right;   /* [n] work */
} step_motion;

/* Fill in *m, which is zero, starting at l->v. J: three rows for each convex term of the step; NULL: no terms. */
PetscErrorCode step_motion_create(const step_layout *l, const step_unknowns *u, const step_motion_options *o, const sparse_rows *J,
                                  step_motion *m);
void           step_motion_destroy(step_motion *m);
/* Set up and destroy linear solvers with this prefix of PETSc options, for every method that a motion with linear = MOTION_... may
 * choose. Called by formulation_ops.probe. */
PetscErrorCode step_motion_probe(const char *prefix, int linear);
/* Evaluate m->g at m->v, and update l->v and the poses. */
PetscErrorCode step_motion_evaluate(step_motion *m, step_layout *l, const step_unknowns *u, bool with_tangent, step_status *status,
                                    step_report *report);
/* x <- A^-1 x. With products: up to an error norm below `tolerance`, in the norm of step_unknowns_norm. */
PetscErrorCode step_motion_solve_linear(step_motion *m, double tolerance, double *x);
/* Assemble and factorise m->A at the state of the last evaluation. is_start: start of a step, where a matrix that is not positive
 * definite is an error (a body has no mass); otherwise the status becomes negative. */
PetscErrorCode step_motion_linearise(step_motion *m, const step_layout *l, const step_unknowns *u, bool is_start, step_status *status);
/* Prepare factors of A + J^T G J, before the first problem with the terms of J is solved: where contact alone couples the bodies (rigid bodies), m->A has a
 * simple factor until then. */
PetscErrorCode step_motion_couple(step_motion *m);
/* Iterate m->v to free motion. With options.needs_tangent A is computed there. */
PetscErrorCode step_motion_solve(step_motion *m, step_layout *l, const step_unknowns *u, step_status *status, step_report *report);
/* From the next evaluation on, use exact tangents for the systems that allow them, or definite ones for all. */
void step_motion_set_exact(step_motion *m, const step_layout *l, bool is_exact);
/* Update the rotations about which corotated materials are linearised to those at m->v; see body_ops.relinearise. */
PetscErrorCode step_motion_relinearise(const step_motion *m, step_layout *l, const step_unknowns *u, bool *has_changed);
#endif
