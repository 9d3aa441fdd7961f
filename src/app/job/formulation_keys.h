/* Checks which job keys and kinds of bodies a formulation supports, by the tables in formulation_keys.c. A key that is not
 * supported is an error at its position, never ignored. Used by job.c. */
#ifndef SS_APP_JOB_FORMULATION_KEYS_H
#define SS_APP_JOB_FORMULATION_KEYS_H
#include "core/diagnostics.h"
#include "core/document.h"

/* Complain to `d` of every key and kind of body that the formulation does not support. */
void formulation_keys_check(document_node *root, int formulation, diagnostics *d);
/* Complain of every key that has no effect because of the value of another key. `resolved`: the same job with all defaults
 * written out. */
void formulation_keys_check_conditions(document_node *root, const document_node *resolved, int formulation, diagnostics *d);
/* Remove both sorts of keys from a job with all defaults written out, so that it can be read again. */
void formulation_keys_prune(document_node *resolved, int formulation);
#endif
