/* Contact patches: position and extent of the contact force on a body, and the share carried by sticking points. Forces are
 * weighted by their normal components. Used by the contact measures. */
#ifndef SS_SIM_MEASURE_PATCH_H
#define SS_SIM_MEASURE_PATCH_H
#include "contact/detection/contact_record.h"

typedef struct {
  int    on, from; /* the force on body `on` by body `from`; from -1: by all bodies */
  double point[3]; /* origin of the positions [m] */
  double along[3]; /* unit vector: positions are measured along it */
  bool   is_round; /* instead: distances from the axis `up` through `point` */
  double up[3];    /* unit vector */
} patch_frame;

/* Set *value to the position [m] up to which `fraction` of the force acts: fraction 0 gives the first contact point, 1 the last. The
 * cumulative force at a contact point includes half of the point's own force, and is linear between points. *value is NaN without contact.
 * Error: out of memory. */
PetscErrorCode patch_extent(const contact_points_view *p, const patch_frame *f, double fraction, double *value);
/* Fraction of the force that sticking points carry; NaN without contact. */
double patch_sticking(const contact_points_view *p, int on, int from);
/* Sum of the forces on body `on` [N]: normal components only (is_normal), or friction only. */
void    patch_force(const contact_points_view *p, int on, int from, bool is_normal, double force[3]);
int64_t patch_count(const contact_points_view *p, int on, int from); /* number of contact points */
#endif
