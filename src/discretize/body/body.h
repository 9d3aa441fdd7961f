/* The interface of all bodies: a table of functions (body_ops) over velocity unknowns in blocks of three.
 *
 * The unknown of a step is the velocity increment z = v - v0, in blocks of 3 doubles: an MPM grid node is one block, a rigid body is two
 * blocks (linear, angular; both in world axes). All bodies of a scene share one global vector. The functions below get only the slice of
 * their body, which starts at `first_block`. Time integration is backward Euler; x0 + dt v is the position at the end of the step:
 *
 *   g(z) = M z - dt f(x0 + dt (v0 + z))          H = dg/dz
 *
 * A new kind of body has its own folder and one entry in the registry, body_kinds.h.
 *
 * Sequence of calls in a step: begin_step determines the blocks and v0. residual and tangent may then be called any number of times;
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
 *   POINT     offset from the contact point to the location of contact, for bodies with point_row_beside [m]
 *   SEGMENT   w[0] in [0, 1): fraction along the axis; the location is on the surface next to x_0 + w[0] (x_1 - x_0)
 *   TRIANGLE  barycentric coordinates */
typedef struct {
  feature_kind kind;
  int64_t      index; /* of the point, segment or triangle in its body; unused with FEATURE_FRAME */
  double       w[3];
  double       x[3];      /* position of the contact at the start of the step, world axes [m] */
  bool         is_beside; /* TRIANGLE: x is outside the plane of the triangle and moves with its tangent plane */
} body_contact_location;

/* The fibres of a body as straight segments, borrowed from the body. The segments of one strand are consecutive, in order along it;
 * a closed strand ends at its first node. */
typedef struct {
  int64_t        n_nodes, n_segments;
  const int32_t *segment; /* [n_segments][2] nodes, never changes */
  const int32_t *strand;  /* [n_segments] */
  const double  *x;       /* [n_nodes][3] at the start of the step [m] */
  const double  *radius;  /* [n_segments] [m] */
  bool           on_axis; /* segments do not rotate about their axis: contact forces act on the axis (contact/rows/axis_contact.h) */
} body_segments;

/* The pose of a rigid body or obstacle during a step. Contact uses it for level sets, vertices and solids fixed to the pose.
 *
 *   c [3]  origin [m] (centre of mass for dynamic bodies)          R [9]  rotation from body axes to world axes
 *   v, w   velocity of the origin [m/s] and angular velocity [rad/s], world axes (for sliding directions and work)
 *   Jl [9] left Jacobian of the exponential map at dt w: world rotation increment per change of dt w
 * Static bodies: identity; kinematic bodies: the prescribed pose at the end of the step.             */
typedef struct {
  double  c[3], R[9], v[3], w[3], Jl[9];
  int64_t block; /* global index of the linear block, block + 1 is the angular one; -1: no unknowns */
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

/* Whether both poses are equal, without a tolerance. */
static inline bool rigid_frame_is_equal(const rigid_frame *f, const rigid_frame *g)
{
  bool is_equal = true;
  for (int k = 0; k < 3; ++k) is_equal = is_equal && f->c[k] == g->c[k];
  for (int k = 0; k < 9; ++k) is_equal = is_equal && f->R[k] == g->R[k];
  return is_equal;
}

/* How the positions Z of the contact points of a body at the end of the step follow from its unknowns. */
typedef enum {
  POINT_NONE,     /* no contact points */
  POINT_WEIGHTED, /* Z = x0 + dt sum_k w_k v[block_k]: MPM particles; nodes of FEM and cloth (one weight 1) */
  POINT_RIGID     /* Z = c + R a: a vertex of a rigid body, blocks first_block and first_block + 1 */
} point_kind;

/* Sums over a body, for the history table. Energies in J, momenta in N s and N m s about the origin. */
typedef struct {
  double mass, kinetic, elastic, potential; /* potential: gravity, zero at the origin */
  double momentum[3], angular_momentum[3], center[3];
  double overshoot, turn; /* maxima of the last step, see material_step_maxima; 0 for materials that do not report them */
} body_totals;
/* Add a mass at x with velocity v. `center` accumulates mass times x; the caller divides it by the total mass at the end. */
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

/* A matrix of 3x3 blocks in compressed rows, to which bodies and contacts add their tangents. All arrays are borrowed. */
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
/* Create the tangent matrix of one body: n rows of 3x3 blocks in compressed rows, with a symmetric pattern.
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
 * of the rows are constant during a step. All arrays are borrowed until the next evaluation of the body's residual. */
typedef struct {
  int64_t           n;
  const constraint *law;   /* [n] three rows each */
  const int64_t    *start; /* [3 n + 1] */
  const int32_t    *dof;   /* [start[3 n]] velocity component, ascending within a row */
  const double     *value; /* [start[3 n]] */
} body_constraints;

/* One term of a dependent block: v[block] = sum of weight v[leader] over all entries with the same `block`. */
typedef struct {
  int32_t block, leader;
  double  weight;
} body_dependent_block;

/* The functions of a kind of body. */
typedef struct {
  const char *kind;
  /* Start a step of length dt at time t, e.g. sort particles and transfer them to the grid. *n_blocks: number of blocks of unknowns. If
   * the step must be rejected, *status is set. t + dt < 0: step of the search for the static equilibrium, with the prescribed values of t = 0 and
   * without prescribed rates. */
  PetscErrorCode (*begin_step)(body *b, double t, double dt, int64_t *n_blocks, step_status *status);
  /* v0 [n_blocks][3]: velocity at the start of the step. */
  PetscErrorCode (*velocity)(const body *b, double *v0);
  /* scale [n_blocks][3]: diag(M) [kg], [kg m^2] for angular blocks, all > 0; for preconditioners and residual norms. */
  PetscErrorCode (*mass)(const body *b, double *scale);
  /* g += M (v - v0) - dt (f_internal + f_gravity), v = v0 + z [n_blocks][3]. with_tangent: also store the data that `tangent` reads. If a
   * value is not finite or an element is inverted, *status is set and g is undefined. */
  PetscErrorCode (*residual)(body *b, const double *v, double *g, bool with_tangent, step_status *status);
  /* y += H x, or y += H^T x, at the state of the last residual with with_tangent. H does not contain contact. */
  PetscErrorCode (*tangent)(const body *b, const double *x, double *y, bool is_transposed);
  /* tangent_single: y += H x in single precision, for linear solves; relative error 1e-6 of the summed terms. want_single(true) must be
   * called before the residual that stores the tangent. Both or neither (NULL): only the double-precision product exists. */
  void (*want_single)(body *b, bool is_wanted);
  PetscErrorCode (*tangent_single)(const body *b, const double *x, double *y);
  /* d [n_blocks][9] += the 3x3 diagonal blocks of H. */
  PetscErrorCode (*block_diagonal)(const body *b, double *d);
  /* Accept v [n_blocks][3] as the solution of the step. If it violates a limit (CFL), *status is set and the body is not changed. */
  PetscErrorCode (*end_step)(body *b, const double *v, step_status *status);
  /* Compute sums over the body for the history table. */
  PetscErrorCode (*totals)(const body *b, const double gravity[3], body_totals *out);
  /* Register the state in the field table: checkpoint, restart and frames. NULL: dynamic rigid bodies, see rigid_table.h. */
  PetscErrorCode (*fields)(body *b, field_table *table);

  /* Contact points, in clusters whose bounding spheres are used by the broad phase; valid between begin_step and end_step. */
  point_kind points;
  int64_t (*n_clusters)(const body *b);
  /* Bounding sphere of cluster i at the start of the step [m], and its points first ... end - 1. */
  void (*cluster)(const body *b, int64_t i, double center[3], double *radius, int64_t *first, int64_t *end);
  /* x: position of point i at the start of the step [m]. Returns its identity, unique in this body and not changed by sorting. */
  int64_t (*point)(const body *b, int64_t i, double x[3]);
  /* For POINT_WEIGHTED: the row of point i: body-local blocks with weights (sum w = 1). Returns their number <= POINT_MAX_WEIGHTS. */
  int (*point_row)(const body *b, int64_t i, int32_t *block, double *weight);
  /* For points that represent volume (particles). point_radius: radius of a ball with the volume of point i [m]. point_row_beside: the row
   * of the material at x_i + beside, accurate to first order: sum w = 1, sum w x_block = x_i + beside. A force applied there conserves
   * linear and angular momentum. Both or neither (NULL). */
  double (*point_radius)(const body *b, int64_t i);
  int (*point_row_beside)(const body *b, int64_t i, const double beside[3], int32_t *block, double *weight);
  void (*destroy)(body **b);

  /* The unknowns are joint velocities, not velocities of points. */
  bool is_reduced;
  /* The body has a pose and a mass, but no shape for contact. */
  bool is_shapeless;
  /* Joint stops, motors, dry friction and closed loops of the current step, as rows over the body's velocities. The laws are linearised at
   * the last evaluation of the residual. Used if body.constraints_apart is set; otherwise residual and tangent contain these
   * constraints. NULL: the body has none. */
  void (*constraints)(const body *b, body_constraints *out);

  /* Optional functions, called by the scene, contact detection and measures; NULL if the body does not provide them. */
  /* The *n parts of an assembly, which are bodies themselves. The assembly owns them and has their unknowns. In the list of bodies of the
   * scene they come after it. The assembly itself has no contact. */
  body *const *(*parts)(const body *b, int *n);
  /* The other body that has the unknowns of this body, for example the grid shared by several bodies. See body_system. */
  body *(*carrier)(const body *b);
  /* Surfaces with which contact points of other bodies collide: *n level sets, borrowed, fixed to the pose given by `frame` ... */
  level_set *const *(*level_sets)(const body *b, int *n);
  /* ... or a triangle surface; n_triangles 0: this body has none. The identity of a contact point of such a body is its node number. */
  void (*surface)(const body *b, body_surface *out);
  /* ... or *n exact convex solids, fixed to the pose given by `frame`; 0: the body has none. */
  const convex_solid *(*solids)(const body *b, int *n);
  /* The particles of the body. */
  struct particles *(*particles)(const body *b);
  /* The mass points of the body. */
  void (*nodes)(const body *b, body_nodes *out);
  /* The fibres of the body, curves with a thickness. A smooth curve is approximated by segments. */
  void (*segments)(const body *b, body_segments *out);
  /* Velocity of the material at a contact location as a linear map of the body's own blocks: v = sum_k J_k v[block_k], J_k [9] row-major,
   * for the state at the start of the step. Returns the number of blocks, at most LOCATION_MAX_BLOCKS. NULL: the map follows from the
   * kind of feature: weights of point_row, of the two nodes of a segment, of the three nodes of a triangle, or a rigid motion. */
  int (*location_jacobian)(const body *b, const body_contact_location *spot, int32_t *block, double (*J)[9]);
  /* Pose of a rigid body or obstacle at time t (v NULL), or at t + dt for trial velocities v [n_blocks][3] of body_system(b). */
  void (*frame)(const body *b, double t, double dt, const double *v, rigid_frame *frame);
  /* Prescribed motion: move the body to its position at time t. */
  void (*move_to)(body *b, double t);
  /* Called between two steps: add particles from the body's source. The last step ended at t and had length dt. */
  PetscErrorCode (*emit)(body *b, double t, double dt);
  /* Returns the length scale of the discretisation, to decide whether a distance is small: grid spacing, or a fraction of the size of the
   * body [m]. Only for bodies with unknowns. */
  double (*length)(const body *b);
  /* Write the description of the body that `check` prints: a few words without line break. */
  void (*describe)(const body *b, FILE *out);

  /* Components whose velocity at the end of the step is prescribed: *dof [n] body-local, ascending; *velocity [n]; borrowed until
   * end_step. Returns n. The formulation replaces the equations of these components by mass (v - velocity) = 0. NULL: none. */
  int64_t (*prescribed)(const body *b, const int64_t **dof, const double **velocity);

  /* Dependent blocks of this step: their velocities are weighted sums of those of other blocks ("leaders"). *follower [n] body-local; the
   * entries of one block are consecutive; a leader is never a dependent block. Borrowed until end_step. Returns n. The formulation
   * transfers the forces of dependent blocks to their leaders, see sim/step/dependent_nodes.h. NULL: none. */
  int64_t (*followers)(const body *b, const body_dependent_block **follower);

  /* Two functions for preconditioners that need a matrix; both or neither (NULL). Indices of `couplings` are body-local, those of H global. */
  /* other: blocks that H couples with `block`, ascending, itself included, and blocks that occur in one point_row with it. Returns their
   * number, at most BODY_MAX_COUPLINGS. Constant during a step; called by several threads. */
  int (*couplings)(const body *b, int64_t block, int32_t *other);
  /* H += the tangent at the last residual with with_tangent, without contact. The pattern of H contains all couplings. If assembles_part
   * is true, the pattern may contain only a part of them; rows that have only their diagonal may then be incomplete. */
  PetscErrorCode (*assemble)(const body *b, const block_rows *H);
  bool assembles_part;
  /* Select the tangent of all following evaluations: symmetric and positive definite, without indefinite contributions (is_wanted), or
   * exact (initial setting). NULL: the body has only one tangent. */
  void (*set_definite)(body *b, bool is_wanted);
  /* For materials whose law is linearised about the rotations at the start of the step: use the rotations at the velocities v [n_blocks][3]
   * instead, from the next evaluation to the end of the step. Returns false if the body has no such material. NULL: the same. */
  bool (*relinearise)(body *b, const double *v);
  /* Name of the link to which velocity component `dof` belongs, for reports; owned by the body. NULL: the name of the body. */
  const char *(*name_of)(const body *b, int64_t dof);
} body_ops;

enum { POINT_MAX_WEIGHTS = 64 };    /* 4^3 nodes of a cubic B-spline */
enum { LOCATION_MAX_BLOCKS = 128 }; /* blocks of a super-helix or of an articulated body */
enum { BODY_MAX_COUPLINGS = 686 };  /* 7^3 nodes, twice that number with mirrors or periodic planes */

struct body {
  const body_ops *ops;
  const char     *name;        /* owned by the scene */
  int64_t         first_block; /* in the global vector; set by the formulation after begin_step */
  int64_t         n_blocks;
  bool            constraints_apart; /* set by the formulation before the first step: residual and tangent omit `constraints` */
  bool is_resting; /* a rigid body that the steps leave out: no unknowns, an obstacle for contact detection (sim/step/resting_islands.h) */
  bool is_waiting; /* will be released later in the run: no unknowns, contact, frames and sums until then (rigid_table.h) */
};
/* Returns the body that has the unknowns of b: b itself, its carrier, or NULL for an obstacle without unknowns. */
static inline body *body_system(body *b)
{
  if (b->ops->carrier) return b->ops->carrier(b);
  return b->ops->residual ? b : NULL;
}
/* The same, but NULL for a body at rest. */
static inline body *body_moving_system(body *b)
{
  body *const system = body_system(b);
  return system && !system->is_resting ? system : NULL;
}
/* The struct of every kind of body starts with a `body` member, so that its pointer can be cast to and from body *. */

struct vector_field;
/* Mass-weighted root mean square over the nodes of |v - field| [m/s] (is_velocity) or |x - rest - field| [m] at time t. b must have ops->nodes. */
double body_nodes_error(const body *b, const struct vector_field *f, double t, bool is_velocity);
#endif
