/* Relaxation on a triangle mesh: an attachment slides over the triangles until it is inside the friction cone.
 *
 * X is the attachment at the start of the step, Y the relaxed attachment, Z the contact point (all in m). Attachments are stored in
 * barycentric coordinates and move with a deforming surface. Y moves straight towards the point nearest to Z in the plane of its
 * triangle or on the line of its edge; at a vertex it rests. At a boundary of these it changes to the next triangle, edge or vertex.
 * This is the state machine of four states of [DingSchroeder2020], sec. 2.1.3, with derivatives.
 * Pure geometry, no state, thread-safe. Callers: penalty_mesh.c and penalty_edges.c.
 *
 * The paper does not define the relaxation at the border of an open surface (cloth, open meshes). Here contact ends at the border:
 * an attachment outside the friction cone that slides over it is removed. If it stopped at the border, it would connect the point to
 * the sheet permanently. At a border vertex it is removed if it cannot continue on any neighbouring triangle or edge and the spring
 * force exceeds friction (the smaller coefficient) in the plane of the mean normal. */
#ifndef SS_CONTACT_PENALTY_PENALTY_MESH_RELAXATION_H
#define SS_CONTACT_PENALTY_PENALTY_MESH_RELAXATION_H
#include "contact/detection/contact_record.h"
#include "contact/penalty/penalty_relaxation.h"
#include "geometry/triangle_mesh/triangle_topology.h"

enum {
  RELAX_MESH_MAX_MOVES = 64,                              /* Y stops after that many; the paper observed 5 at most */
  RELAX_MESH_MAX_NODES = 3 + 2 * RELAX_MESH_MAX_MOVES + 3 /* a move adds at most two new nodes; three more:
                                                           * mesh_relaxation_column */
};

/* Place of an attachment on a surface: a triangle and the weights of its corners, >= 0, sum 1. State (checkpoint). */
typedef struct {
  int32_t triangle;
  double  weight[3];
} mesh_attachment;
/* True if both are bitwise the same place. */
static inline bool mesh_attachment_equal(const mesh_attachment *a, const mesh_attachment *b)
{
  return a->triangle == b->triangle && a->weight[0] == b->weight[0] && a->weight[1] == b->weight[1] && a->weight[2] == b->weight[2];
}

typedef enum {
  ON_TRIANGLE = 1,
  ENTERED     = 2, /* in a triangle, entered over one of its edges or from a corner */
  ALONG_EDGE  = 3,
  AT_VERTEX   = 4,
  PAST_BORDER = 5 /* always the last */
} mesh_relax_place;

typedef struct {
  relax_state     state;     /* RELAX_INACTIVE: the spring would be attractive or Y is past the border; all other fields are set;
                          * RELAX_STICK: Y is X; else RELAX_SLIDE */
  mesh_attachment at;        /* barycentric coordinates of Y */
  double          Y[3];      /* [m] */
  double          normal[3]; /* outward unit normal at Y: of the triangle, or the mean over the edge or vertex (angle-weighted) */

  /* The chain of visited places; the first is ON_TRIANGLE, the last the final one. */
  int     n_places;
  uint8_t place[RELAX_MESH_MAX_MOVES + 1];
  bool    is_capped; /* stopped after RELAX_MESH_MAX_MOVES */
  bool    has_left;  /* final place is past the border */

  /* Derivatives, if requested: dY = sum_i weight_i dP_i + sum_i P_i dweight_i, where i runs over the corners of at.triangle and
   *   dweight_i = sum_j d_weight[i][3 j ... 3 j + 2] . d(q_j),   q_0 = Z,  q_j = x[node[j - 1]],  j <= n_nodes
   * node: mesh vertices, each once, the three corners of at.triangle among them. */
  int     n_nodes;
  int32_t node[RELAX_MESH_MAX_NODES];
  double  d_weight[3][3 * (RELAX_MESH_MAX_NODES + 1)];
} mesh_relaxation;

/* Relax the attachment X for a point at Z against the surface `mesh` with vertices at x [n_vertices][3]; mu >= 0.
 * Degenerate triangles, and numbers that are not finite, stop the attachment where it is. */
void relax_mesh(const triangle_topology *mesh, const double *x, double mu, const mesh_attachment *X, const double Z[3],
                bool with_derivatives, mesh_relaxation *out);
/* The same on an elliptical cone. Its direction is defined on the surface at `rest` [n_vertices][3], projected on each triangle
 * there, and deforms with the triangle. In a triangle the limit of friction is that of relax_implicit_cone. On an edge the
 * attachment moves along the edge only, with the coefficient of the ellipse in the direction of the edge at rest. If the direction
 * is parallel to a normal within 1e-6, the cone is circular with the smaller coefficient. mu_across == 0: bit-identical to
 * relax_mesh. */
void relax_mesh_cone(const triangle_topology *mesh, const double *x, const relax_cone *cone, const double *rest, const mesh_attachment *X,
                     const double Z[3], bool with_derivatives, mesh_relaxation *out);
/* Return the cone in a triangle, for relax_cone_length: its current direction there, or the triangle's normal if it has none. */
relax_cone relax_mesh_cone_in(const triangle_topology *mesh, const double *x, const relax_cone *cone, const double *rest, int32_t triangle);
/* Return the index j of a vertex among the nodes; a new vertex is appended with zero gradients. At most the corners of one more
 * triangle. */
int mesh_relaxation_column(mesh_relaxation *r, int32_t node);
/* dY/d(q_j) [9] of a relaxation with derivatives, j = 0 for Z, else node j - 1. */
void mesh_relaxation_block(const triangle_topology *mesh, const double *x, const mesh_relaxation *r, int j, double block[9]);
/* The chain of places as one number, for statistics. */
relax_chain relax_chain_of(const mesh_relaxation *r);
#endif
