/* Geometric impulses: change the velocities of surface vertices and of rigid bodies that carry vertices, until no two features of
 * the surfaces collide while all vertices move along straight lines through the step [BridsonEtAl2002]. Three passes:
 *
 *   near       pairs closer than the thickness at the beginning of the step stop approaching; a spring separates them
 *   collision   pairs that continuous collision detection finds receive inelastic impulses and friction, repeatedly
 *   zones      pairs that still collide after max_iterations move rigidly together (rigid impact zones), until no collision remains
 *
 * A pair is a point and a triangle, two edges, or a point and a wall (a half space). Its two impulses are opposite. They act at the
 * material places that will collide, at their positions at the beginning of the step. Linear momentum is conserved to rounding,
 * except for constrained vertices. Angular momentum about the common point of collision changes by (p_a - p_b) x j, where p_a, p_b
 * are the two places.
 *
 * A vertex carried by a rigid body also moves on a straight line, to its place on the body at the end of the step. Its velocity is
 * that of the straight line, not V + W x r; otherwise pairs that never collide would receive impulses, and others too small ones.
 * The body's response is j / m and I^-1 r x j with r at the beginning of the step. It is correct to first order in dt W; pairs
 * receive one or two more impulses until the result is exact.
 *
 * A zone moves with the momentum and angular momentum of its members: V + W x r, r at the beginning. r -> r + t W x r never
 * shortens a distance, so no two features inside a zone collide. A zone with a rigid body turns by exp(dt W), with vertices on
 * straight lines from start to end. Distances then shrink by at most cos(dt W / 2), which is no collision for less than pi. Its
 * angular momentum about the beginning changes by the sum of m dt/2 (W . r) r x W, r from its center of mass, plus terms in dt^2
 * [tests/unit/contact/test_impulses_bodies.c]. A zone with a wall or with constrained vertices moves as these do. Where only some
 * velocity components are constrained, these are kept, and the rest is the closest rigid motion.
 *
 * Results have the same bits on any number of threads. At the end the trajectories from x0 to impulses_ends() are free of
 * collisions; these are the same numbers that the collision search used, rounded as they will be stored. Caller: the `hybrid`
 * step. */
#ifndef SS_CONTACT_IMPULSE_IMPULSES_H
#define SS_CONTACT_IMPULSE_IMPULSES_H
#include "geometry/collision/broad_phase.h"
#include "discretize/body/step_status.h"

/* Rigid body that carries vertices. inverse_mass and inverse_inertia 0: its motion is prescribed. Only inverse_inertia 0: it
 * does not turn. Otherwise inverse_inertia is symmetric positive definite. */
typedef struct {
  double center[3], inverse_mass, inverse_inertia[9]; /* m, 1/kg, 1/(kg m2): at the beginning of the step, world axes */
  double v[3], w[3];                                  /* in and out: m/s, rad/s; over the step it moves by dt v and turns by exp(dt w) */
  bool   is_cayley;                                   /* or by cay(dt w) = (1 - dt/2 [w])^-1 (1 + dt/2 [w]) */
} impulse_rigid;
/* Half space that vertices must not enter: normal . (x - point) >= 0, point at the beginning of the step, moving with v. */
typedef struct {
  double  point[3], normal[3], v[3]; /* normal: of unit length */
  int32_t body;                      /* row of surfaces.meets and of the table of laws; 0 if there is one body only */
} impulse_wall;
typedef struct {
  double friction, restitution; /* >= 0; restitution applies to colliding pairs, not to near ones */
} impulse_law;

/* Data that stay the same over the steps. The arrays are borrowed for the lifetime of the impulses object. All vertices of an edge
 * or triangle are carried by the same rigid body, or by none. */
typedef struct {
  broad_phase_surfaces surfaces;
  const double        *inverse_mass; /* [n_vertices] 1/kg; 0: constrained, its velocity does not change; ignored for carried
                                      * vertices */
  const uint8_t       *held_axes;    /* [n_vertices] bit k: velocity component k is constrained, for any mass; NULL: none */
  int32_t              n_rigid, n_walls;
  const int32_t       *rigid; /* [n_vertices] rigid body that carries it, -1: none; NULL: no vertex is carried */
  const impulse_law   *law;   /* [n_bodies][n_bodies] symmetric, [1] if n_bodies is 0; NULL: no friction, no restitution */
  /* Write the end positions of the vertices of rigid body r for the motion v, w to their rows of x1 [n_vertices][3]: the same
   * numbers that will be stored. Called by one thread. NULL: x0 + dt v + (exp(dt w) - 1) (x0 - center), or cay. */
  void (*place)(void *context, int32_t r, const double v[3], const double w[3], double *x1);
  void *context;
} impulse_scene;

/* State of one step: input and output of impulses_solve. */
typedef struct {
  double              dt;
  const double       *x0;      /* [n_vertices][3] */
  double             *v;       /* [n_vertices][3] in and out; for carried vertices: out only, dt v = x1 - x0 */
  impulse_rigid      *rigid;   /* [n_rigid] in and out */
  const impulse_wall *wall;    /* [n_walls] */
  const double       *held_x1; /* [n_vertices][3] end positions of constrained vertices; NULL: x0 + dt v */
} impulse_step;

typedef struct {
  double  thickness;      /* [m] >= 0; pairs keep a distance of a thousandth of it, or half of their initial distance if that is
                           * less */
  double  stiffness;      /* [N/m] spring within the thickness, per pair */
  int64_t max_iterations; /* limit of the second pass */
  bool    is_thorough;    /* every search tests all pairs, not only those that changed: slower, bit-identical result */
} impulse_options;
typedef struct {
  int64_t n_near;                               /* pairs within the thickness at the beginning that received an impulse */
  int64_t n_iterations;                         /* iterations of the second pass that found a collision */
  int64_t n_collisions;                         /* colliding pairs, summed over these iterations */
  int64_t n_zones, n_zone_nodes, n_zone_rounds; /* nodes: vertices, rigid bodies and walls */
  int64_t n_queries;                            /* tests of continuous collision detection */
  int64_t n_searches;                           /* searches of the broad phase */
  double  normal_work, friction_work;           /* [J] impulse times the mean relative velocity before and after, both passes */
  double  zone_work;                            /* [J] change of kinetic energy by zones, without constrained vertices and bodies */
} impulse_report;

/* Impulse of one pair in the last solve, all passes together; zones are not included. body[0] has the point or the first edge. */
typedef struct {
  double  place[3];    /* on body[1], at the end of the step [m] */
  double  normal[3];   /* from body[1] to body[0], unit: direction of the sum of normal impulses */
  double  impulse[3];  /* on body[0] [N s] */
  double  friction[3]; /* its friction component */
  double  pressed;     /* sum of the magnitudes of its normal impulses: |friction| <= mu pressed, and pressed >= |impulse -
                        * friction| */
  double  gap;         /* along the normal at the end [m] */
  int32_t body[2];
  bool    is_sliding; /* friction was at its limit in the last evaluation */
} impulse_contact;

typedef struct impulses impulses;
PetscErrorCode          impulses_create(const impulse_scene *scene, impulses **out);
void                    impulses_destroy(impulses **a);
/* Solve one step in place. Step status: STEP_COLLISION_UNRESOLVED if surfaces could not be separated, because one zone contains members with
 * different prescribed motions or would turn by 3 rad or more; STEP_NOT_FINITE at a vertex. */
PetscErrorCode impulses_solve(impulses *a, const impulse_options *o, const impulse_step *step, step_status *status, impulse_report *out);
/* [n_vertices][3] end positions of the last solve. */
const double *impulses_ends(const impulses *a);
/* Contacts of the last solve, ascending by kind of pair and features; borrowed until the next solve. */
const impulse_contact *impulses_contacts(const impulses *a, int64_t *n);
/* Count the pairs of features (without walls) that collide between x0 and x1, both [n_vertices][3]; 0 for the solved trajectories.
 * Pairs carried by one rigid body, and pairs that are constrained altogether, are not tested. */
PetscErrorCode impulses_count_collisions(impulses *a, const double *x0, const double *x1, int64_t *n);
#endif
