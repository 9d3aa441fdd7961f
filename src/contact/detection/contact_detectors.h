/* Selection of the contact detectors for a pair of bodies: with rigid contact (`exact`, `convex`), and with springs (`penalty`). Called by the
 * scene, the contact search and the command `check`. */
#ifndef SS_CONTACT_DETECTION_CONTACT_DETECTORS_H
#define SS_CONTACT_DETECTION_CONTACT_DETECTORS_H
#include "contact/detection/contact_set.h"

/* Return the detectors as bits 1 << contact_detector; 0: none, the two bodies pass through each other. a == b: self-contact. */
unsigned contact_detectors_of(const body *a, const body *b);
/* The same under `penalty`, without contacts between edges of triangle surfaces, which an option enables. uses_solids: pairs of bodies that both consist
 * of convex solids use the detector of these solids (default); false: their vertices and level sets, as published. */
unsigned contact_spring_detectors_of(const body *a, const body *b, bool uses_solids);
/* Properties of a body on which detectors depend, other than the functions of its kind (body_ops), as bits; not 0. */
unsigned contact_traits_of(const body *b);
/* Name of one detector: "convex solids", "points and level sets", ... */
const char *contact_detector_text(contact_detector finder);
enum { CONTACT_N_DETECTORS = DETECTOR_OBSTACLE_EDGE + 1 };
#endif
