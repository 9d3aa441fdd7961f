/* Bodies made of mass points: finite element solids and cloth. Each node i has one block of three unknowns and the residual
 *
 *   g_i = m_i (v_i - v0_i) - dt (f_i(x0 + dt v, v) + m_i (gravity + load) - alpha m_i v_i)
 *
 * Element sets (element_set.h) compute the internal forces f_i; alpha is the mass damping. The tangent is one matrix of 3x3 blocks.
 * Velocity components of nodes may be prescribed; the formulation replaces their equations by m_i (v_i - prescribed velocity) = 0
 * (body_ops.prescribed). Created by the kinds fem and cloth. */
#ifndef SS_DISCRETIZE_NODAL_NODAL_BODY_H
#define SS_DISCRETIZE_NODAL_NODAL_BODY_H
#include "discretize/body/body.h"
#include "discretize/nodal/element_set.h"
#include "discretize/nodal/nodal_hold.h"
#include "discretize/body/vector_field.h"

enum { NODAL_CLUSTER = 128, NODAL_MAX_SETS = 16 };

typedef struct nodal_body nodal_body;
struct nodal_body {
  body              base; /* first: a nodal_body is a body */
  int64_t           n_nodes;
  double           *x, *v;                    /* [n_nodes][3] state, m and m/s */
  double           *rest;                     /* [n_nodes][3] positions given by the job */
  double           *mass;                     /* [n_nodes] kg, > 0 */
  double            length;                   /* shortest edge of the surface at rest [m]; INFINITY: no surface */
  double            gravity[3], mass_damping; /* m/s^2; alpha, 1/s */
  vector_field     *load;                     /* force per mass [m/s^2], not part of the potential energy; owned; NULL: none */
  int               n_sets;
  element_set       sets[NODAL_MAX_SETS];
  int               n_holds;
  nodal_constraint *holds;
  /* The contact surface and its contact points. Triangles refer to nodes of this body. */
  int64_t  n_surface, n_triangles;
  int32_t *surface;   /* [n_surface] nodes in an order that keeps neighbours together */
  int32_t *triangles; /* [n_triangles][3] */
  /* The matrix. */
  int64_t *row_start;  /* [n_nodes + 1] */
  int32_t *col;        /* [blocks] ascending within a row, diagonal included */
  int32_t *transposed; /* [blocks] index of block (col, row) */
  double  *value;      /* [blocks][9] -dt^2 df/dx - dt df/dv of the element sets, at the last residual with tangent */
  /* The current step. */
  double   dt;
  int64_t  n_prescribed;
  int64_t *prescribed; /* [n_prescribed] components 3 node + axis, ascending */
  double  *prescribed_velocity;
  double  *trial;  /* [n_nodes][3] positions x0 + dt v */
  double  *loaded; /* [n_nodes][3] the load at the end of the step; NULL without one */
  double  *cluster_center, *cluster_radius;
};

/* Create an unfinished body of n nodes at x [n][3] with mass [n]; both are copied. Then add sets, constraints and the surface, and call
 * nodal_body_finish, which creates the matrix. `name` is borrowed. The caller destroys the body by its ops->destroy, also if it is unfinished. */
PetscErrorCode nodal_body_create(const char *name, int64_t n, const double *x, const double *mass, nodal_body **out);
/* Add elements node [n][ops->n_nodes]; at most NODAL_MAX_SETS sets. The caller then sorts its data by (*set)->original and assigns them to
 * (*set)->context, which the body owns. */
PetscErrorCode nodal_body_add_set(nodal_body *b, const element_ops *ops, int64_t n, const int32_t *node, element_set **set);
/* Add a constraint; takes ownership of the contents of `hold`, whose `node` was allocated with memory_alloc. If two constraints prescribe
 * the same component, the later one applies. */
PetscErrorCode nodal_body_add_constraint(nodal_body *b, const nodal_constraint *hold);
/* Set the load; takes ownership of f. */
PetscErrorCode nodal_body_set_load(nodal_body *b, vector_field *f);
/* Set the contact surface: triangles [n_triangles][3] of nodes, copied. Their corners are the contact points. */
PetscErrorCode        nodal_body_set_surface(nodal_body *b, int64_t n_triangles, const int32_t *triangles);
PetscErrorCode        nodal_body_finish(nodal_body *b);
extern const body_ops nodal_body_ops;
/* Returns b as a nodal_body; NULL if it is of another kind. */
static inline const nodal_body *nodal_body_of(const body *b) { return b->ops == &nodal_body_ops ? (const nodal_body *)b : NULL; }

/* Add a rigid velocity field to the body, to restore momenta that a step has lost [MarquezRazonEtAl2023]: v_i += V + W x (x_i - center) at
 * positions b->x. With the mass m and d = sum_i m_i (x_i - center),
 *   momentum changes by m V + W x d,   angular momentum about `center` by d x V + I W,   I: nodal_body_inertia.
 *
 *   V       m/s
 *   W       rad/s
 *   center  m; for the centre of mass d = 0, so that V and W are decoupled
 *
 * Returns false, without changes, if a component of a node is prescribed: a change of momentum is then the reaction of this constraint. */
bool nodal_body_add_rigid_velocity(nodal_body *b, const double V[3], const double W[3], const double center[3]);
/* inertia [9] = sum_i m_i (|r|^2 1 - r r^T), r = x_i - center, at b->x [kg m^2]. Singular if all nodes are on a line through it. */
void nodal_body_inertia(const nodal_body *b, const double center[3], double inertia[9]);
#endif
