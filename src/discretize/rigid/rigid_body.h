/* Rigid bodies: dynamic bodies with six unknowns, kinematic bodies with a prescribed motion, and static obstacles.
 *
 * The body frame of a dynamic body has its origin at the centre of mass and the axes of the job. The body frame of the other
 * kinds is the coordinate system of the job. A dynamic body is a `body` with two blocks: velocity v and rotation rate u. w is the angular
 * velocity in world axes, I_w(R) the inertia in world axes; index 0: start of the step. The residual is g = (g_v, g_u) [N s], [N m s]:
 *
 *    conserving      R = exp(dt [u]) R0,  w = u + R (W1 - U1): W1 and U1 are the final and the mean angular velocity of the rotation without
 *                    torque (free_rotation.h), in body axes. A free body conserves energy and angular momentum. The impulses of contacts
 *                    and forces change u and w equally, as in backward Euler: they dissipate, and a body at rest stays at rest
 *    backward_euler  R = exp(dt [u]) R0,  w = u
 *    midpoint        R = cay(dt [u]) R0,  u is the mean of the angular velocities at both ends of the step in the body frame:
 *                    w = R (2 R0^T u - R0^T w0). Conserves energy and angular momentum of a free body exactly [SimoWong1991]
 *    all             g_v = m (v - v0) - dt (m gravity + force)
 *                    g_u = I_w(R) w - I_w(R0) w0 - dt torque          (exact balance of angular momentum)
 *
 * Used by the step engine through rigid_body_ops and rigid_obstacle_ops, and by articulated bodies, whose links start with a rigid_body. */
#ifndef SS_DISCRETIZE_RIGID_RIGID_BODY_H
#define SS_DISCRETIZE_RIGID_RIGID_BODY_H
#include "core/diagnostics.h"
#include "core/key_table.h"
#include "discretize/body/body.h"
#include "geometry/shape/shape.h"
#include "discretize/rigid/motion.h"

typedef enum { RIGID_DYNAMIC, RIGID_KINEMATIC, RIGID_STATIC } rigid_kind;
enum { RIGID_CONSERVING, RIGID_BACKWARD_EULER, RIGID_MIDPOINT };            /* integrator of the rotation */
typedef enum { RIGID_CONTACT_LEVEL_SET, RIGID_CONTACT_MESH } rigid_contact; /* surface with which contact points of other bodies collide */
enum { RIGID_CLUSTER = 128 }; /* number of surface vertices with a common bounding sphere in contact detection */

/* A spring between a point of the body and a point of the world. */
typedef struct {
  double point[3];           /* position on the body at the start of the run, job coordinates [m] */
  double to[3];              /* position in the world [m]; NaN: the same position as `point` */
  double stiffness, damping; /* N/m, N s/m */
} rigid_anchor_spec;

/* Job entry bodies.NAME of kind rigid, kinematic or static; the three kinds have one key table each. */
typedef struct {
  const char                     *material; /* first, as in every kind */
  const shape_spec               *shape;
  double                          surface_spacing;   /* m; NaN: chosen from the shape */
  int                             contact_surface;   /* rigid_contact */
  int64_t                         contact_points;    /* per flat contact patch; 0: not given */
  double                          mass;              /* kg; NaN: from the material's density */
  double                          inertia[3];        /* kg m^2 about the axes of the job; NaN: from the shape */
  double                          center_of_mass[3]; /* m; NaN: centre of the shape */
  double                          velocity[3], angular_velocity[3], force[3], torque[3];
  int                             rotation; /* integrator, RIGID_CONSERVING ... */
  key_list                        anchors;  /* list of rigid_anchor_spec */
  const motion_spec              *motion;   /* of kinematic bodies */
  const struct rigid_copies_spec *copies;   /* rigid_copies.h; NULL: one body */
} rigid_body_spec;
extern const key_table rigid_body_table, kinematic_body_table, static_body_table;

typedef struct {
  double a[3]; /* position in the body frame */
  double to[3], stiffness, damping;
} rigid_anchor;

typedef struct rigid_body rigid_body;
struct rigid_body {
  body base; /* first: a rigid_body is a body */
  /* Of a copy: the body whose geometry it shares, or has at another size. NULL: the body is no copy. */
  rigid_body    *model;
  bool           owns_model;
  double         size, start[4]; /* size relative to the model; orientation at the start of the run as a quaternion */
  double         release;        /* time at which the body is added to the scene; 0: the start of the run [s] */
  rigid_kind     kind;
  rigid_contact  contact_surface;
  int            rotation;
  double         origin[3];        /* origin of the body frame at the start of the run, in job coordinates */
  double         volume;           /* of dynamic bodies [m^3] */
  double         mass, inertia[9]; /* body frame, about the centre of mass */
  double        *c, *q, *v, *w;    /* state in world axes: centre [3], quaternion [4], velocity [3], angular velocity [3] */
  bool           is_in_table;      /* c, q, v and w are in a rigid_table, which owns them */
  double         gravity[3], force[3], torque[3];
  motion        *motion; /* NULL for dynamic bodies */
  int            n_level_sets;
  level_set    **level_sets; /* in the body frame; none if contact_surface is mesh */
  int            n_solids;
  convex_solid  *solids;  /* convex parts in the body frame; none if the shape is not a union of convex parts */
  triangle_mesh *surface; /* vertices in the body frame, the contact points of dynamic bodies; NULL: none */
  double         radius;  /* of the bounding sphere of the surface about the origin of the body frame */
  int            n_clusters;
  double        *cluster_center, *cluster_radius; /* bounding spheres: centres [n_clusters][3] in the body frame, radii [n_clusters] */
  int            n_anchors;
  rigid_anchor  *anchors;
  /* Data of the current step. */
  double  dt, R0[9], W0[3], L0[3]; /* R0, W0, L0 at the start of the step; W0: angular velocity in the body frame; L0: angular
                                        momentum */
  double  u_free[3], lead[3];      /* conserving: mean angular velocity without torque (world axes), and W1 - U1 (body axes) */
  double  H[36];                   /* 6x6 tangent at the last residual, row-major over (v, u) */
  bool    is_definite;             /* omit the asymmetric and indefinite terms of the tangent */
  int64_t n_vertices;              /* of the surface */
  double *position;                /* [n_vertices][3] vertices in world coordinates, for frames; NULL: dynamic bodies, see rigid_table.h */
};

/* Create a body from its job entry. `density` [kg/m^3] is used for dynamic bodies. `node` and `path` belong to bodies.NAME. User
 * errors are reported to `d`; then *out is NULL. */
PetscErrorCode rigid_body_create(const char *name, rigid_kind kind, const rigid_body_spec *spec, double density, const document_node *node,
                                 const char *path, diagnostics *d, rigid_body **out);
void           rigid_body_destroy(rigid_body **b);
/* Pose and velocity of a copy at the start of the run or at its release: centre of mass [m], unit quaternion, velocities [m/s, rad/s], the size
 * relative to the model, and the time of its release [s]. */
typedef struct {
  double position[3], orientation[4], velocity[3], angular_velocity[3], size, release;
} rigid_pose;
/* A copy of the dynamic body `model` with the same density. It shares the geometry of the model if its size is 1. `model` must be no
 * copy and have no anchors; it must outlive the copy, which owns it if owns_model is set by the caller afterwards. `name` is copied. */
PetscErrorCode rigid_body_copy(rigid_body *model, const char *name, const rigid_pose *at, rigid_body **out);
/* Rotation since the start of the run, as a unit quaternion. */
void rigid_body_rotation(const rigid_body *b, double q[4]);
void rigid_body_set_gravity(rigid_body *b, const double gravity[3]);
/* Pose of a dynamic body: at the start of the step (vu NULL), or after dt with trial unknowns vu [6]. Sets frame->block to -1. */
void rigid_body_frame(const rigid_body *b, const double *vu, double dt, rigid_frame *frame);
/* Pose of a kinematic or static body at time t. rigid_body_move_to stores it in the body for output. */
void rigid_body_prescribed_frame(const rigid_body *b, double t, rigid_frame *frame);
void rigid_body_move_to(rigid_body *b, double t);
/* Between steps: translate the centre of a dynamic body by move [0..2] and rotate it about the centre by the rotation vector move
 * [3..5]. Velocities do not change. */
void rigid_body_displace(rigid_body *b, const double move[6]);
/* Between steps: apply impulse [0..2] [N s] at the centre of a dynamic body, and angular impulse [3..5] [N m s]. */
void rigid_body_apply_impulse(rigid_body *b, const double impulse[6]);
/* Current position x of the material point that was at x0 (job coordinates) at the start of the run. */
void rigid_body_current_point(const rigid_body *b, const double x0[3], double x[3]);
/* The rigid body of `b`: a dynamic body, an obstacle, or a link of an articulated body. NULL for other kinds. */
rigid_body *rigid_body_of(body *b);
rigid_body *rigid_body_dynamic(body *b); /* NULL unless b is a dynamic body */

extern const body_ops rigid_body_ops, rigid_obstacle_ops;
/* Functions of the body_ops that dynamic bodies, obstacles and links share. */
PetscErrorCode      rigid_body_fields(body *b, field_table *table); /* not for dynamic bodies, whose fields are in rigid_table.h */
level_set *const   *rigid_body_level_sets(const body *b, int *n);
void                rigid_body_surface(const body *b, body_surface *out);
int64_t             rigid_body_n_clusters(const body *b);
void                rigid_body_cluster(const body *b, int64_t i, double center[3], double *radius, int64_t *first, int64_t *end);
int64_t             rigid_body_point(const body *b, int64_t i, double x[3]);
const convex_solid *rigid_body_solids(const body *b, int *n);
void                rigid_body_describe(const body *b, FILE *out);
void                rigid_body_destroy_base(body **b);
/* Closed surface of obstacle b (may be NULL) without convex solids, borrowed; NULL for other bodies, and for unbounded shapes, which have an open surface
 * for pictures. Error: out of memory. */
PetscErrorCode rigid_body_closed_surface(body *b, const triangle_mesh **out);
#endif
