/* Geometric overlaps of all pairs of bodies of a scene that may touch (overlap_pair.h): at the start of a run (scene_overlap_check.h), and after
 * every accepted step for the report of penetration. Results and their order do not depend on the number of threads or on earlier calls. */
#ifndef SS_SIM_SCENE_SCENE_OVERLAPS_H
#define SS_SIM_SCENE_SCENE_OVERLAPS_H
#include "sim/scene/overlap_pair.h"
#include "contact/detection/contact_scene.h"
#include "core/field_table.h"

typedef struct {
  int32_t a, b; /* bodies, a <= b; a == b: fibres of one body */
  overlap at;
  double  before; /* depth in the search before, 0 if there was none [m] */
} scene_overlap;

/* Properties of the scene. */
typedef struct {
  int                 n_bodies;
  const pair_classes *pairs;                                        /* borrowed; NULL: law is [n_bodies][n_bodies] */
  const contact_law  *law;                                          /* [n_slots] borrowed */
  bool                has_thick_fibres;                             /* false: contact acts on the axes of fibres */
  bool                touches_on_grid;                              /* bodies with a carrier are in contact with others on the grid */
  double              overlap_correction_speed, acceleration_scale; /* m/s, NaN: not given; m/s^2 */
} overlap_scene;

typedef struct scene_overlaps scene_overlaps;
/* body [n_bodies]: the bodies outlive *out. */
PetscErrorCode scene_overlaps_create(const overlap_scene *s, body *const *bodies, scene_overlaps **out);
void           scene_overlaps_destroy(scene_overlaps **o); /* accepts NULL */
/* Find all overlaps between two steps at time t: *list [*n], ascending by (a, b), depth > 0; owned by o until the next call.
 *   is_initial  search thoroughly, including pairs that are in contact on a grid, and with positions of all overlaps. Very many overlaps end the search:
 *               scene_overlaps_are_too_many is then true */
PetscErrorCode scene_overlaps_find(scene_overlaps *o, double t, bool is_initial, int64_t *n, const scene_overlap **list);
/* Overlaps of the waiting bodies (body.is_waiting) listed in sought [n], at the places of their release, with each other and with all bodies that do not
 * wait, at time t: *list [*n_found] as above, memory_free(*list). Does not change the results of scene_overlaps_find. */
PetscErrorCode scene_overlaps_find_waiting(scene_overlaps *o, double t, int64_t n, const int32_t *sought, int64_t *n_found,
                                           scene_overlap **list);
/* Rest depths of contact springs (contact_rests), so that an overlap that the job permits at the start does not store energy.
 * scene_overlaps_begin: register the overlaps of the last search whose pairs may overlap without preload, with their depth as rest depth, in the field table
 * (group "contact/rest_overlaps", checkpoints). scene_overlaps_relax: after a step of length dt that ended with the last search, reduce each
 * rest depth by speed dt, and to the present depth. speed: contact.overlap_correction_speed, or acceleration_scale dt. */
PetscErrorCode scene_overlaps_begin(scene_overlaps *o, field_table *fields);
void           scene_overlaps_relax(scene_overlaps *o, double dt);
/* Bodies a and b whose overlap the job permits: reduction of the overlap since the search before the last one, at least 0 [m]. */
double scene_overlaps_reduction(const scene_overlaps *o, int a, int b);
/* Rest depths of the current step; NULL: no pair had a permitted overlap at the start. */
const contact_rests *scene_overlaps_rests(const scene_overlaps *o);
/* Results of the last search. */
bool                 scene_overlaps_are_too_many(const scene_overlaps *o);
const overlap_shape *scene_overlaps_shape(const scene_overlaps *o,
                                          int i); /* of body i in that search; a waiting body has the shape of its creation */
int64_t              scene_overlaps_list(const scene_overlaps *o, const scene_overlap **list);
/* Largest depth of body `on` and body `with`; -1: any body. 0 if they do not overlap. */
double scene_overlaps_depth(const scene_overlaps *o, int on, int with);
/* Size of body i to which depths are compared (overlap_shape.size) [m]; INFINITY for half-spaces. */
double scene_overlaps_size(const scene_overlaps *o, int i);
/* Whether body i consists of particles, or of fibres. */
bool scene_overlaps_has_particles(const scene_overlaps *o, int i);
bool scene_overlaps_has_fibres(const scene_overlaps *o, int i);
#endif
