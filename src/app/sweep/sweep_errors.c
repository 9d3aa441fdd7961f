/* Implementation of sweep_errors.h: a list of different texts with their counts. */
#include "app/sweep/sweep_errors.h"
#include <stdio.h>
#include <string.h>
#include "core/memory.h"

PetscErrorCode sweep_errors_collect(sweep_errors *c, const diagnostics *from, int64_t i, const char *words)
{
  PetscFunctionBegin;
  for (int k = 0; k < diagnostics_count(from); ++k) {
    const char *text = diagnostics_text(from, k);
    int         at   = 0;
    while (at < c->n && strcmp(c->text[at], text)) ++at;
    if (at == SWEEP_MAX_ERRORS) continue;
    if (at == c->n) {
      PetscCall(memory_alloc("sweep errors", (int64_t)strlen(text) + 1, 1, &c->text[at]));
      strcpy(c->text[at], text);
      c->first[at] = INT64_MAX;
      ++c->n;
    }
    if (i < c->first[at]) c->first[at] = i, (void)snprintf(c->words[at], sizeof c->words[at], "%s", words);
    ++c->n_cases[at];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

void sweep_errors_report(sweep_errors *c, int64_t n_cases, diagnostics *d)
{
  for (int k = 0; k < c->n; ++k) {
    const int64_t others = c->n_cases[k] - 1;
    if (others + 1 == n_cases) diagnostics_add(d, (document_mark){0}, NULL, "%s%s", c->text[k], n_cases > 1 ? " (in every case)" : "");
    else if (others == 0)
      diagnostics_add(d, (document_mark){0}, NULL, "%s (case %lld: %s)", c->text[k], (long long)c->first[k] + 1, c->words[k]);
    else
      diagnostics_add(d, (document_mark){0}, NULL, "%s (%lld cases, the first is case %lld: %s)", c->text[k], (long long)others + 1,
                      (long long)c->first[k] + 1, c->words[k]);
    memory_free(&c->text[k]);
  }
  if (c->n == SWEEP_MAX_ERRORS) diagnostics_add(d, (document_mark){0}, NULL, "further errors are not listed");
}
