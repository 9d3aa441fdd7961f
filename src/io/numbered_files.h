/* Files that differ in a number: checkpoints/checkpoint_000000012.h5, frames/frame_000003.h5. Used by checkpoints and frames. */
#ifndef SS_IO_NUMBERED_FILES_H
#define SS_IO_NUMBERED_FILES_H
#include "core/error.h"

typedef struct {
  const char *folder; /* below the directory that the functions receive, "frames/"; "": this directory itself */
  const char *name;   /* before the underscore */
  int         digits; /* at least; with leading zeros */
} numbered_files;

/* DIRECTORY/FOLDER/NAME_NUMBER.h5; memory_free(*path). */
PetscErrorCode numbered_files_path(const numbered_files *f, const char *directory, int64_t number, char **path);
/* The numbers of all files of this name, ascending: numbers [n], memory_free(*numbers). None if the folder does not exist. Fails with
 * PETSC_ERR_FILE_OPEN if it cannot be read. */
PetscErrorCode numbered_files_list(const numbered_files *f, const char *directory, int64_t *n, int64_t **numbers);
/* Removes temporary files (file_temporary) of writers that were killed. */
void numbered_files_remove_temporaries(const numbered_files *f, const char *directory);
#endif
