/* Contacts between fibres and level sets: local minima of the distance along whole segments with a radius, not only at nodes.
 *
 * A contact is a local minimum of the distance along a strand below radius + margin, inside a segment or at a vertex. Where the
 * distance varies by less than FIBRE_FLAT radii towards a vertex or a border (for example a fibre over the edge of a table), the
 * vertex or border is a contact. If this is so on both sides, the minimum between is omitted. Contacts are at least half a radius
 * apart; the nearest remain. No object wider than a radius is missed.
 *
 * If positions at the end of the step are given, segments that touch during the step are found as well, by conservative advancement.
 * Their ends move on straight lines in the frame of the level set, in steps of at most the distance. Caller: fibre_scene.h. */
#ifndef SS_CONTACT_FIBRE_FIBRE_OBJECT_H
#define SS_CONTACT_FIBRE_FIBRE_OBJECT_H
#include "contact/fibre/fibre_contact.h"
#include "geometry/level_set/level_set.h"
#include "discretize/body/body.h"

enum { FIBRE_OBJECT_INSIDE = 4 }; /* at most so many minima inside one segment: the first ones */

typedef struct {
  int32_t segment;
  uint8_t feature;   /* fibre_feature */
  uint8_t ordinal;   /* of FIBRE_INSIDE: which of them along the segment */
  bool    is_swept;  /* not within reach yet; collides during the step */
  double  at;        /* along the segment, in [0, 1); 1 for FIBRE_LAST only */
  double  axis[3];   /* the point on the axis [m] */
  double  normal[3]; /* unit, from the level set to the fibre, world */
  double  gap;       /* [m] */
} fibre_object_spot;

/* Result list; zero-initialised. */
typedef struct {
  int64_t            n, capacity, flag_capacity;
  fibre_object_spot *spot;
  uint32_t          *flags;
} fibre_object_spots;
void fibre_object_spots_clear(fibre_object_spots *s);

/* Contacts of the segments of c whose bodies are set in `touches` [n_bodies of the set], at x0, and swept contacts from x0 to x1
 * (NULL: none), [n_nodes][3], finite. The level sets move from frame0 to frame1. Ascending by segment, feature, ordinal. Same bits on
 * any number of threads. */
PetscErrorCode fibre_object_run(const fibre_contact *c, const bool *touches, const double *x0, const double *x1, const level_set *phi,
                                const rigid_frame *frame0, const rigid_frame *frame1, double margin, fibre_object_spots *out);
/* Plane through which a fibre point that moves from x0 to x1 [3] enters phi, which moves from frame0 to frame1. It is the plane at
 * the predicted end position; if x0 is behind that plane (entry from another side), the plane where the point first comes within
 * `radius`. normal [3]: from the level set, world axes; gap: from x0 to that plane, without the radius, > 0. False if there is none
 * because x0 is inside. */
bool fibre_object_way_in(const level_set *phi, const rigid_frame *frame0, const rigid_frame *frame1, const double x0[3], const double x1[3],
                         double radius, double normal[3], double *gap);
/* Swept contacts where the inside of segments is predicted to penetrate the level set by more than `deep` radii, at the deepest
 * places. fibre_object_run does not find these if the segment touches elsewhere or separates there. Ordinals start at `ordinal`.
 * Otherwise as fibre_object_run. */
PetscErrorCode fibre_object_entries(const fibre_contact *c, const bool *touches, const double *x0, const double *x1, const level_set *phi,
                                    const rigid_frame *frame0, const rigid_frame *frame1, double deep, uint8_t ordinal,
                                    fibre_object_spots *out);
#endif
