/* Who looks for contacts of two bodies under a law of rigid contact: one answer for scenes, searches and what `check` prints. */
#ifndef SS_CONTACT_DETECTION_CONTACT_DETECTORS_H
#define SS_CONTACT_DETECTION_CONTACT_DETECTORS_H
#include "contact/detection/contact_set.h"

/* Bits 1 << contact_finder; 0: nobody, the two pass through each other. a == b: whether it is found to touch itself. */
unsigned contact_finders_of(const body *a, const body *b);
/* Of one finder: "convex solids", "points and level sets", ... */
const char *contact_finder_text(contact_finder finder);
enum { CONTACT_N_FINDERS = FINDER_FIBRE_POINT + 1 };
#endif
