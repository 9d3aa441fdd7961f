/* The tangent A of the systems in the step's unknowns by products, without its entries: body_ops.tangent where they were evaluated
 * last. */
#ifndef SS_SIM_STEP_STEP_OPERATOR_H
#define SS_SIM_STEP_STEP_OPERATOR_H
#include "optim/sap/sap_cg.h"
#include "sim/step/step_frame.h"

typedef struct {
  const step_layout   *l;
  const step_unknowns *u;
  double              *x, *y; /* [n_full] */
  int64_t              n_products;
  sap_operator         operator; /* its context is this */
} step_operator;

/* A: its entries, for preconditioning; NULL: blocks that systems give will do, residuals are weighed as in step_motion_norm. Everything is borrowed; *o stays where it is. */
PetscErrorCode step_operator_create(const step_layout *l, const step_unknowns *u, const sparse_rows *A, step_operator *o);
void           step_operator_destroy(step_operator *o);
/* Do all systems have products? */
bool           step_operator_exists(const step_layout *l);
#endif
