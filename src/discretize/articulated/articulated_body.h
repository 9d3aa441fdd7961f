/* Articulated bodies: trees of rigid links in joint coordinates, with limits, friction, motors, prescribed joints and closed loops.
 *
 * The unknowns are n_v joint velocities v in blocks of three; the last block is filled with components that remain 0. The links are
 * bodies of the scene, whose unknowns this body has: rigid bodies with the velocity J(q0, x) v at a point x. A step advances the joint
 * positions from q0 to q1 = q0 (+) dt v. Two integrators (key `integrator`) define the residual g:
 *
 *    momentum        Centres c and rotations R of a link at q0 and q1 (index 0 and 1) give a velocity u = (c1 - c0)/dt, a rotation rate
 *                    w = log(R1 R0^T)/dt, and momenta m u and L = Rm I Rm^T w, Rm = exp(dt w/2) R0. u_old, L_old: the previous step.
 *                      g = sum_i J_i(q0)^T (m u - m u_old - dt (m gravity + force), L - L_old - dt torque) - impulses of joints
 *                    For mass points this is the discrete d'Alembert principle [MarsdenWest2001], which is symplectic. The momenta of
 *                    motions common to all links are balanced exactly, because sum c x m u + L is the same for c0 and c1.
 *    semi_implicit   g = M(q0) (v - v0) + dt bias(q0, v0) - dt sum J_i(q0)^T (force, torque) - impulses of joints
 *
 * Impulses of joints are viscous damping and impulses of constraints (optim/sap/joint_constraint.h) at the end of the step. With w the
 * inverse of the diagonal entry of M, the constraints are: motors; limits and closed loops as springs with a period of 0.1 dt,
 * R = 0.01/(4 pi^2) w; dry friction, clamp(-v/R_t) with R_t = 1e-3 w. The creep velocity of dry friction is 1e-3 of the velocity change
 * that its impulse would cause in a step.
 *
 * If the formulation sets `constraints_apart`, it gets the constraints as rows (body_ops.constraints); otherwise they are in the residual.
 * The tangent is M(q0) plus the stiffness of the springs, symmetric and positive definite. */
#ifndef SS_DISCRETIZE_ARTICULATED_ARTICULATED_BODY_H
#define SS_DISCRETIZE_ARTICULATED_ARTICULATED_BODY_H
#include "core/expression.h"
#include "discretize/articulated/articulated_keys.h"
#include "discretize/articulated/articulated_tree.h"
#include "discretize/body/body_kind.h"
#include "discretize/rigid/rigid_body.h"

enum { ARTICULATED_MAX_RATES = 3 * LOCATION_MAX_BLOCKS, ARTICULATED_MAX_POSITIONS = 512 };

/* Limits, friction and motor of one independent velocity. Limits that are not given are infinite, expressions NULL. Units: m, s, N for
 * lengths; rad, s, N m for angles. */
typedef struct {
  double      lower, upper, damping, friction;           /* limits of position, viscous damping, dry friction */
  double      stiffness, rate_damping, effort, max_rate; /* gains of the motor, its largest force or torque, largest velocity */
  expression *target, *rate, *force, *motion;            /* functions of t: targets and force of the motor; prescribed position */
} articulated_axis;

typedef struct articulated_body articulated_body;
typedef struct {
  rigid_body        rigid; /* first: shape, and pose and velocity after each step, for measures and pictures */
  articulated_body *tree;  /* the body to which the link belongs */
  int               index; /* number of the link */
  bool              has_shape;
  expression       *force[3], *torque[3]; /* NULL: 0 */
} articulated_link;

/* A condition of a closed loop: the material points of two links at X with all joints at zero must coincide. */
typedef struct {
  int    one, other; /* links; -1: the world */
  double X[3];
} articulated_pin;

struct articulated_body {
  body               base;
  articulated_tree   tree;
  int                integrator;       /* ARTICULATED_MOMENTUM or ARTICULATED_SEMI_IMPLICIT */
  double             gravity[3], size; /* size: radius of the whole body [m] */
  articulated_axis  *axis;             /* [n_v] */
  int                n_pins;
  articulated_pin   *pin;
  int               *q_of;   /* [n_v] index of the joint position of each velocity; -1: joint with quaternion */
  document          *urdf;   /* links and joints of the URDF as job entries; NULL: no URDF */
  char             **names;  /* [n] of the links as bodies */
  char             **joints; /* [n] names of the joints that carry them, for messages: `body, joint "name"` */
  articulated_link **link;   /* [n] */
  body             **part;   /* [n] the links as bodies */
  /* State. */
  int64_t n_links, n_q, n_v;
  double *q, *v, *torque; /* [n_q] positions, [n_v] velocities, [n_v] motor torques in the last step */
  double *u, *w, *L;      /* [n][3] of links: velocities of the centres, angular velocities, angular momenta about the centres */
  double *push;           /* [n][3] force on each link in the last step, without gravity and applied forces; 0 after a restart */
  /* Data of the current step. */
  double      t, dt;
  double     *R0, *p0, *c0, *S;            /* poses, centres of mass and columns S (articulated_tree.h) at the start of the step */
  double     *q1, *R1, *p1, *F;            /* positions and poses for trial velocities; [n][6] forces on links */
  double     *M, *H, *bias, *tau, *J, *Jp; /* mass matrix, tangent, bias and generalised forces; [3][n_v] Jacobians, scratch */
  int64_t     n_laws;                      /* constraints: axis by axis, then pins */
  constraint *law;                         /* [n_laws] */
  int64_t    *row_start;                   /* [3 n_laws + 1] rows of the constraints in v */
  int32_t    *row_dof;
  double     *row_value;
  int        *motor;                  /* [n_v] constraint that represents the motor; -1: no motor, or one without stiffness and damping */
  double     *feed;                   /* [n_v] impulse of a motor without stiffness and damping */
  int         n_active_pins, *pin_at; /* number and indices of the pins that have a constraint */
  int64_t     n_prescribed;
  int64_t    *prescribed; /* [n_prescribed] prescribed velocities */
  double     *prescribed_velocity;
};

extern const body_ops  articulated_body_ops, articulated_link_ops, articulated_frame_ops;
extern const body_kind articulated_link_kind,
    articulated_frame_kind; /* kinds of links with and without a shape; they are not entries of `bodies:` */

void articulated_body_destroy(articulated_body *b); /* also frees the struct */
/* Compute u, w, L and the poses of all links from q and v. */
void articulated_body_place(articulated_body *b);

/* Allocate the constraints of joints and loops; axes and pins must have been set. */
PetscErrorCode articulated_constraints_create(articulated_body *b);
/* Torque [N m] or force [N] of the motor of independent velocity k at velocities v [n_v]. */
double articulated_motor_force(const articulated_body *b, int k, const double *v);
#endif
