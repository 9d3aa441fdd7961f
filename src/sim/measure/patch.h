/* Contact patches: position and extent of the contact force on a body, and the share carried by sticking points. Forces are
 * weighted by their normal components. Used by the contact measures. */
#ifndef SS_SIM_MEASURE_PATCH_H
#define SS_SIM_MEASURE_PATCH_H
#include "contact/detection/contact_record.h"

typedef struct {
  int    on, from; /* bodies; from -1: all */
  double point[3];
  double along[3]; /* unit vector: positions are measured along it */
  bool   is_round; /* instead: distances from the axis `up` through `point` */
  double up[3];    /* unit vector */
} patch_frame;

/* Position [m] within which `fraction` of the force acts: 0 is the first point, 1 the last; each point is in the middle of its
 * share, linear in between. NaN without contact. Fails only without memory. */
PetscErrorCode patch_extent(const contact_points_view *p, const patch_frame *f, double fraction, double *value);
/* Share of the force carried by sticking points; NaN without contact. */
double patch_sticking(const contact_points_view *p, int on, int from);
/* Sum of the forces on body `on` [N]: only the normal parts, or only the friction parts. */
void    patch_force(const contact_points_view *p, int on, int from, bool is_normal, double force[3]);
int64_t patch_count(const contact_points_view *p, int on, int from);
/* Penetration depth of the deepest point [m], 0 without contact. */
double patch_penetration(const contact_points_view *p, int on, int from);
#endif
