/* Geometric overlaps after every accepted step or substep: report of the deepest one, and warnings. Called by run.c. */
#ifndef SS_APP_RUN_RUN_OVERLAPS_H
#define SS_APP_RUN_RUN_OVERLAPS_H
#include "sim/scene/scene.h"
#include "sim/step/formulation.h"

/* Update s->overlaps at time t, the end of a step of length dt, with the rest depths of contact springs (scene_overlaps_relax), and set report->contact.penetration, penetration_body_a and penetration_body_b; in self-contact of a
 * surface the depth of contact points counts. Adds to s->warnings:
 *   deep-overlap        a pair overlaps by more than a tenth of its smaller body or spacing, and the job does not permit its initial overlap
 *   few-contact-points  a pair that does not separate overlaps, at the start of the step, by more than twice the depth of its deepest contact
 *                       point, and the difference exceeds 1e-3 of the smaller body or spacing: no contact point is near the deepest part. Not for
 *                       pairs of convex solids, whose detector finds the deepest place */
PetscErrorCode run_overlaps_record(scene *s, const formulation *f, double t, double dt, step_report *report);
/* Call after the state was read from a checkpoint at time t: the overlaps with which the next step starts. */
PetscErrorCode run_overlaps_resume(scene *s, double t);
#endif
