/* The global vector of one step: the blocks of the scene's systems one after the other, and what is known of them before anything
 * is solved. Every formulation whose unknowns are velocities lays its steps out this way. A system without blocks has its unknowns
 * elsewhere: it is begun and ended with the others, and asked for nothing else.
 *
 * Scaling. With D_i = sqrt(m_i M_b) dt g0 (m_i: lumped mass of the degree of freedom, M_b: mass of its system, g0: a
 * reference acceleration) the norm |D^-1 g| of a system's slice is its mass-weighted root-mean-square acceleration error in
 * units of g0, so a tolerance on it is a relative force error. For a rigid body this is the note's diag(M) dt g0 (its angular
 * rows measured at the radius of gyration). On a grid diag(M) itself would let the almost empty nodes at a body's edge
 * rule the norm: there internal force over mass grows without bound as the weight goes to zero, over sqrt(mass) it does not. */
#ifndef SS_SIM_STEP_STEP_LAYOUT_H
#define SS_SIM_STEP_STEP_LAYOUT_H
#include "sim/scene/scene.h"
#include "sim/step/followers.h"

typedef struct {
  scene       *scene; /* borrowed */
  double       t, dt; /* of the step under way */
  double       acceleration_scale; /* g0 [m/s^2] */
  rigid_frame *frames0, *frames; /* poses at its start, and where v leads to */
  /* [n_blocks][3] each; arrays grow and are kept. */
  int64_t n_blocks, capacity;
  double *v0, *v, *scale;
  double *inverse_scale, *column_scale; /* D^-1; and C, which makes D^-1 H C = I + dt^2 M^-1/2 K M^-1/2 */
  /* Components whose velocity is prescribed in this step: their equations are m (v - velocity) = 0. */
  int64_t   n_prescribed, prescribed_capacity;
  int64_t  *prescribed; /* ascending */
  double   *prescribed_velocity;
  followers led;
} step_layout;

/* *l is filled in place; destroy copes with zeros. */
PetscErrorCode step_layout_create(scene *s, step_layout *l);
void           step_layout_destroy(step_layout *l);
/* Begin the step of every system, lay them out, gather v0, the scaling, what is prescribed and what follows; poses at the start. */
PetscErrorCode step_layout_begin(step_layout *l, double t, double dt, step_verdict *verdict);
/* For the rest of the step n more components have prescribed velocities: dof [n] ascending, velocity [n]. Those that bodies prescribe
 * themselves stay as they are. */
PetscErrorCode step_layout_prescribe(step_layout *l, int64_t n, const int64_t *dof, const double *velocity);
/* Only what bodies prescribe themselves is prescribed from here on. */
PetscErrorCode step_layout_release(step_layout *l);
/* l->v = v0 + z, followers set from their leaders; and the poses that leads to. */
PetscErrorCode step_layout_try(step_layout *l, const double *z);
/* The same with l->v as it stands. */
PetscErrorCode step_layout_follow(step_layout *l);
/* g [n_blocks][3] = what the systems say at l->v, without contact: body_ops.residual. A negative verdict: g means nothing. */
PetscErrorCode step_layout_residual(step_layout *l, double *g, bool with_tangent, step_verdict *verdict);
/* How far a point may come towards an object within the step: twice what the fastest thing moves now, what gravity adds, and a
 * little for what neighbours push. A point that still gets past is found at the start of the next step, being inside by then. */
double step_layout_margin(const step_layout *l);
/* z [n_blocks][3]: the velocities gained in the step, were there neither contact nor anything else but gravity. */
void step_layout_fall(const step_layout *l, double *z);
/* Where most is left of g [n_blocks][3], what systems say together with what pushes them: a name, for a verdict. NULL: nowhere. */
const char *step_layout_worst(const step_layout *l, const double *g);
/* Make l->v permanent in every system. A negative verdict: nothing has changed. */
PetscErrorCode step_layout_end(step_layout *l, step_verdict *verdict);
#endif
