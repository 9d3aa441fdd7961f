/* Continuous collision detection: when, within one step, a point first meets a triangle, or an edge an edge, all corners moving
 * along straight lines at constant speed.
 *
 * No collision is ever missed. Stretches of time are only ever passed over for a proof that nothing happens in them, made in
 * floating point with its rounding bounded: a plane between the two for the whole stretch, or four corners that are nowhere in
 * one plane. How the plane was guessed does not matter to the proof. The time returned is therefore never later than the true
 * time for the given numbers, taken as exact.
 *
 * False alarms: where the two come closer than the separation by 2^-104 of the largest difference of coordinates between them; only
 * grazing needles settle for 2^-46. The tolerance says how early the time may be, not what is a collision: what comes within it is
 * proved one in double precision, or is looked at until it is none, where rounding leaves the question open in quadruple precision,
 * which takes some 20 times longer. The queries ..._near spare that: of them all that comes within the tolerance is a collision.
 *
 * The idea of dividing the domain until its parts are proved empty is that of [Wang2021]; here time alone is divided, stretches
 * are cut short by the control polygon of the coplanarity cubic [Provot1997, SederbergNishita1990] and by separating planes as in
 * conservative advancement [Mirtich1996], which converge quadratically where bisection gains one bit.                     */
#ifndef SS_GEOMETRY_COLLISION_CCD_H
#define SS_GEOMETRY_COLLISION_CCD_H
#include <stdbool.h>

enum { CCD_PIECES_MAX = 512 }; /* stretches of time to look at in each precision; 10 are many */

typedef struct {
  double separation; /* >= 0: closer than this, or as close, is a collision [m] */
  double tolerance;  /* >= 0: collisions are reported at a time when the distance is below separation + tolerance [m] */
} ccd_limits;

typedef struct {
  double t;          /* in [0, 1]: there is no collision before */
  double u, v;       /* nearest points at time t: v0 + u (v1 - v0) + v (v2 - v0), or a0 + u (a1 - a0) and b0 + v (b1 - b0) */
  double normal[3];  /* unit vector at time t, from the triangle to the point or from edge b to edge a; 0 if undefined */
  double distance;   /* at time t [m], to round-off */
  int    pieces;     /* stretches of time looked at */
  bool   is_certain; /* distance <= separation + tolerance, or 2^-46; false: pieces ran out before */
} ccd_hit;

/* Point and triangle: x0, x1 [4][3] are the point and the triangle's corners at the beginning and at the end of the step [m].
 * True if they may collide. Degenerate triangles, points at rest and motion in one plane are fine; a coordinate that is not
 * finite, or a limit that is NaN, is a collision at t = 0. `hit` is written if there is one; may be NULL. */
bool ccd_point_triangle(const double x0[12], const double x1[12], const ccd_limits *limits, ccd_hit *hit);
/* Two edges: x0, x1 [4][3] are a0, a1, b0, b1 at the beginning and at the end of the step. Otherwise as above. */
bool ccd_edge_edge(const double x0[12], const double x1[12], const ccd_limits *limits, ccd_hit *hit);
/* The same, but what comes closer than separation + tolerance is a collision: nothing is ever left nearer than that which has not been told. */
bool ccd_point_triangle_near(const double x0[12], const double x1[12], const ccd_limits *limits, ccd_hit *hit);
bool ccd_edge_edge_near(const double x0[12], const double x1[12], const ccd_limits *limits, ccd_hit *hit);
/* The boxes around the ways of the first n_first corners and around those of the others are farther apart than `gap` along an axis: nothing
 * within that distance collides. Cheap, to be asked first. */
bool ccd_boxes_are_apart(const double x0[12], const double x1[12], int n_first, double gap);
/* The same for boxes around the corners at the beginning, and again at the end, on the same side along the same axis: coordinates are
 * linear in time, so they are apart all the while. True wherever the above is, and for what flies side by side. */
bool ccd_corners_are_apart(const double x0[12], const double x1[12], int n_first, double gap);
#endif
