/* What the parts of discrete elastic rods share: where unknowns of a strand are, and its edges and vertices at given coordinates. Only files of this
 * model include this; what it is stands in rod_model_discrete_elastic_rod.c. */
#ifndef SS_DISCRETIZE_ROD_DER_STRAND_H
#define SS_DISCRETIZE_ROD_DER_STRAND_H
#include "discretize/rod/der_vertex.h"
#include "discretize/rod/rod_body.h"

enum { DER_VERTEX_BLOCKS = 5 }; /* nodes before, at, after; angles before, after */

typedef struct {
  /* By segment. */
  double *frame; /* [n_segments][3] first director of the reference, at the start of the step */
  double *t;     /* [n_segments][3] direction then */
  /* By node; a free end is no vertex. */
  double  *stiffness; /* [n_nodes][3] of kappa_1, kappa_2, twist [J]; -1 at free ends */
  double  *natural;   /* [n_nodes][3] */
  double  *twist;     /* [n_nodes] of the reference frames at the start of the step, any branch */
  double  *start;     /* [n_nodes][3] strains then */
  double  *stretched; /* [n_segments] strains then */
  bool     by_angle;  /* bends are angles, not 2 tan of their halves */
  double  *director;  /* [n_nodes][3] for frames: first axis of the section, of the edge after the node */
  int32_t *slot;      /* [n_nodes][DER_VERTEX_BLOCKS^2] where blocks lie in the matrix; -1: not there */
} der;

static inline der *der_of(const rod_body *b) { return b->state; }

/* Blocks of a strand with n nodes, and of its node i and its edge j's angle, from its first block. */
static inline int64_t der_count_blocks(int64_t n, bool is_closed)
{
  const int64_t edges = is_closed ? n : n - 1;
  return n + (edges + 2) / 3;
}
static inline int64_t der_node_block(int64_t i, int64_t n, bool is_closed)
{
  const int64_t natural = 4 * (i / 3) + (i % 3 == 2 ? 3 : i % 3), last = der_count_blocks(n, is_closed) - 1;
  return natural < last ? natural : last;
}
static inline int64_t der_angle_block(int64_t j, int64_t n, bool is_closed)
{
  const int64_t natural = 4 * (j / 3) + 2, last = der_count_blocks(n, is_closed) - 1;
  return natural < last ? natural : last;
}

/* One strand. */
typedef struct {
  const rod_body *b;
  der            *d;
  int64_t         s, n, n_edges, first_node, first_edge, first_block;
  bool            is_closed;
} der_strand;

static inline der_strand der_strand_of(const rod_body *b, int64_t s)
{
  const rod_strands *r = &b->strands;
  const int64_t      n = r->node_start[s + 1] - r->node_start[s];
  return (der_strand){b, der_of(b), s, n, r->is_closed ? n : n - 1, r->node_start[s], r->segment_start[s], b->block_start[s], r->is_closed};
}
/* Component of theta_j among the unknowns. */
static inline int64_t der_angle_at(const der_strand *w, int64_t j) { return 3 * (w->first_block + der_angle_block(j, w->n, w->is_closed)) + j % 3; }
static inline int64_t der_block_of(const der_strand *w, int64_t i) { return w->first_block + der_node_block(i, w->n, w->is_closed); }
static inline const double *der_node_at(const der_strand *w, const double *q, int64_t i) { return q + 3 * der_block_of(w, i); }
static inline bool der_is_vertex(const der_strand *w, int64_t i) { return w->d->stiffness[3 * (w->first_node + i)] >= 0.0; }
/* Edges before and after node i; -1: the clamp's. */
static inline void der_edges_at(const der_strand *w, int64_t i, int64_t edge[2])
{
  edge[0] = i > 0 ? i - 1 : w->is_closed ? w->n - 1 : -1;
  edge[1] = i < w->n_edges ? i : -1;
}

/* What is known of an edge at coordinates q. */
typedef struct {
  der_edge e;
  double   reference[3]; /* its first director */
} der_posed;
/* False where the edge has no direction. */
bool der_pose_edge(const der_strand *w, const double *q, int64_t j, der_posed *out);
/* A vertex at coordinates q with its strains; *twist is that of the reference frames. False where the curve has no direction or turns back. */
bool der_pose_vertex(const der_strand *w, const double *q, int64_t i, der_vertex *v, double strain[DER_STRAINS], double *twist);

/* rod_model.residual: der_forces.c */
bool der_residual(rod_body *b, int64_t s, const double *u, double *g, bool with_tangent);
#endif
