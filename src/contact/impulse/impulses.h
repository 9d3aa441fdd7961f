/* Geometric impulses: velocities of surface nodes changed until no two features of the surfaces meet while all nodes move along
 * straight lines through the step [BridsonEtAl2002; hybrid, sec. 9]. Three passes:
 *
 *   near       pairs nearer than the thickness at the beginning stop closing, and are pushed apart by a spring
 *   meeting    pairs whose ways meet, found by continuous detection, take inelastic impulses and friction, again and again
 *   zones      what still meets after max_iterations moves rigidly together (impact_zones.h), until nothing meets
 *
 * Pairs are taken one after the other in a fixed order, so that the result has the same bits on any number of threads; what costs
 * time, finding them, runs on all. Linear momentum is kept to rounding, but for nodes that are held. At the end the ways to
 * x0 + dt v, as rounded when stored, are free of meetings: the same numbers that the search looked at. */
#ifndef SS_CONTACT_IMPULSES_H
#define SS_CONTACT_IMPULSES_H
#include "contact/broad_phase.h"
#include "core/verdict.h"

typedef struct {
  double  thickness;      /* [m] >= 0; pairs are kept a thousandth of it apart, or half of what they were apart if that is less */
  double  stiffness;      /* [N/m] of the spring within the thickness, per pair */
  double  friction, restitution;
  int64_t max_iterations; /* of the second pass */
} impulse_options;
typedef struct {
  int64_t n_near;       /* pairs within the thickness at the beginning that closed or were pushed */
  int64_t n_iterations; /* of the second pass that found something */
  int64_t n_meetings;   /* pairs found in them, each time */
  int64_t n_zones, n_zone_nodes, n_zone_rounds;
  int64_t n_queries;    /* of continuous detection */
} impulse_report;

typedef struct impulses impulses;
/* Of surfaces as for the broad phase. inverse_mass [n_vertices] 1/kg, 0: held, its velocity is not changed; borrowed. */
PetscErrorCode impulses_create(const broad_phase_surfaces *s, const double *inverse_mass, impulses **out);
void           impulses_destroy(impulses **a);
/* v [n_vertices][3] in place, over dt from x0 [n_vertices][3]. Nodes held in different motions within one zone: *verdict
 * STEP_NOT_CONVERGED. */
PetscErrorCode impulses_solve(impulses *a, const impulse_options *o, const double *x0, double dt, double *v, step_verdict *verdict,
                              impulse_report *out);
/* Pairs that meet between x0 and x1, both [n_vertices][3]: none, for the way that was solved. */
PetscErrorCode impulses_count_meetings(impulses *a, const double *x0, const double *x1, int64_t *n);
#endif
