/* Lock that admits one writer per run directory. It is a kernel lock (flock) on DIR/run.lock, so the end of the process releases it. The file contains
 * pid, host and start time of the owner. On a file system without locks the existence of the file is the lock, and a file left by a dead
 * process of this host is replaced. */
#ifndef SS_IO_RUN_LOCK_H
#define SS_IO_RUN_LOCK_H
#include "core/error.h"

typedef struct run_lock run_lock;
/* Create the directory if missing and lock it. If another process has the lock: PETSC_ERR_FILE_OPEN with its pid, host and start time. */
PetscErrorCode run_lock_acquire(const char *directory, run_lock **out);
void           run_lock_release(run_lock **lock);
/* Whether another process has the lock of `directory`. A query only; it does not interfere with a process that is acquiring the lock. */
bool run_lock_is_held(const char *directory);
#endif
