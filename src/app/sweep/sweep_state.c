/* How a case stands: from what its run left (result.yaml), and from who holds its lock. */
#include <string.h>
#include <sys/stat.h>
#include "io/run_lock.h"
#include "app/run/run_result.h"
#include "app/sweep/sweep_folder.h"

static case_state state_of(const run_result *r, bool is_held)
{
  if (is_held) return CASE_RUNNING;
  switch ((run_status)r->status) {
  case RUN_FINISHED: return CASE_FINISHED;
  case RUN_FAILED: return CASE_FAILED;
  case RUN_RUNNING:
  case RUN_STOPPED: break;
  }
  return CASE_STOPPED;
}

PetscErrorCode sweep_folder_state(const char *dir, int64_t number, case_state *state, char *why, size_t size)
{
  char              path[4400];
  struct stat       about;
  document         *owner;
  const run_result *r;

  PetscFunctionBegin;
  *state = CASE_WAITING;
  why[0] = 0;
  sweep_folder_case(dir, number, sizeof path, path);
  if (stat(path, &about)) PetscFunctionReturn(PETSC_SUCCESS);
  const bool is_held = run_lock_is_held(path); /* first: a run that ends in between has written its result by then */
  PetscErrorCode code = run_result_read(path, &owner, &r);
  if (code == PETSC_ERR_FILE_READ) { /* damaged: the run's checkpoints decide what can be done */
    *state = is_held ? CASE_RUNNING : CASE_STOPPED;
    (void)snprintf(why, size, "%s", error_message());
    error_clear();
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(code);
  if (!r) {
    *state = is_held ? CASE_RUNNING : CASE_WAITING;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  *state = state_of(r, is_held);
  (void)snprintf(why, size, "%s", r->status == RUN_RUNNING && !is_held ? "killed, or its machine went down" : r->reason);
  document_destroy(&owner);
  PetscFunctionReturn(PETSC_SUCCESS);
}
