/* Where to linearise next: Newton's method on the whole equation of a step, m(v) = J^T r(J v), with tangents of bodies as they
 * are. */
#ifndef SS_SIM_CONVEX_CONVEX_CHASE_H
#define SS_SIM_CONVEX_CONVEX_CHASE_H
#include "contact/rows/contact_jacobian.h"
#include "optim/sap/sap_law.h"
#include "sim/convex/convex_constraints.h"
#include "sim/step/step_motion.h"

/* Everything is borrowed. */
typedef struct {
  double              tolerance;   /* of Newton's method */
  step_motion        *motion;      /* whose A is that of the last problem, and whose options say which tangents may be exact */
  step_layout        *layout;
  const step_unknowns *unknowns;
  const sparse_rows  *J;
  const contact_jacobian *rows; /* its part of contacts, of the global vector */
  sap_terms           terms;       /* as they stand */
  const double       *known;       /* [n_terms][3] */
  convex_constraints *constraints; /* whose laws follow v */
} convex_chase;

/* |D^-1 (m - J^T r)|, what is left with these impulses [n_terms][3] where motion was evaluated last; motion->right without
 * D^-1. */
double convex_chase_left(const convex_chase *c, const double *r);
/* motion->v, where the last problem led to, nearer to the end, as long as less is left; *has_moved false: it did not come nearer. Systems'
 * tangents are definite again afterwards, but not evaluated. Impulses are not kept: the problem that is made there finds them. */
PetscErrorCode convex_chase_run(const convex_chase *c, bool *has_moved, step_verdict *verdict, step_report *report);
#endif
