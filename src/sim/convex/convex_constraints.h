/* Stops, motors, dry friction and loops within bodies, as terms of the convex problem. */
#ifndef SS_SIM_CONVEX_CONVEX_CONSTRAINTS_H
#define SS_SIM_CONVEX_CONVEX_CONSTRAINTS_H
#include "sim/step/step_unknowns.h"

typedef struct {
  int64_t     n;
  constraint *law;   /* [n] */
  sparse_rows full;  /* [3 n x all components of velocity] */
  double     *known; /* [n][3] velocities at the unknowns' known part */
} convex_constraints;

/* From now on the scene's systems leave theirs out of residuals and tangents. */
void convex_constraints_take_over(scene *s);
/* Those of all systems in the step that `l` has begun, not linearised yet. *c, zeros, is filled. */
PetscErrorCode convex_constraints_create(const step_layout *l, const step_unknowns *u, convex_constraints *c);
void           convex_constraints_destroy(convex_constraints *c);
/* Linearised where residuals were evaluated last; r [n][3] += what they say there at velocities u [n][3] beyond what they said
 * before. */
void convex_constraints_linearise(const step_layout *l, const double *u, double *r, convex_constraints *c);
/* J of contacts, and below it the rows of constraints, in the step's unknowns. */
PetscErrorCode convex_constraints_append(const convex_constraints *c, const step_unknowns *u, sparse_rows *J);
/* diagonal [unknowns] += gains of drives, whose rows are below the first n_contacts contacts of J, also of those at the end of
 * their effort: what contact is measured by should not change to and fro with forces. */
void convex_constraints_stiffen(const convex_constraints *c, const sparse_rows *J, int64_t n_contacts, double *diagonal);
/* g [n_full] -= full^T r, r [n][3]. */
void convex_constraints_push(const convex_constraints *c, const double *r, double *g);
#endif
