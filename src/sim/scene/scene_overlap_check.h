/* Check of the start of a run: bodies that may touch must not overlap, unless the job permits it (contact.initial_overlap). Called by
 * the check of each formulation.
 *
 * An overlap counts if its depth exceeds the largest of
 *   1e-6 of the smaller body                          rounding of coordinates in the job
 *   m g / k, at most 5e-2 of the smaller body         contact springs: static penetration of the lighter body on one contact point
 *   g dt^2, at most 5e-2 of the smaller body          displacement that gravity causes in a step
 *   1e-3 of the smaller body                          if a surface is represented by triangles or a sampled level set
 *   2e-2 of the spacing of a cloth, rod or FEM surface   chords of length h on a curve of radius R deviate from it by h^2/(8 R)
 *   1/2 of the spacing of particles                   particles represent the volume around them; one grid spacing for contact on a grid
 * A half-space has no size. */
#ifndef SS_SIM_SCENE_SCENE_OVERLAP_CHECK_H
#define SS_SIM_SCENE_SCENE_OVERLAP_CHECK_H
#include "sim/scene/scene.h"

/* Evaluate s->overlaps for the start of the run, and add an error to `d` for each pair that overlaps: bodies, depth, position. */
PetscErrorCode scene_overlap_check(const scene *s, diagnostics *d);
#endif
