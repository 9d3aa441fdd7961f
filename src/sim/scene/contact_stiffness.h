/* Contact stiffness that limits the penetration of a pair of bodies: the value of `stiffness: auto`, and the value that error messages suggest.
 *
 *   k = max( W / (n 0.01 h),  min( m v^2 / (n (0.1 h)^2),  rho c (c + v) s^2 / (0.1 h) ) )
 *
 *   W  load on the pair: the smaller of the loads of its movable bodies (body_survey.load) [N]; with the weight for acceleration_scale if there is no gravity
 *   n  contact points of that body in the layer lowest along gravity
 *   h  smallest extent of the two bodies, and distance of the points of deformable bodies [m]
 *   m  smaller mass of the movable bodies [kg]
 *   v  relative velocity at the start [m/s]
 *   rho, c, s  density, wave speed and distance of the points of a deformable body; of two such bodies, the smaller product. Its surface deforms
 *      before its mass has been stopped: the pressure of an impact is at most about the modulus rho c^2 plus rho c v, on an area s^2 per point
 *
 * The static penetration W/(n k) is then at most 1 % of h, and a collision at the initial speed penetrates by at most about 10 % of h. Called by the scene. */
#ifndef SS_SIM_SCENE_CONTACT_STIFFNESS_H
#define SS_SIM_SCENE_CONTACT_STIFFNESS_H
#include "core/pair_classes.h"
#include "sim/scene/body_survey.h"

/* Value for bodies i and j [N/m]; NaN if neither of them has a mass or both are unbounded. */
double contact_stiffness_of(const body_survey *survey, int i, int j);
/* Static penetration over h of the first limit. */
#define CONTACT_STATIC_SHARE 0.01

/* Call visit(context, i, j) for all pairs (i, j) of this slot whose value may exceed `limit` [N/m], and some others, until it returns false. Bounds of
 * groups of bodies exclude most other pairs, so that the time grows little faster than the number of bodies. Error: out of memory. */
PetscErrorCode contact_stiffness_visit(const body_survey *survey, const pair_classes *pairs, int64_t slot, double limit,
                                       bool (*visit)(void *context, int32_t i, int32_t j), void *context);
/* Raise *k to the largest finite value of all pairs (i, j), i <= j, with this slot. *k: NaN or a value so far. Error: out of
 * memory. */
PetscErrorCode contact_stiffness_raise(const body_survey *survey, const pair_classes *pairs, int64_t slot, double *k);
/* Length h of the pair [m]; INFINITY if both are unbounded. */
double contact_length_of(const body_survey *survey, int i, int j);
/* The movable body of the pair whose load determines the static penetration; -1: none. */
int contact_carried_body(const body_survey *survey, int i, int j);
#endif
