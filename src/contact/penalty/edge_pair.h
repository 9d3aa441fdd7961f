/* Two edges in contact are one point on one surface.
 *
 * The differences b(t) - a(s) of points of an edge b and an edge a fill a parallelogram, affine in s and t, and the edges touch
 * where it holds the origin. So the contact of two edges is that of the origin, as the point, with a surface of two triangles:
 * its attachment is a place (s, t) on both edges at once, it slides over both by the four states of contact/penalty/mesh_relaxation.h,
 * and Coulomb's cone is about the common normal of the edges. At s or t = 0 or 1, the parallelogram's rim, an end of one edge
 * hangs on the other as a bead on a wire. The force k (b(t) - a(s)) acts at a(s) and its opposite at b(t): they are along one
 * line, and nothing tells a from b but the sign.
 *
 * Where the line that an edge is part of goes on at its end, so does the surface: up to three edges of each, nine parallelograms
 * side by side, and an attachment slides from one onto the next within a step as from triangle to triangle.
 *
 * [DingSchroeder2020], section 5, leaves edges out and asks: would an edge be attached to a point or to an edge? (To an edge.)
 * Does the spring stay where they first met, or slide along the edge? (It stays within friction, and slides along both beyond.)
 * If it comes to the end of an edge, is it a point again? (It goes on along the next edge; where there is none, it is a point on
 * the other edge.)
 *
 * Pure geometry, no state, thread-safe. */
#ifndef SS_CONTACT_PENALTY_EDGE_PAIR_H
#define SS_CONTACT_PENALTY_EDGE_PAIR_H
#include "contact/penalty/mesh_relaxation.h"

/* Sine of the angle by which a surface may rise beside an edge or node that counts as outermost: surfaces that press on each
 * other sink in, and what is still outermost is known to the depth over the length of an edge. */
#define EDGE_RISE 0.05

enum {
  EDGE_CHAIN   = 4, /* nodes in a row: one before, the edge's own two, one behind; -1: none */
  EDGE_CORNERS = EDGE_CHAIN * EDGE_CHAIN,
  EDGE_PATCHES = 16
};
/* Parallelograms side by side: corner 4 i + j is b_j - a_i, cell 3 i + j has the edges i of a and j of b, two triangles each,
 * whose normals are along (a_i+1 - a_i) x (b_j+1 - b_j). Corners without triangles stand for nodes that are not there. */
typedef struct {
  triangle_topology *topology;
  int                n_cells, own; /* own: position of the middle cell */
  uint8_t            cell[9];
} edge_patch;
/* One for each of the ways in which chains may lack an end; edge_patch_of says which. */
PetscErrorCode edge_patches_create(edge_patch patch[EDGE_PATCHES]);
void           edge_patches_destroy(edge_patch patch[EDGE_PATCHES]);
int            edge_patch_of(const int32_t a[EDGE_CHAIN], const int32_t b[EDGE_CHAIN]);
static inline int edge_patch_a(int corner) { return corner / EDGE_CHAIN; }
static inline int edge_patch_b(int corner) { return corner % EDGE_CHAIN; }
/* P [16][3] from a [4][3] and b [4][3]. */
void edge_patch_corners(const double a[12], const double b[12], double P[48]);
/* Where an attachment is: at[0], at[1] in [0, 1] along the edges cell[0], cell[1] of a and b. */
void edge_patch_fractions(const edge_patch *p, const mesh_attachment *X, int cell[2], double at[2]);
/* An attachment to the middle cell. */
mesh_attachment edge_patch_attachment(const edge_patch *p, const double at[2]);

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
/* Edges a and b, x [8][3] the nodes of both stars, n from b to a: is b outermost along n and a along -n? Not where both lie
 * within flat faces: those meet by points and other edges. */
bool edge_pair_is_outermost(const edge_star star[2], const double x[24], const double n[3]);
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
