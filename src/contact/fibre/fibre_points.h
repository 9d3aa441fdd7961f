/* Contacts between fibres and material points.
 *
 * A point represents a ball of radius body_ops.point_radius. Without this radius, fibres thinner than the point spacing would pass between
 * the points; also, the material extends half a spacing beyond its outermost points. A contact is at the point of a strand closest to the
 * material point, inside a segment or at a vertex, if the distance is below the sum of the radii plus a margin. In a bend there may be a
 * contact on either side of a vertex. A point exactly on the axis has no contact, because its normal is undefined.
 *
 * Points and segments that collide on straight trajectories during the step have swept contacts, computed by conservative advancement.
 * Their normal is that at the time of collision; the gap is measured along it, as in fibre_contact.h. Caller: fibre_scene.h. */
#ifndef SS_CONTACT_FIBRE_FIBRE_POINTS_H
#define SS_CONTACT_FIBRE_FIBRE_POINTS_H
#include "contact/detection/contact_set.h"
#include "contact/fibre/fibre_contact.h"

typedef struct {
  int32_t segment;
  bool    is_swept;  /* true: beyond the margin at the start of the step, collides during the step */
  int64_t point, id; /* index of the point in its body in this step, and its persistent identity */
  double  at;        /* position along the segment, in [0, 1); 1 at the end of the strand */
  double  x[3];      /* position of the point [m] */
  double  axis[3];   /* point of the fibre axis closest to x [m] */
  double  normal[3]; /* unit, from the fibre to the point */
  double  radius;    /* radius of the ball [m] */
  double  gap;       /* normal . (x - axis) - radii [m] */
} fibre_point_spot;

typedef struct fibre_points fibre_points; /* work space, reused in every step */
PetscErrorCode              fibre_points_create(fibre_points **out);
void                        fibre_points_destroy(fibre_points **p);
/* Find the contacts between the points of body body_of_points and the segments of c. Segments of body i are used if touches[i], touches
 * [n_bodies]. Result: *out [*n], owned by p and valid until the next call. It is not sorted, but does not depend on the number of threads.
 *   x0, x1  [n_nodes][3] finite positions of the nodes of c at the start and the end of the step [m]
 *   s       points move with the velocities s->v, or with their current velocities if s->v is NULL
 *   margin  largest gap of a contact at the start of the step [m]
 * Error: out of memory. */
PetscErrorCode fibre_points_run(fibre_points *p, const fibre_contact *c, const bool *touches, const double *x0, const double *x1,
                                const contact_scene *s, int32_t body_of_points, double margin, int64_t *n, const fibre_point_spot **out);
#endif
