/* Pictures of a run: still images and animations of its frames, drawn by io/picture without a display.
 * Called by the commands render, run and resume, and by the report of a run. */
#ifndef SS_APP_RENDER_RENDER_H
#define SS_APP_RENDER_RENDER_H
#include "app/job/job.h"

/* Camera position and target [m], colour range, size [pixels]. NaN: chosen from the contents of the frames. */
typedef struct {
  double          eye[3], target[3], range[2];
  int             up; /* upward axis, opposite to gravity: 0, 1, 2 */
  const char     *field;
  const key_list *transparent; /* names of transparent bodies */
  int             width, height;
} render_view;

/* The view of the `picture:` block of a job. Strings are borrowed from the job. */
void render_view_of_job(const job *j, render_view *view);
/* The view of the `picture:` block of DIR/job.yaml. The job *owner owns the strings; destroy it after use. */
PetscErrorCode render_view_of_run(const char *dir, render_view *view, job **owner);
/* Writes frame `index` (-1: the last) as a PNG file. If the run has no such frame, *is_written is false and no error is
 * returned. */
PetscErrorCode render_still(const char *dir, const render_view *view, int64_t index, const char *path, bool *is_written);
/* Writes all frames as an animated PNG. Colour range and camera are the same in all frames. */
PetscErrorCode render_animation(const char *dir, const render_view *view, double frames_per_second, const char *path, bool *is_written);
/* PETSC_ERR_USER_INPUT, with the most similar name, if no group of the last frame has the field. A run without frames is accepted. */
PetscErrorCode render_check_field(const char *dir, const char *field);
/* A picture in memory as PNG of view->width x view->height pixels; memory_free(&bytes). */
typedef struct {
  int64_t  index;
  double   time; /* [s] */
  uint8_t *bytes;
  size_t   n;
} render_picture;
/* Draws at most `n_max` frames, evenly from the first to the last, with the same camera and colour range. out [n_max]; *n: their
 * number. */
PetscErrorCode render_sequence(const char *dir, const render_view *view, int n_max, int *n, render_picture *out);
#endif
