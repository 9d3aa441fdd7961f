/* Continuous collision detection: the first time within a step at which a point collides with a triangle, or an edge with an edge.
 * All vertices move along straight lines at constant speed. Used by the contact of surfaces, meshes and fibres.
 *
 * No collision is ever missed. A time interval is skipped only if floating-point arithmetic with bounded round-off proves it free:
 * by a plane that separates the two primitives for the whole interval, or by four vertices that are never coplanar in it. The proof
 * does not depend on how the plane was chosen. Therefore the returned time is never later than the true time for the given
 * coordinates, taken as exact.
 *
 * False positives of ccd_point_triangle and ccd_edge_edge: primitives whose distance exceeds the separation by less than 2^-104 of
 * the largest coordinate difference; for grazing needles 2^-46. The tolerance limits how early the reported time may be; it does
 * not define what is a collision. Candidates within the tolerance are either proved to collide in double precision, or followed
 * until they are proved free. If round-off leaves the question open, the search continues in quadruple precision, which takes about
 * 20 times longer. The queries ..._near avoid this cost: everything that comes closer than separation + tolerance is a collision.
 *
 * Bisection of the domain until its parts are proved empty follows [Wang2021]; here only time is divided. Intervals are shortened
 * by the control polygon of the coplanarity cubic [Provot1997, SederbergNishita1990] and by separating planes, as in conservative
 * advancement [Mirtich1996]. Both converge quadratically, where bisection gains one bit per step. */
#ifndef SS_GEOMETRY_COLLISION_CCD_H
#define SS_GEOMETRY_COLLISION_CCD_H
#include <stdbool.h>

enum { CCD_MAX_INTERVALS = 512 }; /* maximum number of time intervals in each precision; rarely more than 10 are needed */

typedef struct {
  double separation; /* >= 0: a distance of at most this is a collision [m] */
  double tolerance;  /* >= 0: at the reported time the distance is below separation + tolerance [m] */
} ccd_limits;

typedef struct {
  double t;          /* in [0, 1]: there is no collision before this time */
  double u, v;       /* closest points at time t: v0 + u (v1 - v0) + v (v2 - v0), or a0 + u (a1 - a0) and b0 + v (b1 - b0) */
  double normal[3];  /* unit vector at time t, from the triangle to the point or from edge b to edge a; 0 if undefined */
  double distance;   /* at time t [m], up to round-off */
  int    pieces;     /* number of time intervals examined */
  bool   is_certain; /* distance <= separation + tolerance, or 2^-46; false: the maximum number of intervals was reached before */
} ccd_hit;

/* Point and triangle: x0, x1 [4][3] are the point and the corners of the triangle at the start and at the end of the step [m]. True
 * if they collide, up to the false positives above. Degenerate triangles, points at rest and planar motion are allowed. A
 * coordinate that is not finite, or a limit that is NaN, counts as a collision at t = 0. `hit` is written if there is a collision;
 * may be NULL. */
bool ccd_point_triangle(const double x0[12], const double x1[12], const ccd_limits *limits, ccd_hit *hit);
/* Two edges: x0, x1 [4][3] are a0, a1, b0, b1 at the start and at the end of the step. Otherwise as above. */
bool ccd_edge_edge(const double x0[12], const double x1[12], const ccd_limits *limits, ccd_hit *hit);
/* The same, but every approach closer than separation + tolerance is a collision. Without a collision the distance therefore stays
 * above separation + tolerance during the whole step. */
bool ccd_point_triangle_conservative(const double x0[12], const double x1[12], const ccd_limits *limits, ccd_hit *hit);
bool ccd_edge_edge_conservative(const double x0[12], const double x1[12], const ccd_limits *limits, ccd_hit *hit);
/* True if the bounding boxes of the trajectories of the first n_first vertices and of the others are farther apart than `gap` along
 * an axis: there is no collision within that distance. A cheap test before the queries above. */
bool ccd_boxes_are_apart(const double x0[12], const double x1[12], int n_first, double gap);
/* The same test for the bounding boxes of the vertices at the start and at the end, separated on the same side along the same axis.
 * Coordinates are linear in time, so that they are separated during the whole step. True whenever the test above is, and also for
 * primitives that move in parallel. */
bool ccd_corners_are_apart(const double x0[12], const double x1[12], int n_first, double gap);
#endif
