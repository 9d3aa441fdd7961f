/* One writer per run directory. The lock is the kernel's (flock), so it dies with its process and cannot go stale; the file
 * DIR/run.lock says who holds it. Where the file system has no locks, the file itself is the lock, and one left by a dead process
 * of this host is taken over. */
#ifndef SS_IO_RUN_LOCK_H
#define SS_IO_RUN_LOCK_H
#include "core/error.h"

typedef struct run_lock run_lock;
/* Makes the directory if missing. If another process writes there: PETSC_ERR_FILE_OPEN, naming its pid, host and start. */
PetscErrorCode run_lock_acquire(const char *directory, run_lock **out);
void           run_lock_release(run_lock **lock);
/* Does another process hold the lock of `directory`? Looks only, and does not disturb one that is about to take it. */
bool run_lock_is_held(const char *directory);
#endif
