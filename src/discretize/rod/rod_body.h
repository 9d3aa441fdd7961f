/* Rods: bodies made of strands. What all models share; what a model is, is the table of functions below.
 *
 * Unknowns are rates u of coordinates q, in blocks of three, strand after strand: no block couples two strands, so that everything about strands
 * runs in parallel without locks and the tangent is one banded matrix per strand. A step solves, with u at its end,
 *
 *   g(u) = M (u - u0) - dt f(q0 + dt u, u)
 *
 * A model says what blocks there are, what g and its derivative are on one strand, and where the nodes are; nodes are what others see of a
 * strand: pictures, measures, contacts. Where a node is a block (node_block), holds and pinned ends prescribe its components.       */
#ifndef SS_DISCRETIZE_ROD_ROD_BODY_H
#define SS_DISCRETIZE_ROD_ROD_BODY_H
#include "discretize/body/body_kind.h"
#include "discretize/nodal/nodal_hold.h"
#include "discretize/rod/rod_section.h"
#include "discretize/rod/rod_strands.h"

typedef struct rod_body rod_body;

/* What holds an end, and pulls at it; the same for all strands. Owned by the body. */
typedef struct {
  int     held;    /* ROD_END_... */
  motion *motion;  /* or NULL */
  double  force[3], moment[3];
} rod_end;

/* Direction and director that a clamp gives an end, both unit; the direction points on along the strand at either end. */
typedef struct {
  double tangent[3], director[3];
} rod_clamp;

typedef struct {
  const char *name;
  /* Lay out the blocks: rod_body_set_blocks makes room, then fill block_start, q, u, inertia, node_block if nodes are blocks, and is_prescribed
   * of components that are not of nodes; add what couples with rod_body_couple. Everything that a job says has been read, x and v are those
   * of the start. The user's mistakes go to `d` (r->node, r->path). */
  PetscErrorCode (*create)(rod_body *b, const body_request *r, diagnostics *d);
  /* Once the matrix has been laid out. NULL: nothing. */
  PetscErrorCode (*finish)(rod_body *b);
  /* What stays the same during a step, on one strand; clamps and places are up to date. Write b->wanted of components that create has made
   * prescribed. NULL: nothing. */
  void (*begin_step)(rod_body *b, int64_t strand);
  /* On one strand: g += M (u - u0) - dt f at b->trial = q0 + dt u, and b->value += dg/du if with_tangent (value is zero before). g, u: of the
   * whole body. False where it cannot be evaluated. Many strands at a time. */
  bool (*residual)(rod_body *b, int64_t strand, const double *u, double *g, bool with_tangent);
  /* Both or none. Instead of value in residual: y += dg/du x or its transposed on one strand, at the last residual with_tangent; and value itself
   * (all of it, not added), when somebody wants a matrix. x, y: of the whole body. */
  void (*product)(const rod_body *b, int64_t strand, const double *x, double *y, bool is_transposed);
  void (*fill)(rod_body *b, int64_t strand);
  /* Make rates u of one strand permanent: q, u, and x, v of its nodes; what hangs on them besides. */
  void (*end_step)(rod_body *b, int64_t strand, const double *u);
  /* After a restore: x, v of the nodes from q, u. */
  void (*restored)(rod_body *b, int64_t strand);
  /* Elastic energy of one strand at b->q [J]. */
  double (*energy)(const rod_body *b, int64_t strand);
  /* Kinetic energy and angular momentum besides those of the nodes, added to *out. NULL: none. */
  void (*spin)(const rod_body *b, int64_t strand, body_totals *out);
  /* Instead of sums over the nodes: mass, kinetic and potential energy, momenta and mass times centre, added to *out. NULL: the nodes'. */
  void (*totals)(const rod_body *b, int64_t strand, const double gravity[3], body_totals *out);
  /* Groups and fields besides q, u and the nodes'. NULL: none. */
  PetscErrorCode (*fields)(rod_body *b, field_table *table);
  int (*spot_jacobian)(const rod_body *b, const body_spot *spot, int32_t *block, double (*J)[9]); /* as body_ops */
  void (*destroy)(rod_body *b);
} rod_model;

enum { ROD_CLUSTER = 128 };

struct rod_body {
  body             base; /* first: a rod_body is a body */
  const rod_model *model;
  void            *state; /* the model's own */
  rod_strands      strands;
  rod_section      section;
  rod_natural_spec natural;
  rod_end          end[2]; /* start, end */
  double           gravity[3], mass_damping, stiffness_damping;
  /* Nodes. */
  double  *x, *v;       /* [n_nodes][3] */
  double  *mass;        /* [n_nodes] kg, lumped */
  double  *radius;      /* [n_segments] m */
  double  *node_radius; /* [n_nodes], for pictures */
  int32_t *node_block;  /* [n_nodes]; NULL: nodes are not unknowns */
  /* Unknowns. */
  int64_t  n_blocks;
  int64_t *block_start;  /* [n_strands + 1] */
  double  *q, *u;        /* [n_blocks][3] */
  double  *inertia;      /* [n_blocks][3] > 0, of each unknown alone */
  int64_t  n_pairs, pair_capacity;
  uint64_t *pair;        /* while it is being made */
  int64_t *row_start;    /* [n_blocks + 1] */
  int32_t *col, *transposed;
  double  *value;        /* [blocks][9] tangent of the last residual, all of it */
  bool     is_filled;    /* value is; see rod_model.fill */
  bool     is_definite;  /* see body_ops.set_definite */
  /* What holds them. */
  int         n_holds;
  nodal_hold *holds;
  uint8_t    *is_prescribed; /* [n_blocks][3] */
  double     *wanted;        /* [n_blocks][3] rates of these at the end of the step */
  int64_t     n_prescribed;
  int64_t    *prescribed;    /* component, ascending */
  double     *prescribed_velocity;
  /* The step under way. */
  double     t, dt;
  double    *trial;  /* [n_blocks][3] */
  double    *place;  /* [n_nodes][3] where held nodes are to be at its end */
  rod_clamp *clamp;  /* [n_strands][2] at its end */
  double    *cluster_center, *cluster_radius;
};

/* For models, in create: room for n_blocks, zeroed. */
PetscErrorCode rod_body_set_blocks(rod_body *b, int64_t n_blocks);
/* Blocks i and j, also i == j, are in the matrix. */
PetscErrorCode rod_body_couple(rod_body *b, int64_t i, int64_t j);
/* Group "bodies/NAME/name" of *n rows, for fields of the model. */
PetscErrorCode rod_body_add_group(rod_body *b, const char *name, int64_t *n, field_table *table, field_group **group);
/* Block (i, j) of the tangent, which must have been coupled. */
double *rod_body_block(const rod_body *b, int64_t i, int64_t j);

extern const body_ops rod_body_ops;
/* NULL if b is of another kind. */
static inline const rod_body *rod_body_of(const body *b) { return b->ops == &rod_body_ops ? (const rod_body *)b : NULL; }
#endif
