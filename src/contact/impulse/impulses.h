/* Geometric impulses: correct the velocities of surface vertices and of rigid bodies until no two surface features collide during the
 * step [BridsonEtAl2002; MarquezRazonEtAl2023]. All vertices move along straight lines through the step. There are three passes:
 *
 *   proximity  pairs nearer than the thickness at the start of the step stop approaching; a spring separates them
 *   collision  pairs that collide (continuous collision detection) receive inelastic impulses and friction, repeatedly
 *   zones      pairs that still collide after max_iterations move rigidly together (impact zones), until no pair collides
 *
 * A pair is a point and a triangle, two edges, or a point and a wall (half space). Its two impulses are opposite. They act at the
 * collision points, at the positions of these points at the start of the step. Linear momentum is conserved to rounding, except for
 * constrained vertices and bodies. Angular momentum about the collision point is conserved up to (p_a - p_b) x j, where p_a, p_b are the
 * positions of the two points at the start and j is the impulse; p_a - p_b is their relative displacement before the collision.
 *
 * A vertex attached to a rigid body also moves along a straight line, to its position on the body at the end of the step. Its velocity
 * is that of this straight line, not V + W x r: otherwise pairs that never collide would receive impulses, and others too small ones. The
 * body receives j / m and I^-1 (r x j) with r at the start of the step. This response is correct to first order in dt W; one or two
 * further impulses make it exact.
 *
 * A zone moves with the momentum and angular momentum of its members: V + W x r with r at the start. The map r -> r + t W x r never
 * shortens a distance, so members of a zone cannot collide. A zone with a rigid body rotates by exp(dt W) instead, and its vertices move on
 * straight lines between the two poses; distances shrink at most by the factor cos(dt W / 2), and members do not collide for angles below pi.
 * Its angular momentum about the start position changes by the sum of m dt/2 (W . r) r x W, with r from its centre of mass, and by terms in
 * dt^2 [tests/unit/contact/test_impulses_bodies.c]. A zone that contains a wall or constrained units takes their motion; constrained
 * velocity components are kept, and the other components are fitted by least squares.
 *
 * Results have the same bits on any number of threads. At the end the trajectories from x0 to impulses_ends() are free of collisions; the
 * detection uses the same rounded numbers that are stored. Called by sim/hybrid. */
#ifndef SS_CONTACT_IMPULSE_IMPULSES_H
#define SS_CONTACT_IMPULSE_IMPULSES_H
#include "geometry/collision/broad_phase.h"
#include "discretize/body/step_status.h"

/* A rigid body to which vertices are attached. inverse_mass and inverse_inertia 0: its motion is prescribed; inverse_inertia alone 0: it
 * does not rotate; otherwise inverse_inertia is symmetric positive definite. */
typedef struct {
  double center[3], inverse_mass, inverse_inertia[9]; /* m, 1/kg, 1/(kg m2): at the beginning of the step, world axes */
  double v[3], w[3]; /* in and out: m/s, rad/s; over the step it translates by dt v and rotates by exp(dt w) */
  bool   is_cayley;  /* rotates by cay(dt w) = (1 - dt/2 [w])^-1 (1 + dt/2 [w]) instead */
} impulse_rigid;
/* A half space that vertices must not enter: normal . (x - point) >= 0; point at the start of the step, moving with velocity v. */
typedef struct {
  double  point[3], normal[3], v[3]; /* normal: of unit length */
  int32_t body;                      /* its body index in surfaces.meets and in law; 0 if there is only one body */
} impulse_wall;
typedef struct {
  double friction, restitution; /* >= 0; restitution applies to colliding pairs, not to proximity pairs */
} impulse_law;

/* Data that is constant over all steps. The arrays are borrowed for the lifetime of the impulses. All vertices of an edge or a triangle
 * are attached to the same rigid body, or none of them is. */
typedef struct {
  broad_phase_surfaces surfaces;
  const double        *inverse_mass; /* [n_vertices] 1/kg; 0: its velocity is prescribed; ignored for attached vertices */
  const uint8_t       *held_axes;    /* [n_vertices] bit k: component k of the velocity is constrained, whatever the mass; NULL: none */
  int32_t              n_rigid, n_walls;
  const int32_t       *rigid; /* [n_vertices] rigid body to which it is attached, -1: none; NULL: no vertex is attached */
  const impulse_law   *law;   /* [n_bodies][n_bodies] symmetric, [1] if n_bodies is 0; NULL: no friction, no restitution */
  /* Writes the end positions of the vertices attached to rigid body r, moving with v, w, to their rows of x1 [n_vertices][3]: the same
   * numbers that will be stored. Called from one thread. NULL: x0 + dt v + (exp(dt w) - 1) (x0 - center), or cay. */
  void (*place)(void *context, int32_t r, const double v[3], const double w[3], double *x1);
  void *context;
} impulse_scene;

/* The step. */
typedef struct {
  double              dt;
  const double       *x0;    /* [n_vertices][3] */
  double             *v;     /* [n_vertices][3] in and out; attached vertices: out only, dt v = x1 - x0 */
  impulse_rigid      *rigid; /* [n_rigid] in and out */
  const impulse_wall *wall;  /* [n_walls] */
  const double *held_x1;     /* [n_vertices][3] end positions of vertices with prescribed motion; NULL: x0 + dt v */
} impulse_step;

typedef struct {
  double  thickness;      /* [m] >= 0; pairs are kept apart by a thousandth of it, or by half of their initial distance if that is less */
  double  stiffness;      /* [N/m] of the spring within the thickness, per pair */
  int64_t max_iterations; /* of the second pass */
  bool    is_thorough;    /* every search tests all pairs, not only those that changed: slower, same bits (for tests) */
} impulse_options;
typedef struct {
  int64_t n_near;       /* pairs within the thickness at the start that approached or received a spring impulse */
  int64_t n_iterations; /* iterations of the collision pass that found colliding pairs */
  int64_t n_meetings;   /* colliding pairs, summed over these iterations */
  int64_t n_zones, n_zone_nodes, n_zone_rounds; /* nodes: vertices, rigid bodies and walls in zones */
  int64_t n_queries;    /* queries of continuous collision detection */
  int64_t n_searches;   /* searches of the broad phase */
  double  normal_work, friction_work; /* [J] impulse times mean relative velocity (before and after), over both passes */
  double  zone_work;    /* [J] change of kinetic energy by zones, without constrained units */
} impulse_report;

/* Total impulse on a pair in the last solve, over all passes; zones are not pairs. body[0] has the point or the first edge. */
typedef struct {
  double  place[3];    /* contact point on body[1] at the end of the step [m] */
  double  normal[3];   /* unit, from body[1] to body[0]: direction of the sum of normal impulses */
  double  impulse[3];  /* on body[0] [N s] */
  double  friction[3]; /* friction part of the impulse */
  double  pressed;     /* sum of the magnitudes of its normal impulses: |friction| <= mu pressed, and pressed >= |impulse - friction| */
  double  gap;         /* gap along the normal at the end of the step [m] */
  int32_t body[2];
  bool    is_sliding;  /* friction reached the Coulomb limit in the last iteration of this pair */
} impulse_contact;

typedef struct impulses impulses;
PetscErrorCode impulses_create(const impulse_scene *scene, impulses **out);
void           impulses_destroy(impulses **a);
/* Solve the step. *verdict is STEP_IMPACT if surfaces could not be kept apart: units with different prescribed motions are in one zone, or a
 * zone would rotate by 3 rad or more. It is STEP_NOT_FINITE, with the vertex, if a position or velocity is not finite. */
PetscErrorCode impulses_solve(impulses *a, const impulse_options *o, const impulse_step *step, step_verdict *verdict,
                              impulse_report *out);
/* [n_vertices][3] end positions of the last solve. */
const double *impulses_ends(const impulses *a);
/* Contacts of the last solve, sorted by kind of pair and features; borrowed until the next solve. */
const impulse_contact *impulses_contacts(const impulses *a, int64_t *n);
/* Number of feature pairs, without walls, that collide between x0 and x1, both [n_vertices][3]; zero for the trajectories of the last solve.
 * Pairs on one rigid body, and pairs with prescribed motion on both sides, are not tested. For tests. */
PetscErrorCode impulses_count_meetings(impulses *a, const double *x0, const double *x1, int64_t *n);
#endif
