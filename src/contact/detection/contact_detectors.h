/* Selection of the contact detectors for a pair of bodies with rigid contact (`exact`, `convex`). Called by the scene, the contact search
 * and the command `check`. */
#ifndef SS_CONTACT_DETECTION_CONTACT_DETECTORS_H
#define SS_CONTACT_DETECTION_CONTACT_DETECTORS_H
#include "contact/detection/contact_set.h"

/* Return the detectors as bits 1 << contact_detector; 0: none, the two bodies pass through each other. a == b: self-contact. */
unsigned contact_detectors_of(const body *a, const body *b);
/* Name of one detector: "convex solids", "points and level sets", ... */
const char *contact_detector_text(contact_detector finder);
enum { CONTACT_N_DETECTORS = DETECTOR_FIBRE_POINT + 1 };
#endif
