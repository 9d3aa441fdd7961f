/* Penalty contacts between edges and edges of triangle surfaces, in addition to points against triangles. Used by penalty_mesh.c
 * only.
 *
 * A pair is (edge of a surface, edge of a surface), see edge_pair.h. It is detected, kept through the step and stored like a point
 * pair, on whichever edges of its chains it has slid to. At the end of a chain a pair remains while it transmits a normal force to the
 * outside of the other edge, and is then removed: the end is by then a contact point inside the other surface.
 *
 * In the global vector a pair has at most eight blocks, four for each chain: its nodes, or the two blocks of its rigid body. */
#ifndef SS_CONTACT_PENALTY_PENALTY_EDGES_H
#define SS_CONTACT_PENALTY_PENALTY_EDGES_H
#include "contact/detection/edge_pair.h"
#include "contact/penalty/penalty_pairs.h"

/* ---- two edges as a point and a surface ---- */

/* Two edges in contact are equivalent to one point on one surface.
 *
 * The differences b(t) - a(s) of points of an edge b and an edge a fill a parallelogram, affine in s and t. The edges touch where
 * it contains the origin. So the contact of two edges is that of the origin, as the point, with a surface of two triangles. Its
 * attachment is a place (s, t) on both edges at once; it slides over both by the four states of penalty_mesh_relaxation.h.
 * Coulomb's cone is about the common normal of the edges. At s or t = 0 or 1, the boundary of the parallelogram, the end of one
 * edge slides along the other edge like a bead on a wire. The force k (b(t) - a(s)) acts at a(s) and its opposite at b(t). Both
 * have the same line of action, and a and b differ by the sign only.
 *
 * Where the chain of an edge continues at its end, the surface continues too: up to three edges of each chain, nine adjacent
 * parallelograms. An attachment slides from one to the next within a step, as from triangle to triangle.
 *
 * [DingSchroeder2020], section 5, leaves edge contact open. Its questions are answered here as follows:
 * - Is an edge attached to a point or to an edge? To an edge.
 * - Does the spring stay at the first place of contact, or slide along the edge? It stays within the friction cone, and slides
 *   along both edges beyond it.
 * - Does it become a point contact at the end of the edge? It continues along the next edge of the chain. If there is none, it
 *   becomes a point on the other edge.
 *
 * Pure geometry, no state, thread-safe. */
enum {
  EDGE_CHAIN   = 4, /* consecutive nodes: one before, the edge's own two, one after; -1: none */
  EDGE_CORNERS = EDGE_CHAIN * EDGE_CHAIN,
  EDGE_PATCHES = 16
};
/* Adjacent parallelograms: corner 4 i + j is b_j - a_i, cell 3 i + j has the edges i of a and j of b, two triangles each,
 * with normals along (a_i+1 - a_i) x (b_j+1 - b_j). Corners without triangles represent missing nodes. */
typedef struct {
  triangle_topology *topology;
  int                n_cells, own; /* own: position of the middle cell */
  uint8_t            cell[9];
} edge_patch;
/* One patch for each combination of missing chain ends; edge_patch_of returns its index. */
PetscErrorCode    edge_patches_create(edge_patch patch[EDGE_PATCHES]);
void              edge_patches_destroy(edge_patch patch[EDGE_PATCHES]);
int               edge_patch_of(const int32_t a[EDGE_CHAIN], const int32_t b[EDGE_CHAIN]);
static inline int edge_patch_a(int corner) { return corner / EDGE_CHAIN; }
static inline int edge_patch_b(int corner) { return corner % EDGE_CHAIN; }
/* P [16][3] from a [4][3] and b [4][3]. */
void edge_patch_corners(const double a[12], const double b[12], double P[48]);
/* Place of an attachment: at[0], at[1] in [0, 1] along the edges cell[0], cell[1] of a and b. */
void edge_patch_fractions(const edge_patch *p, const mesh_attachment *X, int cell[2], double at[2]);
/* Return an attachment to the middle cell. */
mesh_attachment edge_patch_attachment(const edge_patch *p, const double at[2]);

/* ---- pairs of edges ---- */

/* The two edges a and b: a is on the surface with the lower number, or is the lower edge of the same surface. */
typedef struct {
  int32_t mesh[2], edge[2];
} edge_name;

/* Stored pairs (state), sorted by name. */
typedef struct {
  edge_name name;
  int32_t   side;
  double    at[2]; /* s and t */
} edge_memory;

typedef struct {
  edge_name name;
  edge_star star[2];
  bool      is_known; /* a pair from earlier steps: not searched again */
  int32_t   pair;     /* pair found in this step by an earlier evaluation; -1: none */
} edge_candidate;

typedef struct {
  edge_name       name;
  edge_star       star[2];
  int32_t         node[2][EDGE_CHAIN], chain[2][EDGE_CHAIN - 1]; /* chains of the edges: nodes, edges; -1: none */
  int             patch;
  mesh_attachment X;
  int32_t         side;
  bool            is_new, is_reached; /* as in mesh_pair */
  double          k, mu;
  int64_t         block[8]; /* global, 4 k + i of chain k; -1: no unknowns */
  /* results of the last evaluation */
  double          x[24], P[3], Q[3], f[3], normal[3]; /* x: nodes of both chains; f acts at P, on edge a, against Q on b */
  double          push[8][3];                         /* on each block */
  mesh_attachment at;
  bool            is_active, is_sliding, is_on_face; /* is_on_face: neither chain is at its end */
  /* results of the last evaluation with derivatives */
  uint64_t filled;     /* bit 8 i + j: block (i, j) of T is set, all others are undefined; 0 if the pair was not active */
  double   T[8][8][9]; /* of H */
} edge_contact;

struct mesh_edges {
  edge_patch      patch[EDGE_PATCHES];
  broad_phase    *broad;
  int64_t         n_vertices, n_edges;
  double         *x; /* [n_vertices][3] of all surfaces */
  int64_t         n_known, known_capacity;
  edge_memory    *known;
  int32_t        *stored_body, *stored_edge, *stored_side; /* [n_known][2], [n_known][2], [n_known]: for checkpoints */
  double         *stored_at;                               /* [n_known][2] */
  int64_t         n_candidates, candidate_capacity;
  edge_candidate *candidate;
  int32_t        *hit_side; /* [n_candidates] 0: none */
  double         *hit_at;   /* [n_candidates][2] */
  int64_t         n, capacity, n_recalled;
  edge_contact   *pair; /* [n], the first n_recalled of them sorted by name */
};

/* Create the edge contacts for the surfaces of c. */
PetscErrorCode mesh_edges_create(mesh_contact *c);
void           mesh_edges_destroy(mesh_edges **e);
/* Recall the stored pairs and search for nearby edges. */
PetscErrorCode mesh_edges_begin_step(mesh_contact *c);
/* Search for edges within the margin of c; pairs keep their indices. */
PetscErrorCode mesh_edges_search(mesh_contact *c);
/* Detect new pairs on the trajectories to the current positions of the surfaces, and update which earlier pairs are reached. */
PetscErrorCode mesh_edges_detect(mesh_contact *c);
/* Return true if `node` of body b needs no contact of its own because an edge pair already carries it. `node` is about to penetrate
 * a triangle of surface i_mesh against its unit normal n. The conditions: it is the end of an edge with a pair over a side or
 * corner of that triangle; this edge continues straight into another edge; and the node is not the outermost of its own surface
 * against n. Without this rule, ridges of many edges would catch on their nodes. */
bool mesh_edges_hold(const mesh_contact *c, const body *b, int64_t node, int i_mesh, int32_t triangle, const double n[3]);
/* Store the active pairs on their current edges. */
PetscErrorCode mesh_edges_end_step(mesh_contact *c);
PetscErrorCode mesh_edges_fields(mesh_contact *c, field_table *table);

void mesh_edges_evaluate(mesh_contact *c, const rigid_frame *frames, bool with_tangent);
/* Return the body of the first pair with a value that is not finite, or -1. */
int  mesh_edges_not_finite(const mesh_contact *c);
void mesh_edges_residual(const mesh_contact *c, double *g);
void mesh_edges_tangent(const mesh_contact *c, const double *x, double *y, bool is_transposed);
void mesh_edges_block_diagonal(const mesh_contact *c, double *d);
void mesh_edges_assemble(const mesh_contact *c, const block_rows *H);
/* Append couplings to *row, *col [*n], which must have room for 16 per pair. */
void mesh_edges_couplings(const mesh_contact *c, int64_t *n, int32_t *row, int32_t *col);
void mesh_edges_pair(const mesh_contact *c, int64_t i, mesh_pair_view *out);
#endif
