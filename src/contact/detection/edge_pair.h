/* Tests whether two edges of triangle surfaces collide, or have crossed. An edge takes part only if it is outermost on its surface along the
 * contact normal n: the adjacent triangles do not rise above it along n. No state, thread-safe. Callers: penalty_edges.c and
 * surface_contact.c. */
#ifndef SS_CONTACT_DETECTION_EDGE_PAIR_H
#define SS_CONTACT_DETECTION_EDGE_PAIR_H
#include "geometry/triangle_mesh/triangle_topology.h"

/* Sine of the angle up to which adjacent triangles may rise above an outermost edge or node. A tolerance is needed because surfaces in
 * contact penetrate slightly, which changes the angle by about depth / edge length. */
#define EDGE_RISE 0.05

/* An edge with its adjacent triangles. node: the two nodes of the edge in the order of the first triangle, the third node of the first
 * triangle, the third node of the second triangle (-1 at a border). */
typedef struct {
  int32_t node[4];
  bool    is_closed; /* the edge belongs to a closed surface */
} edge_star;
void edge_star_fill(const triangle_topology *t, bool is_closed, int32_t edge, edge_star *out);

/* True if the edge is outermost on its surface along the unit vector n, up to EDGE_RISE. x [4][3]: positions of star->node. */
bool edge_star_is_outermost(const edge_star *star, const double x[12], const double n[3]);
/* True if two outermost edges a, b cross while all nodes move on straight lines from x0 to x1 [8][3] (nodes of a, then of b). *side: the
 * sign s for which s (a1 - a0) x (b1 - b0) points from b to a before the collision; at [3]: position along each edge, in (0, 1), and
 * time as a fraction of the step.
 * Collisions at the ends of edges are left to point contacts. is_pair: an earlier evaluation of this step has created the pair; then
 * the edges need not be outermost, because the force would jump when another edge becomes outermost. */
bool edge_pair_collides(const edge_star star[2], const double x0[24], const double x1[24], bool is_pair, int32_t *side, double at[3]);
/* The distance [m] at which edges with the ends x0 [4][3] collide; a tolerance for round-off. */
double edge_pair_reach(const double x0[12]);
/* True if two outermost edges with nodes at x [8][3] have crossed: one intersects a triangle adjacent to the other. *side as in
 * edge_pair_collides; *depth: penetration depth [m]; at [2]: positions of the closest points along the edges. */
bool edge_pair_is_crossed(const edge_star star[2], const double x[24], int32_t *side, double at[2], double *depth);
#endif
