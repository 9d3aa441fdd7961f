/* Continuous collision detection: the first time within a step at which a point collides with a triangle, or an edge with an edge.
 * All vertices move along straight lines at constant speed. Used by the contact of surfaces, meshes and fibres.
 *
 * No collision is missed. A time interval is skipped only if floating-point arithmetic with bounded round-off proves that it contains
 * no collision: a plane separates the two primitives during the whole interval, or the four vertices are never coplanar in it. The
 * proof does not depend on how the plane was chosen. Therefore, if the given coordinates are regarded as exact, the returned time is
 * never later than the exact time.
 *
 * False positives of ccd_point_triangle and ccd_edge_edge: primitives whose distance exceeds the separation by less than 2^-104 of
 * the largest coordinate difference; for very thin triangles in grazing motion 2^-46. The tolerance limits how early the reported time
 * may be; it does not change which primitives collide. For primitives within the tolerance, a proof in double precision either confirms
 * or excludes a collision. If round-off prevents both, the search continues in quadruple precision, which takes about 20 times longer.
 * The queries ..._conservative avoid this cost: they report every pair that comes closer than separation + tolerance.
 *
 * Bisection until each part is proved free of collisions follows [Wang2021]; here only time is bisected. Intervals are shortened
 * by the control polygon of the coplanarity cubic [Provot1997, SederbergNishita1990] and by separating planes, as in conservative
 * advancement [Mirtich1996]. Both converge quadratically, whereas bisection gains one bit per step. */
#ifndef SS_GEOMETRY_COLLISION_CCD_H
#define SS_GEOMETRY_COLLISION_CCD_H
#include <stdbool.h>

enum { CCD_MAX_INTERVALS = 512 }; /* maximum number of time intervals in each precision; rarely more than 10 are needed */

typedef struct {
  double separation; /* >= 0; primitives collide if their distance is at most this value [m] */
  double tolerance;  /* >= 0; at the reported time the distance is at most separation + tolerance [m] */
} ccd_limits;

typedef struct {
  double t;          /* in [0, 1]: there is no collision before this time */
  double u, v;       /* closest points at time t: v0 + u (v1 - v0) + v (v2 - v0), or a0 + u (a1 - a0) and b0 + v (b1 - b0) */
  double normal[3];  /* unit vector at time t, from the triangle to the point or from edge b to edge a; 0 if undefined */
  double distance;   /* at time t [m], up to round-off */
  int    pieces;     /* number of time intervals examined */
  bool   is_certain; /* distance <= separation + max(tolerance, 2^-46 of the size); false: the number of intervals was exhausted */
} ccd_hit;

/* Point and triangle: x0, x1 [4][3] are the point and the corners of the triangle at the start and at the end of the step [m]. True
 * if they collide, up to the false positives above. Degenerate triangles, points at rest and planar motion are allowed. A
 * coordinate that is not finite, or a limit that is NaN, counts as a collision at t = 0. `hit` (may be NULL) is set if there is a
 * collision. */
bool ccd_point_triangle(const double x0[12], const double x1[12], const ccd_limits *limits, ccd_hit *hit);
/* As ccd_point_triangle for two edges: x0, x1 [4][3] are a0, a1, b0, b1 at the start and at the end of the step. */
bool ccd_edge_edge(const double x0[12], const double x1[12], const ccd_limits *limits, ccd_hit *hit);
/* As the two functions above, but a distance below separation + tolerance at any time is a collision. If they return false, the
 * distance is at least separation + tolerance during the whole step. */
bool ccd_point_triangle_conservative(const double x0[12], const double x1[12], const ccd_limits *limits, ccd_hit *hit);
bool ccd_edge_edge_conservative(const double x0[12], const double x1[12], const ccd_limits *limits, ccd_hit *hit);
/* Inexpensive test before the queries above. True if the bounding box of the trajectories of the first n_first of the 4 vertices and
 * that of the others are farther apart than `gap` [m] along an axis; the primitives then never come closer than `gap`. */
bool ccd_boxes_are_apart(const double x0[12], const double x1[12], int n_first, double gap);
/* As ccd_boxes_are_apart, for two pairs of boxes: of the vertices at the start, and of the vertices at the end of the step. True if
 * both pairs are farther apart than `gap` along the same axis in the same order; as coordinates are linear in time, this is true during
 * the whole step. True whenever ccd_boxes_are_apart is true, and also for primitives that move in parallel. */
bool ccd_corners_are_apart(const double x0[12], const double x1[12], int n_first, double gap);
#endif
