/* Do two edges of triangle surfaces collide, and have they crossed? Each edge comes with its adjacent triangles, so that edges
 * count only where they are outermost on their surfaces. Pure geometry, no state, thread-safe. Callers: penalty_edges.c and
 * surface_contact.c. */
#ifndef SS_CONTACT_DETECTION_EDGE_PAIR_H
#define SS_CONTACT_DETECTION_EDGE_PAIR_H
#include "geometry/triangle_mesh/triangle_topology.h"

/* Sine of the angle by which a surface may rise next to an edge or node that counts as outermost. Surfaces under contact
 * pressure penetrate slightly, so "outermost" is known only up to the depth divided by the edge length. */
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
/* Do the edges cross, outermost against outermost, while all nodes move on straight lines from x0 to x1 [8][3]? *side: sign of the
 * parallelogram's normal that points from b to a before; at: position along each edge. Contacts at the ends of edges belong to
 * points. is_pair: another state of this step has already made them a pair, which then exists wherever they cross. Otherwise the
 * force would jump when the outermost edge changes. */
bool edge_pair_collides(const edge_star star[2], const double x0[24], const double x1[24], bool is_pair, int32_t *side, double at[2]);
/* The distance [m] within which edges with the ends x0 [4][3] collide: round-off. */
double edge_pair_reach(const double x0[12]);
/* Have the edges, nodes at x [8][3], already crossed: does one pass through a triangle adjacent to the other, outermost against
 * outermost as above? *depth: penetration depth [m]; at: where they are closest. */
bool edge_pair_is_crossed(const edge_star star[2], const double x[24], int32_t *side, double at[2], double *depth);
#endif
