/* Do two edges of triangle surfaces collide, and have they crossed? Each edge comes with the triangles beside it, so that edges count only
 * where they are outermost on their surfaces. Pure geometry, no state, thread-safe. */
#ifndef SS_CONTACT_DETECTION_EDGE_PAIR_H
#define SS_CONTACT_DETECTION_EDGE_PAIR_H
#include "geometry/triangle_mesh/triangle_topology.h"

/* Sine of the angle by which a surface may rise beside an edge or node that counts as outermost: surfaces that press on each
 * other sink in, and what is still outermost is known to the depth over the length of an edge. */
#define EDGE_RISE 0.05

/* An edge with the triangles at it: its nodes as the first triangle runs through them, and the third nodes of that and of the other
 * triangle (-1 at a border). */
typedef struct {
  int32_t node[4];
  bool    is_closed; /* of a surface that has an inside */
} edge_star;
void edge_star_fill(const triangle_topology *t, bool is_closed, int32_t edge, edge_star *out);

/* Is the edge, its star's nodes at x [4][3], the outermost of its surface along the unit vector n? Triangles may rise by
 * EDGE_RISE. */
bool edge_star_is_outermost(const edge_star *star, const double x[12], const double n[3]);
/* Do the edges, all nodes on straight lines from x0 to x1 [8][3], come through each other, outermost against outermost? *side:
 * the sign of the parallelogram's normal that points from b to a before; at: where along each. What happens at the ends of edges
 * is left to points. is_pair: another state of this step has made them a pair, which then exists wherever they come through each
 * other: a force that came and went with what is outermost would jump. */
bool edge_pair_collides(const edge_star star[2], const double x0[24], const double x1[24], bool is_pair, int32_t *side,
                        double at[2]);
/* The distance [m] within which edges with the ends x0 [4][3] collide: round-off. */
double edge_pair_reach(const double x0[12]);
/* Have the edges, nodes at x [8][3], come through each other already: one goes through a triangle beside the other, outermost
 * against outermost as above? *depth: how far [m]; at: where they are closest. */
bool edge_pair_is_crossed(const edge_star star[2], const double x[24], int32_t *side, double at[2], double *depth);
#endif
