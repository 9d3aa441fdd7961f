/* Search for candidate pairs of contact points and level sets that may collide during a step.
 *
 * The points of a body form clusters with bounding spheres. A tree of the boxes of all level sets yields the level sets near each cluster; level sets
 * without bounds are tested one by one. As the level set phi is a distance, a cluster with phi(center) > radius + margin has no candidate. The points of
 * the other clusters are tested one by one. Parallel over clusters; the result is sorted and does not depend on the number of threads or on the order in
 * which a body stores its points. Callers: penalty.c and point_contact.c. */
#ifndef SS_CONTACT_DETECTION_CONTACT_SEARCH_H
#define SS_CONTACT_DETECTION_CONTACT_SEARCH_H
#include "contact/detection/pair_table.h"
#include "contact/detection/contact_scene.h"

/* Loops over at most this number of pairs or clusters run on one thread, because starting the team takes longer than the loop. */
enum { CONTACT_SERIAL = 256, CONTACT_SERIAL_CLUSTERS = 16 };

typedef struct {
  pair_key key;                /* as in the pair table */
  int32_t  i_source, i_object; /* indices in search_problem.sources and search_problem.objects */
  int64_t  i_point;            /* index of the point in its body, valid during this step */
  int64_t  attachment;         /* row of the pair table; -1: a new pair */
  double   x[3];               /* position of the point at the start of the step [m] */
} contact_candidate;

/* Input of contact_search_run; all arrays are borrowed. object_key [n_objects]: pair_key.object of each object; pair_key.source of a source
 * is its body_id. may_touch [n_slots] of `pairs`: contact of points of the first body with objects of the second. Points and objects of one body never form a pair. */
typedef struct {
  int                   n_sources, n_objects, n_frames, n_bodies;
  const contact_source *sources;
  const contact_object *objects;
  const int32_t        *object_key;
  const rigid_frame    *frames;
  const bool           *may_touch;
  double                margin; /* [m] */
  /* [n_sources], [n_objects] displacements [m]: the margin of a pair is the sum of both, at least `margin`. NULL: `margin` for all pairs. */
  const double       *source_reach, *object_reach;
  const pair_classes *pairs; /* NULL: may_touch is [n_bodies][n_bodies] */
} search_problem;

typedef struct contact_search contact_search; /* work space, reused in every step */
PetscErrorCode                contact_search_create(contact_search **out);
void                          contact_search_destroy(contact_search **s);
/* Compute object_key [n_objects] from the body number and the index among the level sets of the body, independent of the order of objects. */
PetscErrorCode contact_search_number(int n_bodies, int n_objects, const contact_object *objects, int32_t *key);
/* Candidates *out [*n] in ascending order of their keys: every point within the margin of a level set, and, at any distance, every pair in
 * `known` (NULL: none) whose point still exists. *out is owned by s and valid until the next run; the caller may change its entries. */
PetscErrorCode contact_search_run(contact_search *s, const search_problem *problem, const pair_table *known, int64_t *n,
                                  contact_candidate **out);
/* Largest distance of a contact point of b from `origin` at the start of the step, or an upper bound [m]; 0 without contact points. */
double contact_search_reach(const body *b, const double origin[3]);
#endif
