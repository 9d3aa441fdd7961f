/* Contacts of one step from all detectors: a location on each of two bodies, normal, gap. Callers: the detectors, and
 * sim/step/step_contacts.c.
 *
 * Detectors append to a set: point_contact.h (contact points against level sets), convex_contact.h (rigid shapes), fibre_scene.h,
 * surface_scene.h. Sorted by key, the set depends neither on the order of the detectors nor on the number of threads. */
#ifndef SS_CONTACT_DETECTION_CONTACT_SET_H
#define SS_CONTACT_DETECTION_CONTACT_SET_H
#include "discretize/body/body.h"
#include "contact/detection/contact_scene.h"

/* Gap and velocity are measured along the normal from b to a: the bodies separate where normal . (v_a - v_b) > 0. */
typedef struct {
  uint64_t              key[2];         /* identity of the contact in all steps, unique in a set (contact_key); warm starts use it */
  uint64_t              was[2];         /* key in the last step, if the contact was on other features then; 0: the key is unchanged */
  int32_t               body_a, body_b; /* indices in contact_scene.body; equal for self-contact */
  body_contact_location a, b;           /* if one is a FRAME, both x are equal, so that linear and angular momentum are conserved */
  double                normal[3];      /* unit, from b towards a */
  double                gap;            /* at the start of the step [m]; negative: overlap */
  double                friction, restitution;
} contact_spot;

/* Detector of a contact: part of its key. */
/* clang-format off */
typedef enum { DETECTOR_POINT, DETECTOR_CONVEX, DETECTOR_FIBRE, DETECTOR_FIBRE_OBJECT, DETECTOR_SURFACE_POINT, DETECTOR_SURFACE_EDGE, DETECTOR_FIBRE_POINT, DETECTOR_OBSTACLE_EDGE } contact_detector;
/* clang-format on */
/* key[0] of a contact, from its detector and its bodies. The detector defines key[1] from the features. */
static inline uint64_t contact_key(contact_detector detector, int32_t body_a, int32_t body_b)
{
  return (uint64_t)detector << 56 | (uint64_t)(uint32_t)body_a << 28 | (uint64_t)(uint32_t)body_b;
}
enum { CONTACT_MAX_BODIES = 1 << 28 };
/* The bodies in key[0] of a contact: its first and its second one. */
static inline int32_t contact_key_body_a(uint64_t key) { return (int32_t)(key >> 28 & (CONTACT_MAX_BODIES - 1)); }
static inline int32_t contact_key_body_b(uint64_t key) { return (int32_t)(key & (CONTACT_MAX_BODIES - 1)); }

typedef struct contact_set contact_set;
PetscErrorCode             contact_set_create(contact_set **out);
void                       contact_set_destroy(contact_set **s);
void                       contact_set_clear(contact_set *s);
/* Append n zeroed contacts; the caller sets them at *first, which is borrowed until the next change of the set. */
PetscErrorCode contact_set_append(contact_set *s, int64_t n, contact_spot **first);
/* Sort by key. PETSC_ERR_PLIB (programming error of a detector) if two contacts have the same key. */
PetscErrorCode contact_set_sort(contact_set *s);
/* True if a sorted set contains the key. */
bool                contact_set_has(const contact_set *s, const uint64_t key[2]);
int64_t             contact_set_size(const contact_set *s);
const contact_spot *contact_set_get(const contact_set *s); /* [size], borrowed until the next change */
contact_spot       *contact_set_edit(contact_set *s);      /* as contact_set_get, writable; keys and order must not change */
/* Remove the last contacts, so that `n` remain. */
void contact_set_truncate(contact_set *s, int64_t n);
#endif
