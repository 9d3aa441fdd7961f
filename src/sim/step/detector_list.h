/* List of contact detectors for the command `check`: one line per detector with the pairs of bodies that it serves. Each formulation supplies one
 * function that returns the detectors of a pair. */
#ifndef SS_SIM_STEP_DETECTOR_LIST_H
#define SS_SIM_STEP_DETECTOR_LIST_H
#include "sim/scene/scene.h"

typedef struct {
  int                n;    /* number of detectors, at most 32 */
  const char *const *text; /* [n] "points and level sets" */
  /* Detectors of bodies i <= j as bits 1 << index; 0: none. Called for pairs that may touch only. */
  unsigned (*of)(const scene *s, int i, int j);
} detector_list;

/* Print the list. The first pairs of each detector are named, the others are counted. Pairs that may touch but have no detector are listed as
 * "none". All pairs of one slot of scene.pairs have the same detectors. Error: out of memory. */
PetscErrorCode detector_list_print(const detector_list *d, const scene *s, FILE *out);
#endif
