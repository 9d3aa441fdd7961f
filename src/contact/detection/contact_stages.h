/* Timer stages (core/timer.h) of contact detection and contact forces. */
#ifndef SS_CONTACT_DETECTION_CONTACT_STAGES_H
#define SS_CONTACT_DETECTION_CONTACT_STAGES_H
#include "core/timer.h"

#define TIMER_CONTACT_SEARCH timer_register("contact search", 70)
#define TIMER_CONTACT_FORCE timer_register("contact force", 80)
#define TIMER_OVERLAPS timer_register("geometric overlaps", 85)
#endif
