/* DIR/machine.yaml: with what and where a run was last started, beyond what result.yaml says. */
#ifndef SS_APP_RUN_RUN_MACHINE_H
#define SS_APP_RUN_RUN_MACHINE_H
#include "core/key_table.h"

typedef struct {
  const char *built;              /* version_describe() */
  const char *libraries;          /* library_versions() */
  const char *system, *processor; /* see core/machine.h */
  int64_t     processors;
  double      memory;             /* [byte] */
} run_machine;

/* At the start of a run, with what this process finds. */
PetscErrorCode run_machine_write(const char *dir);
/* *out lives in *owner (document_destroy); both NULL if there is no such file, or nothing that can be understood. */
PetscErrorCode run_machine_read(const char *dir, document **owner, const run_machine **out);
#endif
