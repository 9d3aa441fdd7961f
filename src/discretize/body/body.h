/* The interface of all bodies: a table of functions (body_ops) over velocity unknowns in blocks of three.
 *
 * The unknown of a step is z = dv = v - v0, in blocks of 3 doubles: an MPM grid node is one block, a rigid body is two
 * (linear, angular; both in world axes). All bodies of a scene share one global vector; a body sees only its own slice
 * of it, starting at `first_block`. Backward Euler in velocity increments (x0 + dt v is the position at the end of the step):
 *
 *   g(z) = M z - dt f(x0 + dt (v0 + z))          H = dg/dz
 *
 * A new kind of body adds its own folder and one line in the registry, body_kinds.h.
 *
 * Sequence of calls in a step: begin_step fixes the layout and v0. residual and tangent may then be called any number of times;
 * they change only caches. end_step makes the step permanent. It is not called for a step that is rejected.
 * Callers: the scene and the formulations (sim), contact detection and contact rows (contact), measures and output.           */
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

/* The part of a body on which a contact acts. Used by the contact detectors. */
typedef enum {
  FEATURE_POINT,    /* a contact point of the body, body_ops.point_row */
  FEATURE_SEGMENT,  /* a segment of a fibre, body_ops.segments */
  FEATURE_TRIANGLE, /* a triangle of its surface, body_ops.surface */
  FEATURE_FRAME     /* a point that moves with a rigid pose, body_ops.frame */
} feature_kind;

/* A point of contact on a body. w depends on `kind`:
 *   POINT     offset from the contact point to the touched place, for bodies with point_row_beside [m]
 *   SEGMENT   w[0] in [0, 1): fraction along the axis; the spot is next to x_0 + w[0] (x_1 - x_0)
 *   TRIANGLE  barycentric coordinates */
typedef struct {
  feature_kind kind;
  int64_t      index; /* of the point, segment or triangle in its body; unused with FEATURE_FRAME */
  double       w[3];
  double       x[3]; /* where the contact acts, world axes, at the start of the step [m] */
} body_contact_location;

/* The fibres of a body as straight segments, borrowed from the body. The segments of one strand are consecutive, in order along it;
 * a closed strand ends at its first node. */
typedef struct {
  int64_t        n_nodes, n_segments;
  const int32_t *segment; /* [n_segments][2] nodes, never changes */
  const int32_t *strand;  /* [n_segments] */
  const double  *x;       /* [n_nodes][3] at the start of the step [m] */
  const double  *radius;  /* [n_segments] [m] */
} body_segments;

/* The pose of a rigid body or obstacle during a step. Contact uses it for level sets, vertices and solids fixed to the pose.
 *
 *   c [3]  origin (centre of mass for dynamic bodies)          R [9]  body to world
 *   v, w   velocity and angular velocity, world axes (for sliding directions and work)
 *   Jl [9] left Jacobian of the exponential map at dt w: world rotation increment per change of dt w
 * World, static bodies: identity, or the prescribed pose at the end of the step. block < 0: no unknowns.             */
typedef struct {
  double  c[3], R[9], v[3], w[3], Jl[9];
  int64_t block; /* global index of the linear block (angular is block + 1), or -1 */
} rigid_frame;
/* out = R^T (x - c): a world position in the axes of the frame. */
static inline void rigid_frame_to_local(const rigid_frame *f, const double x[3], double out[3])
{
  double d[3];
  v3_sub(d, x, f->c);
  m3_mulv_t(out, f->R, d);
}
/* out = c + R X: a position in the axes of the frame, in the world. */
static inline void rigid_frame_to_world(const rigid_frame *f, const double X[3], double out[3])
{
  m3_mulv(out, f->R, X);
  v3_add(out, out, f->c);
}

/* How the contact points of a body follow from its unknowns. */
typedef enum {
  POINT_NONE,     /* no contact points */
  POINT_WEIGHTED, /* Z = x0 + dt sum_k w_k v[block_k]: MPM particles; nodes of FEM and cloth (one weight 1) */
  POINT_RIGID     /* Z = c + R a: a vertex of a rigid body, blocks first_block and first_block + 1 */
} point_kind;

/* Sums over a body, for the history table. Energies in J, momenta in N s and N m s about the origin. */
typedef struct {
  double mass, kinetic, elastic, potential; /* potential: gravity, zero at the origin */
  double momentum[3], angular_momentum[3], center[3];
  double overshoot, turn; /* of its materials in the last step, see material_step_maxima; 0 for materials that do not report them */
} body_totals;
/* Adds a mass at x with velocity v. `center` accumulates mass times x; the caller divides it by the total mass at the end. */
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

/* Key of block (row, col) for block_matrix_create. */
static inline uint64_t block_pair(int64_t row, int64_t col) { return (uint64_t)row << 32 | (uint64_t)col; }
/* Create a body's own tangent matrix: n rows of 3x3 blocks in compressed rows, with a symmetric pattern.
 *   pair        [n_pairs] block_pair keys in any order, repetitions allowed, (j, i) with every (i, j); sorted in place
 *   *row_start  [n + 1]           *col         [blocks] ascending within a row
 *   *transposed [blocks] index of block (col, row)       *value [blocks][9]
 * The caller frees the four arrays with memory_free. */
PetscErrorCode block_matrix_create(int64_t n, int64_t n_pairs, uint64_t *pair, int64_t **row_start, int32_t **col, int32_t **transposed,
                                   double **value);

/* A surface of triangles over nodes with outward orientation, borrowed from the body. Node i is block i of a deformable body. The
 * surface of a body with a `frame` is closed and fixed to that frame. */
typedef struct {
  int64_t        n_nodes, n_triangles;
  const int32_t *triangles; /* [n_triangles][3] never changes */
  const double  *x;         /* [n_nodes][3] at the start of the step; with a `frame`: constant, in that frame [m] */
  const double  *rest;      /* [n_nodes][3] undeformed, never changes [m] */
} body_surface;

/* The mass points of a body, or the points of its curves. Borrowed from the body. */
typedef struct {
  int64_t       n;
  const double *x, *v; /* [n][3] current position and velocity, m and m/s */
  const double *rest;  /* [n][3] positions given by the job [m] */
  const double *mass;  /* [n] kg */
} body_nodes;

/* Constraints of a body (optim/sap/joint_constraint.h) as sparse rows over the components of its own velocities. Number and pattern
 * of the rows are constant during a step. Borrowed until the next evaluation of the body's residual. */
typedef struct {
  int64_t           n;
  const constraint *law;   /* [n] */
  const int64_t    *start; /* [3 n + 1] */
  const int32_t    *dof;   /* ascending within a row */
  const double     *value;
} body_constraints;

/* A dependent block: v[block] = sum of weight v[leader] over all entries with the same `block`. */
typedef struct {
  int32_t block, leader;
  double  weight;
} body_dependent_block;

typedef struct {
  const char *kind;
  /* Start a step at time t: transfer, sort, determine the active blocks. *n_blocks is the number of unknown blocks. */
  PetscErrorCode (*begin_step)(body *b, double t, double dt, int64_t *n_blocks, step_status *status);
  /* v0 [n_blocks][3]: velocity at the start of the step. */
  PetscErrorCode (*velocity)(const body *b, double *v0);
  /* scale [n_blocks][3]: diag(M), kg (or kg m^2 for angular blocks), all > 0: preconditioning, residual norms. */
  PetscErrorCode (*mass)(const body *b, double *scale);
  /* g += M (v - v0) - dt (f_internal + f_gravity), v = v0 + z [n_blocks][3]. With `with_tangent` also caches what
   * tangent() needs. If a value is not finite or an element is inverted, *status is set and g is unspecified. */
  PetscErrorCode (*residual)(body *b, const double *v, double *g, bool with_tangent, step_status *status);
  /* y += H x, or y += H^T x, at the state of the last residual(with_tangent = true); without contact. */
  PetscErrorCode (*tangent)(const body *b, const double *x, double *y, bool is_transposed);
  /* y += H x in single precision, for linear solves: relative error 1e-6 of the summed terms. want_single(true) must be called
   * before that residual. Either both functions are present or both are NULL; NULL: only the double-precision product exists. */
  void (*want_single)(body *b, bool is_wanted);
  PetscErrorCode (*tangent_single)(const body *b, const double *x, double *y);
  /* d [n_blocks][9] += the 3x3 diagonal blocks of H. */
  PetscErrorCode (*block_diagonal)(const body *b, double *d);
  /* Accept v [n_blocks][3] as the solution of the step. If it violates a limit (CFL), *status is set and nothing is changed. */
  PetscErrorCode (*end_step)(body *b, const double *v, step_status *status);
  /* Sums over the body for the history. The work of gravity and internal dissipation are not separated; see body_totals. */
  PetscErrorCode (*totals)(const body *b, const double gravity[3], body_totals *out);
  /* Register the state in the field table: checkpoint, restart and frames. */
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
  /* For points that fill a volume. point_radius: radius of the ball that point i represents [m]. point_row_beside: the row of the
   * material at x_i + beside, accurate to first order: sum w = 1, sum w x_block = x_i + beside. A force applied there conserves
   * linear and angular momentum. Both or neither (NULL). */
  double (*point_radius)(const body *b, int64_t i);
  int (*point_row_beside)(const body *b, int64_t i, const double beside[3], int32_t *block, double *weight);
  void (*destroy)(body **b);

  /* The unknowns are joint velocities, not velocities of points. */
  bool is_reduced;
  /* The body has a pose and a mass, but no shape that could be touched. */
  bool is_shapeless;
  /* Joint stops, motors, dry friction and loops in the current step, as rows over the body's velocities. The laws are linearised at
   * the last evaluation of the residual. Used if body.constraints_apart is set; otherwise residual and tangent contain these
   * constraints. NULL: the body has none. */
  void (*constraints)(const body *b, body_constraints *out);

  /* Optional functions, called by the scene, contact detection and measures; NULL where they do not apply. */
  /* The *n bodies of which an assembly consists. The assembly owns them and carries their unknowns; they follow it in the scene.
   * The assembly itself takes part in no contact. */
  body *const *(*parts)(const body *b, int *n);
  /* The other body that carries this body's unknowns, for example the grid shared by several bodies. See body_system. */
  body *(*carrier)(const body *b);
  /* Surfaces that contact points of other bodies can touch: *n level sets, borrowed, fixed to the pose given by `frame` ... */
  level_set *const *(*level_sets)(const body *b, int *n);
  /* ... or a triangle surface; no triangles: this body has none. The identity of a contact point of such a body is its node
   * number. */
  void (*surface)(const body *b, body_surface *out);
  /* ... or *n exact convex solids, fixed to the pose given by `frame`; 0: the body has none. */
  const convex_solid *(*solids)(const body *b, int *n);
  /* The material points of the body. */
  struct particles *(*particles)(const body *b);
  /* The mass points of the body. */
  void (*nodes)(const body *b, body_nodes *out);
  /* The fibres of the body, curves with a thickness. A smooth curve is approximated by a sufficient number of segments. */
  void (*segments)(const body *b, body_segments *out);
  /* Velocity of the material at a spot as a linear map of the body's own blocks: v = sum_k J_k v[block_k], J_k [9] row-major, for a
   * state at the start of the step. Returns the number of blocks, at most LOCATION_MAX_BLOCKS. NULL: the map follows from the kind
   * of feature: weights of point_row, of the two nodes of a segment, of the three nodes of a triangle, or a rigid motion. */
  int (*location_jacobian)(const body *b, const body_contact_location *spot, int32_t *block, double (*J)[9]);
  /* Pose of a rigid body or obstacle: at time t (v == NULL), or at t + dt for trial velocities v. v is the slice of the body that
   * carries the unknowns, if there is one. */
  void (*frame)(const body *b, double t, double dt, const double *v, rigid_frame *frame);
  /* Prescribed motion: move the body to its position at time t. */
  void (*move_to)(body *b, double t);
  /* Called between two steps: add material from the body's source. The last step ended at t and had length dt. */
  PetscErrorCode (*emit)(body *b, double t, double dt);
  /* Length below which distances to this body count as small: grid spacing, a fraction of its size [m]. Only for bodies that carry
   * unknowns. */
  double (*length)(const body *b);
  /* Writes a few words without line break: the description of the body printed by `check`. */
  void (*describe)(const body *b, FILE *out);

  /* Components whose velocity at the end of the step is prescribed: *dof [n] body-local, ascending, *velocity [n]; borrowed until
   * end_step. The formulation, which sums all forces, replaces their equations by mass (v - velocity) = 0. NULL: none. */
  int64_t (*prescribed)(const body *b, const int64_t **dof, const double **velocity);

  /* Dependent blocks of this step: their velocities are weighted sums of those of other blocks. *follower [n] body-local; the
   * entries of one block are consecutive; a leader is never a dependent block. Borrowed until end_step. The formulation transfers
   * the forces of dependent blocks to their leaders, see sim/step/dependent_nodes.h. NULL: none. */
  int64_t (*followers)(const body *b, const body_dependent_block **follower);

  /* For preconditioners that need a matrix; both or neither (NULL). Indices of `couplings` are body-local, those of H global. */
  /* Blocks that H couples with `block`, ascending, itself included; also those that share a point_row with it. Returns how many,
   * at most BODY_MAX_COUPLINGS. Constant during a step; called by several threads. */
  int (*couplings)(const body *b, int64_t block, int32_t *other);
  /* H += the tangent at the last residual(with_tangent = true), without contact. The pattern contains all couplings. If
   * assembles_part is set, it may contain only the requested ones: rows with more than their diagonal are then correct, others may
   * not be. */
  PetscErrorCode (*assemble)(const body *b, const block_rows *H);
  bool assembles_part;
  /* From the next evaluation on, tangents are symmetric and positive definite (is_wanted; indefinite contributions are omitted) or
   * exact, which is the initial setting. NULL: there is no choice. */
  void (*set_definite)(body *b, bool is_wanted);
  /* For materials whose law is linearised about the rotations at the start of the step: use the rotations at the velocities v
   * [n_blocks][3] instead, from the next evaluation to the end of the step. False: the body has no such material and nothing
   * changes. NULL: never. */
  bool (*relinearise)(body *b, const double *v);
  /* Name of the part to which velocity component `dof` belongs, for reports; owned by the body. NULL: the name of the body. */
  const char *(*name_of)(const body *b, int64_t dof);
} body_ops;

enum { POINT_MAX_WEIGHTS = 64 };    /* cubic B-splines: 4^3 */
enum { LOCATION_MAX_BLOCKS = 128 }; /* elements of a reduced curve, each a block */
enum { BODY_MAX_COUPLINGS = 686 };  /* 7^3, twice where planes are mirrors or periodic */

struct body {
  const body_ops *ops;
  const char     *name;        /* owned by the scene */
  int64_t         first_block; /* in the global vector; set by the formulation after begin_step */
  int64_t         n_blocks;
  bool            constraints_apart; /* set by the formulation before the first step: residual and tangent omit `constraints` */
};
/* The body that carries the unknowns of b: b itself, a body shared with others, or NULL for an obstacle without unknowns. */
static inline body *body_system(body *b)
{
  if (b->ops->carrier) return b->ops->carrier(b);
  return b->ops->residual ? b : NULL;
}
/* Concrete bodies start with a `body` member, so that a pointer to one is a pointer to the other. */

struct vector_field;
/* Mass-weighted root mean square over the nodes of |v - field| (is_velocity) or |x - rest - field| at time t. b must have
 * ops->nodes. */
double body_nodes_error(const body *b, const struct vector_field *f, double t, bool is_velocity);
#endif
