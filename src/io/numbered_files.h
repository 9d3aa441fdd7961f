/* Series of files whose names differ by a number: checkpoints/checkpoint_000000012.h5, frames/frame_000003.h5. */
#ifndef SS_IO_NUMBERED_FILES_H
#define SS_IO_NUMBERED_FILES_H
#include "core/error.h"

typedef struct {
  const char *folder; /* below the argument `directory` of the functions, for example "frames/"; "": `directory` */
  const char *name;   /* part of the name before the underscore */
  int         digits; /* minimum number of digits, filled with leading zeros */
} numbered_files;

/* DIRECTORY/FOLDER/NAME_NUMBER.h5; memory_free(*path). */
PetscErrorCode numbered_files_path(const numbered_files *f, const char *directory, int64_t number, char **path);
/* Numbers of all files of the series, ascending: *numbers [*n], memory_free(*numbers). *n = 0 if the folder does not exist. PETSC_ERR_FILE_OPEN if the
 * folder cannot be read. */
PetscErrorCode numbered_files_list(const numbered_files *f, const char *directory, int64_t *n, int64_t **numbers);
/* Remove the temporary files (file_temporary) of writers that were killed. */
void numbered_files_remove_temporaries(const numbered_files *f, const char *directory);
#endif
