/* Files as a whole: folders, names, writing so that a file appears complete or not at all, and the time when files are flushed to the disk. */
#ifndef SS_IO_FILE_H
#define SS_IO_FILE_H
#include "core/text.h"

/* Name for a file while it is being written: hidden, in the folder of `path`. */
PetscErrorCode file_temporary(const char *path, char **temporary); /* memory_free(*temporary) */
/* Rename a written `temporary` to `path` and flush the folder, or with `waits` remember both for a later flush (flush_later). On failure the
 * temporary is removed. */
PetscErrorCode file_put_in_place(const char *temporary, const char *path, bool waits, bool is_vital);
/* Flush `temporary`, rename it to `path`, flush the folder. On failure the temporary file is removed and an earlier file at `path` is unchanged. */
PetscErrorCode file_publish(const char *temporary, const char *path);
/* Write text the same way, without a seal: temporary, flush, rename. */
PetscErrorCode file_replace_text(const char *path, size_t n_bytes, const char *text);
/* Write the text of a buffer the same way and free it, also after an error. Fails with the error of the buffer, if it has one. */
PetscErrorCode file_replace_with(const char *path, text_buffer *b);
/* The whole file, n bytes and a 0; *text = NULL if there is none. memory_free(*text). */
PetscErrorCode file_read_text(const char *path, char **text, size_t *n);
/* mkdir -p. */
PetscErrorCode file_make_directory(const char *path);
/* Flush a folder, so that renames in it survive a power cut. */
PetscErrorCode file_sync_directory_of(const char *path);
/* Fail with PETSC_ERR_FILE_WRITE if the disk has less than `bytes` free. */
PetscErrorCode file_check_space(const char *directory, int64_t bytes);
/* Remedy for a failed write with this errno, as the end of a message; "" if none is known. */
const char *file_advice(int error);
/* printf into fresh memory; memory_free(*out). */
PetscErrorCode file_format(char **out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Deferred flushes. Normally a file is flushed to the disk (fsync) before it is put in place, so that it survives a power cut. In a short case of a sweep
 * about thirty flushes would cost more time than the steps; such a process may defer flushing for its first seconds. Files are put in place
 * all the same: a killed process loses nothing, only a power cut could lose a file. */

/* Defer flushes for the given time from now. They are carried out by the first write after that time, or by flush_now. */
void flush_defer(double seconds);
/* Whether flushes are deferred. If the time has passed, the deferred flushes are carried out first. */
bool flush_is_deferred(void);
/* Remember that `path` and the entry of its folder are to be flushed; once, however often it is written. `is_vital`: see flush_now. */
PetscErrorCode flush_later(const char *path, bool is_vital);
/* Carry out the deferred flushes, all or only those of vital files, and end the deferral. The others are dropped: the operating system writes
 * those files within half a minute. Files that no longer exist are skipped. Fails with PETSC_ERR_FILE_WRITE. */
PetscErrorCode flush_now(bool only_vital);
/* Flush the complete file system that contains `folder`. */
void flush_file_system(const char *folder);
#endif
