/* Contact detectors of formulation penalty, for the command `check` (detector_list.h). Called by penalty.c. */
#ifndef SS_SIM_PENALTY_PENALTY_DETECTORS_H
#define SS_SIM_PENALTY_PENALTY_DETECTORS_H
#include "sim/step/detector_list.h"

extern const detector_list penalty_detectors;
#endif
