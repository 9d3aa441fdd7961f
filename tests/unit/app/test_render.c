/* Pictures of a run: choice of frames, their times, sizes, and the view of the job. */
#include <math.h>
#include "app/render/render.h"
#include "command_fixture.h"

/* A run with frames 0 to 5, and its view with small pictures. */
static void make_run(render_view *view, job **owner)
{
  assert_command(SS_EXIT_OK, "run job.yaml --out r --no-picture --quiet --set time.frame=0.002");
  assert_ok(render_view_of_run("r", view, owner));
  view->width = view->height = 64;
}

static void views_are_those_of_the_job(void **state)
{
  (void)state;
  render_view view;
  job        *owner;
  assert_command(
      SS_EXIT_OK,
      "run job.yaml --out r --no-picture --quiet --steps 1 --set picture.eye=[1,2,3] --set picture.width=200 --set picture.height=100");
  assert_ok(render_view_of_run("r", &view, &owner));
  for (int i = 0; i < 3; ++i) assert_close(view.eye[i], i + 1, 0);
  assert_true(isnan(view.target[0]));
  assert_int_equal(view.up, 2); /* opposite to gravity */
  assert_int_equal(view.width, 200);
  assert_int_equal(view.height, 100);
  job_destroy(&owner);
}

/* 3 of 6 frames: the first, the third and the last; 9 of 6: all. */
static void sequences_are_even(void **state)
{
  (void)state;
  static const int64_t expected[3] = {0, 2, 5};
  render_view          view;
  render_picture       pictures[9];
  job                 *owner;
  int                  n;
  make_run(&view, &owner);
  assert_ok(render_sequence("r", &view, 3, &n, pictures));
  assert_int_equal(n, 3);
  for (int i = 0; i < 3; ++i) {
    assert_int_equal(pictures[i].index, expected[i]);
    assert_close(pictures[i].time, 0.002 * (double)expected[i], 1e-15);
    assert_memory_equal(pictures[i].bytes, "\x89PNG\r\n\x1a\n", 8);
    memory_free(&pictures[i].bytes);
  }
  assert_ok(render_sequence("r", &view, 9, &n, pictures));
  assert_int_equal(n, 6);
  for (int i = 0; i < n; ++i) {
    assert_int_equal(pictures[i].index, i);
    memory_free(&pictures[i].bytes);
  }
  job_destroy(&owner);
}

/* A still is the frame of a sequence with the same number; -1 is the last frame. */
static void stills_are_frames(void **state)
{
  (void)state;
  render_view    view;
  render_picture last;
  job           *owner;
  char          *bytes;
  size_t         n_bytes;
  int            n;
  bool           is_written;
  make_run(&view, &owner);
  assert_ok(render_still("r", &view, 6, "a.png", &is_written));
  assert_false(is_written);
  assert_false(command_exists("a.png"));
  assert_ok(render_still("r", &view, -1, "a.png", &is_written));
  assert_true(is_written);
  assert_ok(render_still("r", &view, 5, "b.png", &is_written));
  assert_int_equal(system("cmp -s a.png b.png"), 0);
  assert_ok(render_still("r", &view, 0, "b.png", &is_written));
  assert_int_not_equal(system("cmp -s a.png b.png"), 0);
  assert_int_equal(system("rm r/frames/frame_00000[0-4].h5"), 0); /* colours and camera of one frame, as for a still */
  assert_ok(render_sequence("r", &view, 1, &n, &last));
  assert_ok(file_read_text("a.png", &bytes, &n_bytes));
  assert_int_equal(n_bytes, last.n);
  assert_memory_equal(bytes, last.bytes, last.n);
  memory_free(&bytes);
  memory_free(&last.bytes);
  job_destroy(&owner);
}

/* The chunk acTL of an animation has the number of its frames. */
static void animations_have_all_frames(void **state)
{
  (void)state;
  render_view view;
  job        *owner;
  char       *bytes;
  size_t      n;
  bool        is_written;
  make_run(&view, &owner);
  assert_ok(render_animation("r", &view, 10, "a.png", &is_written));
  assert_true(is_written);
  assert_ok(file_read_text("a.png", &bytes, &n));
  size_t at = 0;
  while (at + 8 < n && memcmp(bytes + at, "acTL", 4)) ++at;
  assert_memory_equal(bytes + at, "acTL\0\0\0\6", 8);
  memory_free(&bytes);
  assert_int_equal(system("rm r/frames/*.h5"), 0);
  assert_ok(render_animation("r", &view, 10, "b.png", &is_written));
  assert_false(is_written);
  job_destroy(&owner);
}

/* The last frame of one step of a job with these bodies and this `picture:`, as PNG; free() it. */
static char *picture_of(const char *gravity, const char *bodies, const char *picture, size_t *n)
{
  char        text[3000], *bytes;
  render_view view;
  job        *owner;
  bool        is_written;
  snprintf(text, sizeof text,
           "stickslip: 1\nname: kinds\nformulation: exact\ntime: {end: 1e-4, step: 1.0e-4}\ngravity: %s\n"
           "materials: {steel: {model: rigid, density: 7800}, wire: {model: linear_corotated, density: 1000, youngs_modulus: 1e6, "
           "poisson_ratio: 0.3}, "
           "sand: {model: drucker_prager, density: 1600, youngs_modulus: 1e6, poisson_ratio: 0.3, friction_angle_deg: 30}}\n"
           "contact: {friction: 0.3}\npicture: {width: 96, height: 64%s}\nbodies:\n"
           "  ball: {kind: rigid, material: steel, shape: {sphere: {center: [0, 0, 0.3], radius: 0.05}}}\n%s",
           gravity, picture, bodies);
  command_write("kinds.yaml", text);
  assert_command(SS_EXIT_OK, "run kinds.yaml --out k --no-picture --quiet --force");
  assert_ok(render_view_of_run("k", &view, &owner));
  assert_ok(render_still("k", &view, -1, "k.png", &is_written));
  assert_true(is_written);
  job_destroy(&owner);
  assert_ok(file_read_text("k.png", &bytes, n));
  char *copy = malloc(*n); /* not counted: assert_command checks that no memory is left */
  assert_non_null(copy);
  memcpy(copy, bytes, *n);
  memory_free(&bytes);
  return copy;
}
static void assert_pictures_differ(const char *what, const char *a, size_t n, const char *b, size_t m)
{
  if (n == m && memcmp(a, b, n) == 0) fail_msg("%s: the picture is the same", what);
}

/* Bodies of each kind are in the picture, in front of the camera; so are colours by field, transparent bodies, and the axis opposite to
 * gravity points up. */
static void bodies_of_every_kind_are_drawn(void **state)
{
  static const struct {
    const char *name, *body;
  } kinds[] = {
      {"particles", "  bed: {kind: mpm, material: sand, spacing: 0.05, shape: {box: {min: [-0.1, -0.1, 0], max: [0.1, 0.1, 0.1]}}}\n"},
      {"rod", "  hair: {kind: rod, material: wire, section: {circle: 0.02}, curve: {line: {from: [-0.2, 0, 0.1], to: [0.2, 0, 0.1]}}, "
              "segments: 6}\n"},
      {"cloth", "  sheet: {kind: cloth, sheet: {corner: [-0.2, -0.2, 0.1], u: [0.4, 0, 0], v: [0, 0.4, 0], cells: [4, 4]}, mass_per_area: "
                "0.7, stretch: 100}\n"},
      {"plane", "  floor: {kind: static, shape: {plane: {normal: [0, 0, 1], offset: 0.1}}}\n"},
      {"tilted plane", "  slope: {kind: static, shape: {plane: {normal: [0.3, 0, 1], offset: 0.1}}}\n"},
      {"walls", "  tank: {kind: static, shape: {container: {min: [-0.3, -0.3, 0], max: [0.3, 0.3, 0.5]}}}\n"},
      {"box", "  box: {kind: rigid, material: steel, shape: {box: {min: [-0.1, -0.1, 0], max: [0.1, 0.1, 0.1]}}}\n"}};
  static const struct {
    const char *name, *gravity, *picture;
  } views[] = {{"transparent", "[0, 0, -10]", ", transparent: [ball]"},
               {"up axis x", "[-10, 0, 0]", ""},
               {"up axis y", "[0, -10, 0]", ""},
               {"camera", "[0, 0, -10]", ", eye: [1, 2, 1]"}};
  size_t n, m;
  (void)state;
  char *alone = picture_of("[0, 0, -10]", "", "", &n);
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; ++k) {
    char *with = picture_of("[0, 0, -10]", kinds[k].body, "", &m);
    assert_pictures_differ(kinds[k].name, alone, n, with, m);
    free(with);
  }
  free(alone);
  alone = picture_of("[0, 0, -10]", kinds[6].body, "", &n);
  for (size_t k = 0; k < sizeof views / sizeof *views; ++k) {
    char *with = picture_of(views[k].gravity, kinds[6].body, views[k].picture, &m);
    assert_pictures_differ(views[k].name, alone, n, with, m);
    free(with);
  }
  free(alone);
}

TEST_MAIN(command_test(views_are_those_of_the_job), command_test(sequences_are_even), command_test(stills_are_frames),
          command_test(animations_have_all_frames), command_test(bodies_of_every_kind_are_drawn))
