/* Geometric impulses: velocities of surface vertices, and of rigid bodies that carry some, changed until no two features of the
 * surfaces meet while all vertices move along straight lines through the step [BridsonEtAl2002; hybrid, sec. 9]. Three passes:
 *
 *   near       pairs nearer than the thickness at the beginning stop closing, and are pushed apart by a spring
 *   meeting    pairs whose ways meet, found by continuous detection, take inelastic impulses and friction, again and again
 *   zones      what still meets after max_iterations moves rigidly together (impact_zones.h), until nothing meets
 *
 * A pair is a point and a triangle, two edges, or a point and a wall, which is a half space. Its two impulses are opposite and act
 * where the features will meet, as these places lie at the beginning of the step: linear momentum is kept to rounding but for what
 * is held, angular momentum about where all are then up to (p_a - p_b) x j, p the two places, which is their way along each other.
 *
 * A vertex that a rigid body carries goes straight, too, to where the body ends; its velocity is that of this straight way, not
 * V + W x r, or pairs would be pushed that never meet, and others not enough. What a body feels is j / m and I^-1 r x j with r at
 * the beginning, so that its response is right to first order in dt W, and pairs take another impulse or two until it is exact.
 *
 * Zones move with the momentum and angular momentum of what is in them, V + W x r with r at the beginning: r -> r + t W x r never
 * shortens a distance, so that nothing within one meets. One with a rigid body in it turns by exp(dt W) instead, straight from end to
 * end, which comes nearer by cos(dt W / 2) and never meets, for less than pi; its angular momentum about the beginning changes by the
 * sum of m dt/2 (W . r) r x W, r from its center of mass, and terms in dt^2 [tests/unit/contact/test_impulses_bodies.c]. With a wall,
 * or what is held, a zone moves as these do; velocities that vertices keep in part are kept, and the rest is as near as it can be.
 *
 * Results have the same bits on any number of threads. At the end the ways from x0 to impulses_ends() are free of meetings: the
 * same numbers that the search looked at, rounded as they will be stored. */
#ifndef SS_CONTACT_IMPULSE_IMPULSES_H
#define SS_CONTACT_IMPULSE_IMPULSES_H
#include "geometry/collision/broad_phase.h"
#include "discretize/body/step_status.h"

/* Something rigid that carries vertices. inverse_mass and inverse_inertia 0: held, its motion is given; inverse_inertia alone 0: it
 * does not turn; else it is symmetric positive definite. */
typedef struct {
  double center[3], inverse_mass, inverse_inertia[9]; /* m, 1/kg, 1/(kg m2): at the beginning of the step, world axes */
  double v[3], w[3]; /* in and out: m/s, rad/s; over the step it moves by dt v and turns by exp(dt w) */
  bool   is_cayley;  /* or by cay(dt w) = (1 - dt/2 [w])^-1 (1 + dt/2 [w]) */
} impulse_rigid;
/* A half space that vertices stay out of: normal . (x - point) >= 0, point at the beginning of the step, moving with v. */
typedef struct {
  double  point[3], normal[3], v[3]; /* normal: of unit length */
  int32_t body;                      /* that surfaces.meets and the laws know it by; 0 if there is one body only */
} impulse_wall;
typedef struct {
  double friction, restitution; /* >= 0; restitution of pairs whose ways meet, not of near ones */
} impulse_law;

/* What stays from step to step; the arrays are borrowed as long as the impulses live. Vertices of an edge or a triangle are carried
 * by one rigid body, or none is. */
typedef struct {
  broad_phase_surfaces surfaces;
  const double        *inverse_mass; /* [n_vertices] 1/kg, 0: held, its velocity stays; of carried ones ignored */
  const uint8_t       *held_axes;    /* [n_vertices] bit k: component k of its velocity stays, mass or not; NULL: none */
  int32_t              n_rigid, n_walls;
  const int32_t       *rigid; /* [n_vertices] which carries it, -1: none; NULL: none any */
  const impulse_law   *law;   /* [n_bodies][n_bodies] symmetric, [1] if n_bodies is 0; NULL: no friction, no restitution */
  /* Where the vertices of rigid r are at the end if it moves with v, w: to their places in x1 [n_vertices][3], the same numbers
   * that will be stored. Called by one thread. NULL: x0 + dt v + (exp(dt w) - 1) (x0 - center), or cay. */
  void (*place)(void *context, int32_t r, const double v[3], const double w[3], double *x1);
  void *context;
} impulse_scene;

/* The step. */
typedef struct {
  double              dt;
  const double       *x0;    /* [n_vertices][3] */
  double             *v;     /* [n_vertices][3] in and out; of vertices that are carried: out, dt v = x1 - x0 */
  impulse_rigid      *rigid; /* [n_rigid] in and out */
  const impulse_wall *wall;  /* [n_walls] */
  const double *held_x1;     /* [n_vertices][3] of vertices that are held, where they will be; NULL: x0 + dt v */
} impulse_step;

typedef struct {
  double  thickness;      /* [m] >= 0; pairs are kept a thousandth of it apart, or half of what they were apart if that is less */
  double  stiffness;      /* [N/m] of the spring within the thickness, per pair */
  int64_t max_iterations; /* of the second pass */
  bool    is_thorough;    /* every search asks every pair, not what changed alone: slower, and the same to the last bit */
} impulse_options;
typedef struct {
  int64_t n_near;       /* pairs within the thickness at the beginning that closed or were pushed */
  int64_t n_iterations; /* of the second pass that found something */
  int64_t n_meetings;   /* pairs found in them, each time */
  int64_t n_zones, n_zone_nodes, n_zone_rounds; /* nodes: vertices, rigid bodies and walls */
  int64_t n_queries;    /* of continuous detection */
  int64_t n_searches;   /* of the broad phase */
  double  normal_work, friction_work; /* [J] impulses times the mean of relative velocities before and after, over both passes */
  double  zone_work;    /* [J] change of kinetic energy by zones, of what is not held */
} impulse_report;

/* What a pair felt in the last solve, all passes together; zones are no pairs. body[0] is of the point or of the first edge. */
typedef struct {
  double  place[3];    /* on body[1], at the end of the step [m] */
  double  normal[3];   /* from body[1] to body[0], unit: of the sum of normal impulses */
  double  impulse[3];  /* on body[0] [N s] */
  double  friction[3]; /* the part of it that is friction */
  double  pressed;     /* sum of the sizes of its normal impulses: |friction| <= mu pressed, which is >= |impulse - friction| */
  double  gap;         /* along the normal at the end [m] */
  int32_t body[2];
  bool    is_sliding;  /* friction was at its limit the last time */
} impulse_contact;

typedef struct impulses impulses;
PetscErrorCode impulses_create(const impulse_scene *scene, impulses **out);
void           impulses_destroy(impulses **a);
/* Verdicts: STEP_IMPACT where surfaces could not be kept apart: things held in different motions within one zone, or a zone that
 * would turn by 3 rad and more; STEP_NOT_FINITE at a vertex. */
PetscErrorCode impulses_solve(impulses *a, const impulse_options *o, const impulse_step *step, step_verdict *verdict,
                              impulse_report *out);
/* [n_vertices][3] ends of the ways of the last solve. */
const double *impulses_ends(const impulses *a);
/* Contacts of the last solve, ascending by kind of pair and features; borrowed until the next. */
const impulse_contact *impulses_contacts(const impulses *a, int64_t *n);
/* Pairs of features, walls apart, that meet between x0 and x1, both [n_vertices][3]: none, for the way that was solved. Pairs that
 * one rigid body carries, or that are held altogether, are not looked at. */
PetscErrorCode impulses_count_meetings(impulses *a, const double *x0, const double *x1, int64_t *n);
#endif
