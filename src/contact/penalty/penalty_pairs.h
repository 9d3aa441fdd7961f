/* Data of penalty contact: the pairs of a step and the attachments stored between steps.
 *
 * mesh_contact has the pairs of points with triangle surfaces (penalty_mesh.c) and, through `edges`, those of edges with edges
 * (penalty_edges.c); penalty_contact has the pairs of points with level sets (penalty.c) and owns a mesh_contact. Only these files and
 * their tests use the fields. */
#ifndef SS_CONTACT_PENALTY_PENALTY_PAIRS_H
#define SS_CONTACT_PENALTY_PENALTY_PAIRS_H
#include "contact/detection/contact_record.h"
#include "contact/detection/contact_search.h"
#include "contact/detection/pair_table.h"
#include "contact/penalty/penalty_mesh_relaxation.h"
#include "contact/penalty/penalty_options.h"
#include "contact/penalty/penalty_relaxation.h"
#include "contact/penalty/restitution.h"
#include "contact/rows/rigid_sides.h"
#include "contact/rows/rows.h"
#include "geometry/collision/broad_phase.h"

typedef struct mesh_contact    mesh_contact;
typedef struct mesh_edges      mesh_edges;
typedef struct penalty_contact penalty_contact;

/* ---- points and triangle surfaces ---------------------------------------------------------------------------------------------- */

/* Nodes stored in the pair itself: those of a chain of four triangles. Longer chains (one pair of 10^5) have separate memory. */
enum { MESH_NODES = 6 };

typedef struct {
  body              *b;
  int                body_id;
  int                frame;             /* of a rigid surface; -1: it deforms */
  const double      *rest;              /* [n_nodes][3] undeformed, borrowed from the body */
  const double      *own;               /* [n_nodes][3] of a rigid surface: in its frame, borrowed from the body */
  double             center[3], radius; /* ... and a ball around them */
  bool               is_closed;
  triangle_topology *topology;
  double            *x0, *x;       /* [n_nodes][3] nodes at the start of the step, and of the last evaluation */
  int64_t            first_vertex; /* of the broad phase */
} contact_surface;

/* State between steps: sorted by (source, point, object). */
typedef struct {
  int32_t         source, object; /* body ids */
  int64_t         point;
  mesh_attachment at;
  int32_t         side;  /* 1: the point came from outside; -1: through the back of an open surface */
  double          speed; /* of approach, see restitution.h */
} mesh_memory;

/* A point near a triangle that is not a pair yet. */
typedef struct {
  int32_t i_source, i_mesh, triangle;
  int32_t point; /* of the list of points below */
  int64_t i_point, id;
  double  x0[3];
  bool    is_known; /* a pair from earlier steps: no detection necessary */
  int32_t pair;     /* found in this step, in an evaluation before; -1: not */
} mesh_candidate;

/* A collision of a point with a triangle. */
typedef struct {
  int32_t side;      /* as in mesh_memory */
  double  weight[3]; /* of the corners */
  double  head_on;   /* cosine between its motion and the normal, >= 0 */
  double  rounding;  /* within this fraction of the step it collides with all triangles of the edge or corner */
} mesh_hit;

/* Derivatives of one pair with a deforming surface, over q_0 = Z and q_j = node j - 1: dY = sum B_j dq_j, dweight_i = sum d_i,j
 * . dq_j; B_0 is part of K of the pair's rigid_sides. Numbers are stored in place, or in `spilled` if the chain has more nodes
 * than fit. */
typedef struct {
  int      n_nodes;
  int32_t  mesh, corner[3];         /* which q_j the corners of the final triangle are; if there are nodes at all */
  int64_t  first;                   /* place of q_1 in node_force */
  double   k, weight[3], spring[3]; /* stiffness with its gain; weights at the spring's grip */
  int32_t  own_node[MESH_NODES];
  double   own[18 * MESH_NODES + 9];
  int32_t *spilled_node; /* NULL: own */
  double  *spilled;
} mesh_linear;
static inline const int32_t *mesh_linear_node(const mesh_linear *l) { return l->spilled_node ? l->spilled_node : l->own_node; }
/* B_j [9], j > 0, and the gradient of weight i by q_j [3]. */
static inline const double *mesh_linear_B(const mesh_linear *l, int j) { return (l->spilled ? l->spilled : l->own) + 9 * (j - 1); }
static inline const double *mesh_linear_d(const mesh_linear *l, int i, int j)
{
  return (l->spilled ? l->spilled : l->own) + 9 * l->n_nodes + 3 * (i * (l->n_nodes + 1) + j);
}

typedef struct {
  contact_candidate q; /* as contact_rows_build requires: key, i_source, i_object: the mesh, i_point */
  mesh_attachment   X;
  int32_t           side, source_frame, object_frame; /* -1: weighted, deforming */
  bool              is_new; /* found in this step: it exists for states whose path collides, with the attachment of the first that did */
  bool              is_reached; /* does the path to the last state? Always, if not new */
  bool              is_late;    /* found as the step ended: active, but it has not acted */
  relax_cone        cone;
  double            k, origin[3]; /* weighted: start of the step, world; rigid: in the body's frame */
  restitution       bounce;
  double            lagged[3]; /* the lagged part of the force; it acts at X, or rotates with a rigid object and is stored in its
                                * axes */
  /* the last evaluation */
  double          Z[3], Y[3], f[3], normal[3], gain, gain_slope[3]; /* of the spring, and its gradient by the motion of the point */
  mesh_attachment at;                                               /* of Y */
  mesh_attachment grip; /* where the spring, f - lagged, acts: at, or the closest point where friction lags */
  bool            is_active, is_sliding, is_on_triangle, is_capped;
  uint8_t         n_places, last_place;
  relax_chain     chain;
} mesh_pair;

struct mesh_contact {
  int                n_bodies, n_meshes;
  const contact_law *law;
  contact_scheme     scheme;
  double             acceleration; /* for restitution [m/s^2] */
  contact_surface   *mesh;
  int64_t            n_known, known_capacity;
  mesh_memory       *known;
  /* The same, array by array, for checkpoints: [n_known]. */
  int32_t    *stored_source, *stored_object, *stored_triangle, *stored_side;
  int64_t    *stored_point;
  double     *stored_weight; /* [n_known][3] */
  double     *stored_speed;
  bool        is_fresh; /* no step has been accepted yet: search for points that start inside */
  mesh_edges *edges;    /* NULL: no contacts between edges */

  /* The step. */
  int                   n_sources, n_frames;
  int64_t               frame_capacity;
  const contact_source *sources;
  rigid_frame          *frames0;
  double                dt, margin, first_margin; /* the latter as the step began */
  int64_t               n_blocks;
  int64_t               n_candidates, candidate_capacity;
  mesh_candidate       *candidate;
  bool                  is_swept; /* the margin is so large that candidates are searched for every state, from its swept boxes */
  double               *hit_time; /* [n_candidates], infinite: none */
  mesh_hit             *hit;      /* [n_candidates], unless hit_time is infinite */
  int64_t               n, capacity;
  mesh_pair            *pair;
  mesh_linear          *linear;   /* [n] */
  contact_candidate    *row_list; /* [n] input of the rows */
  contact_rows         *rows;
  rigid_sides           sides; /* of the pairs; tangent */
  /* Contributions of products to the nodes of deforming surfaces: q_1 ... of every pair, one after the other. */
  int64_t          n_node_forces, node_force_capacity;
  int32_t         *node_force_block; /* [n_node_forces] */
  double          *node_force;       /* [n_node_forces][3] */
  contact_rows    *node_rows;
  relax_statistics statistics;
  /* The broad phase and its points. */
  broad_phase *broad;
  int64_t      n_vertices, n_points, vertex_capacity, point_capacity;
  double      *vertex_x;   /* [n_vertices][3] */
  double      *vertex_end; /* [n_vertices][3] at that state, where is_swept */
  int32_t     *vertex_body;
  int32_t     *point_vertex; /* [n_points] */
  int32_t     *point_source;
  int64_t     *point_index, *point_id;
  double      *point_end; /* [n_points][3] positions at the state in which contacts are detected */
  /* Rows of weighted points: evaluated at the beginning of the step, valid until its end. */
  int64_t *point_row; /* [n_points + 1] */
  int64_t  row_capacity;
  int32_t *row_block; /* global */
  double  *row_weight;
};

/* After end_step or residual: the pairs of the last evaluation, for summaries. Of two edges: point -1, Z and Y on the source's and the
 * object's edge. */
typedef struct {
  int        source_body, object_body;
  int64_t    point;
  bool       is_active, is_sliding, is_on_triangle; /* the last: Coulomb's cone is about this normal */
  double     stiffness, gain;                       /* restitution.h; the latter 1 without */
  relax_cone cone;                                  /* in the triangle of Y, see relax_mesh_cone_in */
  double     Z[3], Y[3], f[3], normal[3];
  double     X[3];     /* the attachment that this step began with, where its place on the surface is now */
  double     plane[3]; /* unit normal of the triangle Y is in, or of both edges */
} mesh_pair_view;

/* ---- points and level sets ----------------------------------------------------------------------------------------------------- */

/* The pairs of a step, one array per quantity. */
struct penalty_contact {
  int             n_bodies;
  contact_law    *law;       /* [n_bodies][n_bodies] */
  bool           *may_touch; /* [n_bodies][n_bodies] pairs of bodies with a contact spring */
  contact_scheme  scheme;
  double          acceleration; /* for restitution [m/s^2] */
  mesh_contact   *mesh;         /* the other half: points against deforming surfaces; NULL: there are none */
  pair_table     *known;
  contact_search *search;
  contact_rows   *rows;
  rigid_sides     sides; /* of the pairs; tangent */

  /* The step: arguments, and derived data of every pair. */
  bool                     is_open;
  int                      n_sources, n_objects, n_frames;
  const contact_source    *sources;
  const contact_object    *objects;
  double                   dt;
  int64_t                  n_blocks;
  int64_t                  object_capacity;
  int32_t                 *object_key; /* [n_objects] */
  int64_t                  n, capacity;
  const contact_candidate *candidate; /* [n], the search's */
  double                  *origin;    /* [n][3] weighted: start of the step, world; rigid: in the body's frame */
  double                  *X;         /* [n][3] in the object's frame; only where has_X */
  uint8_t                 *has_X;     /* known, or inside at the start of the step */
  double                  *k;
  relax_cone              *cone;
  restitution             *bounce;
  double                  *phi0;   /* [n] level set at the start of the step; only where bounce has a damping */
  double                  *lagged; /* [n][3] in the object's frame: the force, or the friction, at the start of the step; unless implicit */

  /* The last evaluation. */
  uint8_t *state; /* relax_state */
  double  *Z;     /* [n][3] */
  double  *Y_b;   /* [n][3] in the object's frame */
  double  *f;     /* [n][3] on the point */
  double  *gain;  /* [n] of the spring, by its rate: f = gain k (Y - Z), see restitution.h; 1 without */

  /* Left by end_step. */
  contact_forces forces;
  contact_points points;
};
#endif
