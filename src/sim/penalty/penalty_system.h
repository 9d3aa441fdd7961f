/* The equations of one step of formulation penalty, g(z) = 0 with z = v - v0, and their exact tangent H; no solver. Used by
 * penalty.c.
 *
 * The global vector is that of step_layout. Order of calls in a step: begin; evaluate any number of times, with product and
 * block_diagonal at the last evaluation with tangent; then end, or nothing if the step is abandoned. */
#ifndef SS_SIM_PENALTY_PENALTY_SYSTEM_H
#define SS_SIM_PENALTY_PENALTY_SYSTEM_H
#include "contact/penalty/penalty.h"
#include "sim/step/step_layout.h"
#include <petscmat.h>

typedef struct {
  step_layout      layout;
  penalty_contact *contact;
  double          *masked;      /* [n_blocks][3] work of products, if there are prescribed components or dependent nodes */
  bool             has_tangent; /* the tangent belongs to the last evaluation */
  step_status      status;      /* of the last evaluation */
} penalty_system;

/* Create *p, which borrows the scene; destroy accepts zeros. */
PetscErrorCode penalty_system_create(scene *s, penalty_system *p);
void           penalty_system_destroy(penalty_system *p);
/* Enable products in single precision; call it before the first step. */
void penalty_system_want_single(penalty_system *p);
/* From the next evaluation on, use positive definite tangents of the bodies, or exact ones. Contact keeps its tangent. */
void penalty_system_set_definite(penalty_system *p, bool is_definite);
/* Detect candidate contacts for the step that p->layout has begun (step_layout_begin). */
PetscErrorCode penalty_system_begin(penalty_system *p);
/* Evaluate g(z), z and g [n_blocks][3], and the data of the tangent if requested. g is valid if p->status.code is STEP_OK. */
PetscErrorCode penalty_system_evaluate(penalty_system *p, const double *z, double *g, bool with_tangent);
/* y = H x or H^T x at the last evaluation with tangent; x, y [n_blocks][3]. */
PetscErrorCode penalty_system_product(penalty_system *p, const double *x, double *y, bool is_transposed);
/* y = H x in single precision for the systems that support it. */
PetscErrorCode penalty_system_product_single(penalty_system *p, const double *x, double *y);
/* d [n_blocks][9] = diagonal blocks of H. */
PetscErrorCode penalty_system_block_diagonal(const penalty_system *p, double *d);
/* Make the step with solution z permanent. If the status is negative, nothing has changed. */
PetscErrorCode penalty_system_end(penalty_system *p, const double *z, step_status *status, contact_summary *out);

/* The tangent as a matrix of type block3, for preconditioners. Call it after begin. If *P has the sparsity pattern of this step, it
 * is unchanged, so that data derived from it stays valid. Otherwise *P is destroyed and created with zeros; the caller owns it. */
PetscErrorCode penalty_matrix_lay_out(const penalty_system *p, Mat *P);
/* P = H at the last evaluation with tangent. */
PetscErrorCode penalty_matrix_assemble(const penalty_system *p, Mat P);
#endif
