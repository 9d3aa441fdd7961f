/* What the last accepted step left of its contacts: the points that pushed, for frames and measures, and forces between bodies. */
#ifndef SS_CONTACT_DETECTION_CONTACT_RECORD_H
#define SS_CONTACT_DETECTION_CONTACT_RECORD_H
#include "contact/detection/contact.h"
#include "core/field_table.h"

/* n points in arrays of one quantity each, written in place by whoever knows them; n is set last. */
typedef struct {
  int64_t  n, capacity;
  double  *position, *force, *normal; /* [n][3] as in contact_points_view */
  double  *gap;
  int32_t *source_body, *object_body;
  uint8_t *is_sliding;
} contact_points;
PetscErrorCode      contact_points_reserve(contact_points *p, int64_t n);
void                contact_points_destroy(contact_points *p);
contact_points_view contact_points_get(const contact_points *p);
/* Group "contact/points" of frames. `p` must stay where it is as long as the table. */
PetscErrorCode contact_points_fields(contact_points *p, field_table *table);

/* Sum of what one body's points feel from another body; moment about the origin. */
typedef struct {
  int    source_body, object_body;
  double force[3], moment[3];
} contact_group_force;
typedef struct {
  int64_t              n, capacity;
  contact_group_force *group;
} contact_forces;
void contact_forces_destroy(contact_forces *f);
/* A new group, all zero; borrowed until the next. */
PetscErrorCode contact_forces_open(contact_forces *f, int source_body, int object_body, contact_group_force **out);
/* The group of two bodies, which is opened if there is none. */
PetscErrorCode contact_forces_find(contact_forces *f, int source_body, int object_body, contact_group_force **out);
/* What `more` holds is added to the groups of f. */
PetscErrorCode contact_forces_merge(contact_forces *f, const contact_forces *more);
/* force [3] at the place x [3]. */
void contact_group_add(contact_group_force *g, const double x[3], const double force[3]);
/* What body `on` feels from body `from` (-1: all). */
void contact_forces_between(const contact_forces *f, int on, int from, double force[3], double moment[3]);
#endif
