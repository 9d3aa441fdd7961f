/* Private to mesh_contact*.c and mesh_edges*.c: contacts of edges with edges, beside those of points with triangles.
 *
 * A pair is (edge of a surface, edge of a surface), contact/penalty/edge_pair.h. It is found, kept through the step and remembered as
 * points are, on whatever edges of its chains it has come to. At the end of a chain it stays as long as it presses against the
 * outside of the other edge, and is then forgotten: the end has long been a point inside the other surface.
 *
 * In the global vector a pair has at most eight blocks, four for each chain: its nodes, or the two blocks of its rigid body. */
#ifndef SS_CONTACT_PENALTY_MESH_EDGES_H
#define SS_CONTACT_PENALTY_MESH_EDGES_H
#include "contact/penalty/edge_pair.h"
#include "contact/penalty/mesh_contact.h"
#include "geometry/collision/broad_phase.h"

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

typedef struct {
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
} mesh_edges;

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

/* mesh_edges_force.c */
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
