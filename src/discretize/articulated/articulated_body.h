/* Articulated bodies: trees of rigid links in joint coordinates, with limits, friction, motors, prescribed joints and closed loops.
 *
 * The body is a system of n_v velocities, three to a block, the last filled up by components that stay 0. Its links are bodies
 * of the scene, carried by it: rigid in shape and pose, their velocity at a point is J(q0, x) v. A step goes from q0 to
 * q1 = q0 (+) dt v.
 *
 *   momentum        c_i, R_i of the links at q0 and q1 give each a velocity u = (c1 - c0)/dt, a rotation rate
 *                   w = log(R1 R0^T)/dt and momenta m u, L = Rm I Rm^T w, Rm = exp(dt w/2) R0. Their change is the force:
 *                     g = sum_i J_i(q0)^T (m u - m u_old - dt (m gravity + force), L - L_old - dt torque) - impulses of joints
 *                   For mass points this is the discrete principle of d'Alembert [MarsdenWest2001]: symplectic, and whatever
 *                   moves all links alike is an exact balance of the momenta, as sum c x m u + L is the same for c0 and c1.
 *   semi_implicit   g = M(q0) (v - v0) + dt bias(q0, v0) - dt sum J_i(q0)^T (force, torque) - impulses of joints
 *
 * Impulses of joints are viscous damping and those of constraints (optim/sap/joint_constraint.h) at the end of the step: motors; limits and
 * loops with springs of a period of 0.1 dt, R = 0.01/(4 pi^2) w, w the inverse of the diagonal of M; dry friction, clamp(-v/R_t),
 * R_t = 1e-3 w, the creep of which is 1e-3 of the velocity that it would take up in a step (convex-mpm-rigid.md, section 9). A formulation
 * that sets `constraints_apart` takes the constraints as rows; else they are in the residual. The tangent is M(q0) + those springs,
 * symmetric and positive definite always. */
#ifndef SS_DISCRETIZE_ARTICULATED_ARTICULATED_BODY_H
#define SS_DISCRETIZE_ARTICULATED_ARTICULATED_BODY_H
#include "core/expression.h"
#include "discretize/articulated/articulated_keys.h"
#include "discretize/articulated/articulated_tree.h"
#include "discretize/body/body_kind.h"
#include "discretize/rigid/rigid_body.h"

enum { ARTICULATED_MAX_RATES = 3 * SPOT_MAX_BLOCKS, ARTICULATED_MAX_POSITIONS = 512 };

/* What acts on one independent velocity. Infinite where there is no limit; NULL where nothing is given. */
typedef struct {
  double      lower, upper, damping, friction;
  double      stiffness, rate_damping, effort, max_rate;
  expression *target, *rate, *force, *motion;
} articulated_axis;

typedef struct articulated_body articulated_body;
typedef struct {
  rigid_body        rigid; /* first: its shape, and its pose and velocity after each step, for who measures and draws */
  articulated_body *tree;
  int               index;
  bool              has_shape;
  expression       *force[3], *torque[3]; /* NULL: 0 */
} articulated_link;

/* Points that stay together, as drawn: of links one and other (-1: the world). */
typedef struct {
  int    one, other;
  double X[3];
} articulated_pin;

struct articulated_body {
  body              base;
  articulated_tree  tree;
  int               integrator;
  double            gravity[3], size; /* size: of the whole [m] */
  articulated_axis *axis;             /* [n_v] */
  int               n_pins;
  articulated_pin  *pin;
  int              *q_of;             /* [n_v] position that belongs to it, -1: of a joint with several */
  document         *urdf;             /* its links and joints in our words; NULL: there is none */
  char            **names;            /* [n] of the links as bodies */
  char            **joints;           /* [n] of the joints that carry them, for who reports: `body, joint "name"` */
  articulated_link **link;            /* [n] */
  body            **part;             /* [n] the same */
  /* State. */
  int64_t n_links, n_q, n_v;
  double *q, *v, *torque;             /* [n_q], [n_v], [n_v] of motors in the last step */
  double *u, *w, *L; /* [n][3] of links: velocities of the centres, angular velocities, angular momenta about the centres */
  double *push;      /* [n][3] force on each link in the last step beside gravity and what is applied; 0 after a restart */
  /* The step under way. */
  double   t, dt;
  double  *R0, *p0, *c0, *S;          /* at its start */
  double  *q1, *R1, *p1, *F;          /* work: where trial velocities lead; [n][6] */
  double  *M, *H, *bias, *tau, *J, *Jp; /* [n_v]^2, [n_v]^2, [n_v], [n_v], [3][n_v] twice */
  int64_t     n_laws;                 /* its constraints: axis by axis, then pins */
  constraint *law;                    /* [n_laws] */
  int64_t    *row_start;              /* [3 n_laws + 1] their rows in v */
  int32_t    *row_dof;
  double     *row_value;
  int        *motor;                  /* [n_v] the constraint that is its motor, -1: none, or one that knows a force alone, */
  double     *feed;                   /* [n_v] the impulse of such a one */
  int         n_pins_held, *pin_at;   /* those with a constraint */
  int64_t  n_prescribed;
  int64_t *prescribed;                /* [n_prescribed] */
  double  *prescribed_velocity;
};

extern const body_ops  articulated_body_ops, articulated_link_ops, articulated_frame_ops;
extern const body_kind articulated_link_kind,
    articulated_frame_kind; /* of links with and without a shape; no entries of `bodies:` */

void           articulated_body_destroy(articulated_body *b); /* and frees it */
/* Positions and velocities are set: the rest of the state, and where links are. */
void           articulated_body_place(articulated_body *b);

/* Room for the constraints of joints and loops, when axes and pins are known. */
PetscErrorCode articulated_constraints_create(articulated_body *b);
/* What the motor of independent velocity k gives, N m or N. */
double articulated_motor_force(const articulated_body *b, int k, const double *v);
#endif
