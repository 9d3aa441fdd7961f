/* Joint stops, motors, dry friction and loops within bodies, as terms of the convex problem. Used by convex.c and
 * convex_contacts.c. */
#ifndef SS_SIM_CONVEX_CONVEX_CONSTRAINTS_H
#define SS_SIM_CONVEX_CONVEX_CONSTRAINTS_H
#include "sim/step/step_unknowns.h"

typedef struct {
  int64_t     n;
  constraint *law;   /* [n] */
  sparse_rows full;  /* [3 n x all components of velocity] */
  double     *known; /* [n][3] velocities of the prescribed part of v */
} convex_constraints;

/* From now on the systems of the scene exclude their constraints from residuals and tangents. */
void convex_constraints_take_over(scene *s);
/* Collect the constraints of all systems in the step that `l` has begun; they are not linearised yet. Fills in *c, which is
 * zero. */
PetscErrorCode convex_constraints_create(const step_layout *l, const step_unknowns *u, convex_constraints *c);
void           convex_constraints_destroy(convex_constraints *c);
/* Linearise the constraints at the last evaluation of the residuals. r [n][3] += change of their impulses at velocities u
 * [n][3]. */
void convex_constraints_linearise(const step_layout *l, const double *u, double *r, convex_constraints *c);
/* Append the rows of the constraints to J of the contacts, in the unknowns of the step. */
PetscErrorCode convex_constraints_append(const convex_constraints *c, const step_unknowns *u, sparse_rows *J);
/* diagonal [unknowns] += gains of drives, whose rows follow the first n_contacts contacts of J, including drives at their
 * maximum effort: the scaling of contact should not alternate with the forces. */
void convex_constraints_stiffen(const convex_constraints *c, const sparse_rows *J, int64_t n_contacts, double *diagonal);
/* g [n_full] -= full^T r, with r [n][3]. */
void convex_constraints_subtract(const convex_constraints *c, const double *r, double *g);
#endif
