/* PNG pictures and animated PNG (APNG; browsers play it, other programs show the first frame).
 *
 * Pictures are 8-bit RGB, rgb [height][width][3], rows from top to bottom. Files are written under a temporary name, flushed and renamed.
 * libpng compresses pictures; this module writes the chunks of animations, which libpng does not support.
 * Sources: W3C PNG, second edition; Mozilla's APNG specification 1.0. */
#ifndef SS_IO_PNG_H
#define SS_IO_PNG_H
#include "core/error.h"

/* Write a picture. Fails with PETSC_ERR_FILE_WRITE and the name of the file; an existing file of that name is then unchanged. */
PetscErrorCode png_file_write(const char *path, int width, int height, const uint8_t *rgb);
/* Encode a picture in memory: *bytes [*n], the contents of a PNG file; memory_free(*bytes). */
PetscErrorCode png_encode(int width, int height, const uint8_t *rgb, uint8_t **bytes, size_t *n);

typedef struct png_animation png_animation;
/* Begin an animation. png_animation_close creates the file `path`. n_plays: number of repetitions, 0: unlimited. */
PetscErrorCode png_animation_open(const char *path, int width, int height, int n_plays, png_animation **out);
/* Add a frame that is shown for `seconds` (0.001 ... 65 s). From the second frame on, only the rectangle that changes is stored. */
PetscErrorCode png_animation_add(png_animation *a, const uint8_t *rgb, double seconds);
/* Finish the file, rename it to `path` and free the animation: *a = NULL, also after a failure. At least one frame must have been added. */
PetscErrorCode png_animation_close(png_animation **a);
/* Remove the temporary file and free the animation: *a = NULL. Accepts *a == NULL. */
void png_animation_abandon(png_animation **a);
#endif
