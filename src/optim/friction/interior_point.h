/* Primal-dual interior point method for Coulomb friction [AcaryEtAl2024]. With De Saxce's change of variable the law is a
 * complementarity between second-order cones: in x = (mu r_N, r_T) and y = (û_N, mu û_T), both in the self-dual cone L, with û =
 * u + (mu |u_T|, 0, 0) and u = W r + q, it is x o y = 0. Newton's method in the scaling of Nesterov and Todd follows x o y =
 * sigma e to sigma = 0 with predictor and corrector. The term mu |u_T| is differentiated like the others. After a step that the
 * boundary of the cones shortened, its derivative is damped for one step, which makes the system closer to a convex one. */
#ifndef SS_OPTIM_FRICTION_INTERIOR_POINT_H
#define SS_OPTIM_FRICTION_INTERIOR_POINT_H
#include "optim/friction/newton_matrix.h"
/* A friction_solve_function. */
PetscErrorCode friction_solve_interior_point(const friction_problem *p, const friction_options *o, double *r, double *u,
                                             friction_result *out);
#endif
