/* PNG pictures and animated PNG (APNG: plays in any browser, shows its first frame elsewhere).
 *
 * 8-bit RGB, rows from top to bottom, [height][width][3]. A file appears complete or not at all: it is written
 * under a temporary name, flushed and renamed. Pictures are compressed by libpng, which has no animations: their chunks are written here.
 * Sources: W3C PNG, second edition; Mozilla's APNG specification 1.0. */
#ifndef SS_IO_PNG_H
#define SS_IO_PNG_H
#include "core/error.h"

/* Fails with PETSC_ERR_FILE_WRITE, naming the file; an older file of that name is then untouched. */
PetscErrorCode png_file_write(const char *path, int width, int height, const uint8_t *rgb);
/* The same bytes in memory. memory_free(*bytes). */
PetscErrorCode png_encode(int width, int height, const uint8_t *rgb, uint8_t **bytes, size_t *n);

typedef struct png_animation png_animation;
/* The file `path` does not exist before the close. n_plays: 0: unlimited. */
PetscErrorCode png_animation_open(const char *path, int width, int height, int n_plays, png_animation **out);
/* Show rgb for so many seconds (1 ms ... 65 s). From the second frame on only the changed rectangle is stored. */
PetscErrorCode png_animation_add(png_animation *a, const uint8_t *rgb, double seconds);
/* Finish and rename. *a is NULL afterwards, also if it fails. At least one frame must have been added. */
PetscErrorCode png_animation_close(png_animation **a);
/* Abandon the animation: removes the written file. Accepts NULL. */
void png_animation_abandon(png_animation **a);
#endif
