/* Sealed files: written to a temporary file, sealed with a checksum, flushed and renamed; verified before a parser reads them.
 *
 * The seal is the first 512 bytes, plain text that `head -6 FILE` shows: kind, format, program, length and a checksum of the complete
 * file. HDF5 skips it as a user block. The seal is checked first, so libhdf5 never reads truncated files or files with changed bits;
 * it crashes on some damaged files. Flushing may be deferred (file.h). Used by checkpoints, frames and result tables. */
#ifndef SS_IO_SEALED_FILE_H
#define SS_IO_SEALED_FILE_H
#include "io/file.h"

enum { SEAL_BYTES = 512, SEALED_WHY = 1024 };

/* Seal `temporary` (whose first 512 bytes are reserved), flush it to the disk, rename it to `path`, flush the folder.
 * On failure the temporary file is removed and an earlier file at `path` is unchanged. */
PetscErrorCode sealed_file_publish(const char *temporary, const char *path, const char *kind, int format);
/* Result of a check: readable; damaged, missing or of another kind; in a format that needs a newer program; cannot be opened for a reason other than
 * damage (permissions, too many open files, no memory). */
typedef enum { SEALED_GOOD, SEALED_DAMAGED, SEALED_NEWER, SEALED_OUT_OF_REACH } sealed_state;
/* Check that `path` is an undamaged file of this kind with a format from 1 to `newest_format`. If not, `why` completes the sentence "PATH ..."
 * with problem and remedy. `is_quick` omits the checksum (only the seal is read). */
sealed_state sealed_file_state(const char *path, const char *kind, int newest_format, bool is_quick, char why[SEALED_WHY]);
/* Whether sealed_file_state is SEALED_GOOD. */
bool sealed_file_check(const char *path, const char *kind, int newest_format, bool is_quick, char why[SEALED_WHY]);
#endif
