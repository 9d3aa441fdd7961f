#include "app/job/job_compare.h"
#include "core/log.h"

typedef struct {
  const char  *dir;
  bool         accept_all;
  diagnostics *d;
  int          n, n_refused;
} comparison;

static PetscErrorCode show(const key_difference *k, void *context)
{
  PetscFunctionBegin;
  comparison *c      = context;
  const char *before = k->before ? k->before : "(not given)", *after = k->after ? k->after : "(not given)";
  ++c->n;
  if (c->accept_all || k->may_change) {
    log_info("the job has changed: %s: %s -> %s", k->path, before, after);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (c->n_refused++ == 0)
    diagnostics_add(c->d, (document_mark){0}, NULL,
                    "%s was begun with another job; change back what follows, choose another --out, or take it over with --accept-changes", c->dir);
  diagnostics_add(c->d, k->mark, k->path, "%s -> %s", before, after);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode job_compare(const job *before, const job *after, const char *dir, bool accept_all, diagnostics *d, int *n_changes)
{
  PetscFunctionBegin;
  comparison c = {.dir = dir, .accept_all = accept_all, .d = d};
  PetscCall(key_table_compare(&job_table, before->tree, after->tree, show, &c));
  *n_changes = c.n;
  PetscFunctionReturn(PETSC_SUCCESS);
}
