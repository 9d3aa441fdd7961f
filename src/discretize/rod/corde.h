/* CORDE rod model: a chain of points with one frame (a unit quaternion) per edge [SpillmannTeschner2007]. This file contains the energies
 * of the model, each a function of a few unknowns, with first and second derivatives. Used by rod_model_corde.c.
 *
 *    stretch   K l (|e| / l - 1)^2 / 2                                  e: the edge, l: its rest length; K [N]
 *    bend      l sum_k K_k (u_k - rest_k)^2 / 2                         between two frames at distance l; K_k [N m^2] about director d_k
 *    parallel  K l |e / |e| - d_0|^2 / 2 = K l (1 - d_0 . e / |e|)      aligns the director d_0 of the frame with the edge; K [N]
 *
 * u_k = 2 (B_k q) . q' / |q|^2 with the published matrices B_k, where q and q' are mean and difference quotient of the two quaternions. For
 * unit quaternions, u is (4 / l) tan(phi / 4) along the axis of the rotation by phi from one frame to the other, in the directors
 * of the first (or second) frame. With K = G S (shear modulus times section area), the parallel energy has the shear stiffness of a beam.
 * d_0 is the tangent, so that u_0 is the twist; d_1 and d_2 span the section.
 *
 * The unknown of a frame is theta [3], its rotation since the start of a step: q = (1, theta / 2) q0, renormalised (cayley.h),
 * with theta = dt omega. Second derivatives are exact. With is_definite they are positive semidefinite: second derivatives of strains
 * and the geometric stiffness of compressed edges are omitted. */
#ifndef SS_DISCRETIZE_ROD_CORDE_H
#define SS_DISCRETIZE_ROD_CORDE_H
#include <stdbool.h>

/* Each function except corde_curvature returns its energy [J]. gradient and hessian (row-major) may be NULL; hessian requires gradient. */

/* Stretch energy. Unknown: e. gradient [3], hessian [9]. */
double corde_stretch(const double e[3], double length, double stiffness, bool is_definite, double *gradient, double *hessian);
/* Strain u [3] [1/m] between the frames q0, q1 [4] after the rotations theta0, theta1; `length`: l. NAN if the frames differ by more than
 * 343 degrees. */
void corde_curvature(const double q0[4], const double theta0[3], const double q1[4], const double theta1[3], double length, double u[3]);
/* Bend energy. Unknowns: theta0, theta1. gradient [6], hessian [36]. */
double corde_bend(const double q0[4], const double theta0[3], const double q1[4], const double theta1[3], double length,
                  const double stiffness[3], const double rest[3], bool is_definite, double *gradient, double *hessian);
/* Parallel energy. Unknowns: e, theta. d0 [3]: d_0 at the start of the step; stiffness_length: K l. gradient [6], hessian [36]. */
double corde_parallel(const double e[3], const double d0[3], const double theta[3], double stiffness_length, bool is_definite,
                      double *gradient, double *hessian);
/* Energy c |d - target|^2 / 2 of a director d, which was d0 [3] at the start of the step. It represents rotational inertia. Unknown: theta.
 * gradient [3], hessian [9]. */
double corde_director(const double d0[3], const double target[3], const double theta[3], double c, bool is_definite, double *gradient,
                      double *hessian);
#endif
