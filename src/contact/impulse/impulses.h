/* Geometric impulses [BridsonEtAl2002]: change the velocities of surface vertices, and of rigid bodies with surface vertices, until no two
 * features of the surfaces collide while all vertices move along straight lines during the step. Three passes:
 *
 *   near       pairs closer than the thickness at the start of the step receive impulses against approach, and a spring force
 *   collision  pairs that continuous collision detection finds receive inelastic impulses and friction, repeatedly
 *   zones      pairs that still collide after max_iterations move rigidly together (rigid impact zones), until no collision remains
 *
 * A pair is a point and a triangle, two edges, or a point and a wall (a half space). Its impulses j, -j act at the material points p_a, p_b
 * that would collide, at their positions at the start of the step. Linear momentum is conserved to round-off, except for constrained
 * vertices. Angular momentum changes by (p_a - p_b) x j.
 *
 * A vertex of a rigid body also moves on a straight line, to its position on the body at the end of the step. Its velocity is that on the
 * straight line, not V + W x r; otherwise pairs that never collide would receive impulses, and the impulses of others would be too small.
 * The velocity change of the body is j / m and I^-1 (r x j) with r at the start of the step. This is correct to first order in dt W; one
 * or two more impulses of the pair correct the remaining error.
 *
 * A zone moves with the momentum and angular momentum of its members: V + W x r, r at the start of the step. r -> r + t W x r does not
 * reduce any distance, so no two features inside a zone collide. A zone with a rigid body rotates by exp(dt W), with vertices on straight
 * lines from start to end. During the step, distances are then reduced at most by the factor cos(dt W / 2), which excludes collisions for
 * dt W < pi. The angular momentum of such a zone, with the positions at the start of the step, changes by the sum of m dt/2 (W . r) r x W,
 * r from its centre of mass, plus terms in dt^2 (tests/unit/contact/test_impulses_bodies.c). A zone with a wall or with constrained
 * vertices moves as these do. If only some velocity components are constrained, the zone has the closest rigid motion with their values.
 *
 * Results do not depend on the number of threads. The final trajectories from x0 to impulses_ends() are free of collisions; the collision
 * search uses the end positions exactly as they are stored. Caller: the `hybrid` step. */
#ifndef SS_CONTACT_IMPULSE_IMPULSES_H
#define SS_CONTACT_IMPULSE_IMPULSES_H
#include "geometry/collision/broad_phase.h"
#include "discretize/body/step_status.h"

/* Rigid body with surface vertices. inverse_mass = 0 and inverse_inertia = 0: its motion is prescribed. Only inverse_inertia = 0: it
 * does not rotate. Otherwise inverse_inertia is symmetric positive definite. */
typedef struct {
  double center[3], inverse_mass, inverse_inertia[9]; /* m, 1/kg, 1/(kg m2): at the start of the step, world axes */
  double v[3], w[3];                                  /* in and out: m/s, rad/s; in the step it moves by dt v and rotates by exp(dt w) */
  bool   is_cayley;                                   /* true: it rotates by cay(dt w) = (1 - dt/2 [w])^-1 (1 + dt/2 [w]) instead */
} impulse_rigid;
/* Wall: vertices must satisfy normal . (x - point) >= 0. `point` is given at the start of the step and moves with v. */
typedef struct {
  double  point[3], normal[3], v[3]; /* m, unit vector, m/s */
  int32_t body;                      /* body in surfaces.can_touch and impulse_scene.law; 0 if n_bodies is 0 */
} impulse_wall;
typedef struct {
  double friction, restitution; /* >= 0; restitution applies to colliding pairs, not to near ones */
} impulse_law;

/* Data that do not change from step to step. The arrays are borrowed for the lifetime of the impulses object. All vertices of an edge
 * or triangle belong to the same rigid body, or to none. */
typedef struct {
  broad_phase_surfaces surfaces;
  const double        *inverse_mass; /* [n_vertices] 1/kg; 0: constrained, its velocity does not change; not read for vertices
                                      * of rigid bodies */
  const uint8_t       *held_axes;    /* [n_vertices] bit k: velocity component k is constrained, for any mass; NULL: none */
  int32_t              n_rigid, n_walls;
  const int32_t       *rigid; /* [n_vertices] rigid body of the vertex, -1: none; NULL: no vertex belongs to a rigid body */
  const impulse_law   *law;   /* [n_slots] of surfaces.pairs, symmetric, [1] if n_bodies is 0; NULL: no friction, no restitution */
  /* Compute the end positions of the vertices of rigid body r for the motion v, w, in their rows of x1 [n_vertices][3]. They must be
   * bit-identical to the positions stored later. Called by one thread. NULL: x0 + dt v + (exp(dt w) - 1) (x0 - center), or with cay. */
  void (*place)(void *context, int32_t r, const double v[3], const double w[3], double *x1);
  void *context;
} impulse_scene;

/* State of one step: input and output of impulses_solve. */
typedef struct {
  double              dt;      /* time step [s] */
  const double       *x0;      /* [n_vertices][3] positions at the start of the step [m] */
  double             *v;       /* [n_vertices][3] in and out [m/s]; for vertices of rigid bodies out only, dt v = x1 - x0 */
  impulse_rigid      *rigid;   /* [n_rigid] in and out */
  const impulse_wall *wall;    /* [n_walls] */
  const double       *held_x1; /* [n_vertices][3] end positions of constrained vertices; NULL: x0 + dt v */
} impulse_step;

typedef struct {
  double  thickness;      /* [m] >= 0; the minimum distance of a pair is a thousandth of it, or half of the initial distance if that
                           * is less */
  double  stiffness;      /* [N/m] of the spring between the features of a pair closer than the thickness */
  int64_t max_iterations; /* limit of iterations of the collision pass */
  bool    skips_near;     /* no near pass: only colliding pairs receive impulses */
  bool    is_thorough;    /* every search tests all pairs, not only those that changed: slower, bit-identical result */
} impulse_options;
typedef struct {
  int64_t n_near;                               /* pairs that received an impulse in the near pass */
  int64_t n_iterations;                         /* iterations of the collision pass that found a collision */
  int64_t n_collisions;                         /* colliding pairs, summed over these iterations */
  int64_t n_zones, n_zone_nodes, n_zone_rounds; /* zones; vertices, rigid bodies and walls in zones; iterations of the zones pass */
  int64_t n_queries;                            /* tests of continuous collision detection */
  int64_t n_searches;                           /* searches of the broad phase */
  double  normal_work, friction_work;           /* [J] impulse times the mean relative velocity before and after, both passes */
  double  zone_work;                            /* [J] change of kinetic energy by zones, without constrained vertices and bodies */
} impulse_report;

/* Sum of the impulses of one pair in the near and collision passes of the last solve. body[0] has the point or the first edge. */
typedef struct {
  double  place[3];    /* contact point on body[1] at the end of the step [m] */
  double  normal[3];   /* unit vector from body[1] to body[0]: direction of the sum of normal impulses */
  double  impulse[3];  /* impulse on body[0] [N s] */
  double  friction[3]; /* friction component of `impulse` [N s] */
  double  pressed;     /* sum of the magnitudes of the normal impulses [N s]: |friction| <= mu pressed, pressed >= |impulse -
                        * friction| */
  double  gap;         /* distance along the normal at the end of the step [m] */
  int32_t body[2];
  bool    is_sliding; /* friction was at its limit in the last evaluation */
} impulse_contact;

typedef struct impulses impulses;
PetscErrorCode          impulses_create(const impulse_scene *scene, impulses **out);
void                    impulses_destroy(impulses **a);
/* Solve one step in place. *status: STEP_COLLISION_UNRESOLVED if collisions remain because one zone contains members with different
 * prescribed motions, or would rotate by 3 rad or more; STEP_NOT_FINITE if a position or velocity of a vertex is not finite. */
PetscErrorCode impulses_solve(impulses *a, const impulse_options *o, const impulse_step *step, step_status *status, impulse_report *out);
/* Two features closer than a distance at the start of a step. */
typedef struct {
  int32_t body[2];  /* of the first and second feature; 0 if surfaces.n_bodies is 0 */
  double  place[3]; /* a point of the first feature [m] */
  double  gap;      /* their distance [m]; negative: behind a wall */
} impulse_near;
/* Find all pairs of features closer than `distance` [m] at step->x0: *list [n], allocated, memory_free. Reads x0, rigid and wall of `step`.
 * *n = 0 if a position is not finite. */
PetscErrorCode impulses_find_near(impulses *a, double distance, const impulse_step *step, int64_t *n, impulse_near **list);
/* [n_vertices][3] end positions of the last solve. */
const double *impulses_ends(const impulses *a);
/* Contacts of the last solve, ascending by kind of pair and features; borrowed until the next solve. */
const impulse_contact *impulses_contacts(const impulses *a, int64_t *n);
/* Count the pairs of features (without walls) that collide between x0 and x1, both [n_vertices][3]; 0 for the trajectories of the last
 * solve. Pairs of one rigid body, and pairs whose vertices are all constrained, are not tested. */
PetscErrorCode impulses_count_collisions(impulses *a, const double *x0, const double *x1, int64_t *n);
#endif
