/* Select the contact detectors for a pair of bodies under rigid contact: the same rule for scenes, searches and the output of
 * `check`. */
#ifndef SS_CONTACT_DETECTION_CONTACT_DETECTORS_H
#define SS_CONTACT_DETECTION_CONTACT_DETECTORS_H
#include "contact/detection/contact_set.h"

/* Return bits 1 << contact_detector; 0: no detector, the two bodies pass through each other. a == b: detectors of self-contact. */
unsigned contact_detectors_of(const body *a, const body *b);
/* Name of one detector: "convex solids", "points and level sets", ... */
const char *contact_detector_text(contact_detector finder);
enum { CONTACT_N_DETECTORS = DETECTOR_FIBRE_POINT + 1 };
#endif
