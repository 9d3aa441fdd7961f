/* Rigid bodies: dynamic ones with six unknowns, kinematic ones with a prescribed motion, and obstacles that never move.
 *
 * The body frame of a dynamic body has its origin at the centre of mass and the axes of the job; that of the others is the job's
 * own coordinates. A dynamic body is a `body` of two blocks, velocity v and rotation rate u:
 *
 *   backward_euler  R = exp(dt [u]) R0,  w = u
 *   midpoint        R = cay(dt [u]) R0,  u the mean of the angular velocities at both ends, taken in the body's frame:
 *                   w = R (2 R0^T u - R0^T w0). Conserves energy and angular momentum of a free body exactly [SimoWong1991]
 *   both            g_v = m (v - v0) - dt (m gravity + force)
 *                   g_u = I_w(R) w - I_w(R0) w0 - dt torque          (angular momentum: conserved by construction)
 *
 * Source: penalty-relaxation.md, section 6.                                                                             */
#ifndef SS_DISCRETIZE_RIGID_RIGID_BODY_H
#define SS_DISCRETIZE_RIGID_RIGID_BODY_H
#include "core/diagnostics.h"
#include "core/key_table.h"
#include "discretize/body/body.h"
#include "geometry/shape/shape.h"
#include "discretize/rigid/motion.h"

typedef enum { RIGID_DYNAMIC, RIGID_KINEMATIC, RIGID_STATIC } rigid_kind;
enum { RIGID_BACKWARD_EULER, RIGID_MIDPOINT };
typedef enum { RIGID_CONTACT_LEVEL_SET, RIGID_CONTACT_MESH } rigid_contact; /* what points of others touch */
enum { RIGID_CLUSTER = 128 }; /* surface vertices culled together by contact search */

/* A spring between a point of the body and a point of the world. */
typedef struct {
  double point[3]; /* on the body, where it is at the start, job coordinates [m] */
  double to[3];    /* in the world [m]; NaN: the same point */
  double stiffness, damping; /* N/m, N s/m */
} rigid_anchor_spec;

/* bodies.NAME of kind rigid, kinematic or static: one struct, three tables. */
typedef struct {
  const char        *material; /* first, as in every kind */
  const shape_spec  *shape;
  double             surface_spacing; /* m; NaN: fit for the shape */
  int                contact_surface; /* rigid_contact */
  double             mass;            /* kg; NaN: from the material's density */
  double             inertia[3];      /* kg m^2 about the axes of the job; NaN: from the shape */
  double             center_of_mass[3]; /* m; NaN: the shape's */
  double             velocity[3], angular_velocity[3], force[3], torque[3];
  int                rotation;
  key_list           anchors; /* of rigid_anchor_spec */
  const motion_spec *motion;
} rigid_body_spec;
extern const key_table rigid_body_table, kinematic_body_table, static_body_table;

typedef struct {
  double a[3]; /* in the body frame */
  double to[3], stiffness, damping;
} rigid_anchor;

typedef struct rigid_body rigid_body;
struct rigid_body {
  body       base; /* first: a rigid_body is a body */
  rigid_kind kind;
  rigid_contact contact_surface;
  int        rotation;
  double     origin[3];              /* of the body frame, in job coordinates, at the start of the run */
  double     mass, inertia[9];       /* body frame, about the centre of mass */
  double    *c, *q, *v, *w;          /* state: [3] [4] [3] [3], world; allocated for the field table */
  double     gravity[3], force[3], torque[3];
  motion    *motion;                 /* not for dynamic bodies */
  int        n_level_sets;
  level_set **level_sets;            /* in the body frame; none if contact_surface is the mesh */
  int        n_solids;
  convex_solid *solids;              /* in the body frame; none if the shape is not made of convex ones, or contact_surface is the mesh */
  triangle_mesh *surface;            /* vertices in the body frame; contact points of dynamic bodies; NULL: none */
  double     radius;                 /* of the surface about the body frame's origin */
  int        n_clusters;
  double    *cluster_center, *cluster_radius; /* [n_clusters][3], body frame */
  int        n_anchors;
  rigid_anchor *anchors;
  /* The step under way. */
  double dt, R0[9], W0[3], L0[3];    /* W0: angular velocity in the body frame at its start; L0: angular momentum */
  double H[36];                      /* tangent of the last residual, row-major over (v, u) */
  bool   is_definite;                /* ... without what makes it unsymmetric or indefinite */
  /* For frames. */
  int64_t n_vertices, one;
  double *position;                  /* [n_vertices][3] world */
};

/* `density` [kg/m^3] for dynamic bodies; node, path: of bodies.NAME. The user's mistakes go to `d`, then *out is NULL. */
PetscErrorCode rigid_body_create(const char *name, rigid_kind kind, const rigid_body_spec *spec, double density, const document_node *node,
                                 const char *path, diagnostics *d, rigid_body **out);
void           rigid_body_destroy(rigid_body **b);
void           rigid_body_set_gravity(rigid_body *b, const double gravity[3]);
/* Pose of a dynamic body: at the start of the step (vu NULL), or where trial unknowns vu [6] lead to in dt. block is not set. */
void rigid_body_frame(const rigid_body *b, const double *vu, double dt, rigid_frame *frame);
/* Pose of a kinematic or static body at time t; and moving it there for output. */
void rigid_body_prescribed_frame(const rigid_body *b, double t, rigid_frame *frame);
void rigid_body_move_to(rigid_body *b, double t);
/* Between steps: a dynamic body is somewhere else, its centre by move [0..2], turned about it by the rotation vector move [3..5]; velocities stay. */
void rigid_body_displace(rigid_body *b, const double move[6]);
/* Between steps: a dynamic body is hit by impulse [0..2] N s at its centre, and [3..5] N m s about it. */
void rigid_body_hit(rigid_body *b, const double impulse[6]);
/* Where the point is now that was at x0 (job coordinates) at the start. */
void           rigid_body_follow(const rigid_body *b, const double x0[3], double x[3]);
/* The rigid body, obstacle or link of an articulated body that b is; NULL if it is none. */
rigid_body *rigid_body_of(body *b);

extern const body_ops rigid_body_ops, rigid_obstacle_ops;
/* What both share of them. */
PetscErrorCode    rigid_body_fields(body *b, field_table *table);
level_set *const *rigid_body_level_sets(const body *b, int *n);
void              rigid_body_surface(const body *b, body_surface *out);
int64_t           rigid_body_n_clusters(const body *b);
void              rigid_body_cluster(const body *b, int64_t i, double center[3], double *radius, int64_t *first, int64_t *end);
int64_t           rigid_body_point(const body *b, int64_t i, double x[3]);
const convex_solid *rigid_body_solids(const body *b, int *n);
void              rigid_body_describe(const body *b, FILE *out);
void              rigid_body_destroy_base(body **b);
#endif
