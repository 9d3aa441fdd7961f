/* io/picture: objects appear at their projected places, in depth order, shaded from the correct side, and the same on any number
 * of threads. */
#include "core/math3.h"
#include "core/random.h"
#include "core/team.h"
#include "io/picture.h"
#include "io/picture_text.h"
#include "test.h"
#include <string.h>

enum { W = 160, H = 120 };
static uint8_t rgb[W * H * 3], other[W * H * 3], empty[W * H * 3];

static const picture_paint RED = {{220, 30, 30}, 0, 1, 0}, BLUE = {{30, 30, 220}, 0, 1, 0};
static const double        EYE[3] = {0, -10, 0}, ORIGIN[3] = {0, 0, 0}, UP[3] = {0, 0, 1};

static picture *front_view(void)
{
  picture *p;
  assert_ok(picture_create(W, H, &p));
  picture_camera(p, EYE, ORIGIN, UP, 30.0);
  assert_ok(picture_render(p, empty));
  return p;
}
static const uint8_t *pixel(int x, int y) { return rgb + 3 * (y * W + x); }
static bool           is_red(int x, int y) { return pixel(x, y)[0] > 2 * pixel(x, y)[2]; }
static bool           is_blue(int x, int y) { return pixel(x, y)[2] > 2 * pixel(x, y)[0]; }
static bool           is_empty(int x, int y) { return memcmp(pixel(x, y), empty + 3 * (y * W + x), 3) == 0; }

/* A sphere of radius r at distance d is seen under asin(r / d). */
static void test_sphere_has_its_outline(void **state)
{
  (void)state;
  const double x[3] = {0, 0, 0}, focal = 0.5 * H / tan(15.0 * M_PI / 180.0);
  picture     *p = front_view();
  assert_ok(picture_add_points(p, 1, x, 1.5, NULL, 0, 0, RED));
  assert_ok(picture_render(p, rgb));
  const double radius = focal * tan(asin(0.15));
  int          n      = 0;
  for (int j = 0; j < H; ++j)
    for (int i = 0; i < W; ++i) {
      const double d = hypot(i + 0.5 - 0.5 * W, j + 0.5 - 0.5 * H);
      n += is_red(i, j);
      if (d < radius - 1.0) assert_true(is_red(i, j)); /* a pixel's half diagonal is 0.7 */
      if (d > radius + 1.0) assert_true(is_empty(i, j));
    }
  assert_close(n, M_PI * radius * radius, 2.0 * M_PI * radius);
  picture_destroy(&p);
  assert_no_leak();
}

/* A mesh and a sphere through the same camera: right is right, up is up, and near hides far in either order of adding. */
static void test_places_and_depth(void **state)
{
  (void)state;
  const double  centre[3] = {1.0, 0.0, 1.0}, square[4][3] = {{-2, 1, -2}, {2, 1, -2}, {2, 1, 2}, {-2, 1, 2}};
  const int32_t face[2][3] = {{0, 1, 2}, {0, 2, 3}};
  for (int order = 0; order < 2; ++order) {
    picture *p = front_view();
    if (order) assert_ok(picture_add_points(p, 1, centre, 0.4, NULL, 0, 0, RED));
    assert_ok(picture_add_mesh(p, 4, &square[0][0], 2, &face[0][0], false, NULL, 0, 0, BLUE));
    if (!order) assert_ok(picture_add_points(p, 1, centre, 0.4, NULL, 0, 0, RED));
    assert_ok(picture_render(p, rgb));
    const double per_metre = 0.5 * H / tan(15.0 * M_PI / 180.0) / 10.0;
    const int    x = (int)(0.5 * W + per_metre), y = (int)(0.5 * H - per_metre);
    assert_true(is_red(x, y));
    assert_true(is_blue(W - x, y) && is_blue(x, H - y) && is_blue(W / 2, H / 2));
    assert_true(is_empty(2, 2) && is_empty(W - 3, H - 3));
    for (int i = W / 2 - 20; i < W / 2 + 20; ++i) assert_true(is_blue(i, H / 2)); /* no crack along the diagonal */
    picture_destroy(&p);
  }
  assert_no_leak();
}

static void test_near_sphere_hides_far_one(void **state)
{
  (void)state;
  const double near[3] = {0, -1, 0}, far[3] = {0, 1, 0};
  for (int order = 0; order < 2; ++order) {
    picture *p = front_view();
    assert_ok(picture_add_points(p, 1, order ? near : far, 0.5, NULL, 0, 0, order ? RED : BLUE));
    assert_ok(picture_add_points(p, 1, order ? far : near, 0.5, NULL, 0, 0, order ? BLUE : RED));
    assert_ok(picture_render(p, rgb));
    for (int j = 0; j < H; ++j)
      for (int i = 0; i < W; ++i) assert_true(is_red(i, j) || !is_blue(i, j)); /* the far one is seen under a smaller angle */
    assert_true(is_red(W / 2, H / 2));
    picture_destroy(&p);
  }
  assert_no_leak();
}

/* A floor that extends behind the camera is cut at the near plane: it fills the lower half of the picture and is not mirrored into the upper one. */
static void test_near_plane_cuts(void **state)
{
  (void)state;
  const double  floor[3][3] = {{-50, -30, -1}, {50, -30, -1}, {0, 200, -1}};
  const int32_t face[1][3]  = {{0, 1, 2}};
  picture      *p           = front_view();
  assert_ok(picture_add_mesh(p, 3, &floor[0][0], 1, &face[0][0], false, NULL, 0, 0, RED));
  assert_ok(picture_render(p, rgb));
  for (int i = 0; i < W; ++i) {
    assert_true(is_red(i, H - 1));
    for (int j = 0; j < H / 2; ++j) assert_true(is_empty(i, j));
  }
  picture_destroy(&p);
  assert_no_leak();
}

/* The lamp hangs above: the top of a ball is brighter than its bottom, and it throws a shadow on the floor to the right. */
static void test_light_and_shadow(void **state)
{
  (void)state;
  const double x[3] = {0, 0, 1}, eye[3] = {0, -8, 6}, target[3] = {0, 0, 0.5};
  picture     *p;
  assert_ok(picture_create(W, H, &p));
  picture_camera(p, eye, target, UP, 35.0);
  picture_ground(p, 0.0);
  assert_ok(picture_render(p, other));
  assert_ok(picture_add_points(p, 1, x, 0.8, NULL, 0, 0, (picture_paint){{200, 200, 200}, 0, 1, 0}));
  assert_ok(picture_render(p, rgb));
  int darker[2] = {0, 0}; /* floor pixels that lost light, left and right of the ball */
  for (int j = 0; j < H; ++j)
    for (int i = 0; i < W; ++i) {
      const int at = 3 * (j * W + i);
      if (rgb[at] < 0.9 * other[at] && abs(i - W / 2) > 18) darker[i > W / 2]++; /* the ball itself ends at 17 */
    }
  assert_true(darker[1] > 60 && darker[0] == 0);
  assert_true(pixel(W / 2 - 5, H / 2 - 20)[0] > pixel(W / 2 + 5, H / 2 + 8)[0] + 20);
  picture_destroy(&p);
  assert_no_leak();
}

/* The framed box stays inside the picture, nearly fills it and is centred vertically: seen by small spheres at its corners. */
static void test_framing_fits(void **state)
{
  (void)state;
  const double box[][2][3] = {{{-1, -1, 0}, {1, 1, 1}}, {{0, 0, 0}, {20, 1, 1}}, {{5, 5, 5}, {5.1, 5.1, 9}}, {{0, 0, 0}, {3, 3, 0}}};
  for (size_t b = 0; b < sizeof box / sizeof *box; ++b)
    for (double azimuth = -170; azimuth < 180; azimuth += 50) {
      picture *p;
      double   corner[8][3], diagonal[3], x[2] = {INFINITY, -INFINITY}, y[2] = {INFINITY, -INFINITY};
      for (int c = 0; c < 8; ++c)
        for (int k = 0; k < 3; ++k) corner[c][k] = box[b][c >> k & 1][k];
      v3_sub(diagonal, box[b][1], box[b][0]);
      assert_ok(picture_create(W, H, &p));
      picture_frame(p, box[b][0], box[b][1], azimuth, 25.0);
      assert_ok(picture_render(p, empty));
      assert_ok(picture_add_points(p, 8, &corner[0][0], 0.004 * v3_norm(diagonal), NULL, 0, 0, RED));
      assert_ok(picture_render(p, rgb));
      for (int j = 0; j < H; ++j)
        for (int i = 0; i < W; ++i) {
          if (is_empty(i, j)) continue;
          x[0] = fmin(x[0], (i - 0.5 * W) / (0.5 * W)), x[1] = fmax(x[1], (i + 1 - 0.5 * W) / (0.5 * W));
          y[0] = fmin(y[0], (j - 0.5 * H) / (0.5 * H)), y[1] = fmax(y[1], (j + 1 - 0.5 * H) / (0.5 * H));
        }
      const double reach = fmax(fmax(-x[0], x[1]), fmax(-y[0], y[1]));
      assert_true(reach < 0.97 && reach > 0.7);
      assert_close(y[0] + y[1], 0.0, 0.02 + 2.0 / H); /* of half the picture's height; a pixel is 2 / H */
      picture_destroy(&p);
    }
  assert_no_leak();
}

static picture *busy_scene(void)
{
  enum { N = 3000 };
  static double x[3 * N], s[N];
  const double  tri[3][3] = {{-1, -1, 0}, {1, -1, 0}, {0, -1, 1}};
  const int32_t face[3]   = {0, 1, 2};
  picture      *p;
  for (uint64_t i = 0; i < 3 * N; ++i) x[i] = random_range(3, i, 0, i % 3 == 2 ? 0.0 : -1.0, i % 3 == 2 ? 0.4 : 1.0), s[i / 3] = x[i];
  picture_paint veil = BLUE;
  veil.opacity       = 0.2f;
  assert_ok(picture_create(W, H, &p));
  assert_ok(picture_add_points(p, N, x, 0.03, s, 0.0, 0.4, RED));
  assert_ok(picture_add_mesh(p, 3, &tri[0][0], 1, face, true, NULL, 0, 0, veil));
  const double edge[3][2][3] = {{{-1, -1, 0}, {1, -1, 0}}, {{-1, -1, 0}, {-1, 1, 0}}, {{-1, -1, 0}, {-1, -1, 0.5}}};
  assert_ok(picture_add_lines(p, 3, &edge[0][0][0], (const uint8_t[]){40, 40, 40}, 1.5, 0.7));
  picture_ground(p, 0.0);
  picture_title(p, "busy"), picture_caption(p, "t = 1 s"), picture_colour_bar(p, "height", "m", 0.0, 0.4);
  return p;
}

static void test_bits_do_not_depend_on_threads(void **state)
{
  (void)state;
  picture *p = busy_scene();
  team_set_threads(1);
  assert_ok(picture_render(p, rgb));
  for (int t = 2; t <= 3; ++t) {
    team_set_threads(t);
    assert_ok(picture_render(p, other));
    assert_memory_equal(rgb, other, sizeof rgb);
  }
  team_set_threads(0);
  picture_destroy(&p);
  assert_no_leak();
}

static void test_bad_input(void **state)
{
  (void)state;
  double        x[2][3] = {{NAN, 0, 0}, {0, 0, 0}};
  const int32_t face[3] = {0, 1, 2};
  picture      *p       = front_view();
  assert_ok(picture_add_points(p, 2, &x[0][0], 0.1, (const double[]){0, NAN}, 0, 1, RED)); /* the first is left out, the second grey */
  assert_int_equal(picture_add_mesh(p, 2, &x[0][0], 1, face, false, NULL, 0, 0, RED), PETSC_ERR_ARG_OUTOFRANGE);
  error_clear();
  assert_int_equal(picture_add_points(p, 1, x[1], 0.0, NULL, 0, 1, RED), PETSC_ERR_ARG_OUTOFRANGE);
  error_clear();
  assert_ok(picture_render(p, rgb));
  picture_destroy(&p);
  picture_destroy(&p);
  picture *none;
  assert_int_equal(picture_create(0, 5, &none), PETSC_ERR_ARG_OUTOFRANGE);
  error_clear();
  assert_ok(picture_create(16, 9, &none)); /* nothing in it, no camera */
  assert_ok(picture_render(none, rgb));
  picture_destroy(&none);
  assert_no_leak();
}

static void test_text(void **state)
{
  (void)state;
  const uint8_t black[3] = {0, 0, 0};
  for (int c = 33; c < 127; ++c) { /* every character leaves ink within its box, and no two look alike */
    const char text[2] = {(char)c, 0};
    memset(rgb, 255, sizeof rgb);
    picture_text_draw(W, H, rgb, 20.0, 60.0, 24.0, black, text);
    int n = 0;
    for (int j = 0; j < H; ++j)
      for (int i = 0; i < W; ++i) {
        if (pixel(i, j)[0] > 128) continue;
        ++n;
        assert_true(i >= 17 && i <= 23 + picture_text_width(24.0, text) && j >= 60 - 31 && j <= 60 + 11);
      }
    assert_true(n > 10);
    assert_true(c == 33 || memcmp(rgb, other, sizeof rgb) != 0);
    memcpy(other, rgb, sizeof rgb);
  }
  picture_text_draw(W, H, rgb, -10.0, 3.0, 40.0, black, "rim"); /* clipped, no crash */
  picture_text_draw(W, H, rgb, W - 5.0, H + 5.0, 40.0, black, "rim \xc3\xa9");
  assert_true(picture_text_width(10.0, "aa") > 2.0 * picture_text_width(10.0, "a"));
}

static void test_colour_map(void **state)
{
  (void)state;
  uint8_t c[3], last[3] = {0, 0, 0};
  double  before = 0.0;
  picture_colour_map(-5.0, c);
  assert_true(c[0] == 68 && c[1] == 1 && c[2] == 84);
  picture_colour_map(2.0, c);
  assert_true(c[0] == 253 && c[1] == 231 && c[2] == 37);
  picture_colour_map(NAN, c);
  assert_true(c[0] == c[1] && c[1] == c[2]);
  for (int i = 0; i <= 200; ++i) { /* brightness rises all the way: the point of a perceptual map */
    picture_colour_map(i / 200.0, c);
    const double bright = 0.2126 * pow(c[0] / 255.0, 2.2) + 0.7152 * pow(c[1] / 255.0, 2.2) + 0.0722 * pow(c[2] / 255.0, 2.2);
    assert_true(bright > before - 2e-3);
    for (int k = 0; k < 3 && i > 0; ++k) assert_true(abs(c[k] - last[k]) < 6);
    before = bright;
    memcpy(last, c, sizeof c);
  }
}

/* Numbers at the colour bar stay short: a tiny range has the numbers of a plain one, and the label has the factor. */
static void test_colour_bar_of_tiny_numbers(void **state)
{
  (void)state;
  enum { BAR_W = 640, BAR_H = 360, BAR_BYTES = 3 * BAR_W * BAR_H, BELOW = BAR_H - 26 + 6 }; /* the bar ends 20 pixels above the rim */
  picture *p;
  uint8_t *plain, *tiny;
  assert_ok(picture_create(BAR_W, BAR_H, &p));
  assert_ok(memory_alloc("picture", BAR_BYTES, 1, &plain));
  assert_ok(memory_alloc("picture", BAR_BYTES, 1, &tiny));
  picture_camera(p, EYE, ORIGIN, UP, 30.0);
  picture_colour_bar(p, "speed", "m/s", 0.0, 4.0);
  assert_ok(picture_render(p, plain));
  picture_colour_bar(p, "speed", "m/s", 0.0, 4e-9);
  assert_ok(picture_render(p, tiny));
  assert_memory_equal(plain + 3 * BAR_W * BELOW, tiny + 3 * BAR_W * BELOW, 3 * BAR_W * (BAR_H - BELOW));
  assert_memory_not_equal(plain, tiny, 3 * BAR_W * BELOW);
  picture_destroy(&p);
  memory_free(&plain);
  memory_free(&tiny);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_colour_bar_of_tiny_numbers), cmocka_unit_test(test_sphere_has_its_outline),
          cmocka_unit_test(test_places_and_depth), cmocka_unit_test(test_near_plane_cuts), cmocka_unit_test(test_near_sphere_hides_far_one),
          cmocka_unit_test(test_light_and_shadow), cmocka_unit_test(test_framing_fits),
          cmocka_unit_test(test_bits_do_not_depend_on_threads), cmocka_unit_test(test_bad_input), cmocka_unit_test(test_text),
          cmocka_unit_test(test_colour_map))
