/* Relaxation on a triangle mesh: an attachment slides over the triangles until it is inside the friction cone.
 *
 * X is the attachment at the start of the step, Y the relaxed attachment, Z the contact point (all in m). Attachments are stored in
 * barycentric coordinates and move with a deforming surface. On a triangle or edge, Y moves straight towards the point of its plane or
 * line that is nearest to Z. At a border of the triangle, or an end of the edge, it continues on the next triangle, edge or vertex, until
 * the force is inside the friction cone. These are the four states of [DingSchroeder2020, sec. 2.1.3], with derivatives.
 * No global state, thread-safe. Callers: penalty_mesh.c and penalty_edges.c.
 *
 * The paper does not define the relaxation at the border of an open surface (cloth, open meshes). Here contact ends at the border:
 * an attachment outside the friction cone that slides across the border is removed. If it stopped there, it would connect the point to
 * the sheet permanently. At a border vertex it is removed if it cannot continue on any neighbouring triangle or edge and the spring
 * force exceeds friction (with the smaller coefficient) in the plane of the mean normal. relax_mesh_bounded slides along the border instead. */
#ifndef SS_CONTACT_PENALTY_PENALTY_MESH_RELAXATION_H
#define SS_CONTACT_PENALTY_PENALTY_MESH_RELAXATION_H
#include "contact/detection/contact_record.h"
#include "contact/penalty/penalty_relaxation.h"
#include "geometry/triangle_mesh/triangle_topology.h"

enum {
  RELAX_MESH_MAX_MOVES = 64,                              /* maximum number of changes of place; the paper observed 5 at most */
  RELAX_MESH_MAX_NODES = 3 + 2 * RELAX_MESH_MAX_MOVES + 3 /* a move adds at most two new nodes; three more:
                                                           * mesh_relaxation_column */
};

/* Position of an attachment on a surface: a triangle and its barycentric coordinates, >= 0, sum 1. State (checkpoint). */
typedef struct {
  int32_t triangle;
  double  weight[3];
} mesh_attachment;
/* True if both positions are bitwise equal. */
static inline bool mesh_attachment_equal(const mesh_attachment *a, const mesh_attachment *b)
{
  return a->triangle == b->triangle && a->weight[0] == b->weight[0] && a->weight[1] == b->weight[1] && a->weight[2] == b->weight[2];
}

typedef enum {
  ON_TRIANGLE = 1, /* inside the triangle of X */
  ENTERED     = 2, /* inside another triangle, entered across an edge or from a corner */
  ALONG_EDGE  = 3, /* on an edge */
  AT_VERTEX   = 4, /* at a vertex */
  PAST_BORDER = 5  /* removed at the border; always the last place */
} mesh_relax_place;

typedef struct {
  relax_state     state;     /* RELAX_INACTIVE: the spring would be attractive, or contact ends at the border (other fields are set);
                          * RELAX_STICK: Y is X; RELAX_SLIDE otherwise */
  mesh_attachment at;        /* barycentric coordinates of Y */
  double          Y[3];      /* [m] */
  double          normal[3]; /* outward unit normal at Y: of the triangle, or the mean over the edge or vertex (angle-weighted) */

  /* The chain of visited places; the first is ON_TRIANGLE, the last the final one. */
  int     n_places;
  uint8_t place[RELAX_MESH_MAX_MOVES + 1];
  bool    is_capped; /* stopped after RELAX_MESH_MAX_MOVES */
  bool    has_left;  /* the final place is PAST_BORDER */

  /* Derivatives, if requested: dY = sum_i weight_i dP_i + sum_i P_i dweight_i, where i runs over the corners of at.triangle and
   *   dweight_i = sum_j d_weight[i][3 j ... 3 j + 2] . d(q_j),   q_0 = Z,  q_j = x[node[j - 1]],  j <= n_nodes
   * node: mesh vertices, each once, the three corners of at.triangle among them. */
  int     n_nodes;
  int32_t node[RELAX_MESH_MAX_NODES];
  double  d_weight[3][3 * (RELAX_MESH_MAX_NODES + 1)];
} mesh_relaxation;

/* Relax the attachment X for a contact point at Z on the surface `mesh` with vertices at x [n_vertices][3] [m]; mu >= 0.
 * At degenerate triangles and values that are not finite, the attachment stops. */
void relax_mesh(const triangle_topology *mesh, const double *x, double mu, const mesh_attachment *X, const double Z[3],
                bool with_derivatives, mesh_relaxation *out);
/* As relax_mesh, with an elliptic friction cone. cone->direction is projected on each triangle of the undeformed surface, with vertices
 * `rest` [n_vertices][3], and deforms with the triangle. In a triangle the friction limit is that of relax_implicit_cone. On an edge the
 * attachment moves along the edge only, with the coefficient of the ellipse in the direction of the undeformed edge. If the direction
 * is parallel to the normal within RELAX_CONE_ALONG, the cone is circular with the smaller coefficient. mu_across == 0: bit-identical to
 * relax_mesh. */
void relax_mesh_cone(const triangle_topology *mesh, const double *x, const relax_cone *cone, const double *rest, const mesh_attachment *X,
                     const double Z[3], bool with_derivatives, mesh_relaxation *out);
/* As relax_mesh_cone, for an attachment X that depends on the state, in the step in which the contact begins: X_d [3][12] are the gradients of its
 * weights by Z and by the positions of the three corners of its triangle; NULL: X is constant. */
void relax_mesh_cone_entering(const triangle_topology *mesh, const double *x, const relax_cone *cone, const double *rest,
                              const mesh_attachment *X, const double (*X_d)[12], const double Z[3], bool with_derivatives,
                              mesh_relaxation *out);
/* As relax_mesh_cone_entering with a round cone, for a surface of which attachments slide along the border instead of ending there. */
void relax_mesh_bounded(const triangle_topology *mesh, const double *x, double mu, const mesh_attachment *X, const double (*X_d)[12],
                        const double Z[3], bool with_derivatives, mesh_relaxation *out);
/* Friction cone in a deformed triangle, for relax_cone_length: `direction` is the current direction, or the normal of the triangle if the
 * projected direction vanishes. */
relax_cone relax_mesh_cone_in(const triangle_topology *mesh, const double *x, const relax_cone *cone, const double *rest, int32_t triangle);
/* Index j of a vertex in r->node; a new vertex is appended with zero gradients. At most three vertices can be appended. */
int mesh_relaxation_column(mesh_relaxation *r, int32_t node);
/* Compute dY/dq_j [9] of a relaxation with derivatives; q_0 = Z, q_j = position of node j - 1. */
void mesh_relaxation_block(const triangle_topology *mesh, const double *x, const mesh_relaxation *r, int j, double block[9]);
/* The chain of places as one number, for statistics. */
relax_chain relax_chain_of(const mesh_relaxation *r);
#endif
