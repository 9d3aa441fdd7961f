/* Sealed files: checkpoints, frames and result tables. A sealed file is written to a temporary file, sealed with a checksum, flushed and renamed.
 *
 * The seal is the first 512 bytes of the file, a text that `head -6 FILE` prints: kind, format, program, length and a checksum of the complete
 * file. HDF5 skips it as a user block. Readers check the seal before they call libhdf5, which crashes on some damaged files. The flush may be
 * deferred (file.h). */
#ifndef SS_IO_SEALED_FILE_H
#define SS_IO_SEALED_FILE_H
#include "io/file.h"

enum { SEAL_BYTES = 512, SEALED_WHY = 1024 };

/* Seal `temporary` (whose first 512 bytes are reserved), flush it to the disk, rename it to `path`, flush the folder.
 * On failure the temporary file is removed and an earlier file at `path` is unchanged. */
PetscErrorCode sealed_file_publish(const char *temporary, const char *path, const char *kind, int format);
/* Result of a check. GOOD: readable. DAMAGED: damaged, missing or of another kind. NEWER: the format needs a newer program. OUT_OF_REACH: cannot be
 * opened, but may be undamaged (permissions, too many open files, memory exhausted). */
typedef enum { SEALED_GOOD, SEALED_DAMAGED, SEALED_NEWER, SEALED_OUT_OF_REACH } sealed_state;
/* Check that `path` is an undamaged file of this kind with a format from 1 to `newest_format`. If not, `why` is the predicate of a sentence "PATH ..."
 * with problem and remedy. `is_quick`: read only the seal and do not compute the checksum. */
sealed_state sealed_file_state(const char *path, const char *kind, int newest_format, bool is_quick, char why[SEALED_WHY]);
/* Whether sealed_file_state is SEALED_GOOD. */
bool sealed_file_check(const char *path, const char *kind, int newest_format, bool is_quick, char why[SEALED_WHY]);
#endif
