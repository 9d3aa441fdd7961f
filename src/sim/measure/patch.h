/* Contact patches: where on a body its contact force acts, and how much of it is carried by points that stick. Forces count by their
 * components along the normals.                                                                                            */
#ifndef SS_SIM_MEASURE_PATCH_H
#define SS_SIM_MEASURE_PATCH_H
#include "contact/detection/contact_record.h"

typedef struct {
  int    on, from;  /* bodies; from -1: all */
  double point[3];
  double along[3];  /* unit vector: places are measured along it */
  bool   is_round;  /* instead: as distances from the axis `up` through `point` */
  double up[3];     /* unit vector */
} patch_frame;

/* Within which place `fraction` of the force acts [m]: 0 is the first point, 1 the last, each in the middle of its own share, linear in
 * between. NaN without contact. Fails only when memory does. */
PetscErrorCode patch_extent(const contact_points_view *p, const patch_frame *f, double fraction, double *value);
/* Share of the force that sticking points carry; NaN without contact. */
double patch_sticking(const contact_points_view *p, int on, int from);
/* Sum of the forces on `on` [N], of each only its part along its normal or the rest, which is friction. */
void patch_force(const contact_points_view *p, int on, int from, bool is_normal, double force[3]);
int64_t patch_count(const contact_points_view *p, int on, int from);
/* The deepest of the points [m], 0 without any. */
double patch_penetration(const contact_points_view *p, int on, int from);
#endif
