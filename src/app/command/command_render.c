/* render: pictures of a run. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "core/log.h"
#include "app/command/command.h"
#include "app/command/command_list.h"
#include "app/render/render.h"

static const command_option render_options[] = {
  {"--frame", "N", false, "which frame; default: the last"},
  {"--animation", NULL, false, "all frames, as an animated PNG"},
  {"--fps", "N", false, "frames per second of the animation; default 20"},
  {"--field", "NAME", false, "particle field that gives the colour"},
  {"--range", "LO,HI", false, "of the colour bar"},
  {"--eye", "X,Y,Z", false, "where the camera stands"},
  {"--target", "X,Y,Z", false, "what it looks at"},
  {"--size", "WIDTHxHEIGHT", false, "pixels"},
  {"--out", "FILE.png", false, "default: DIR/still.png or DIR/animation.png"},
  {NULL, NULL, false, NULL}};

/* n numbers with `separator` between them, nothing after. */
static bool numbers(const command_line *line, const char *option, int n, char separator, double *out)
{
  const char *text = command_value(line, option), *at = text;
  if (!text) return true;
  for (int i = 0; i < n; ++i) {
    char  *end;
    double x = strtod(at, &end);
    if (end == at || !isfinite(x) || *end != (i + 1 < n ? separator : '\0')) {
      fprintf(stderr, "stickslip render: %s %s: expected %d numbers with \"%c\" between them\n", option, text, n, separator);
      return false;
    }
    out[i] = x;
    at     = end + 1;
  }
  return true;
}

static PetscErrorCode command_render(const command_line *line, exit_code *code)
{
  PetscFunctionBegin;
  render_view view;
  job        *owner;
  int64_t     index, fps;
  const char *dir = line->positional[0], *out = command_value(line, "--out");
  char        path[4300];
  double      size[2] = {NAN, NAN};
  PetscCall(render_view_of_run(dir, &view, &owner));
  *code = SS_EXIT_BAD_INPUT;
  if (command_value(line, "--field")) view.field = command_value(line, "--field");
  const bool is_good = numbers(line, "--eye", 3, ',', view.eye) && numbers(line, "--target", 3, ',', view.target) &&
                       numbers(line, "--range", 2, ',', view.range) && numbers(line, "--size", 2, 'x', size) &&
                       command_integer(line, "--frame", 0, INT64_MAX, -1, &index) && command_integer(line, "--fps", 1, 1000, 20, &fps);
  if (is_good && isfinite(size[0]) && !(size[0] >= 64 && size[0] <= 8192 && size[1] >= 64 && size[1] <= 8192)) {
    fprintf(stderr, "stickslip render: --size: expected 64 to 8192 pixels each way\n");
  } else if (is_good) {
    const bool is_animation = command_value(line, "--animation");
    bool       is_written;
    if (isfinite(size[0])) view.width = (int)size[0], view.height = (int)size[1];
    snprintf(path, sizeof path, "%s/%s.png", dir, is_animation ? "animation" : "still");
    if (!out) out = path;
    if (is_animation) PetscCall(render_animation(dir, &view, (double)fps, out, &is_written));
    else PetscCall(render_still(dir, &view, index, out, &is_written));
    if (is_written) {
      log_info("wrote %s", out);
      *code = SS_EXIT_OK;
    } else {
      fprintf(stderr, "stickslip render: %s has no such frame\n", dir);
    }
  }
  job_destroy(&owner);
  PetscFunctionReturn(PETSC_SUCCESS);
}

const command command_render_entry = {"render", "DIR", "pictures of a run: a still, or an animation",
  "Draws a frame of the run in DIR, or all of them, without a display: particles coloured by a field, bodies, ground, colour bar and time.", 1, 1,
  render_options, command_render};
