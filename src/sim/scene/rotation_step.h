/* Warnings about the time integration of rotations: code "rotation-step", one entry per body whose free rotation has a large error.
 *
 * Estimates for the angle a = dt |w| per step at the initial angular velocity w, with principal moments of inertia I1, I2, I3:
 *
 *    backward_euler    energy lost per step: dt^2/2 (dw/dt).I (dw/dt), dw/dt = I^-1 (I w x w). Its maximum over all directions of w, relative to
 *                      the energy and summed over a revolution: pi a/2 max((Ij - Ik)^2/Ii)/I_middle. Limit: 1e-3
 *    semi_implicit     (articulated) the same amount is gained
 *    conserving        exact up to a = FREE_ROTATION_LARGEST_ANGLE; as backward_euler above it
 *    momentum          (articulated) relative error of the rate: a^2/24. Limit: 1e-2
 *
 * Bodies with equal moments have no error. Called by scene_create for every body. */
#ifndef SS_SIM_SCENE_ROTATION_STEP_H
#define SS_SIM_SCENE_ROTATION_STEP_H
#include "core/warning_list.h"
#include "discretize/body/body.h"

/* path: "bodies.NAME". dt: step length [s]. Bodies of other kinds get no warning. */
void rotation_step_warn(const body *b, const char *path, double dt, warning_list *warnings);
#endif
