/* Joint stops, motors, dry friction and closed loops of articulated bodies, as terms of the convex problem. Each constraint has
 * three rows. Used by convex.c and convex_contacts.c. */
#ifndef SS_SIM_CONVEX_CONVEX_CONSTRAINTS_H
#define SS_SIM_CONVEX_CONVEX_CONSTRAINTS_H
#include "sim/step/step_unknowns.h"

typedef struct {
  int64_t     n;
  constraint *law;   /* [n] */
  sparse_rows full;  /* [3 n x 3 n_blocks] constraint velocities u = full v, with v the global velocity vector */
  double     *known; /* [n][3] constraint velocities at v = step_unknowns.known, the prescribed part of v */
} convex_constraints;

/* Set all systems of the scene to exclude their constraints from residuals and tangents, for the rest of the run. */
void convex_constraints_take_over(scene *s);
/* Collect the constraints of all systems in the step that `l` has begun. They are not linearised yet. *c must be zero before the
 * call. Error: out of memory. */
PetscErrorCode convex_constraints_create(const step_layout *l, const step_unknowns *u, convex_constraints *c);
void           convex_constraints_destroy(convex_constraints *c);
/* Linearise the constraints at the last evaluation of the residuals.
 *   u  [n][3] constraint velocities [m/s], [rad/s]
 *   r  [n][3] in: constraint impulses [N s], [N m s]; out: the same plus their change by the new linearisation */
void convex_constraints_linearise(const step_layout *l, const double *u, double *r, convex_constraints *c);
/* Append the rows of the constraints, in the unknowns of the step, to the rows J of the contacts. Error: out of memory. */
PetscErrorCode convex_constraints_append(const convex_constraints *c, const step_unknowns *u, sparse_rows *J);
/* Add the diagonal of J^T gain J of all drives to diagonal [unknowns] [kg], [kg m^2]; the gain of a drive is 1/R. The rows of the
 * constraints in J follow those of n_contacts contacts. Drives at their maximum effort are included, so that the contact scaling does not
 * depend on the effort. */
void convex_constraints_stiffen(const convex_constraints *c, const sparse_rows *J, int64_t n_contacts, double *diagonal);
/* g [3 n_blocks] -= full^T r, for impulses r [n][3]. */
void convex_constraints_subtract(const convex_constraints *c, const double *r, double *g);
#endif
