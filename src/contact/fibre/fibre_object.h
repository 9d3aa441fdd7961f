/* Where fibres touch level sets: local minima of the distance along segments with a radius, not at nodes alone.
 *
 * A contact is a local minimum below radius + margin of the distance along a strand, inside a segment or at a vertex. Where the
 * distance is nearly level, by FIBRE_FLAT radii, towards a vertex or a border, as of a table over which the fibre hangs, that is a
 * contact; if it is so on both sides, the minimum between is none. Spots are half a radius apart at least, the nearest stay.
 * Nothing is missed that is wider than a radius.
 *
 * If positions at the end of the step are known, segments that come to touch until then are found, too, by conservative
 * advancement: their ends move straight on as seen from the level set, and no farther at a time than it is away. */
#ifndef SS_CONTACT_FIBRE_FIBRE_OBJECT_H
#define SS_CONTACT_FIBRE_FIBRE_OBJECT_H
#include "contact/fibre/fibre_contact.h"
#include "geometry/level_set/level_set.h"
#include "discretize/body/body.h"

enum { FIBRE_OBJECT_INSIDE = 4 }; /* minima inside one segment, at most: those that come first */

typedef struct {
  int32_t segment;
  uint8_t feature;   /* fibre_feature */
  uint8_t ordinal;   /* of FIBRE_INSIDE: which of them along the segment */
  bool    is_swept;  /* not within reach yet, found on the way */
  double  at;        /* along the segment, in [0, 1); 1 is for FIBRE_LAST alone */
  double  axis[3];   /* the point on the axis [m] */
  double  normal[3]; /* unit, from the level set to the fibre, world */
  double  gap;       /* [m] */
} fibre_object_spot;

/* Room for what is found; zeroed to begin with. */
typedef struct {
  int64_t            n, capacity, flag_capacity;
  fibre_object_spot *spot;
  uint32_t          *flags;
} fibre_object_spots;
void fibre_object_spots_clear(fibre_object_spots *s);

/* Contacts of the segments of c of those bodies that touch [n_bodies of the set] at x0, and on the way to x1 (NULL: none),
 * [n_nodes][3] finite numbers, with what stands at frame0, and at frame1 then. Ascending by segment, feature, ordinal. Same bits
 * on any number of threads. */
PetscErrorCode fibre_object_run(const fibre_contact *c, const bool *touches, const double *x0, const double *x1,
                                const level_set *phi, const rigid_frame *frame0, const rigid_frame *frame1, double margin,
                                fibre_object_spots *out);
/* The plane on which a point of a fibre, led from x0 to x1 [3], comes into phi, which stands at frame0, and at frame1 then: the
 * one that touches where the point would be, or if that has x0 behind it, as where it came in on the other side, where it first
 * comes within `radius`. normal [3] from the level set, in the world; gap: from x0 to that plane, without the radius, > 0. False if
 * there is none, x0 being inside. */
bool fibre_object_way_in(const level_set *phi, const rigid_frame *frame0, const rigid_frame *frame1, const double x0[3],
                         const double x1[3], double radius, double normal[3], double *gap);
/* Where the inside of segments is led into the level set by more than `deep` radii, at the deepest places along them: contacts on
 * the way that fibre_object_run does not find where segments touch elsewhere, or leave where they touched. Ordinals count from
 * `ordinal` on. Otherwise as there. */
PetscErrorCode fibre_object_entries(const fibre_contact *c, const bool *touches, const double *x0, const double *x1,
                                    const level_set *phi, const rigid_frame *frame0, const rigid_frame *frame1, double deep,
                                    uint8_t ordinal, fibre_object_spots *out);
#endif
