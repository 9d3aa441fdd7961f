/* Folders, names of files, atomic replacement of files, and deferred flushes to the disk. */
#ifndef SS_IO_FILE_H
#define SS_IO_FILE_H
#include "core/text.h"

/* Name of the temporary file to which the contents of `path` are written: a hidden file in the same folder. */
PetscErrorCode file_temporary(const char *path, char **temporary); /* memory_free(*temporary) */
/* Rename the complete file `temporary` to `path` and flush the folder; with `waits`, register `path` for a deferred flush instead (flush_later, which
 * also defines is_vital). On failure the temporary file is removed. */
PetscErrorCode file_put_in_place(const char *temporary, const char *path, bool waits, bool is_vital);
/* Flush `temporary`, rename it to `path`, flush the folder. On failure the temporary file is removed and an earlier file at `path` is unchanged. */
PetscErrorCode file_publish(const char *temporary, const char *path);
/* Write n bytes of text to a temporary file and publish it as `path` (file_publish). */
PetscErrorCode file_replace_text(const char *path, size_t n_bytes, const char *text);
/* As file_replace_text, with the text of a buffer; the buffer is cleared, also after an error. If the buffer has an error, this error is returned. */
PetscErrorCode file_replace_with(const char *path, text_buffer *b);
/* Read a complete file: *text contains *n bytes and a final 0; *text = NULL if the file does not exist. memory_free(*text). */
PetscErrorCode file_read_text(const char *path, char **text, size_t *n);
/* Create a folder and its missing parents. */
PetscErrorCode file_make_directory(const char *path);
/* Flush the folder that contains `path`, so that renames in it survive a power cut. */
PetscErrorCode file_sync_directory_of(const char *path);
/* Fail with PETSC_ERR_FILE_WRITE if the disk has less than `bytes` free. */
PetscErrorCode file_check_space(const char *directory, int64_t bytes);
/* Text at the end of a message about a failed write: the remedy for this errno; "" if none is known. */
const char *file_advice(int error);
/* Format as printf into a new text; memory_free(*out). */
PetscErrorCode file_format(char **out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Deferred flushes. Normally a file is flushed to the disk (fsync) before it is renamed to its final name, so that it survives a power cut. In a short
 * case of a sweep, about thirty flushes would take longer than the steps; such a process may defer flushes for its first seconds. Files are still
 * renamed at once: if the process is killed, no file is lost; a power cut can lose files. */

/* Defer flushes during the next `seconds`. The first write after this time, or flush_now, carries them out. */
void flush_defer(double seconds);
/* Whether flushes are deferred. If the time has passed, the deferred flushes are carried out first. */
bool flush_is_deferred(void);
/* Register `path` and its folder for a deferred flush; repeated registrations count once. `is_vital`: see flush_now. */
PetscErrorCode flush_later(const char *path, bool is_vital);
/* End the deferral and carry out the deferred flushes, with `only_vital` only those of vital files; the operating system writes the other files within
 * half a minute. Files that no longer exist are skipped. Fails with PETSC_ERR_FILE_WRITE. */
PetscErrorCode flush_now(bool only_vital);
/* Flush the file system that contains `folder` (syncfs). Errors are ignored. */
void flush_file_system(const char *folder);
#endif
