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
 * Two such strands have a common point only where their axes intersect. There friction acts on each axis, and its couple (distance of
 * the axes times f) is balanced by forces on the four nodes, the smallest that do so: the contact velocity is measured relative to the
 * rigid rotation of the four nodes. The component along two parallel strands has no lever arm: without friction they would roll
 * on each other. Below an angle at which the nodes have a lever arm of AXIS_LEVER distances this component is not balanced, so that
 * parallel strands stick; docs/limits.md.
 *
 * Callers: step_contacts.c (axis_contact_place), contact_jacobian.c (the others). */
#ifndef SS_CONTACT_ROWS_AXIS_CONTACT_H
#define SS_CONTACT_ROWS_AXIS_CONTACT_H
#include "contact/detection/contact_set.h"

#define AXIS_LEVER 0.5

/* Move the locations of all contacts [n] with such a fibre to its axis. A second call changes nothing. */
void axis_contact_place(const contact_scene *s, int64_t n, contact_spot *spots);
/* Whether both sides are such fibres; x [4][3]: positions of the nodes of a, then b. */
bool axis_contact_is_double(const contact_scene *s, const contact_spot *spot, double x[12]);
/* J [4][9] (row-major, contact velocity by velocities of the nodes at x), contact at fractions at_a, at_b of the segments: subtract the velocity of the rigid rotation of the nodes that
 * is nearest to their velocities in the least squares sense, about all axes or, if the strands are nearly parallel, about the axes across
 * them. */
void axis_contact_balance(const double x[12], double at_a, double at_b, double J[4][9]);
/* Row of the point at x that moves with the plane of a triangle with corners X [3][3]: J [3][9], I b_k - h n grad(b_k)^T with barycentric
 * coordinates b_k and height h of the point, n the normal. False if the triangle has no area. */
bool axis_contact_beside_triangle(const double X[9], const double x[3], double (*J)[9]);
#endif
