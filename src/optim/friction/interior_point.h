/* Primal-dual interior point method for Coulomb friction [AcaryEtAl2024]. With De Saxce's change of variable û = u + (mu |u_T|, 0, 0),
 * u = W r + q, Coulomb's law is a complementarity between second-order cones. Let x = (mu r_N, r_T) and y = (û_N, mu û_T), both in the
 * self-dual cone L (jordan.h); then x o y = 0. Newton's method in the scaling of Nesterov and Todd, with predictor and corrector, follows
 * the path x o y = sigma e to sigma = 0; e is the identity of the Jordan algebra. The Jacobian contains the derivative of mu |u_T|. If
 * the boundary of the cones shortens a step, this derivative is damped in the next step: the system is then closer to a convex one. */
#ifndef SS_OPTIM_FRICTION_INTERIOR_POINT_H
#define SS_OPTIM_FRICTION_INTERIOR_POINT_H
#include "optim/friction/newton_matrix.h"
/* A friction_solve_function: arguments and errors as declared in friction_problem.h. */
PetscErrorCode friction_solve_interior_point(const friction_problem *p, const friction_options *o, double *r, double *u,
                                             friction_result *out);
#endif
