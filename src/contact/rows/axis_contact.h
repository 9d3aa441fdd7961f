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
 * Contact between two such strands: action and reaction act at one point on the surfaces. The nodes of each segment receive the force and
 * the component of its moment across the segment. A component m_A along axis e_A remains. It is split into couples across e_A and across
 * e_B, which forces along the common perpendicular k on the nodes of both segments represent: with c = e_A . e_B, s = |e_A x e_B|,
 *
 *    m_A e_A = - m_A (c / s) e_A x k + (m_A / s) e_B x k      (and the same with A and B exchanged)
 *
 * Angular momentum is then conserved to round-off. This is impossible for parallel strands: their four nodes are in one plane, and
 * forces of zero sum that are transverse to the strands in this plane's normal direction have a moment along the strands that no other
 * forces on these nodes can balance. Only zero friction across parallel strands without inertia of twist conserves it. Therefore the
 * component along the axes is transferred completely for s >= AXIS_CROSSING, not at all for s <= AXIS_PARALLEL, and in part between.
 *
 * Callers: step_contacts.c (axis_contact_place), contact_jacobian.c (the others). */
#ifndef SS_CONTACT_ROWS_AXIS_CONTACT_H
#define SS_CONTACT_ROWS_AXIS_CONTACT_H
#include "contact/detection/contact_set.h"

/* Sines of the angle between two strands, see above. At 1/2 the couple on a segment is at most four times the moment of friction. */
#define AXIS_CROSSING 0.5
#define AXIS_PARALLEL 0.25

/* Move the locations of all contacts [n] with such a fibre to its axis. A second call changes nothing. */
void axis_contact_place(const contact_scene *s, int64_t n, contact_spot *spots);
/* Whether both sides are such fibres; x [4][3]: positions of the nodes of a, then b. */
bool axis_contact_is_double(const contact_scene *s, const contact_spot *spot, double x[12]);
/* Row of the contact of two such segments: J [4][9], velocity of a minus that of b at `point` by the velocities of the nodes at x; at_a,
 * at_b: fractions of the segments. */
void axis_contact_crossing(const double x[12], double at_a, double at_b, const double point[3], double (*J)[9]);
/* Row of the point at x that moves with the plane of a triangle with corners X [3][3]: J [3][9], b_k I - h grad(b_k) n^T with barycentric
 * coordinates b_k and height h of the point, n the normal. False if the triangle has no area. */
bool axis_contact_beside_triangle(const double X[9], const double x[3], double (*J)[9]);
#endif
