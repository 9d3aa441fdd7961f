/* Primal-dual interior point method for Coulomb friction [AcaryEtAl2024]. With De Saxce's change of variable û = u + (mu |u_T|, 0, 0),
 * u = W r + q, the law is a complementarity between second-order cones. Let x = (mu r_N, r_T) and y = (û_N, mu û_T), both in the
 * self-dual cone L; then x o y = 0. Newton's method in the scaling of Nesterov and Todd follows the path x o y = sigma e to sigma = 0
 * with predictor and corrector. The term mu |u_T| is differentiated, too. If the boundary of the cones shortens a step, this
 * derivative is damped in the next step, which makes the system more similar to a convex one. */
#ifndef SS_OPTIM_FRICTION_INTERIOR_POINT_H
#define SS_OPTIM_FRICTION_INTERIOR_POINT_H
#include "optim/friction/newton_matrix.h"
/* A friction_solve_function. */
PetscErrorCode friction_solve_interior_point(const friction_problem *p, const friction_options *o, double *r, double *u,
                                             friction_result *out);
#endif
