/* Which keys of a job a formulation can use: what it cannot is refused where it stands, never ignored. */
#ifndef SS_APP_JOB_FORMULATION_KEYS_H
#define SS_APP_JOB_FORMULATION_KEYS_H
#include "core/diagnostics.h"
#include "core/document.h"

/* Complain to `d` of every key below the root of a job that its formulation cannot use. */
void formulation_keys_check(document_node *root, int formulation, diagnostics *d);
/* And of every key that means nothing for what another one says. `resolved`: the same job with its defaults written out. */
void formulation_keys_check_parts(document_node *root, const document_node *resolved, int formulation, diagnostics *d);
/* Take both out of a job whose defaults have been written out, so that it can be read again. */
void formulation_keys_prune(document_node *resolved, int formulation);
#endif
