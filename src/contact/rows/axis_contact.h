/* Line of action of contacts of fibres that do not rotate about their axis (mass-spring strands).
 *
 * The normal force acts along a line through the axis, friction f acts on the surface. Its moment about the axis, radius n x f, has a
 * component along the axis that forces on the nodes of a straight segment cannot represent. Therefore action and reaction act at the
 * same point on the axis: on the nodes of the segment, and on the other body at this point as if it were rigidly extended. Linear
 * and angular momentum are then conserved to round-off, and the velocity of the other body is measured at the same point, so that
 * friction does no work in a common rigid motion. Coulomb's law applies to this velocity. A strand wound on a drum of radius R
 * moves with the velocity of the drum at R + radius, as an inextensible strand does. A strand that lies on a slope does not roll.
 *
 * Distributing the couple on the neighbouring nodes was rejected: it exists only for the component across the segment, and its normal
 * forces would be contact forces without a contact.
 *
 * Contact between two such strands: action and reaction act on the two axes, so that friction leaves a couple (distance of the axes times
 * f), see docs/limits.md. Its component along parallel strands has no lever arm: without the couple they would roll on each other
 * without friction. Forces on the four nodes that balance the other components were tested and rejected: in a tight knot they act
 * against the bending stiffness, and the tension due to friction decreases from 1.39 to 0.27 times its value for thin rods.
 *
 * Callers: step_contacts.c (axis_contact_place), contact_jacobian.c (axis_contact_beside_triangle). */
#ifndef SS_CONTACT_ROWS_AXIS_CONTACT_H
#define SS_CONTACT_ROWS_AXIS_CONTACT_H
#include "contact/detection/contact_set.h"

/* Move the locations of all contacts [n] with such a fibre to its axis. A second call changes nothing. */
void axis_contact_place(const contact_scene *s, int64_t n, contact_spot *spots);
/* Row of the point at x that moves with the plane of a triangle with corners X [3][3]: J [3][9], b_k I - h grad(b_k) n^T with barycentric
 * coordinates b_k and height h of the point, n the normal. False if the triangle has no area. */
bool axis_contact_beside_triangle(const double X[9], const double x[3], double (*J)[9]);
#endif
