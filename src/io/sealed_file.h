/* Sealed files: written beside, sealed, flushed, renamed into place; and checked as a whole before any parser sees them.
 *
 * The seal is the first 512 bytes, plain text that `head -6 FILE` shows: kind, format, program, length and a checksum of the
 * whole file. HDF5 skips it as a user block. Because the seal is checked first, a truncated file or a flipped bit anywhere never
 * reaches libhdf5, which does not survive all damaged files. Flushing may be put off: file.h. */
#ifndef SS_IO_SEALED_FILE_H
#define SS_IO_SEALED_FILE_H
#include "io/file.h"

enum { SEAL_BYTES = 512, SEALED_WHY = 1024 };

/* Seal `temporary` (whose first 512 bytes are free), flush it to the disk, rename it to `path`, flush the folder.
 * On failure the temporary is removed and what stood at `path` is still there. */
PetscErrorCode sealed_file_publish(const char *temporary, const char *path, const char *kind, int format);
/* What became of a file: fit to be read; damaged or of another kind; of a format that only a newer program reads; not to be opened for a
 * reason that is not its own (permissions, too many open files, no memory). */
typedef enum { SEALED_GOOD, SEALED_DAMAGED, SEALED_NEWER, SEALED_OUT_OF_REACH } sealed_state;
/* Is `path` an unharmed file of this kind, of a format from 1 to `newest_format`? If not, `why` completes the sentence
 * "PATH ..." with what is wrong and what to do. `is_quick` leaves out the checksum (one read instead of all). */
sealed_state sealed_file_state(const char *path, const char *kind, int newest_format, bool is_quick, char why[SEALED_WHY]);
/* Is it SEALED_GOOD? */
bool sealed_file_check(const char *path, const char *kind, int newest_format, bool is_quick, char why[SEALED_WHY]);
#endif
