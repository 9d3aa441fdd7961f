/* Contacts between fibres and points that fill space (material points).
 *
 * A point represents a ball of radius body_ops.point_radius. Otherwise fibres thinner than the point spacing would pass between the
 * points; also, material ends half a spacing beyond its outermost points. A contact is the nearest place of a strand, inside a
 * segment or at a vertex, below the sum of the radii plus a margin; in a bend there may be one on either side of a vertex. A point
 * exactly on the axis has no direction and no contact.
 *
 * Points and segments that collide on straight trajectories during the step are found as well, by conservative advancement. Their
 * normal is that of the moment of collision, and the gap is measured along it, as in fibre_contact.h. Caller: fibre_scene.h. */
#ifndef SS_CONTACT_FIBRE_FIBRE_POINTS_H
#define SS_CONTACT_FIBRE_FIBRE_POINTS_H
#include "contact/detection/contact_set.h"
#include "contact/fibre/fibre_contact.h"

typedef struct {
  int32_t segment;
  bool    is_swept;  /* not within reach yet; collides during the step */
  int64_t point, id; /* index in its body, identity */
  double  at;        /* along the segment, in [0, 1); 1 where its strand ends */
  double  x[3];      /* the point [m] */
  double  axis[3];   /* the place on the axis [m] */
  double  normal[3]; /* unit, from the fibre to the point */
  double  radius;    /* of the point's ball [m] */
  double  gap;       /* normal . (x - axis) - radii [m] */
} fibre_point_spot;

typedef struct fibre_points fibre_points; /* work space, kept between steps */
PetscErrorCode              fibre_points_create(fibre_points **out);
void                        fibre_points_destroy(fibre_points **p);
/* Contacts of the points of a body with the segments of c whose bodies are set in `touches` [n_bodies of the set]. Nodes move
 * from x0 to x1 [n_nodes][3], finite; points move by their current velocity, or by s->v. p owns *out until the next call. The
 * order is arbitrary but the same on any number of threads. */
PetscErrorCode fibre_points_run(fibre_points *p, const fibre_contact *c, const bool *touches, const double *x0, const double *x1,
                                const contact_scene *s, int32_t body_of_points, double margin, int64_t *n, const fibre_point_spot **out);
#endif
