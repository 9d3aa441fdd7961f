/* Two edges in contact are one point on one surface.
 *
 * The differences b(t) - a(s) of points of an edge b and an edge a fill a parallelogram, affine in s and t, and the edges touch where it
 * holds the origin. So the contact of two edges is that of the origin, as the point, with a surface of two triangles: its attachment is a
 * place (s, t) on both edges at once, it slides over both by the four states of contact/mesh_relaxation.h, and Coulomb's cone is about the
 * common normal of the edges. At s or t = 0 or 1, the parallelogram's rim, an end of one edge hangs on the other as a bead on a wire.
 * The force k (b(t) - a(s)) acts at a(s) and its opposite at b(t): they are along one line, and nothing tells a from b but the sign.
 *
 * [DingSchroeder2020], section 5, leaves edges out and asks: would an edge be attached to a point or to an edge? (To an edge.) Does the
 * spring stay where they first met, or slide along the edge? (It stays within friction, and slides along both beyond.) If it comes to
 * the end of an edge, is it a point again? (A point on the other edge, until another edge at that end takes over.)
 *
 * Corner 2 i + j of the parallelogram is b_j - a_i. Pure geometry, no state, thread-safe.                                      */
#ifndef SS_CONTACT_EDGE_PAIR_H
#define SS_CONTACT_EDGE_PAIR_H
#include "contact/mesh_relaxation.h"

enum { EDGE_PAIR_CORNERS = 4 };
/* Sine of the angle by which a surface may rise beside an edge or node that counts as outermost: surfaces that press on each other sink in, and
 * what is still outermost is known to the depth over the length of an edge. */
#define EDGE_RISE 0.05
/* Its two triangles; their normal is along (a1 - a0) x (b1 - b0). */
PetscErrorCode edge_pair_topology(triangle_topology **out);
static inline int edge_pair_end_a(int corner) { return corner / 2; }
static inline int edge_pair_end_b(int corner) { return corner % 2; }
/* P [4][3] from a [2][3] and b [2][3]. */
void edge_pair_corners(const double a[6], const double b[6], double P[12]);
/* (s, t) of an attachment to the parallelogram, and back; both in [0, 1]. */
void            edge_pair_fractions(const mesh_attachment *X, double *s, double *t);
mesh_attachment edge_pair_attachment(double s, double t);

/* An edge with the triangles at it: its nodes as the first triangle runs through them, and the third nodes of that and of the other
 * triangle (-1 at a border). */
typedef struct {
  int32_t node[4];
  bool    is_closed; /* of a surface that has an inside */
} edge_star;
void edge_star_fill(const triangle_topology *t, bool is_closed, int32_t edge, edge_star *out);

/* Is the edge, its star's nodes at x [4][3], the outermost of its surface along the unit vector n? Triangles may rise by EDGE_RISE. */
bool edge_star_is_outermost(const edge_star *star, const double x[12], const double n[3]);
/* Edges a and b, x [8][3] the nodes of both stars, n from b to a: is b outermost along n and a along -n? Not where both lie within flat
 * faces: those meet by points and other edges. */
bool edge_pair_is_outermost(const edge_star star[2], const double x[24], const double n[3]);
/* Do the edges, all nodes on straight lines from x0 to x1 [8][3], come through each other, outermost against outermost? *side: the sign of
 * the parallelogram's normal that points from b to a before. What happens at the ends of edges is left to points. is_pair: another state of
 * this step has made them a pair, which then exists wherever they come through each other: a force that came and went with what is outermost would jump. */
bool edge_pair_collides(const edge_star star[2], const double x0[24], const double x1[24], bool is_pair, int32_t *side, mesh_attachment *X);
/* The distance [m] within which edges with the ends x0 [4][3] collide: round-off. */
double edge_pair_reach(const double x0[12]);
/* Have the edges, nodes at x [8][3], come through each other already: one goes through a triangle beside the other, outermost against
 * outermost as above? *depth: how far [m]; X: where they are closest. */
bool edge_pair_is_crossed(const edge_star star[2], const double x[24], int32_t *side, mesh_attachment *X, double *depth);
#endif
