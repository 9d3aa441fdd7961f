/* A constraint of three scalar rows. The impulse of row i opposes its velocity u_i, u = J v:
 *
 *   r_i = clamp(y_i, lower_i, upper_i),  y_i = (bias_i - u_i) / R_i
 *
 * Such rows represent joint stops (one bound is 0), joints that close loops (no bounds), motors of limited effort and dry friction (both
 * bounds). The velocities are those at the end of the step; joint positions at its end are linear in v. r = -dl/du, where
 * l(u) = sum_i R_i r_i (y_i - r_i/2) is a convex potential [CastroEtAl2022]. Used by the SAP solver (sap.h). */
#ifndef SS_OPTIM_SAP_JOINT_CONSTRAINT_H
#define SS_OPTIM_SAP_JOINT_CONSTRAINT_H
#include <math.h>
#include <stdbool.h>

typedef struct {
  double bias[3];            /* velocity at which the impulse vanishes [m/s], [rad/s] */
  double R[3];               /* > 0, compliance: velocity error over impulse, before the clamp [1/kg], [1/(kg m^2)] */
  double lower[3], upper[3]; /* impulse bounds [N s], [N m s], usually lower <= 0 <= upper; infinite: no bound. Both 0: unused row */
  bool   is_drive;           /* the first row is a drive; its gain 1/R resists motion like additional mass of the driven body */
} constraint;

/* Returns l(u) [J]; sets r = -dl/du and slope_i = -dr_i/du_i (slope may be NULL). */
static inline double constraint_law(const constraint *c, const double u[3], double r[3], double *slope)
{
  double cost = 0.0;
  for (int i = 0; i < 3; ++i) {
    const double y = (c->bias[i] - u[i]) / c->R[i];
    r[i]           = fmin(fmax(y, c->lower[i]), c->upper[i]);
    cost += c->R[i] * r[i] * (y - 0.5 * r[i]);
    if (slope) slope[i] = y > c->lower[i] && y < c->upper[i] ? 1.0 / c->R[i] : 0.0;
  }
  return cost;
}
/* Three unused rows (zero bounds), to be filled by the caller. */
static inline constraint constraint_none(void) { return (constraint){.R = {1.0, 1.0, 1.0}}; }
#endif
