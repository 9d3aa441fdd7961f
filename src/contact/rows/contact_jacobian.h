/* Contact Jacobian: relative velocities at contacts as a sparse function of the global velocity vector, in contact frames:
 *
 *   u = sum_k E_k v[block_k] + known,      u = frame (v_a - v_b), normal first
 *
 * body_ops.location_jacobian gives the velocity at a location on a body. For bodies without this function it follows from the feature:
 * the weights of point_row for a point; the two nodes of a segment or the three nodes of a triangle, where node i is block i; the rigid
 * motion v + w x (x - c) of two blocks for a body with a frame. A body without unknowns has a prescribed motion; its velocity (x at the
 * end - x at the start) / dt is part of `known`. Callers: rigid contact of `exact` and `convex`. Source: [BertailsEtAl2011], H and w. */
#ifndef SS_CONTACT_ROWS_CONTACT_JACOBIAN_H
#define SS_CONTACT_ROWS_CONTACT_JACOBIAN_H
#include "contact/detection/contact_set.h"

typedef struct {
  int64_t  n, n_entries, capacity, entry_capacity;
  double  *frame; /* [n][9] rows: normal and two tangents, right-handed; the tangents depend on the normal alone */
  double  *known; /* [n][3] relative velocity by prescribed motion, in the contact frame [m/s] */
  int64_t *start; /* [n + 1] */
  int32_t *block; /* [n_entries] of the global vector, ascending within a row, each once */
  double  *value; /* [n_entries][9] E, row-major */
  void    *scratch;
} contact_jacobian;

/* Free the arrays; accepts a zeroed *j. Initialise *j with zeros before the first contact_jacobian_build. */
void contact_jacobian_destroy(contact_jacobian *j);
/* Compute the rows of the contacts spots [n] (borrowed), for the block layout and the poses of s. The bits do not depend on the number of
 * threads. Error: out of memory. */
PetscErrorCode contact_jacobian_build(contact_jacobian *j, const contact_scene *s, int64_t n, const contact_spot *spots);
/* u [n][3] = sum E v + known, contact velocities in contact frames [m/s]. v [n_blocks][3]: global velocity vector. */
void contact_jacobian_velocity(const contact_jacobian *j, const double *v, double *u);
/* y [n_blocks][3] += scale sum E^T r, r [n][3]: impulses in contact frames [N s]. Serial, in the order of contacts. */
void contact_jacobian_scatter(const contact_jacobian *j, double scale, const double *r, double *y);
/* Velocity out [3] of the location `spot` on body i_body at the global velocity v [m/s]. */
void contact_spot_velocity(const contact_scene *s, int32_t i_body, const body_contact_location *spot, const double *v, double out[3]);
#endif
