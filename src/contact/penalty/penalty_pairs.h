/* Data of penalty contact: the pairs of a step and the attachments stored between steps.
 *
 * mesh_contact contains the pairs of points with triangle surfaces (penalty_mesh.c) and, in `edges`, those of edges with edges
 * (penalty_edges.c). penalty_contact contains the pairs of points with level sets (penalty.c), and owns a mesh_contact and the contacts between
 * rigid bodies (penalty_rows.c). Only these files
 * and their tests use the fields. */
#ifndef SS_CONTACT_PENALTY_PENALTY_PAIRS_H
#define SS_CONTACT_PENALTY_PENALTY_PAIRS_H
#include "contact/detection/contact_record.h"
#include "contact/detection/contact_search.h"
#include "contact/detection/pair_table.h"
#include "contact/penalty/penalty_mesh_relaxation.h"
#include "contact/penalty/penalty_options.h"
#include "contact/penalty/penalty_relaxation.h"
#include "contact/penalty/penalty_rows.h"
#include "contact/penalty/restitution.h"
#include "contact/rows/rigid_sides.h"
#include "contact/rows/rows.h"
#include "geometry/collision/broad_phase.h"

typedef struct mesh_contact    mesh_contact;
typedef struct mesh_edges      mesh_edges;
typedef struct penalty_contact penalty_contact;

/* ---- points and triangle surfaces ---------------------------------------------------------------------------------------------- */

/* Number of nodes stored in the mesh_linear struct: those of a chain of four triangles. Longer chains (one pair of 10^5) are allocated. */
enum { MESH_NODES = 6 };

typedef struct {
  body              *b;
  int                body_id;
  int                frame;             /* of a rigid surface; -1: it deforms */
  const double      *rest;              /* [n_nodes][3] undeformed positions, borrowed from the body */
  const double      *own;               /* [n_nodes][3] positions of a rigid surface in its frame, borrowed from the body */
  double             center[3], radius; /* bounding sphere of these positions */
  bool               is_closed;
  triangle_topology *topology;
  double            *x0, *x;       /* [n_nodes][3] nodes at the start of the step, and in the last evaluation [m] */
  int64_t            first_vertex; /* index of the first node among the vertices of the broad phase */
} contact_surface;

/* Pair stored between steps (state). The list is sorted by (source, point, object). */
typedef struct {
  int32_t         source, object; /* body ids */
  int64_t         point;
  mesh_attachment at;
  int32_t         side;  /* 1: the point collided from the outside; -1: from the back of an open surface */
  double          speed; /* approach speed, see restitution.h [m/s] */
  double          rest;  /* see mesh_pair.rest */
} mesh_memory;

/* Candidate pair: a point near a triangle. */
typedef struct {
  int32_t i_source, i_mesh, triangle;
  int32_t point;       /* index in mesh_contact.point_vertex */
  int64_t i_point, id; /* index of the point in its body in this step, and its persistent identity */
  double  x0[3];       /* position at the start of the step [m] */
  bool    is_known;    /* a pair from earlier steps: collision detection skips it */
  int32_t pair;        /* index of the pair created in this step by an earlier evaluation; -1: none */
} mesh_candidate;

/* A collision of a point with a triangle. */
typedef struct {
  int32_t side;      /* as in mesh_memory */
  double  weight[3]; /* barycentric coordinates of the collision */
  double  head_on;   /* cosine of the angle between the relative motion and the normal, >= 0 */
  double  rounding;  /* fraction of the step within which collisions with triangles at one edge or corner are simultaneous */
} mesh_hit;

/* Derivatives of one pair with a deforming surface with respect to q_0 = Z and q_j = node j - 1: dY = sum_j B_j dq_j, dweight_i =
 * sum_j d_i,j . dq_j; B_0 is part of K of the pair in rigid_sides. The arrays are `own`, or `spilled` if there are more than MESH_NODES
 * nodes. */
typedef struct {
  int      n_nodes;
  int32_t  mesh, corner[3];         /* corner i of the final triangle is q_corner[i]; undefined if n_nodes is 0 */
  int64_t  first;                   /* row of q_1 in mesh_contact.node_force */
  double   k, weight[3], spring[3]; /* stiffness times gain; barycentric coordinates of mesh_pair.grip; spring force */
  int32_t  own_node[MESH_NODES];
  double   own[18 * MESH_NODES + 9];
  int32_t *spilled_node; /* NULL: own */
  double  *spilled;
} mesh_linear;
static inline const int32_t *mesh_linear_node(const mesh_linear *l) { return l->spilled_node ? l->spilled_node : l->own_node; }
/* B_j [9], j > 0, and the gradient d_i,j [3] of weight i with respect to q_j. */
static inline const double *mesh_linear_B(const mesh_linear *l, int j) { return (l->spilled ? l->spilled : l->own) + 9 * (j - 1); }
static inline const double *mesh_linear_d(const mesh_linear *l, int i, int j)
{
  return (l->spilled ? l->spilled : l->own) + 9 * l->n_nodes + 3 * (i * (l->n_nodes + 1) + j);
}

typedef struct {
  contact_candidate q; /* input of contact_rows_build: key, i_source, i_object (number of the mesh), i_point */
  mesh_attachment
      X; /* attachment at the start of the step; of a new pair: the point of entry on the trajectory to the last evaluated state */
  mesh_attachment first;                            /* X when the pair was created or changed its side: the reference of its rate */
  double          X_d[3][12];                       /* of a new pair: gradients of the weights of X, see relax_mesh_cone_entering */
  int32_t         side, source_frame, object_frame; /* frames of a rigid point and a rigid surface; -1: weighted point, deforming surface */
  bool            is_new;                           /* created in this step */
  bool            is_reached; /* whether the trajectory to the last evaluated state collides; if not, a new pair has no force */
  bool            is_late;    /* created by the evaluation at the end of the step: active, but without force in this step */
  relax_cone      cone;
  double          rest; /* depth up to which the spring has no force: overlap at the start of the run, at most that of contact_rests [m] */
  double          k, origin[3]; /* origin of a weighted point: world, start of the step; of a rigid point: in the frame of the body */
  restitution     bounce;
  double          lagged[3]; /* lagged part of the force; it acts at X; for a rigid object it is stored in the axes of the object and
                                * rotates with it */
  /* results of the last evaluation */
  double          Z[3], Y[3], f[3], normal[3], gain, gain_slope[3]; /* gain of the spring; its gradient by the motion of the point */
  mesh_attachment at;                                               /* barycentric coordinates of Y */
  mesh_attachment grip; /* point at which the spring force f - lagged acts: `at`, or the closest point if friction is lagged */
  bool            is_active, is_sliding, is_on_triangle, is_capped;
  uint8_t         n_places, last_place;
  relax_chain     chain;
} mesh_pair;

struct mesh_contact {
  int                  n_bodies, n_meshes;
  const pair_classes  *pairs;
  const contact_law   *law;   /* [n_slots] */
  const contact_rests *rests; /* NULL: none */
  contact_scheme       scheme;
  double               acceleration; /* for restitution [m/s^2] */
  contact_surface     *mesh;
  int64_t              n_known, known_capacity;
  mesh_memory         *known;
  /* The contents of `known` as one array per quantity, for checkpoints: [n_known]. */
  int32_t    *stored_source, *stored_object, *stored_triangle, *stored_side;
  int64_t    *stored_point;
  double     *stored_weight; /* [n_known][3] */
  double     *stored_speed, *stored_rest;
  bool        is_fresh; /* no step has been accepted yet: begin_step searches for points inside closed surfaces */
  mesh_edges *edges;    /* NULL: no contacts between edges */

  /* Data of one step. */
  int                   n_sources, n_frames;
  int64_t               frame_capacity;
  const contact_source *sources;
  rigid_frame          *frames0;
  double                dt, margin, first_margin; /* first_margin: margin at the start of the step; it can grow during the step */
  int64_t               n_blocks;
  int64_t               n_candidates, candidate_capacity;
  mesh_candidate       *candidate;
  bool                  is_swept; /* true: the margin is so large that each evaluation searches candidates with its own swept boxes */
  double               *hit_time; /* [n_candidates] time of the collision as a fraction of the step; infinite: none */
  mesh_hit             *hit;      /* [n_candidates] defined if hit_time is finite */
  int64_t               n, capacity;
  mesh_pair            *pair;
  mesh_linear          *linear;   /* [n] */
  contact_candidate    *row_list; /* [n] input of the rows */
  contact_rows         *rows;
  rigid_sides           sides; /* of the pairs; tangent */
  /* Contributions of tangent products to the nodes of deforming surfaces: q_1, q_2, ... of all pairs in sequence. */
  int64_t          n_node_forces, node_force_capacity;
  int32_t         *node_force_block; /* [n_node_forces] */
  double          *node_force;       /* [n_node_forces][3] */
  contact_rows    *node_rows;
  double           start_energy; /* see mesh_contact_start_energy */
  relax_statistics statistics;
  /* The broad phase and its points. */
  broad_phase *broad;
  int64_t      n_vertices, n_points, vertex_capacity, point_capacity;
  double      *vertex_x;   /* [n_vertices][3] */
  double      *vertex_end; /* [n_vertices][3] positions in the state of the current search; only if is_swept */
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

/* A pair in the last evaluation of mesh_contact_end_step or mesh_contact_residual, for summaries. Pair of two edges: point is -1, Z and Y are
 * points of the edges of source and object. */
typedef struct {
  int        source_body, object_body;
  int64_t    point;
  bool       is_active, is_sliding, is_on_triangle; /* is_on_triangle: the axis of the friction cone is the normal of a triangle */
  double     stiffness, gain;                       /* gain: restitution.h; 1 without restitution */
  relax_cone cone;                                  /* in the triangle of Y, see relax_mesh_cone_in */
  double     Z[3], Y[3], f[3], normal[3];
  double     X[3];     /* attachment at the start of the step, at its position on the deformed surface */
  double     plane[3]; /* unit normal of the triangle that contains Y; for edges their common normal */
} mesh_pair_view;

/* ---- points and level sets ----------------------------------------------------------------------------------------------------- */

/* Start of a pair: its attachment is known, or its point is inside at the start of the step; or the point is outside. */
enum { START_ATTACHED, START_OUTSIDE };

/* The pairs of a step, one array per quantity. */
struct penalty_contact {
  int                  n_bodies;
  const pair_classes  *pairs;     /* borrowed */
  contact_law         *law;       /* [n_slots] */
  bool                *may_touch; /* [n_slots] pairs of bodies with a contact spring */
  const contact_rests *rests;     /* borrowed; NULL: none */
  contact_scheme       scheme;
  double               acceleration; /* for restitution [m/s^2] */
  mesh_contact        *mesh;         /* contacts of points with triangle surfaces; NULL: no surfaces */
  pair_table          *known;
  contact_search      *search;
  penalty_rows        *springs; /* contacts of rigid bodies as rows; NULL before penalty_contact_add_rigid_pairs */
  contact_rows        *rows;
  rigid_sides          sides; /* of the pairs; tangent */

  /* Data of one step: arguments of begin_step, and derived data of every pair. */
  bool                     is_open;
  int                      n_sources, n_objects, n_frames;
  const contact_source    *sources;
  const contact_object    *objects;
  double                   dt;
  int64_t                  n_blocks;
  int64_t                  object_capacity;
  int32_t                 *object_key; /* [n_objects] */
  int64_t                  n, capacity;
  const contact_candidate *candidate; /* [n], owned by `search` */
  double                  *origin;    /* [n][3] of a weighted point: world, start of the step; of a rigid point: in the frame of the body */
  uint8_t                 *start;     /* START_ATTACHED or START_OUTSIDE */
  double                  *X;  /* [n][3] attachment at the start, or point of entry in the last evaluation; in the frame of the object */
  double                  *Z0; /* [n][3] point at the start of the step, in the frame of the object */
  double                  *k;
  relax_cone              *cone;
  restitution             *bounce;
  level_set_inset         *inset;  /* [n] of the object; depth 0: not used */
  double                  *phi0;   /* [n] level set at Z0 */
  double                  *lagged; /* [n][3] in the frame of the object: lagged force or friction; not for CONTACT_IMPLICIT */

  /* Results of the last evaluation. */
  uint8_t *state; /* relax_state */
  double  *Z;     /* [n][3] */
  double  *Y_b;   /* [n][3] Y in the frame of the object */
  double  *f;     /* [n][3] force on the point */
  double  *gain;  /* [n] f = gain k (Y - Z), see restitution.h; 1 without restitution */

  /* Results of the last end_step. */
  contact_forces forces;
  contact_points points;
};
#endif
