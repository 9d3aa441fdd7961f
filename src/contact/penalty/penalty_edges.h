/* Penalty contacts between edges of triangle surfaces, in addition to contacts of points with triangles. Used by penalty_mesh.c only.
 *
 * A pair consists of two edges (edge_pair.h). The chain of an edge is this edge and at most one edge at each end that continues it with a
 * small bend. A pair is detected and stored like a pair of a point and a triangle, with the edges of the chains to which it has slid. At
 * the end of a chain, a pair is removed when its normal force no longer acts towards the outside of the other edge; from then on the end
 * is a contact point inside the other surface.
 *
 * In the global vector a pair has at most eight blocks, four for each chain: its nodes, or the two blocks of its rigid body. */
#ifndef SS_CONTACT_PENALTY_PENALTY_EDGES_H
#define SS_CONTACT_PENALTY_PENALTY_EDGES_H
#include "contact/detection/edge_pair.h"
#include "contact/penalty/penalty_pairs.h"

/* ---- two edges as a point and a surface ---- */

/* Contact of two edges as contact of one point with one surface.
 *
 * The differences b(t) - a(s) of points of the edges b and a form a parallelogram, affine in s and t in [0, 1]. The edges have a common
 * point if the parallelogram contains the origin. So the contact of two edges is that of the origin, as contact point Z, with a surface of
 * two triangles. An attachment is a pair (s, t) of positions on both edges; it slides over both by the four states of
 * penalty_mesh_relaxation.h. The axis of the friction cone is the common normal of the edges. On the boundary of the parallelogram (s or
 * t = 0 or 1), the end of one edge slides along the other edge. The force k (b(t) - a(s)) acts at a(s) and its opposite at b(t), on the
 * same line of action. Exchanging a and b changes only signs.
 *
 * If the chain of an edge continues at its end, the surface continues too: up to three edges of each chain give nine adjacent
 * parallelograms. An attachment slides from one to the next within a step, as from triangle to triangle.
 *
 * [DingSchroeder2020], section 5, states edge contact as an open problem. The properties chosen here:
 * - An edge is attached to an edge, not to a point.
 * - The spring sticks at its position within the friction cone, and slides along both edges beyond it.
 * - At the end of an edge, it continues along the next edge of the chain. Without a next edge, it slides as the end point along the
 *   other edge.
 *
 * No state, thread-safe. */
enum {
  EDGE_CHAIN   = 4, /* consecutive nodes of a chain: one before the edge, the two of the edge, one after it; -1: none */
  EDGE_CORNERS = EDGE_CHAIN * EDGE_CHAIN,
  EDGE_PATCHES = 16
};
/* Adjacent parallelograms (cells) of two chains: corner 4 i + j is b_j - a_i; cell 3 i + j belongs to edge i of a and edge j of b and has two
 * triangles, with normals along (a_i+1 - a_i) x (b_j+1 - b_j). Corners of missing nodes belong to no triangle. */
typedef struct {
  triangle_topology *topology;
  int                n_cells, own; /* own: index in `cell` of the middle cell, that of the two edges of the pair */
  uint8_t            cell[9];      /* [n_cells] numbers 3 i + j of the cells that exist */
} edge_patch;
/* One patch for each combination of missing nodes at the ends of the chains; edge_patch_of returns the index of the patch for a and b. */
PetscErrorCode    edge_patches_create(edge_patch patch[EDGE_PATCHES]);
void              edge_patches_destroy(edge_patch patch[EDGE_PATCHES]);
int               edge_patch_of(const int32_t a[EDGE_CHAIN], const int32_t b[EDGE_CHAIN]);
static inline int edge_patch_a(int corner) { return corner / EDGE_CHAIN; }
static inline int edge_patch_b(int corner) { return corner % EDGE_CHAIN; }
/* Compute the corners P [16][3] from the node positions a [4][3] and b [4][3] of the chains [m]. */
void edge_patch_corners(const double a[12], const double b[12], double P[48]);
/* Position of an attachment: at[0] in [0, 1] along edge cell[0] of chain a, at[1] along edge cell[1] of chain b. */
void edge_patch_fractions(const edge_patch *p, const mesh_attachment *X, int cell[2], double at[2]);
/* Create the attachment at position at [2] of the middle cell. */
mesh_attachment edge_patch_attachment(const edge_patch *p, const double at[2]);

/* ---- pairs of edges ---- */

/* The two edges a and b: a is on the surface with the lower number, or is the lower edge of the same surface. */
typedef struct {
  int32_t mesh[2], edge[2];
} edge_name;

/* Pair stored between steps (state). */
typedef struct {
  edge_name name;
  int32_t   side;  /* see edge_pair_collides */
  double    at[2]; /* attachment: s and t */
  double    rest;  /* as in mesh_pair */
} edge_memory;

typedef struct {
  edge_name name;
  edge_star star[2];
  bool      is_known; /* a pair from earlier steps: collision detection skips it */
  int32_t   pair;     /* index of the pair created in this step by an earlier evaluation; -1: none */
} edge_candidate;

typedef struct {
  edge_name       name;
  edge_star       star[2];
  int32_t         node[2][EDGE_CHAIN], chain[2][EDGE_CHAIN - 1]; /* nodes and edges of the two chains; -1: none */
  int             patch;                                         /* index of the edge_patch */
  mesh_attachment X; /* at the start of the step; of a new pair: the point of entry, as in mesh_pair */
  double          X_d[3][12];
  int32_t         side;
  bool            is_new, is_reached; /* as in mesh_pair */
  double          k, mu;              /* stiffness [N/m], friction coefficient */
  double          rest, Z[3];         /* as in mesh_pair; Z: the contact point, the origin moved along the normal by `rest` [m] */
  int64_t         block[8];           /* global blocks, entry 4 k + i of chain k; -1: no unknowns */
  /* results of the last evaluation */
  double          x[24], P[3], Q[3], f[3], normal[3]; /* x: nodes of both chains; force f acts at P on edge a, -f at Q on edge b */
  double          push[8][3];                         /* force, or torque, on each block */
  mesh_attachment at;                                 /* relaxed attachment */
  bool            is_active, is_sliding, is_on_face;  /* is_on_face: neither chain is at its end */
  /* results of the last evaluation with derivatives */
  uint64_t filled;     /* bit 8 i + j: block (i, j) of T is set, all others are undefined; 0 if the pair was not active */
  double   T[8][8][9]; /* blocks of the tangent */
} edge_contact;

struct mesh_edges {
  edge_patch      patch[EDGE_PATCHES];
  broad_phase    *broad;
  int64_t         n_vertices, n_edges;
  double         *x; /* [n_vertices][3] vertices of all surfaces */
  int64_t         n_known, known_capacity;
  edge_memory    *known;                                   /* [n_known] sorted by name */
  int32_t        *stored_body, *stored_edge, *stored_side; /* [n_known][2], [n_known][2], [n_known]: for checkpoints */
  double         *stored_at, *stored_rest;                 /* [n_known][2], [n_known] */
  int64_t         n_candidates, candidate_capacity;
  edge_candidate *candidate;
  int32_t        *hit_side; /* [n_candidates] side of the collision detected; 0: none */
  double         *hit_at;   /* [n_candidates][3] its position along both edges, and its time as a fraction of the step */
  int64_t         n, capacity, n_recalled;
  edge_contact   *pair; /* [n], the first n_recalled of them sorted by name */
};

/* Create the edge contacts for the surfaces of c. */
PetscErrorCode mesh_edges_create(mesh_contact *c);
void           mesh_edges_destroy(mesh_edges **e);
/* Begin a step: create pairs from the stored ones and search for nearby edges. */
PetscErrorCode mesh_edges_begin_step(mesh_contact *c);
/* Search for edges within the margin of c; pairs keep their indices. */
PetscErrorCode mesh_edges_search(mesh_contact *c);
/* Detect new pairs on the trajectories to the current positions of the surfaces, and update edge_contact.is_reached. */
PetscErrorCode mesh_edges_detect(mesh_contact *c);
/* Whether a contact of `node` of body b with `triangle` of surface i_mesh is unnecessary because an edge pair supports the node, which
 * penetrates this triangle against its unit normal n. True if the node is the end of an edge with a pair over a side or corner of the
 * triangle, the edge continues straight into another edge, and the node is not the outermost of its own surface against n. Without this
 * rule, ridges of many edges would be stopped at their nodes. */
bool mesh_edges_hold(const mesh_contact *c, const body *b, int64_t node, int i_mesh, int32_t triangle, const double n[3]);
/* Store the active pairs on their current edges. */
PetscErrorCode mesh_edges_end_step(mesh_contact *c);
PetscErrorCode mesh_edges_fields(mesh_contact *c, field_table *table);

void mesh_edges_evaluate(mesh_contact *c, const rigid_frame *frames, bool with_tangent);
/* Body of the first pair with a value that is not finite, or -1. The next functions are the parts of those of penalty_mesh.h for edges. */
int  mesh_edges_not_finite(const mesh_contact *c);
void mesh_edges_residual(const mesh_contact *c, double *g);
void mesh_edges_tangent(const mesh_contact *c, const double *x, double *y, bool is_transposed);
void mesh_edges_block_diagonal(const mesh_contact *c, double *d);
void mesh_edges_assemble(const mesh_contact *c, const block_rows *H);
/* Append couplings to *row, *col [*n], which must have room for 16 per pair. */
void mesh_edges_couplings(const mesh_contact *c, int64_t *n, int32_t *row, int32_t *col);
void mesh_edges_pair(const mesh_contact *c, int64_t i, mesh_pair_view *out);
#endif
