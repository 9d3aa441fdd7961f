/* Rotation of a rigid body without torque over one time step.
 *
 * In the axes of the body at the start of the step, with inertia I and angular velocity W0, the angular momentum l = I W0 is constant. The
 * rotation vector theta(t), Q = exp([theta]), satisfies
 *
 *    d theta/dt = Jl(theta)^-1 w,   w = Q I^-1 Q^T l,   theta(0) = 0            (Jl: left Jacobian of the exponential map)
 *
 * and the angular velocity in the axes of the body is W = I^-1 Q^T l. Angular momentum is therefore conserved exactly. The classical
 * Runge-Kutta method of order 4 with substeps of at most 0.02 rad changes the energy by less than 1e-8 of its value per radian.
 *
 * Called by rigid_body.c at the start of each step of a body with `rotation: conserving`. Source: [MuntheKaas1999]. */
#ifndef SS_DISCRETIZE_RIGID_FREE_ROTATION_H
#define SS_DISCRETIZE_RIGID_FREE_ROTATION_H
#include <stdbool.h>

/* theta [3]: rotation vector of the step [rad]. W1 [3]: angular velocity at the end of the step in the axes of the body at that time
 * [rad/s]. inertia, inverse [9]: symmetric, in body axes [kg m^2], [1/(kg m^2)]. Returns false if the body turns by more than
 * FREE_ROTATION_LARGEST_ANGLE: rotation vectors are unique below 2 pi only. Then the outputs are undefined. */
#define FREE_ROTATION_LARGEST_ANGLE 3.0
bool free_rotation(const double inertia[9], const double inverse[9], const double W0[3], double dt, double theta[3], double W1[3]);
#endif
