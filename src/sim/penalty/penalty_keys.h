/* Options of formulation penalty: solver.penalty of a job. */
#ifndef SS_SIM_PENALTY_PENALTY_KEYS_H
#define SS_SIM_PENALTY_PENALTY_KEYS_H
#include "sim/scene/scene_options.h"

enum { PENALTY_NORM_ACCELERATION, PENALTY_NORM_IMPULSE };         /* norm of step_layout.h, or of all momentum equations [N s] */
enum { PENALTY_DETECTOR_CONVEX, PENALTY_DETECTOR_VERTICES };      /* contact between rigid bodies made of convex solids */
enum { PENALTY_EDGES_AUTO, PENALTY_EDGES_ON, PENALTY_EDGES_OFF }; /* contact between edges of triangle surfaces */
typedef struct penalty_options {
  int norm;
  int scheme; /* contact_scheme */
  int rigid_detector;
  int edges; /* PENALTY_EDGES_... */
} penalty_options;
extern const key_table penalty_options_table;

/* Name of the unit of solver.newton.tolerance, for messages. Other formulations have the default norm. */
const char *penalty_norm_unit(const penalty_options *o);
/* True if edges of triangle surfaces are in contact. auto: if two rigid bodies with triangle surfaces, not made of convex solids, may touch, and their
 * contact laws support it. */
bool penalty_has_edges(const scene *s);
/* Add an entry to `d` for each combination of options and scene that is not supported. */
PetscErrorCode penalty_check(const scene *s, diagnostics *d);
#endif
