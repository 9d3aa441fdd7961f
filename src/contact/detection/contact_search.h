/* Which points may touch which level sets during a step.
 *
 * Clusters of points are culled by a sphere against the level set (a distance, so phi(center) > radius + margin means that
 * none of its points is near), the points of the rest one by one. Parallel over clusters; the result is sorted and does not
 * depend on the number of threads or on the order in which a body stores its points.                                   */
#ifndef SS_CONTACT_DETECTION_CONTACT_SEARCH_H
#define SS_CONTACT_DETECTION_CONTACT_SEARCH_H
#include "contact/detection/pair_table.h"
#include "contact/detection/contact_scene.h"

/* Loops over no more pairs or clusters than this stay on one thread: waking the team costs more than they do. */
enum { CONTACT_SERIAL = 256, CONTACT_SERIAL_CLUSTERS = 16 };

typedef struct {
  pair_key key;                /* as in the pair table */
  int32_t  i_source, i_object; /* positions in the arrays handed to the search */
  int64_t  i_point;            /* the point's index in its body, during this step */
  int64_t  attachment;         /* row of the pair table, or -1 for a new pair */
  double   x[3];               /* where the point is at the start of the step [m] */
} contact_candidate;

/* All borrowed. object_key [n_objects]: identifies each object in pair keys; the key of a source is its body_id. may_touch
 * [n_bodies][n_bodies]. Points and objects of one body never form a pair. */
typedef struct {
  int                   n_sources, n_objects, n_frames, n_bodies;
  const contact_source *sources;
  const contact_object *objects;
  const int32_t        *object_key;
  const rigid_frame    *frames;
  const bool           *may_touch;
  double                margin;
  const double         *reach; /* [n_sources][n_objects] instead of the margin; or NULL */
} search_problem;

typedef struct contact_search contact_search; /* work space, kept between steps */
PetscErrorCode                contact_search_create(contact_search **out);
void                          contact_search_destroy(contact_search **s);
/* key [n_objects]: body number, and which of that body's level sets: stays the same however a scene lists its objects. */
void contact_search_number(int n_bodies, int n_objects, const contact_object *objects, int32_t *key);
/* Candidates in ascending order of their keys: every point within `margin` of a level set, and every known pair whose point
 * still exists, wherever it is; known NULL: none. *out is owned by s, until the next run; the caller may change its entries. */
PetscErrorCode contact_search_run(contact_search *s, const search_problem *problem, const pair_table *known, int64_t *n,
                                  contact_candidate **out);
/* No contact point of b is farther than this from `origin` at the start of the step [m]; 0 where there is none. */
double contact_search_reach(const body *b, const double origin[3]);
#endif
