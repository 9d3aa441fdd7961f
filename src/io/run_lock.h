/* Lock that permits one writer per run directory: a kernel lock (flock) on DIR/run.lock, which is released when the process ends. The file contains pid,
 * host and start time of the owner. On a file system without locks, the directory is locked while the file exists; a file whose owner was a process of
 * this host that has ended is replaced. */
#ifndef SS_IO_RUN_LOCK_H
#define SS_IO_RUN_LOCK_H
#include "core/error.h"

typedef struct run_lock run_lock;
/* Create the directory if it is missing, and lock it. PETSC_ERR_FILE_OPEN, with pid, host and start time, if another process has the lock. */
PetscErrorCode run_lock_acquire(const char *directory, run_lock **out);
void           run_lock_release(run_lock **lock);
/* Whether another process has the lock of `directory`. This query does not interfere with a process that is acquiring the lock. */
bool run_lock_is_held(const char *directory);
#endif
