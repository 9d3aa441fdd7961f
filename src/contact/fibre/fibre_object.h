/* Contacts between fibres and level sets: local minima of the distance along the segments of the fibre, not only at its nodes.
 *
 * A contact is a local minimum of the distance along a strand that is below radius + margin, inside a segment or at a vertex. If the
 * distance varies by less than FIBRE_FLAT radii from the minimum to a vertex or a border (for example of a fibre over the edge of a
 * table), the vertex or border is a contact. If both sides have such a contact, the minimum between them is omitted. Contacts are at
 * least half a radius apart; those with the smallest distance remain. No object wider than a radius is missed.
 *
 * If positions at the end of the step are given, segments that collide during the step have swept contacts, computed by conservative
 * advancement. Their ends move on straight lines in the frame of the level set. Caller: fibre_scene.h. */
#ifndef SS_CONTACT_FIBRE_FIBRE_OBJECT_H
#define SS_CONTACT_FIBRE_FIBRE_OBJECT_H
#include "contact/fibre/fibre_contact.h"
#include "geometry/level_set/level_set.h"
#include "discretize/body/body.h"

enum { FIBRE_OBJECT_INSIDE = 4 }; /* maximum number of minima inside one segment; the first ones are used */

typedef struct {
  int32_t segment;
  uint8_t feature;   /* fibre_feature */
  uint8_t ordinal;   /* FIBRE_INSIDE: number of the contact among those inside the segment, in ascending order of `at` */
  bool    is_swept;  /* true: beyond the margin at the start of the step, collides during the step */
  double  at;        /* position along the segment, in [0, 1); 1 for FIBRE_LAST only */
  double  axis[3];   /* the point on the axis [m] */
  double  normal[3]; /* unit, from the level set to the fibre, world axes */
  double  gap;       /* distance of the axis minus radius [m] */
} fibre_object_spot;

/* Result list. Initialise with zeros; free with fibre_object_spots_clear. */
typedef struct {
  int64_t            n, capacity, flag_capacity;
  fibre_object_spot *spot;
  uint32_t          *flags;
} fibre_object_spots;
void fibre_object_spots_clear(fibre_object_spots *s);

/* Contacts with phi of the segments of c whose body is set in touches [n_bodies]: at x0, and swept contacts from x0 to x1 (NULL: none),
 * [n_nodes][3], finite. The level set moves from frame0 to frame1. *out is sorted by segment, feature and ordinal and does not depend on
 * the number of threads. */
PetscErrorCode fibre_object_run(const fibre_contact *c, const bool *touches, const double *x0, const double *x1, const level_set *phi,
                                const rigid_frame *frame0, const rigid_frame *frame1, double margin, fibre_object_spots *out);
/* Tangent plane of phi through which a fibre point that moves from x0 to x1 [3] enters; phi moves from frame0 to frame1. It is the plane
 * at the predicted end position or, if x0 is behind this plane (entry from another side), the plane at the first position within
 * `radius` of phi. normal [3]: outwards, world axes; *gap > 0: distance of x0 from the plane, radius not subtracted [m]. Returns false if
 * x0 is inside. */
bool fibre_object_way_in(const level_set *phi, const rigid_frame *frame0, const rigid_frame *frame1, const double x0[3], const double x1[3],
                         double radius, double normal[3], double *gap);
/* Swept contacts at the points inside segments that are predicted to penetrate the level set most, if by more than `deep` radii.
 * fibre_object_run omits them if the segment has another contact or separates there. Ordinals start at `ordinal`. Other arguments as in
 * fibre_object_run. */
PetscErrorCode fibre_object_entries(const fibre_contact *c, const bool *touches, const double *x0, const double *x1, const level_set *phi,
                                    const rigid_frame *frame0, const rigid_frame *frame1, double deep, uint8_t ordinal,
                                    fibre_object_spots *out);
#endif
