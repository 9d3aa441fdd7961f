/* The commands info, diff, render and report: output, exit codes and wrong options. */
#include "command_fixture.h"
#include "io/plot_sheet.h"

static void info_prints_the_newest_checkpoint(void **state)
{
  (void)state;
  assert_command(SS_EXIT_OK, "run job.yaml --out r --no-picture --quiet");
  assert_command(SS_EXIT_OK, "info r");
  assert_contains(command_out, "r/checkpoints/checkpoint_000000010.h5\njob small, penalty, step 10, time 0.01 s\n");
  assert_contains(command_out, "checksum good");
  assert_contains(command_out, "-0.1 ... 0"); /* velocity after 10 ms of free fall, g = 10 m/s^2 */
  assert_command(SS_EXIT_ENVIRONMENT, "info missing");
  assert_contains(command_err, "missing: no such file or directory");
  assert_command(SS_EXIT_ENVIRONMENT, "info .");
  assert_contains(command_err, ".: contains no valid checkpoint");
}

static void diff_has_its_own_exit_code(void **state)
{
  (void)state;
  assert_command(SS_EXIT_OK, "run job.yaml --out a --no-picture --quiet");
  assert_command(SS_EXIT_OK, "run job.yaml --out b --no-picture --quiet --set gravity=[0,0,-10.001]");
  assert_command(SS_EXIT_OK, "diff a a/checkpoints/checkpoint_000000010.h5");
  assert_contains(command_out, "0 differences\n");
  assert_command(SS_EXIT_DIFFERENT, "diff a b");
  assert_contains(command_out, "velocity");
  assert_command(SS_EXIT_OK, "diff a b --tolerance 1e-3"); /* residuals are rounding errors */
  assert_contains(command_out, "quality: 1 differences of diagnostics (not counted)\n0 differences\n");
  assert_command(SS_EXIT_BAD_INPUT, "diff a b --tolerance -1");
  assert_string_equal(command_err, "stickslip diff: --tolerance -1: expected a number >= 0\n");
  assert_command(SS_EXIT_BAD_INPUT, "diff a b --tolerance 1x");
}

/* Width and height from the header of the PNG file. */
static void assert_png_size(const char *path, int width, int height)
{
  unsigned char head[24];
  FILE         *in = fopen(path, "rb");
  assert_non_null(in);
  assert_int_equal(fread(head, 1, sizeof head, in), sizeof head);
  fclose(in);
  assert_memory_equal(head, "\x89PNG\r\n\x1a\n", 8);
  assert_int_equal(head[18] << 8 | head[19], width);
  assert_int_equal(head[22] << 8 | head[23], height);
}

static void render_draws_frames(void **state)
{
  (void)state;
  static const char *const bad[][2] = {
      {"render r --size 64x63", "stickslip render: --size: expected 64 to 8192 pixels in each direction\n"},
      {"render r --size 640", "stickslip render: --size 640: expected 2 numbers separated by \"x\"\n"},
      {"render r --eye 1,2", "stickslip render: --eye 1,2: expected 3 numbers separated by \",\"\n"},
      {"render r --range 0,nan", "stickslip render: --range 0,nan: expected 2 numbers separated by \",\"\n"},
      {"render r --frame 3", "stickslip render: r has no such frame\n"}};
  assert_command(SS_EXIT_OK, "run job.yaml --out r --no-picture --quiet");
  assert_command(SS_EXIT_OK, "render r --size 80x64");
  assert_png_size("r/still.png", 80, 64);
  assert_command(SS_EXIT_OK, "render r --animation --size 64x80 --out moving.png");
  assert_contains(command_err, "wrote moving.png");
  assert_png_size("moving.png", 64, 80);
  assert_false(command_exists("r/animation.png"));
  for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
    assert_command(SS_EXIT_BAD_INPUT, bad[i][0]);
    assert_string_equal(command_err, bad[i][1]);
  }
}

static void report_writes_a_page(void **state)
{
  (void)state;
  assert_command(SS_EXIT_OK, "run job.yaml --out r --no-picture --quiet");
  assert_command(SS_EXIT_BAD_INPUT, "report r/measure");
  assert_contains(command_err, "r/measure: not a run directory: job.yaml is missing");
  if (!plot_sheet_is_possible()) skip();
  assert_command(SS_EXIT_OK, "report r");
  assert_contains(command_err, "wrote r/report.html");
  assert_true(command_exists("r/report.html"));
  assert_command(SS_EXIT_OK, "report r --out page.html");
  assert_contains(command_err, "wrote page.html");
  assert_true(command_exists("page.html"));
}

TEST_MAIN(command_test(info_prints_the_newest_checkpoint), command_test(diff_has_its_own_exit_code), command_test(render_draws_frames),
          command_test(report_writes_a_page))
