/* Articulated bodies: trees of rigid links in joint coordinates, with limits, friction, motors, prescribed joints and closed loops.
 *
 * The body is a system of n_v velocities, three to a block; the last block is filled with components that stay 0. Its links are
 * bodies of the scene that this body carries: rigid in shape and pose, with the velocity J(q0, x) v at a point. A step goes from
 * q0 to q1 = q0 (+) dt v.
 *
 *    momentum        c_i, R_i of the links at q0 and q1 give each a velocity u = (c1 - c0)/dt, a rotation rate
 *                    w = log(R1 R0^T)/dt and momenta m u, L = Rm I Rm^T w, Rm = exp(dt w/2) R0. Their change is the force:
 *                      g = sum_i J_i(q0)^T (m u - m u_old - dt (m gravity + force), L - L_old - dt torque) - impulses of joints
 *                    For mass points this is the discrete principle of d'Alembert [MarsdenWest2001]: symplectic, and an exact
 *                    balance of the momenta for motions common to all links, as sum c x m u + L is the same for c0 and c1.
 *    semi_implicit   g = M(q0) (v - v0) + dt bias(q0, v0) - dt sum J_i(q0)^T (force, torque) - impulses of joints
 *
 * Impulses of joints are viscous damping, and impulses of constraints (optim/sap/joint_constraint.h) at the end of the step.
 * Constraints are motors; limits and loops as springs with a period of 0.1 dt, R = 0.01/(4 pi^2) w, where w is the inverse of the
 * diagonal of M; and dry friction, clamp(-v/R_t), R_t = 1e-3 w. The creep of dry friction is 1e-3 of the velocity that its
 * impulse would change in a step.
 *
 * A formulation that sets `constraints_apart` takes the constraints as rows; otherwise they are in the residual. The tangent is
 * M(q0) plus those springs, symmetric and always positive definite. */
#ifndef SS_DISCRETIZE_ARTICULATED_ARTICULATED_BODY_H
#define SS_DISCRETIZE_ARTICULATED_ARTICULATED_BODY_H
#include "core/expression.h"
#include "discretize/articulated/articulated_keys.h"
#include "discretize/articulated/articulated_tree.h"
#include "discretize/body/body_kind.h"
#include "discretize/rigid/rigid_body.h"

enum { ARTICULATED_MAX_RATES = 3 * LOCATION_MAX_BLOCKS, ARTICULATED_MAX_POSITIONS = 512 };

/* Limits, friction and drive of one independent velocity. Limits are infinite and expressions NULL where not given. */
typedef struct {
  double      lower, upper, damping, friction;
  double      stiffness, rate_damping, effort, max_rate;
  expression *target, *rate, *force, *motion;
} articulated_axis;

typedef struct articulated_body articulated_body;
typedef struct {
  rigid_body        rigid; /* first: shape, and pose and velocity after each step, for measures and pictures */
  articulated_body *tree;
  int               index;
  bool              has_shape;
  expression       *force[3], *torque[3]; /* NULL: 0 */
} articulated_link;

/* Two material points that must coincide, in the initial drawing: of links one and other (-1: the world). */
typedef struct {
  int    one, other;
  double X[3];
} articulated_pin;

struct articulated_body {
  body               base;
  articulated_tree   tree;
  int                integrator;
  double             gravity[3], size; /* size: radius of the whole body [m] */
  articulated_axis  *axis;             /* [n_v] */
  int                n_pins;
  articulated_pin   *pin;
  int               *q_of;   /* [n_v] position that belongs to the velocity; -1: of a joint with several */
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
  double     *R0, *p0, *c0, *S;            /* at its start */
  double     *q1, *R1, *p1, *F;            /* work arrays: poses for trial velocities; [n][6] */
  double     *M, *H, *bias, *tau, *J, *Jp; /* [n_v]^2, [n_v]^2, [n_v], [n_v], [3][n_v] twice */
  int64_t     n_laws;                      /* constraints: axis by axis, then pins */
  constraint *law;                         /* [n_laws] */
  int64_t    *row_start;                   /* [3 n_laws + 1] rows of the constraints in v */
  int32_t    *row_dof;
  double     *row_value;
  int        *motor;                  /* [n_v] the constraint that represents the motor; -1: none, or a motor with a prescribed
                                         force only */
  double     *feed;                   /* [n_v] impulse of a motor with a prescribed force only */
  int         n_active_pins, *pin_at; /* pins that have a constraint, and their indices */
  int64_t     n_prescribed;
  int64_t    *prescribed; /* [n_prescribed] prescribed velocities */
  double     *prescribed_velocity;
};

extern const body_ops  articulated_body_ops, articulated_link_ops, articulated_frame_ops;
extern const body_kind articulated_link_kind,
    articulated_frame_kind; /* kinds of links with and without a shape; they are not entries of `bodies:` */

void articulated_body_destroy(articulated_body *b); /* also frees the struct */
/* Compute the rest of the state and the poses of links from positions and velocities. */
void articulated_body_place(articulated_body *b);

/* Allocate the constraints of joints and loops; axes and pins must have been set. */
PetscErrorCode articulated_constraints_create(articulated_body *b);
/* Torque or force of the motor of independent velocity k [N m or N]. */
double articulated_motor_force(const articulated_body *b, int k, const double *v);
#endif
