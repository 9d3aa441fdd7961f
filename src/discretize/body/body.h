/* A body is a small table of functions over blocks of three velocities.
 *
 * The unknown of a step is z = dv = v - v0, in blocks of 3 doubles: an MPM grid node is one block, a rigid body is two
 * (linear, angular; both in world axes). All bodies of a scene share one global vector; a body sees only its own slice
 * of it, starting at `first_block`. Backward Euler in increments (penalty-relaxation.md, section 6):
 *
 *   g(z) = M z - dt f(x0 + dt (v0 + z))          H = dg/dz
 *
 * Adding a kind of body touches its own folder and one line of the registry, body_kinds.h.
 *
 * Contract of a step: begin_step fixes the layout and v0; residual and tangent may be called any number of times and
 * change nothing but caches; end_step makes the step permanent. A step that is given up simply never sees end_step.   */
#ifndef SS_DISCRETIZE_BODY_BODY_H
#define SS_DISCRETIZE_BODY_BODY_H
#include "optim/sap/joint_constraint.h"
#include "core/error.h"
#include "core/field_table.h"
#include "core/math3.h"
#include "discretize/body/step_status.h"
#include "geometry/convex/convex_solid.h"
#include "geometry/level_set/level_set.h"
#include <stdio.h>

typedef struct body body;

/* Where on a body a contact acts, and the fibres of a body: what finders of contacts ask of bodies, and what they get. */
typedef enum {
  FEATURE_POINT,    /* a contact point of the body, body_ops.point_row */
  FEATURE_SEGMENT,  /* of a fibre, body_ops.segments */
  FEATURE_TRIANGLE, /* of its surface, body_ops.surface */
  FEATURE_FRAME     /* of something rigid, body_ops.frame */
} feature_kind;

typedef struct {
  feature_kind kind;
  int64_t      index; /* of the point, segment or triangle in its body; unused with FEATURE_FRAME */
  double       w[3];  /* POINT: from the point to where its body is touched, of bodies with point_row_beside; SEGMENT: w[0] is where along it, in [0, 1), the spot lies beside x_0 + w[0] (x_1 - x_0); TRIANGLE: barycentric */
  double       x[3];  /* where the contact acts, world, at the start of the step [m] */
} body_spot;

/* Borrowed from the body. The segments of one strand are consecutive, in order along it; a closed strand ends at its first node. */
typedef struct {
  int64_t        n_nodes, n_segments;
  const int32_t *segment; /* [n_segments][2] nodes, never changes */
  const int32_t *strand;  /* [n_segments] */
  const double  *x;       /* [n_nodes][3] at the start of the step [m] */
  const double  *radius;  /* [n_segments] [m] */
} body_segments;

/* The pose of something rigid during a step: what contact needs to know of a level set's owner or a rigid body's vertices.
 *
 *   c [3]  origin (centre of mass for dynamic bodies)          R [9]  body to world
 *   v, w   velocity and angular velocity, world axes (for sliding directions and work)
 *   Jl [9] left Jacobian of the exponential map at dt w: world rotation increment per change of dt w
 * World, static bodies: identity, or the prescribed pose at the end of the step. block < 0: no unknowns.             */
typedef struct {
  double  c[3], R[9], v[3], w[3], Jl[9];
  int64_t block; /* global index of the linear block (angular is block + 1), or -1 */
} rigid_frame;

/* What a point of a body's contact surface is made of. */
typedef enum {
  POINT_NONE,     /* no contact points */
  POINT_WEIGHTED, /* Z = x0 + dt sum_k w_k v[block_k]: MPM particles, later FEM and cloth nodes (one weight 1) */
  POINT_RIGID     /* Z = c + R a: a vertex of a rigid body, blocks first_block and first_block + 1 */
} point_kind;

/* Sums over a body, for the history table. Energies in J, momenta in N s and N m s about the origin. */
typedef struct {
  double mass, kinetic, elastic, potential; /* potential: gravity, zero at the origin */
  double momentum[3], angular_momentum[3], center[3];
  double overshoot, turn; /* of its materials in the last step, see material_marks; 0 where they do not say */
} body_totals;
/* Adds a mass at x that moves with v; center is summed, mass times x, until it is divided by the whole mass. */
static inline void body_totals_add(body_totals *out, double mass, const double x[3], const double v[3], const double gravity[3])
{
  double moment[3];
  v3_cross(moment, x, v);
  out->mass += mass;
  out->kinetic += 0.5 * mass * v3_dot(v, v);
  out->potential -= mass * v3_dot(gravity, x);
  v3_axpy(out->momentum, mass, v);
  v3_axpy(out->angular_momentum, mass, moment);
  v3_axpy(out->center, mass, x);
}

/* A matrix of 3x3 blocks in compressed rows, for bodies and contacts to add to. Borrowed arrays. */
typedef struct {
  int64_t        n;
  const int64_t *row_start; /* [n + 1] */
  const int32_t *col;       /* [row_start[n]] ascending within a row */
  double        *value;     /* [row_start[n]][9] row-major */
} block_rows;
/* Block (row, col); NULL if it is not in the pattern. */
static inline double *block_rows_find(const block_rows *H, int64_t row, int64_t col)
{
  int64_t lo = H->row_start[row], hi = H->row_start[row + 1];
  while (hi - lo > 1) {
    const int64_t mid = lo + (hi - lo) / 2;
    if (H->col[mid] <= col) lo = mid;
    else hi = mid;
  }
  return hi > lo && H->col[lo] == col ? H->value + 9 * lo : NULL;
}
/* Block (row, col), which must be in the pattern. */
static inline double *block_rows_at(const block_rows *H, int64_t row, int64_t col)
{
  double *block = block_rows_find(H, row, col);
  SS_ASSERT(block);
  return block;
}

/* A body's own tangent: 3x3 blocks in compressed rows, of a pattern that is its own transpose. */
static inline uint64_t block_pair(int64_t row, int64_t col) { return (uint64_t)row << 32 | (uint64_t)col; }
/* From n_pairs blocks, any number of times each and in any order (they are sorted in place), with every (i, j) also (j, i):
 * *row_start [n + 1], *col ascending, *transposed: where block (col, row) lies, *value [blocks][9]. memory_free each. */
PetscErrorCode block_matrix_create(int64_t n, int64_t n_pairs, uint64_t *pair, int64_t **row_start, int32_t **col, int32_t **transposed, double **value);

/* A surface of triangles over nodes; orientation: outwards. Borrowed from the body. Node i is block i of a body that deforms; the surface of
 * one with a `frame` is closed and fixed to it. */
typedef struct {
  int64_t        n_nodes, n_triangles;
  const int32_t *triangles; /* [n_triangles][3] never changes */
  const double  *x;         /* [n_nodes][3] at the start of the step, or in the frame for ever [m] */
  const double  *rest;      /* [n_nodes][3] undeformed, never changes [m] */
} body_surface;

/* What a body is made of, if that is mass points, or curves through points. Borrowed from the body. */
typedef struct {
  int64_t       n;
  const double *x, *v;  /* [n][3] now, m and m/s */
  const double *rest;   /* [n][3] where they were drawn [m] */
  const double *mass;   /* [n] kg */
} body_nodes;

/* Constraints of a body (optim/sap/joint_constraint.h), rows in components of its own velocities: as many, of whichever components, throughout
 * a step. Borrowed until the next evaluation of its residual. */
typedef struct {
  int64_t           n;
  const constraint *law;   /* [n] */
  const int64_t    *start; /* [3 n + 1] */
  const int32_t    *dof;   /* ascending within a row */
  const double     *value;
} body_constraints;

/* Block `block` moves as weight times block `leader`, plus what other entries of the same block say. */
typedef struct {
  int32_t block, leader;
  double  weight;
} body_follower;

typedef struct {
  const char *kind;
  /* Transfer, sort, fix the active blocks: *n_blocks unknown blocks. `t` is the time at the start of the step. */
  PetscErrorCode (*begin_step)(body *b, double t, double dt, int64_t *n_blocks, step_verdict *verdict);
  /* v0 [n_blocks][3]: velocity at the start of the step. */
  PetscErrorCode (*velocity)(const body *b, double *v0);
  /* scale [n_blocks][3]: diag(M), kg (or kg m^2 for angular blocks), all > 0: preconditioning, residual norms. */
  PetscErrorCode (*mass)(const body *b, double *scale);
  /* g += M (v - v0) - dt (f_internal + f_gravity), v = v0 + z [n_blocks][3]. With `with_tangent` also caches what
   * tangent() needs. Not finite or inverted: sets *verdict, g is then unspecified. */
  PetscErrorCode (*residual)(body *b, const double *v, double *g, bool with_tangent, step_verdict *verdict);
  /* y += H x, or y += H^T x, at the state of the last residual(with_tangent = true); without contact. */
  PetscErrorCode (*tangent)(const body *b, const double *x, double *y, bool is_transposed);
  /* The same product in single precision, for linear solves: relative error 1e-6 of the terms it sums. want_single must have come before
   * that residual. Both or none (NULL: tangent is all there is). */
  void (*want_single)(body *b, bool is_wanted);
  PetscErrorCode (*tangent_single)(const body *b, const double *x, double *y);
  /* d [n_blocks][9] += the 3x3 diagonal blocks of H. */
  PetscErrorCode (*block_diagonal)(const body *b, double *d);
  /* Accept v [n_blocks][3]. May still refuse (CFL): then nothing has changed and *verdict says why. */
  PetscErrorCode (*end_step)(body *b, const double *v, step_verdict *verdict);
  /* Work of gravity and of internal dissipation are not split here; see body_totals. */
  PetscErrorCode (*totals)(const body *b, const double gravity[3], body_totals *out);
  PetscErrorCode (*fields)(body *b, field_table *table);

  /* Contact points, in clusters small enough to be culled by a sphere; valid between begin_step and end_step. */
  point_kind points;
  int64_t (*n_clusters)(const body *b);
  /* Bounding sphere of the points at the start of the step, and their index range. */
  void (*cluster)(const body *b, int64_t i, double center[3], double *radius, int64_t *first, int64_t *end);
  /* Position of point i at the start of the step, and its persistent identity (unique in this body, kept across sorting). */
  int64_t (*point)(const body *b, int64_t i, double x[3]);
  /* POINT_WEIGHTED: the row of point i: n <= POINT_MAX_WEIGHTS body-local blocks with weights (sum w = 1). */
  int (*point_row)(const body *b, int64_t i, int32_t *block, double *weight);
  /* Points that fill a space: the radius of the ball that point i stands for [m]; and the row of the material at x_i + beside, to first
   * order: sum w = 1, sum w x_block = x_i + beside, so that a force there keeps momenta, angular ones too. Both or none (NULL). */
  double (*point_radius)(const body *b, int64_t i);
  int (*point_row_beside)(const body *b, int64_t i, const double beside[3], int32_t *block, double *weight);
  void (*destroy)(body **b);

  /* Its unknowns are not velocities of places, but of joints. */
  bool is_reduced;
  /* It has a pose and mass, but nothing that could be touched. */
  bool is_shapeless;
  /* Stops, motors, dry friction, loops within it in the step under way, as rows in its velocities, laws linearised where residual was
   * evaluated last. Of a body with constraints_apart; else residual and tangent have them. NULL: there are none. */
  void (*constraints)(const body *b, body_constraints *out);

  /* What a scene asks of its bodies; each NULL where it does not apply. */
  /* Bodies that it is made of: *n of them, in the scene after it, owned by it; all of them carried by it. It touches nothing itself. */
  body *const *(*parts)(const body *b, int *n);
  /* The body that carries this one's unknowns, if it is another: a grid shared by several. See body_system. */
  body *(*carrier)(const body *b);
  /* What the points of others may touch: *n level sets, borrowed, all fixed to the pose that `frame` gives. */
  level_set *const *(*level_sets)(const body *b, int *n);
  /* ... or a surface; no triangles: not this body's. Contact points of such a body have the number of their node as identity. */
  void (*surface)(const body *b, body_surface *out);
  /* ... or, exactly, *n convex solids, fixed to the pose that `frame` gives; 0: it is not made of such. */
  const convex_solid *(*solids)(const body *b, int *n);
  /* The material points that fill it. */
  struct particles *(*particles)(const body *b);
  /* Its mass points. */
  void (*nodes)(const body *b, body_nodes *out);
  /* Its fibres: what a curve is made of that has a thickness. A smooth curve gives as many segments as it takes to follow it. */
  void (*segments)(const body *b, body_segments *out);
  /* Velocity of the material at a spot as a linear map of the body's own blocks: v = sum_k J_k v[block_k], J_k [9] row-major, for a state
   * at the start of the step. Returns the number of blocks, at most SPOT_MAX_BLOCKS. NULL: as the kind of feature says, that is the weights of
   * point_row, of the two nodes of a segment, of the nodes of a triangle, or a rigid motion. */
  int (*spot_jacobian)(const body *b, const body_spot *spot, int32_t *block, double (*J)[9]);
  /* Pose of something rigid, obstacles included: at time t (v == NULL), or at t + dt for trial velocities v (the slice of what carries the
   * body's unknowns, if something does). */
  void (*frame)(const body *b, double t, double dt, const double *v, rigid_frame *frame);
  /* Prescribed motion: be where time t wants you. */
  void (*move_to)(body *b, double t);
  /* Between two steps, the one that ended at t having been dt long: take in what comes from outside. */
  PetscErrorCode (*emit)(body *b, double t, double dt);
  /* A length below which things are close to this body: grid spacing, a part of its size [m]. Of systems only. */
  double (*length)(const body *b);
  /* A few words, no line break: what `check` prints of it. */
  void (*describe)(const body *b, FILE *out);

  /* Components whose velocity at the end of the step is prescribed: *dof [n] body-local, ascending, *velocity [n]; borrowed until
   * end_step. Whoever adds up all forces replaces their equations by mass (v - velocity) = 0. NULL: none. */
  int64_t (*prescribed)(const body *b, const int64_t **dof, const double **velocity);

  /* Blocks that move, in this step, as sums of others: *follower [n] body-local, those of one block together, who leads does not follow;
   * borrowed until end_step. Whoever adds up all forces gives leaders those of their followers; see sim/step/followers.h. NULL: none. */
  int64_t (*followers)(const body *b, const body_follower **follower);

  /* For preconditioners that want a matrix; both or none (NULL). All indices of couplings are body-local, those of H global. */
  /* Blocks that H couples with `block`, ascending, itself included; also those that share a point_row with it. Returns how many,
   * at most BODY_MAX_COUPLINGS. Holds for the whole step; called by many threads. */
  int (*couplings)(const body *b, int64_t block, int32_t *other);
  /* H += the tangent at the last residual(with_tangent = true), without contact; the pattern holds all couplings, or, if assembles_part,
   * those that are wanted: rows with more than their diagonal are then right, others may not be. */
  PetscErrorCode (*assemble)(const body *b, const block_rows *H);
  bool assembles_part;
  /* From the next evaluation on tangents are symmetric and positive definite (is_wanted), what would spoil that being left out, or
   * exact, as they are at first. NULL: there is no choice. */
  void (*set_definite)(body *b, bool is_wanted);
  /* Materials whose law is linear about the rotations at the start of the step take those that v [n_blocks][3] leads to instead, from the
   * next evaluation on until the step ends. False: it has no such materials, nothing changes. NULL: never. */
  bool (*relinearise)(body *b, const double *v);
  /* What component `dof` of its velocities belongs to, for who reports: a name that the body owns. NULL: the body's own. */
  const char *(*name_of)(const body *b, int64_t dof);
} body_ops;

enum { POINT_MAX_WEIGHTS = 64 };   /* cubic B-splines: 4^3 */
enum { SPOT_MAX_BLOCKS = 128 };    /* elements of a reduced curve, each a block */
enum { BODY_MAX_COUPLINGS = 686 }; /* 7^3, twice where planes are mirrors or periodic */

struct body {
  const body_ops *ops;
  const char     *name;        /* owned by the scene */
  int64_t         first_block; /* in the global vector; set by the formulation after begin_step */
  int64_t         n_blocks;
  bool            constraints_apart; /* set by the formulation before the first step: residual and tangent leave out `constraints` */
};
/* What carries the unknowns of b: itself, a body shared with others, or nothing (NULL: an obstacle). */
static inline body *body_system(body *b)
{
  if (b->ops->carrier) return b->ops->carrier(b);
  return b->ops->residual ? b : NULL;
}
/* Concrete bodies start with a `body` member, so that a pointer to one is a pointer to the other. */

struct vector_field;
/* Root of the mean square over nodes, by mass, of |v - field| (is_velocity) or |x - rest - field| at time t. b has ops->nodes. */
double body_nodes_error(const body *b, const struct vector_field *f, double t, bool is_velocity);
#endif
