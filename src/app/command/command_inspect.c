/* The commands info, diff, render and report, which read the directory of a run. */
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "core/log.h"
#include "core/memory.h"
#include "io/checkpoint.h"
#include "io/file.h"
#include "app/command/command_line.h"
#include "app/render/render.h"
#include "app/report/report_run.h"
#include "app/run/quality_monitor.h"

/* --- info and diff ------------------------------------------------------------------------------------------------ */

/* The path of a checkpoint: `text` itself, or the newest valid checkpoint of the run directory `text`. memory_free(*path). */
static PetscErrorCode find_checkpoint(const char *text, char **path)
{
  PetscFunctionBegin;
  struct stat status;
  PetscCheck(stat(text, &status) == 0, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "%s: no such file or directory", text);
  *path = NULL;
  if (S_ISDIR(status.st_mode)) {
    char dir[4200];
    snprintf(dir, sizeof dir, "%s/checkpoints", text);
    PetscCall(checkpoint_newest(stat(dir, &status) == 0 ? dir : text, path));
    PetscCheck(*path, PETSC_COMM_SELF, PETSC_ERR_FILE_READ, "%s: contains no valid checkpoint", text);
  } else {
    PetscCall(file_format(path, "%s", text));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const command_option no_options[] = {{NULL, NULL, false, NULL}};

static PetscErrorCode command_info(const command_line *line, exit_code *code)
{
  PetscFunctionBegin;
  char *path __attribute__((cleanup(memory_free))) = NULL;
  (void)code;
  PetscCall(find_checkpoint(line->positional[0], &path));
  PetscCall(checkpoint_info(path, stdout));
  PetscFunctionReturn(PETSC_SUCCESS);
}
/* clang-format off */
const command command_info_entry = {"info", "DIR|CHECKPOINT.h5", "print the contents of a checkpoint",
  "Prints job, step, time, versions, and the shape, range and checksum state of each field.", 1, 1, no_options, command_info};
/* clang-format on */

static const command_option diff_options[] = {
    {"--tolerance", "X", false, "relative differences up to X are accepted; default 0: bit-identical"}, {NULL, NULL, false, NULL}};
static PetscErrorCode command_diff(const command_line *line, exit_code *code)
{
  PetscFunctionBegin;
  const char *text                                    = command_value(line, "--tolerance");
  char       *end                                     = NULL;
  char       *a __attribute__((cleanup(memory_free))) = NULL, *b __attribute__((cleanup(memory_free))) = NULL;
  double      tolerance = text ? strtod(text, &end) : 0.0;
  int         n;
  if (text && (*end || !(tolerance >= 0))) {
    fprintf(stderr, "stickslip diff: --tolerance %s: expected a number >= 0\n", text);
    *code = SS_EXIT_BAD_INPUT;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(find_checkpoint(line->positional[0], &a));
  PetscCall(find_checkpoint(line->positional[1], &b));
  PetscCall(checkpoint_diff(a, b, tolerance, QUALITY_GROUP, stdout, &n));
  if (n) *code = SS_EXIT_DIFFERENT;
  PetscFunctionReturn(PETSC_SUCCESS);
}
/* clang-format off */
const command command_diff_entry = {"diff", "DIR|CHECKPOINT.h5 DIR|CHECKPOINT.h5", "compare two checkpoints field by field",
  "The arguments are checkpoint files or run directories. The exit code is 5 if the checkpoints differ. With --tolerance, differences of the quality "
  "block (residuals, warnings) are printed but not counted.", 2, 2, diff_options, command_diff};
/* clang-format on */

/* --- render ------------------------------------------------------------------------------------------------------- */

static const command_option render_options[] = {{"--frame", "N", false, "number of the frame; default: the last one"},
                                                {"--animation", NULL, false, "write all frames as an animated PNG"},
                                                {"--fps", "N", false, "frames per second of the animation; default 20"},
                                                {"--field", "NAME", false, "particle field shown by colour"},
                                                {"--range", "LO,HI", false, "limits of the colour bar"},
                                                {"--eye", "X,Y,Z", false, "position of the camera"},
                                                {"--target", "X,Y,Z", false, "point at the centre of the view"},
                                                {"--size", "WIDTHxHEIGHT", false, "size in pixels"},
                                                {"--out", "FILE.png", false, "output file; default: DIR/still.png or DIR/animation.png"},
                                                {NULL, NULL, false, NULL}};

/* Parses the value of an option as n numbers with `separator` between them. */
static bool parse_numbers(const command_line *line, const char *option, int n, char separator, double *out)
{
  const char *text = command_value(line, option), *at = text;
  if (!text) return true;
  for (int i = 0; i < n; ++i) {
    char  *end;
    double x = strtod(at, &end);
    if (end == at || !isfinite(x) || *end != (i + 1 < n ? separator : '\0')) {
      fprintf(stderr, "stickslip render: %s %s: expected %d numbers separated by \"%c\"\n", option, text, n, separator);
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
  job        *owner __attribute__((cleanup(job_destroy))) = NULL;
  int64_t     index, fps;
  const char *dir = line->positional[0], *out = command_value(line, "--out");
  char        path[4300];
  double      size[2] = {NAN, NAN};
  PetscCall(render_view_of_run(dir, &view, &owner));
  *code = SS_EXIT_BAD_INPUT;
  if (command_value(line, "--field")) {
    view.field = command_value(line, "--field");
    PetscCall(render_check_field(dir, view.field));
  }
  const bool is_good = parse_numbers(line, "--eye", 3, ',', view.eye) && parse_numbers(line, "--target", 3, ',', view.target) &&
                       parse_numbers(line, "--range", 2, ',', view.range) && parse_numbers(line, "--size", 2, 'x', size) &&
                       command_integer(line, "--frame", 0, INT64_MAX, -1, &index) && command_integer(line, "--fps", 1, 1000, 20, &fps);
  if (is_good && isfinite(size[0]) && !(size[0] >= 64 && size[0] <= 8192 && size[1] >= 64 && size[1] <= 8192)) {
    fprintf(stderr, "stickslip render: --size: expected 64 to 8192 pixels in each direction\n");
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
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* clang-format off */
const command command_render_entry = {"render", "DIR", "draw a picture or an animation of a run",
  "Draws one or all frames of the run in DIR: particles coloured by a field, bodies, ground, colour bar and time. No display is needed.", 1, 1,
  render_options, command_render};
/* clang-format on */

/* --- report ------------------------------------------------------------------------------------------------------- */

static const command_option report_options[] = {{"--out", "FILE.html", false, "output file; default: DIR/report.html"},
                                                {NULL, NULL, false, NULL}};

static PetscErrorCode command_report(const command_line *line, exit_code *code)
{
  PetscFunctionBegin;
  const char *dir = line->positional[0], *out = command_value(line, "--out");
  (void)code;
  PetscCall(report_run(dir, out, false));
  if (out) log_info("wrote %s", out);
  else log_info("wrote %s/report.html", dir);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* clang-format off */
const command command_report_entry = {"report", "DIR", "write a web page about a run: plots, pictures, times, job, machine",
  "Writes one HTML page that needs neither network nor other files. The diagrams are drawn by gnuplot (package gnuplot-nox).\n"
  "`run` and `resume` write the page at their end if gnuplot is installed.", 1, 1, report_options, command_report};
/* clang-format on */
