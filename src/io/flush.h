/* When files reach the disk. Usually at once: whatever is put in place survives a power cut. A process that has only begun has nothing yet
 * worth the wait, thirty of which would cost a case of a sweep more than its steps: it may put flushing off for its first seconds. What is
 * written is put in place all the same, so that a killed process loses nothing; only a power cut could. */
#ifndef SS_IO_FLUSH_H
#define SS_IO_FLUSH_H
#include "core/error.h"

/* From now on for so long, flush_file and flush_later remember instead. After that, or with flush_now, all is made up for. */
void flush_put_off(double seconds);
/* Is flushing put off? If it no longer is, what was put off is flushed first. */
bool flush_is_put_off(void);
/* Remember that `path` and the entry of its folder are to be flushed; once, however often it is written. `is_vital`: see flush_now. */
PetscErrorCode flush_later(const char *path, bool is_vital);
/* Flush what was put off, only what is vital or all; the rest is forgotten: the system writes it within half a minute. What is no longer
 * there needs no flushing. Ends the putting off. Fails with PETSC_ERR_FILE_WRITE. */
PetscErrorCode flush_now(bool only_vital);
/* A whole file system, by a folder in it. */
void flush_file_system(const char *folder);
#endif
