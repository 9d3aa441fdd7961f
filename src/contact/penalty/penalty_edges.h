/* Private to mesh_contact*.c and mesh_edges*.c: contacts of edges with edges, beside those of points with triangles.
 *
 * A pair is (edge of a surface, edge of a surface), contact/penalty/edge_pair.h. It is found, kept through the step and remembered as
 * points are, on whatever edges of its chains it has come to. At the end of a chain it stays as long as it presses against the
 * outside of the other edge, and is then forgotten: the end has long been a point inside the other surface.
 *
 * In the global vector a pair has at most eight blocks, four for each chain: its nodes, or the two blocks of its rigid body. */
#ifndef SS_CONTACT_PENALTY_PENALTY_EDGES_H
#define SS_CONTACT_PENALTY_PENALTY_EDGES_H
#include "contact/detection/edge_pair.h"
#include "contact/penalty/penalty_pairs.h"

/* ---- two edges as a point and a surface ---- */

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

/* ---- pairs of edges ---- */

/* Which edges, a and b, the former of the lower surface, or the lower edge of one. */
typedef struct {
  int32_t mesh[2], edge[2];
} edge_name;

/* What lives on, sorted by name. */
typedef struct {
  edge_name name;
  int32_t   side;
  double    at[2]; /* s and t */
} edge_memory;

typedef struct {
  edge_name name;
  edge_star star[2];
  bool      is_known; /* a pair from earlier steps: nothing to look for */
  int32_t   pair;     /* found in this step, in an evaluation before; -1: not */
} edge_candidate;

typedef struct {
  edge_name       name;
  edge_star       star[2];
  int32_t         node[2][EDGE_CHAIN], chain[2][EDGE_CHAIN - 1]; /* what the edges are part of: nodes, edges; -1: none */
  int             patch;
  mesh_attachment X;
  int32_t         side;
  bool            is_new, is_reached; /* as in mesh_pair */
  double          k, mu;
  int64_t         block[8]; /* global, 4 k + i of chain k; -1: nothing moves there */
  /* the last evaluation */
  double          x[24], P[3], Q[3], f[3], normal[3]; /* x: nodes of both chains; f acts at P, on edge a, against Q on b */
  double          push[8][3];                         /* on each block */
  mesh_attachment at;
  bool            is_active, is_sliding, is_on_face; /* the last: neither chain at its end */
  /* the last evaluation with derivatives */
  uint64_t filled;     /* bit 8 i + j: block (i, j) of T, the others mean nothing; none if it was not active */
  double   T[8][8][9]; /* of H */
} edge_contact;

struct mesh_edges {
  edge_patch         patch[EDGE_PATCHES];
  broad_phase       *broad;
  int64_t            n_vertices, n_edges;
  double            *x;       /* [n_vertices][3] of all surfaces */
  int64_t            n_known, known_capacity;
  edge_memory       *known;
  int32_t           *stored_body, *stored_edge, *stored_side; /* [n_known][2], [n_known][2], [n_known]: for checkpoints */
  double            *stored_at;                               /* [n_known][2] */
  int64_t            n_candidates, candidate_capacity;
  edge_candidate    *candidate;
  int32_t           *hit_side; /* [n_candidates] 0: none */
  double            *hit_at;   /* [n_candidates][2] */
  int64_t            n, capacity, n_recalled;
  edge_contact      *pair; /* [n], the first n_recalled of them sorted by name */
};

/* For the surfaces of c. */
PetscErrorCode mesh_edges_create(mesh_contact *c);
void           mesh_edges_destroy(mesh_edges **e);
/* Pairs that are remembered, and edges near each other. */
PetscErrorCode mesh_edges_begin_step(mesh_contact *c);
/* Edges within the margin of c; pairs keep their places. */
PetscErrorCode mesh_edges_search(mesh_contact *c);
/* New pairs on the way to where surfaces are now, and which of those found before are there. */
PetscErrorCode mesh_edges_detect(mesh_contact *c);
/* Is `node` of body b, about to go through a triangle of surface i_mesh against its unit normal n, the end of an edge that a
 * pair holds over a side or corner of that triangle, which goes straight on into another edge, and not the outermost of its own
 * surface against n? Then what lies deeper comes with these edges, and the node is no contact of its own: or ridges of many
 * edges would catch on their nodes. */
bool mesh_edges_hold(const mesh_contact *c, const body *b, int64_t node, int i_mesh, int32_t triangle, const double n[3]);
/* Active pairs are remembered, on whatever edges they are by now. */
PetscErrorCode mesh_edges_end_step(mesh_contact *c);
PetscErrorCode mesh_edges_fields(mesh_contact *c, field_table *table);

void mesh_edges_evaluate(mesh_contact *c, const rigid_frame *frames, bool with_tangent);
/* Body of the first pair with a number that is not finite, or -1. */
int  mesh_edges_not_finite(const mesh_contact *c);
void mesh_edges_residual(const mesh_contact *c, double *g);
void mesh_edges_tangent(const mesh_contact *c, const double *x, double *y, bool is_transposed);
void mesh_edges_block_diagonal(const mesh_contact *c, double *d);
void mesh_edges_assemble(const mesh_contact *c, const block_rows *H);
/* Appends to *row, *col [*n], which must have room for 16 a pair. */
void mesh_edges_couplings(const mesh_contact *c, int64_t *n, int32_t *row, int32_t *col);
void mesh_edges_pair(const mesh_contact *c, int64_t i, mesh_pair_view *out);
#endif
