/* io/png: libpng, written by others, must read back what we wrote; animations are checked chunk by chunk. */
#include "core/random.h"
#include "io/file.h"
#include "io/png.h"
#include "test.h"
#include "temporary.h"
#include <png.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

static char path[TEMPORARY_ROOM];

static uint8_t *image(int width, int height, int kind)
{
  uint8_t *rgb;
  assert_ok(memory_alloc("image", (int64_t)width * height, 3, &rgb));
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (int k = 0; k < 3; ++k) {
        const uint64_t at = (uint64_t)(y * width + x) * 3 + (uint64_t)k;
        rgb[at]           = kind == 0 ? (uint8_t)random_index(1, at, 0, 256) : (uint8_t)(2 * x + 3 * y * k);
      }
  return rgb;
}

static void assert_reads_as(int width, int height, const uint8_t *rgb)
{
  png_image in = {.version = PNG_IMAGE_VERSION};
  uint8_t  *back;
  assert_int_equal(png_image_begin_read_from_file(&in, path), 1);
  assert_int_equal(in.width, width);
  assert_int_equal(in.height, height);
  in.format = PNG_FORMAT_RGB;
  assert_ok(memory_alloc("back", (int64_t)width * height, 3, &back));
  assert_int_equal(png_image_finish_read(&in, NULL, back, 0, NULL), 1);
  assert_memory_equal(rgb, back, (size_t)width * (size_t)height * 3);
  memory_free(&back);
}

static void test_libpng_reads_stills(void **state)
{
  (void)state;
  static const int size[][2] = {{1, 1}, {7, 3}, {640, 33}, {1, 100}};
  for (int s = 0; s < 4; ++s)
    for (int kind = 0; kind < 2; ++kind) {
      uint8_t *rgb = image(size[s][0], size[s][1], kind);
      assert_ok(png_file_write(path, size[s][0], size[s][1], rgb));
      assert_reads_as(size[s][0], size[s][1], rgb);
      memory_free(&rgb);
    }
  assert_no_leak();
}

static uint32_t u32(const uint8_t *p) { return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3]; }

/* Decode the file by the specification: every fdAT or IDAT goes into the rectangle of its fcTL. 8-bit RGB only. */
typedef struct {
  int      n_frames, width, height;
  uint8_t  canvas[64 * 48 * 3];
  uint32_t sequence, delay_ms;
  int      x, y, w, h;
} player;

static void unfilter(const uint8_t *plain, player *p)
{
  const int n             = 3 * p->w;
  uint8_t   above[64 * 3] = {0}, row[64 * 3];
  for (int j = 0; j < p->h; ++j) {
    const uint8_t *in = plain + (size_t)j * (size_t)(n + 1);
    for (int i = 0; i < n; ++i) {
      const int a = i >= 3 ? row[i - 3] : 0, b = above[i], c = i >= 3 ? above[i - 3] : 0, e = a + b - c;
      const int da = abs(e - a), db = abs(e - b), dc = abs(e - c),
                guess[5] = {0, a, b, (a + b) / 2,
                            da <= db && da <= dc ? a
                            : db <= dc           ? b
                                                 : c};
      assert_true(in[0] <= 4);
      row[i] = (uint8_t)(in[1 + i] + guess[in[0]]);
    }
    memcpy(above, row, sizeof row);
    memcpy(p->canvas + 3 * ((p->y + j) * p->width + p->x), row, (size_t)n);
  }
}

static void play_chunk(player *p, const uint8_t *type, const uint8_t *data, uint32_t n)
{
  if (!memcmp(type, "IHDR", 4)) p->width = (int)u32(data), p->height = (int)u32(data + 4);
  if (!memcmp(type, "acTL", 4)) p->n_frames = (int)u32(data);
  if (!memcmp(type, "fcTL", 4)) {
    assert_int_equal(u32(data), p->sequence++);
    p->w = (int)u32(data + 4), p->h = (int)u32(data + 8), p->x = (int)u32(data + 12), p->y = (int)u32(data + 16);
    assert_true(p->w > 0 && p->h > 0 && p->x + p->w <= p->width && p->y + p->h <= p->height);
    p->delay_ms = (uint32_t)(data[20] << 8 | data[21]);
    assert_int_equal(data[22] << 8 | data[23], 1000);
  }
  const bool is_frame = !memcmp(type, "fdAT", 4), is_first = !memcmp(type, "IDAT", 4);
  if (!is_frame && !is_first) return;
  if (is_frame) assert_int_equal(u32(data), p->sequence++);
  uint8_t plain[48 * (64 * 3 + 1)];
  uLongf  length = sizeof plain;
  assert_int_equal(uncompress(plain, &length, data + (is_frame ? 4 : 0), n - (is_frame ? 4 : 0)), Z_OK);
  assert_int_equal(length, p->h * (3 * p->w + 1));
  unfilter(plain, p);
}

static void test_animation_plays_back(void **state)
{
  (void)state;
  enum { W = 64, H = 48, N = 5 };
  png_animation *a;
  uint8_t       *frame[N];
  for (int f = 0; f < N; ++f) {
    frame[f] = image(W, H, 1);
    if (f > 0) memcpy(frame[f], frame[f - 1], W * H * 3);
    if (f == 1) memset(frame[f] + 3 * (10 * W + 20), 9, 3 * 5); /* a few pixels change */
    if (f == 2) frame[f][0] ^= 1, frame[f][3 * W * H - 1] ^= 1; /* opposite corners */
    if (f == 4) memset(frame[f], 77, W * H * 3);                /* 3: nothing changes */
  }
  remove(path);
  assert_ok(png_animation_open(path, W, H, 0, &a));
  for (int f = 0; f < N; ++f) assert_ok(png_animation_add(a, frame[f], 0.040));
  assert_int_not_equal(access(path, F_OK), 0); /* not before it is whole */
  assert_ok(png_animation_close(&a));
  assert_null(a);
  assert_reads_as(W, H, frame[0]); /* readers that do not know animations see the first */

  static uint8_t file[1 << 20];
  FILE          *in   = fopen(path, "rb");
  const size_t   size = fread(file, 1, sizeof file, in);
  fclose(in);
  player p = {0};
  int    f = 0;
  for (size_t at = 8; at < size;) {
    const uint32_t n = u32(file + at);
    assert_true(at + 12 + n <= size);
    assert_int_equal(u32(file + at + 8 + n), crc32(0, file + at + 4, n + 4));
    play_chunk(&p, file + at + 4, file + at + 8, n);
    if (!memcmp(file + at + 4, "fdAT", 4) || !memcmp(file + at + 4, "IDAT", 4)) {
      assert_memory_equal(p.canvas, frame[f], W * H * 3);
      assert_int_equal(p.delay_ms, 40);
      ++f;
    }
    at += 12 + n;
  }
  assert_int_equal(f, N);
  assert_int_equal(p.n_frames, N);
  for (f = 0; f < N; ++f) memory_free(&frame[f]);
  assert_no_leak();
}

static void test_errors_leave_no_file(void **state)
{
  (void)state;
  png_animation *a;
  uint8_t        rgb[3] = {1, 2, 3};
  assert_int_equal(png_file_write("/nonexistent/x.png", 1, 1, rgb), PETSC_ERR_FILE_WRITE);
  assert_non_null(strstr(error_message(), "/nonexistent/x.png"));
  error_clear();
  assert_int_equal(png_file_write(path, 0, 1, rgb), PETSC_ERR_ARG_OUTOFRANGE);
  error_clear();
  assert_ok(png_file_write(path, 1, 1, rgb));
  assert_ok(png_animation_open(path, 4, 4, 0, &a));
  assert_int_equal(png_animation_close(&a), PETSC_ERR_ARG_WRONGSTATE); /* empty */
  error_clear();
  assert_reads_as(1, 1, rgb); /* unchanged */
  char *temporary;
  assert_ok(file_temporary(path, &temporary));
  assert_int_not_equal(access(temporary, F_OK), 0);
  memory_free(&temporary);
  assert_no_leak();
}

static int make_path(void **state)
{
  (void)state;
  const int fd = mkstemp(temporary_name(path, ""));
  return fd < 0 ? -1 : close(fd);
}
static int remove_path(void **state)
{
  (void)state;
  remove(path);
  return 0;
}
static void test_setup(void **state) { assert_int_equal(make_path(state), 0); }
static void test_teardown(void **state) { assert_int_equal(remove_path(state), 0); }

TEST_MAIN(cmocka_unit_test(test_setup), cmocka_unit_test(test_libpng_reads_stills), cmocka_unit_test(test_animation_plays_back),
          cmocka_unit_test(test_errors_leave_no_file), cmocka_unit_test(test_teardown))
