/* Free motion: where a step would go without contact, m(v) = 0 with the systems' residuals m, by Newton's method with their
 * symmetric and definite tangents; one linear solve where they are linear [convex contact, sec. 2]. */
#ifndef SS_SIM_CONVEX_FREE_H
#define SS_SIM_CONVEX_FREE_H
#include "optim/friction/mass_factor.h"
#include "sim/step/step_frame.h"

typedef struct {
  sparse_rows  A;      /* tangent at v in the step's unknowns, */
  mass_factor *factor; /* and its factor */
  double      *v, *dv; /* [n] */
  double      *g;      /* [n] what the systems say at l->v */
  double      *full;   /* [n_full] work */
  double      *right;  /* [n] work */
} convex_motion;

/* *m, zeros, starts at v0, which l->v is. */
PetscErrorCode convex_motion_create(const step_layout *l, const step_unknowns *u, convex_motion *m);
void           convex_motion_destroy(convex_motion *m);
/* m->g at m->v, whose l->v and poses follow; *norm |D^-1 g| in units of acceleration_scale. */
PetscErrorCode convex_motion_evaluate(convex_motion *m, step_layout *l, const step_unknowns *u, double *norm, step_verdict *verdict,
                                      step_report *report);
/* m->A and m->factor where it was evaluated last. Not definite at the start of a step is an error: something has no mass. */
PetscErrorCode convex_motion_linearise(convex_motion *m, const step_layout *l, const step_unknowns *u, bool is_start,
                                       step_verdict *verdict);
/* Bring m->v to free motion, with A there. */
PetscErrorCode convex_motion_solve(convex_motion *m, step_layout *l, const step_unknowns *u, step_verdict *verdict,
                                   step_report *report);
/* |D^-1 x| of x [n]. */
double convex_motion_norm(const step_layout *l, const step_unknowns *u, const double *x);
#endif
