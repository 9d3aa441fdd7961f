/* Overlap depth of two bodies [m], from their geometry (overlap_shape.h), independent of contact points and of the formulation. Called by
 * scene_overlaps.h.
 *
 *   two bodies of convex solids    shortest translation that separates the deepest pair of solids (convex_overlap.h)
 *   half-space and other body      depth of the deepest vertex, segment end (with its radius) or particle beyond it
 *   other solids                   depth of the deepest point of one surface inside the other, both ways: vertices, points of triangles down to an
 *                                  eighth of the other body's smallest extent, followed by a local search within the triangle
 *   fibres and solids              radius minus the signed distance of the deepest point of an axis
 *   fibres and fibres              sum of the radii minus the distance of the axes; within one strand, only points separated by an arc of
 *                                  pi radii or more, as in fibre_contact.h
 *   particles and solids           depth of the deepest particle centre
 *   particles and particles        at the start of a run: depth of the deepest particle centre in the shape that the other body fills
 *
 * Open surfaces (cloth) have no inside: two of them have no depth, see scene_intersections.h. */
#ifndef SS_SIM_SCENE_OVERLAP_PAIR_H
#define SS_SIM_SCENE_OVERLAP_PAIR_H
#include "sim/scene/overlap_shape.h"

typedef struct {
  double depth; /* 0: no overlap [m] */
  double x[3];  /* a point of the overlap, world coordinates [m]; undefined if the depth is 0 */
} overlap;

/* True if overlap_pair_find may allocate memory or contains a parallel loop: call it from serial code then. */
bool overlap_pair_is_serial(const overlap_shape *a, const overlap_shape *b);
/* Depth of a and b; a == b: of the fibres of one body with each other. The shapes must be placed and prepared.
 *   is_thorough  also test points below the surfaces, so that coincident surfaces are found. Their depth is twice the depth of the deepest
 *                tested point inside both bodies, a lower bound
 *   with_point   also compute out->x for convex solids */
PetscErrorCode overlap_pair_find(const overlap_shape *a, const overlap_shape *b, bool is_thorough, bool with_point, overlap *out);
#endif
