/* Rods: bodies made of strands. This file defines the data common to all rod models, and the functions that each model provides
 * (rod_model). The body_ops of all rods are in rod_body.c.
 *
 * The unknowns are the rates u of coordinates q, in blocks of three, strand after strand. Blocks of different strands are not coupled. Therefore
 * all loops over strands run in parallel without locks, and the tangent is one banded matrix per strand. A step solves g(u) = 0 for u at its end:
 *
 *    g(u) = M (u - u0) - dt f(q0 + dt u, u)
 *
 * A model defines the blocks, g and its derivative on one strand, and the positions of the nodes. Contact, measures and pictures
 * use the nodes. If each node is a block (node_block), constrained nodes and pinned ends prescribe components of this block. */
#ifndef SS_DISCRETIZE_ROD_ROD_BODY_H
#define SS_DISCRETIZE_ROD_ROD_BODY_H
#include "discretize/body/body_kind.h"
#include "discretize/nodal/nodal_hold.h"
#include "discretize/rod/rod_section.h"
#include "discretize/rod/rod_strands.h"

typedef struct rod_body rod_body;

/* Constraint and loads of one end, the same for all strands. Owned by the body. */
typedef struct {
  int     held;                /* ROD_END_FREE, ROD_END_PINNED or ROD_END_CLAMPED */
  motion *motion;              /* prescribed motion; NULL: none */
  double  force[3], moment[3]; /* [N], [N m] */
} rod_end;

/* Direction and director that a clamp prescribes for an end, both unit vectors. The direction points from the start of the strand to its
 * end, at both ends. */
typedef struct {
  double tangent[3], director[3];
} rod_clamp;

/* The functions of a rod model. */
typedef struct {
  const char *name;
  /* Define the blocks: call rod_body_set_blocks, then fill block_start, q, u, inertia, node_block if nodes are blocks, and
   * is_prescribed of components that do not belong to nodes. Call rod_body_couple for each coupled pair of blocks. Called after all
   * job keys have been read; x, v contain the initial state. User errors are reported to `d` (r->node, r->path). */
  PetscErrorCode (*create)(rod_body *b, const body_request *r, diagnostics *d);
  /* Called after the matrix has been allocated. NULL: nothing to do. */
  PetscErrorCode (*finish)(rod_body *b);
  /* Compute the data of one strand that are constant during a step; b->clamp and b->place are up to date. Write b->wanted for the
   * components that `create` has marked as prescribed. NULL: nothing to do. */
  void (*begin_step)(rod_body *b, int64_t strand);
  /* On one strand: g += M (u - u0) - dt f at b->trial = q0 + dt u, and b->value += dg/du if with_tangent (value is zero before).
   * g and u [n_blocks][3] belong to the whole body. Returns false if g is not defined at u. Called for many strands in parallel. */
  bool (*residual)(rod_body *b, int64_t strand, const double *u, double *g, bool with_tangent);
  /* Both or neither (NULL). If given, `residual` does not compute b->value. product: y += dg/du x, or its transpose, for one strand at the state of
   * the last residual with_tangent; x and y belong to the whole body. fill: set b->value of one strand, called if a matrix is needed. */
  void (*product)(const rod_body *b, int64_t strand, const double *x, double *y, bool is_transposed);
  void (*fill)(rod_body *b, int64_t strand);
  /* Accept rates u of one strand: update q, u, x and v of its nodes, and dependent data. */
  void (*end_step)(rod_body *b, int64_t strand, const double *u);
  /* After a restart: compute x, v of the nodes from q, u. */
  void (*restored)(rod_body *b, int64_t strand);
  /* Elastic energy of one strand at b->q [J]. */
  double (*energy)(const rod_body *b, int64_t strand);
  /* Add to *out the kinetic energy and angular momentum of section rotations, which sums over nodes do not contain. NULL: none. */
  void (*spin)(const rod_body *b, int64_t strand, body_totals *out);
  /* Add mass, kinetic and potential energy, momenta, and mass times centre to *out. NULL: these are computed by sums over nodes. */
  void (*totals)(const rod_body *b, int64_t strand, const double gravity[3], body_totals *out);
  /* Add the model's groups and fields to the table, besides q, u and those of the nodes. NULL: none. */
  PetscErrorCode (*fields)(rod_body *b, field_table *table);
  int (*location_jacobian)(const rod_body *b, const body_contact_location *spot, int32_t *block, double (*J)[9]); /* as in body_ops */
  void (*destroy)(rod_body *b);
} rod_model;

enum { ROD_CLUSTER = 128 };

struct rod_body {
  body             base; /* first: a rod_body is a body */
  const rod_model *model;
  void            *state; /* data of the model */
  rod_strands      strands;
  rod_section      section;
  rod_natural_spec natural;
  rod_end          end[2];                                      /* start, end */
  double           gravity[3], mass_damping, stiffness_damping; /* m/s^2; Rayleigh damping alpha [1/s], beta [s] */
  /* Nodes. */
  double  *x, *v;       /* [n_nodes][3] position, velocity */
  double  *mass;        /* [n_nodes] kg, lumped */
  double  *radius;      /* [n_segments] m */
  double  *node_radius; /* [n_nodes] for pictures */
  int32_t *node_block;  /* [n_nodes] block of each node; NULL: nodes are not unknowns */
  /* Unknowns. */
  int64_t   n_blocks;
  int64_t  *block_start; /* [n_strands + 1] first block of each strand */
  double   *q, *u;       /* [n_blocks][3] coordinates, rates */
  double   *inertia;     /* [n_blocks][3] > 0, diagonal inertia of each unknown */
  int64_t   n_pairs, pair_capacity;
  uint64_t *pair;      /* coupled pairs (block_pair), until the matrix is created */
  int64_t  *row_start; /* [n_blocks + 1] */
  int32_t  *col, *transposed;
  double   *value;       /* [matrix blocks][9] tangent at the last residual with_tangent */
  bool      is_filled;   /* `value` is up to date; see rod_model.fill */
  bool      is_definite; /* see body_ops.set_definite */
  /* Constraints. */
  int               n_holds;
  nodal_constraint *holds;
  uint8_t          *is_prescribed; /* [n_blocks][3] */
  double           *wanted;        /* [n_blocks][3] prescribed rates at the end of the step */
  int64_t           n_prescribed;
  int64_t          *prescribed; /* [n_prescribed] prescribed components, ascending */
  double           *prescribed_velocity;
  /* Data of the current step. */
  double     t, dt;
  double    *trial; /* [n_blocks][3] q0 + dt u */
  double    *place; /* [n_nodes][3] prescribed positions of constrained nodes at the end of the step */
  rod_clamp *clamp; /* [n_strands][2] at the end of the step */
  double    *cluster_center, *cluster_radius;
};

/* Called by rod_model.create: allocate arrays for n_blocks, zeroed. */
PetscErrorCode rod_body_set_blocks(rod_body *b, int64_t n_blocks);
/* Called by rod_model.create: blocks (i, j) and (j, i) belong to the matrix; i == j is allowed. */
PetscErrorCode rod_body_couple(rod_body *b, int64_t i, int64_t j);
/* Add a group "bodies/NAME/name" with *n rows for fields of the model. */
PetscErrorCode rod_body_add_group(rod_body *b, const char *name, int64_t *n, field_table *table, field_group **group);
/* Returns block (i, j) [9] of the tangent; rod_body_couple must have been called for it. */
double *rod_body_block(const rod_body *b, int64_t i, int64_t j);

extern const body_ops rod_body_ops;
/* The rod body; NULL if b is of another kind. */
static inline const rod_body *rod_body_of(const body *b) { return b->ops == &rod_body_ops ? (const rod_body *)b : NULL; }
#endif
