/* Checks a job against the declarations of its formulation (scene_formulation, sim/scene/scene_options.h): supported kinds of bodies,
 * blocks of `solver:`, and keys that it does not use. Independent of single formulations. Used by job.c.
 *
 * A kind of body that is not supported is an error. A block of `solver:` of another formulation is accepted and reported as unused,
 * so that the formulation of a job can be changed. Each unused key is an error or is reported, as declared (unused_key). */
#ifndef SS_APP_JOB_CAPABILITIES_H
#define SS_APP_JOB_CAPABILITIES_H
#include "sim/scene/scene_options.h"

/* Add errors to `d` and reports of unused keys to `notices`; both lists refer to positions in `root`, the job as given. */
void capabilities_check(const scene_formulation *f, document_node *root, diagnostics *d, diagnostics *notices);
/* Remove all keys that the formulation does not use from a job with all defaults written out. */
void capabilities_prune(const scene_formulation *f, document_node *resolved);
#endif
