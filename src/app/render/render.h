/* Pictures of a run: stills and animations from its frames, without a display. */
#ifndef SS_APP_RENDER_RENDER_H
#define SS_APP_RENDER_RENDER_H
#include "app/job/job.h"

/* How to look; NaN, NULL or 0 where the job's `picture:` block, or what is in the frame, shall decide. */
typedef struct {
  double          eye[3], target[3], range[2];
  int             up; /* the axis that points up, against gravity: 0, 1, 2 */
  const char     *field;
  const key_list *glass; /* names of bodies to be seen through */
  int             width, height;
} render_view;

/* View that a job asks for; texts stay the job's. */
void render_view_of_job(const job *j, render_view *view);
/* View of the run in `dir`: what its job.yaml says. `owner` keeps the texts alive; destroy it afterwards. */
PetscErrorCode render_view_of_run(const char *dir, render_view *view, job **owner);
/* Frame `index` (-1: the last) as a PNG. *is_written is false, and nothing is wrong, if the run has no such frame. */
PetscErrorCode render_still(const char *dir, const render_view *view, int64_t index, const char *path, bool *is_written);
/* All frames as an animated PNG at so many per second; range and camera stay the same throughout. */
PetscErrorCode render_animation(const char *dir, const render_view *view, double frames_per_second, const char *path, bool *is_written);
/* A still in memory, as a PNG file of view->width x view->height: memory_free(&bytes). */
typedef struct {
  int64_t  index;
  double   time; /* [s] */
  uint8_t *bytes;
  size_t   n;
} render_picture;
/* At most `n_wanted` frames, evenly from the first to the last, with one camera and one range: into out [n_wanted]; *n how many. */
PetscErrorCode render_sequence(const char *dir, const render_view *view, int n_wanted, int *n, render_picture *out);
#endif
