/* The equations of one step of the penalty formulation, g(z) = 0 with z = v - v0, and their exact tangent: no solver in here.
 *
 * The global vector is step_layout's. Order of calls in a step: begin; evaluate any
 * number of times, product, block_diagonal at the last evaluation with tangent; then end, or nothing if the step is given up. */
#ifndef SS_SIM_PENALTY_PENALTY_SYSTEM_H
#define SS_SIM_PENALTY_PENALTY_SYSTEM_H
#include "contact/penalty/penalty.h"
#include "sim/step/step_layout.h"
#include <petscmat.h>

typedef struct {
  step_layout      layout;
  penalty_contact *contact;
  bool             detects_by_step; /* contact.detection: step */
  double          *masked;      /* [n_blocks][3] work of products, if anything is prescribed or follows */
  bool             has_tangent; /* the tangent belongs to the last evaluation */
  step_verdict     verdict;     /* of the last evaluation */
} penalty_system;

/* *p is filled in place; destroy copes with zeros. */
PetscErrorCode penalty_system_create(scene *s, penalty_system *p);
void           penalty_system_destroy(penalty_system *p);
/* Before the first step: products in single precision will be asked for. */
void           penalty_system_want_single(penalty_system *p);
/* Lay out the global vector for the step from t to t + dt, gather v0 and the scaling, find contact candidates. */
PetscErrorCode penalty_system_begin(penalty_system *p, double t, double dt, step_verdict *verdict);
/* g(z), with what the tangent needs if wanted; p->verdict says whether it means anything. */
PetscErrorCode penalty_system_evaluate(penalty_system *p, const double *z, double *g, bool with_tangent);
/* y = H x or H^T x. */
PetscErrorCode penalty_system_product(penalty_system *p, const double *x, double *y, bool is_transposed);
/* y = H x, with those systems in single precision that can do it. */
PetscErrorCode penalty_system_product_single(penalty_system *p, const double *x, double *y);
/* d [n_blocks][9] = diagonal blocks of H. */
PetscErrorCode penalty_system_block_diagonal(const penalty_system *p, double *d);
/* Make the step to z permanent. A negative verdict: nothing has changed. */
PetscErrorCode penalty_system_end(penalty_system *p, const double *z, step_verdict *verdict, contact_summary *out);

/* The tangent of a penalty step as a matrix of type block3, for preconditioners. */
/* After begin: give *P the pattern of this step. If *P has it already nothing changes, so that what preconditioners derived from it
 * stays good; else *P is destroyed and made anew, with zeros. */
PetscErrorCode penalty_matrix_lay_out(const penalty_system *p, Mat *P);
/* P = H at the last evaluation with tangent. */
PetscErrorCode penalty_matrix_assemble(const penalty_system *p, Mat P);
#endif
