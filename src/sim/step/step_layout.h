/* The global velocity vector of one step: the blocks of all systems of the scene in order, their scaling, prescribed components and
 * dependent nodes. Used by all formulations. A system without velocity blocks (bodies of kind mac) stores its unknowns itself; the
 * layout only begins and ends its step.
 *
 * Scaling. D_i = sqrt(m_i M_b) dt g0, with m_i the lumped mass of the component, M_b the mass of its system and g0 the reference
 * acceleration. The norm |D^-1 g| over one system is its mass-weighted root-mean-square acceleration error in units of g0. A
 * tolerance on it is therefore a relative force error. For a rigid body D is diag(M) dt g0, with angular components at the
 * radius of gyration. On a grid, diag(M) alone would let the almost empty nodes at the edge of a body dominate the norm:
 * internal force over mass is unbounded as the mass of a node goes to zero; over sqrt(mass) it is bounded. */
#ifndef SS_SIM_STEP_STEP_LAYOUT_H
#define SS_SIM_STEP_STEP_LAYOUT_H
#include "sim/scene/scene.h"
#include "sim/step/dependent_nodes.h"

typedef struct {
  scene       *scene;              /* borrowed */
  double       t, dt;              /* of the current step */
  double       acceleration_scale; /* g0 [m/s^2] */
  rigid_frame *frames0, *frames;   /* poses at the start of the step, and at its end for velocities v */
  /* [n_blocks][3] each; the arrays grow and are reused. */
  int64_t n_blocks, capacity;
  double *v0, *v, *scale;               /* velocities at the start, trial or final velocities; lumped masses m_i */
  double *inverse_scale, *column_scale; /* D^-1; and C such that D^-1 H C = I + dt^2 M^-1/2 K M^-1/2 */
  /* Components with prescribed velocities in this step; their equations are m (v - velocity) = 0. */
  int64_t         n_prescribed, prescribed_capacity;
  int64_t        *prescribed; /* ascending */
  double         *prescribed_velocity;
  dependent_nodes dependent;
  bool            accepts_unconverged, repeats_stalled, is_precise; /* those of the formulation in this step */
} step_layout;
/* Tolerance of the residual in this step. Precise: a residual of 1e-7 acceleration_scale, so that an equilibrium is exact to 1e-6. */
static inline double step_layout_tolerance(const step_layout *l, double tolerance)
{
  return l->is_precise && tolerance > 1e-7 ? 1e-7 : tolerance;
}

/* Fill in *l; destroy accepts zeros. */
PetscErrorCode step_layout_create(scene *s, step_layout *l);
void           step_layout_destroy(step_layout *l);
/* Begin the step of every system. Number the blocks; collect v0, the scaling, prescribed components, dependent nodes and the
 * poses at the start. */
PetscErrorCode step_layout_begin(step_layout *l, double t, double dt, step_status *status);
/* Prescribe n more components for the rest of the step: dof [n] ascending, velocity [n]. Components that bodies prescribe
 * themselves keep their values. */
PetscErrorCode step_layout_prescribe(step_layout *l, int64_t n, const int64_t *dof, const double *velocity);
/* Remove the components added by step_layout_prescribe. */
PetscErrorCode step_layout_release(step_layout *l);
/* Set l->v = v0 + z with dependent nodes set from their leaders, and update the poses at the end of the step. */
PetscErrorCode step_layout_try(step_layout *l, const double *z);
/* The same for the current l->v. */
PetscErrorCode step_layout_update_poses(step_layout *l);
/* g [n_blocks][3] = residual of the systems at l->v without contact (body_ops.residual). If the status is negative, g is not
 * valid. */
PetscErrorCode step_layout_residual(step_layout *l, double *g, bool with_tangent, step_status *status);
/* Search distance [m] for contacts of this step: twice the displacement of the fastest point in dt at its current speed plus the
 * speed that gravity adds, plus 10 % of the length scale. A point that moves farther penetrates and is detected in the next step. */
double step_layout_margin(const step_layout *l);
/* Name of the body (or part) with the largest scaled residual in g [n_blocks][3], for error messages. NULL: all are zero. */
const char *step_layout_largest_residual(const step_layout *l, const double *g);
/* Make l->v permanent in every system. If the status is negative, nothing has changed. */
PetscErrorCode step_layout_end(step_layout *l, step_status *status);
#endif
