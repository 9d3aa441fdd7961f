/* Candidate contacts of one step, from all detectors: places on two bodies, normal, gap. Callers: the detectors, and
 * sim/step/step_contacts.c.
 *
 * Detectors append to a set: point_contact.h (contact points against level sets), convex_contact.h (rigid shapes), fibre_scene.h,
 * surface_contact.h. Sorted by key, the set depends neither on the order of the detectors nor on the number of threads. */
#ifndef SS_CONTACT_DETECTION_CONTACT_SET_H
#define SS_CONTACT_DETECTION_CONTACT_SET_H
#include "discretize/body/body.h"
#include "contact/detection/contact_scene.h"

/* Gap and velocity are measured along the normal from b to a: the bodies separate where normal . (v_a - v_b) > 0. */
typedef struct {
  uint64_t              key[2]; /* identity over steps, unique in a set: see contact_key. Impulses of the last step are stored by key */
  uint64_t              was[2]; /* key of the same contact in the last step, if it was on other features then; 0: unchanged */
  int32_t               body_a, body_b; /* numbers of bodies of the scene; equal for self-contact */
  body_contact_location a, b;           /* if one is a FRAME, both x are equal, so that linear and angular momentum are conserved */
  double                normal[3];      /* unit, from b towards a */
  double                gap;            /* at the start of the step [m]; negative: overlap */
  double                friction, restitution;
} contact_spot;

/* Detector of a contact: part of its key. */
/* clang-format off */
typedef enum { DETECTOR_POINT, DETECTOR_CONVEX, DETECTOR_FIBRE, DETECTOR_FIBRE_OBJECT, DETECTOR_SURFACE_POINT, DETECTOR_SURFACE_EDGE, DETECTOR_FIBRE_POINT } contact_detector;
/* clang-format on */
/* key[0]: the detector and the bodies; key[1]: the features, encoded by the detector. */
static inline uint64_t contact_key(contact_detector detector, int32_t body_a, int32_t body_b)
{
  return (uint64_t)detector << 56 | (uint64_t)(uint32_t)body_a << 28 | (uint64_t)(uint32_t)body_b;
}
enum { CONTACT_MAX_BODIES = 1 << 28 };

typedef struct contact_set contact_set;
PetscErrorCode             contact_set_create(contact_set **out);
void                       contact_set_destroy(contact_set **s);
void                       contact_set_clear(contact_set *s);
/* Append n zeroed contacts, to be filled in place at *first; borrowed until the next change. */
PetscErrorCode contact_set_append(contact_set *s, int64_t n, contact_spot **first);
/* Sort by key. Two contacts with one key are an error of the detector: PETSC_ERR_PLIB. */
PetscErrorCode contact_set_sort(contact_set *s);
/* True if a sorted set contains the key. */
bool                contact_set_has(const contact_set *s, const uint64_t key[2]);
int64_t             contact_set_size(const contact_set *s);
const contact_spot *contact_set_get(const contact_set *s); /* [size], borrowed until the next change */
contact_spot       *contact_set_edit(contact_set *s);      /* the same, writable, except keys and order */
/* Remove the last contacts, so that `n` remain. */
void contact_set_truncate(contact_set *s, int64_t n);
#endif
