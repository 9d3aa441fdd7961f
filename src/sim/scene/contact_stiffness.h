/* Contact stiffness that limits the penetration of a pair of bodies: the value of `stiffness: auto`, and the value that error messages suggest.
 *
 *   k = max( W / (n 0.01 h),  m v^2 / (n (0.1 h)^2) )
 *
 *   W  load on the pair: the smaller of the loads of its movable bodies (body_survey.load) [N]; with the weight for acceleration_scale if there is no gravity
 *   n  contact points of that body in the layer lowest along gravity
 *   h  smallest extent of the two bodies, and distance of particles or grid nodes [m]
 *   m  smaller mass of the movable bodies [kg]
 *   v  relative velocity at the start [m/s]
 *
 * The static penetration W/(n k) is then at most 1 % of h, and a collision at the initial speed penetrates by about 10 % of h. Called by the scene. */
#ifndef SS_SIM_SCENE_CONTACT_STIFFNESS_H
#define SS_SIM_SCENE_CONTACT_STIFFNESS_H
#include "sim/scene/body_survey.h"

/* Value for bodies i and j [N/m]; NaN if neither of them has a mass or both are unbounded. */
double contact_stiffness_of(const body_survey *survey, int i, int j);
/* Length h of the pair [m]; INFINITY if both are unbounded. */
double contact_length_of(const body_survey *survey, int i, int j);
/* The movable body of the pair whose load determines the static penetration; -1: none. */
int contact_carried_body(const body_survey *survey, int i, int j);
#endif
