#include "io/png.h"
#include "core/memory.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum { BYTES_PER_PIXEL = 3, COMPRESSION = 6, PATH_SIZE = 4096 };

/* One file being written. A first failure is remembered and reported at the close, so that the code below reads in a line. */
struct png_animation {
  FILE    *file;
  char     path[PATH_SIZE], part[PATH_SIZE + 8];
  int      width, height, n_plays;
  int      error;      /* errno of the first failure, or 0 */
  uint32_t n_frames, n_sequence;
  long     actl_offset;
  uint8_t *previous;   /* last frame, to find what changed */
  uint8_t *crop;       /* the changed rectangle */
};

static void put(png_animation *a, const void *data, size_t n)
{
  if (!a->error && fwrite(data, 1, n, a->file) != n) a->error = errno ? errno : EIO;
}

static void store_u32(uint8_t *p, uint32_t v)
{
  for (int k = 0; k < 4; ++k) p[k] = (uint8_t)(v >> (24 - 8 * k));
}
static void store_u16(uint8_t *p, unsigned v) { p[0] = (uint8_t)(v >> 8), p[1] = (uint8_t)v; }

/* A chunk whose data come in two pieces (the head may be empty). */
static void put_chunk(png_animation *a, const char *type, const uint8_t *head, size_t n_head, const uint8_t *data, size_t n)
{
  uint8_t word[4];
  uLong   crc = crc32(crc32(0, NULL, 0), (const Bytef *)type, 4);
  if (n_head) crc = crc32(crc, head, (uInt)n_head);
  if (n) crc = crc32(crc, data, (uInt)n);
  store_u32(word, (uint32_t)(n_head + n));
  put(a, word, 4);
  put(a, type, 4);
  if (n_head) put(a, head, n_head);
  if (n) put(a, data, n);
  store_u32(word, (uint32_t)crc);
  put(a, word, 4);
}

static uint8_t paeth(int left, int up, int corner)
{
  const int p = left + up - corner, dl = abs(p - left), du = abs(p - up), dc = abs(p - corner);
  return (uint8_t)(dl <= du && dl <= dc ? left : du <= dc ? up : corner);
}

/* The PNG filters 0, 1, 2, 4 of one row; the sum of their absolute values says how well each will compress. */
static long filter_row(int filter, int n, const uint8_t *row, const uint8_t *above, uint8_t *out)
{
  long sum = 0;
  for (int i = 0; i < n; ++i) {
    const int left = i >= BYTES_PER_PIXEL ? row[i - BYTES_PER_PIXEL] : 0, up = above ? above[i] : 0;
    const int corner = above && i >= BYTES_PER_PIXEL ? above[i - BYTES_PER_PIXEL] : 0;
    const int guess = filter == 0 ? 0 : filter == 1 ? left : filter == 2 ? up : paeth(left, up, corner);
    out[i] = (uint8_t)(row[i] - guess);
    sum += abs((int8_t)out[i]);
  }
  return sum;
}

/* rgb to the compressed stream of IDAT. memory_free(*out). */
static PetscErrorCode compress_image(int width, int height, const uint8_t *rgb, uint8_t **out, size_t *n_out)
{
  static const int filter[] = {0, 1, 2, 4};
  const int        n = width * BYTES_PER_PIXEL;
  uint8_t         *plain = NULL;
  uLongf           length = compressBound((uLong)height * (uLong)(n + 1));
  int              status = Z_OK;
  PetscCall(memory_alloc("png rows", (int64_t)height + 1, (size_t)n + 1, &plain)); /* the last one is scratch */
  uint8_t *trial = plain + (size_t)height * (size_t)(n + 1);
  for (int y = 0; y < height; ++y) {
    uint8_t *target = plain + (size_t)y * (size_t)(n + 1);
    long     best = -1;
    for (int k = 0; k < 4; ++k) {
      trial[0] = (uint8_t)filter[k];
      const long sum = filter_row(filter[k], n, rgb + (size_t)y * (size_t)n, y ? rgb + (size_t)(y - 1) * (size_t)n : NULL, trial + 1);
      if (best >= 0 && sum >= best) continue;
      best = sum;
      memcpy(target, trial, (size_t)n + 1);
    }
  }
  PetscErrorCode code = memory_alloc("png stream", (int64_t)length, 1, out);
  if (!code) status = compress2(*out, &length, plain, (uLong)height * (uLong)(n + 1), COMPRESSION);
  memory_free(&plain);
  if (status != Z_OK) memory_free(out);
  PetscCall(code);
  PetscCheck(status == Z_OK, PETSC_COMM_SELF, PETSC_ERR_MEM, "zlib has no memory to compress a picture of %d x %d", width, height);
  *n_out = length;
  return PETSC_SUCCESS;
}

static void put_head(png_animation *a)
{
  static const uint8_t signature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
  uint8_t              ihdr[13] = {0};
  store_u32(ihdr, (uint32_t)a->width);
  store_u32(ihdr + 4, (uint32_t)a->height);
  ihdr[8] = 8; /* bits per channel */
  ihdr[9] = 2; /* RGB */
  put(a, signature, sizeof signature);
  put_chunk(a, "IHDR", NULL, 0, ihdr, sizeof ihdr);
  put_chunk(a, "sRGB", NULL, 0, (const uint8_t[]){0}, 1);
}

static void put_actl(png_animation *a)
{
  uint8_t actl[8];
  store_u32(actl, a->n_frames);
  store_u32(actl + 4, (uint32_t)a->n_plays);
  put_chunk(a, "acTL", NULL, 0, actl, sizeof actl);
}

void png_animation_abandon(png_animation **a)
{
  if (!*a) return;
  if ((*a)->file) {
    fclose((*a)->file);
    remove((*a)->part);
  }
  memory_free(&(*a)->previous);
  memory_free(&(*a)->crop);
  memory_free(a);
}

static PetscErrorCode open_part(const char *path, int width, int height, png_animation **out)
{
  png_animation *a;
  *out = NULL;
  PetscCheck(width > 0 && height > 0 && width <= 32768 && height <= 32768, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "a picture of %d x %d pixels cannot be written", width, height);
  PetscCheck(strlen(path) < PATH_SIZE, PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "cannot write %.60s...: the path is too long", path);
  PetscCall(memory_alloc("png writer", 1, sizeof *a, &a));
  snprintf(a->path, sizeof a->path, "%s", path);
  snprintf(a->part, sizeof a->part, "%s.part", path);
  a->width = width;
  a->height = height;
  a->file = fopen(a->part, "wb");
  const int error = errno;
  if (!a->file) png_animation_abandon(&a);
  PetscCheck(a, PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "cannot write %s: %s", path, strerror(error));
  put_head(a);
  *out = a;
  return PETSC_SUCCESS;
}

/* Flush, rename, free. */
static PetscErrorCode close_part(png_animation **a)
{
  char path[PATH_SIZE];
  put_chunk(*a, "IEND", NULL, 0, NULL, 0);
  if (!(*a)->error && (fflush((*a)->file) || fsync(fileno((*a)->file)))) (*a)->error = errno;
  if (fclose((*a)->file) && !(*a)->error) (*a)->error = errno;
  (*a)->file = NULL;
  if (!(*a)->error && rename((*a)->part, (*a)->path)) (*a)->error = errno;
  const int error = (*a)->error;
  if (error) remove((*a)->part);
  snprintf(path, sizeof path, "%s", (*a)->path);
  png_animation_abandon(a);
  PetscCheck(!error, PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "cannot write %s: %s", path, strerror(error));
  return PETSC_SUCCESS;
}

PetscErrorCode png_file_write(const char *path, int width, int height, const uint8_t *rgb)
{
  png_animation *a;
  uint8_t       *stream = NULL;
  size_t         n = 0;
  PetscCall(open_part(path, width, height, &a));
  const PetscErrorCode code = compress_image(width, height, rgb, &stream, &n);
  if (code) png_animation_abandon(&a);
  PetscCall(code);
  put_chunk(a, "IDAT", NULL, 0, stream, n);
  memory_free(&stream);
  PetscCall(close_part(&a));
  return PETSC_SUCCESS;
}

PetscErrorCode png_encode(int width, int height, const uint8_t *rgb, uint8_t **bytes, size_t *n)
{
  png_animation *a;
  char          *text   = NULL;
  uint8_t       *stream = NULL;
  size_t         size = 0, n_stream = 0;
  PetscCall(memory_alloc("png writer", 1, sizeof *a, &a));
  a->width = width, a->height = height;
  a->file             = open_memstream(&text, &size);
  PetscErrorCode code = a->file ? compress_image(width, height, rgb, &stream, &n_stream) : PETSC_ERR_MEM;
  if (!code) {
    put_head(a);
    put_chunk(a, "IDAT", NULL, 0, stream, n_stream);
    put_chunk(a, "IEND", NULL, 0, NULL, 0);
  }
  if (a->file && fclose(a->file)) a->error = errno;
  if (!code && a->error) code = PETSC_ERR_MEM;
  a->file = NULL;
  png_animation_abandon(&a);
  memory_free(&stream);
  if (!code) code = memory_alloc("png", (int64_t)size, 1, bytes);
  if (!code) memcpy(*bytes, text, size);
  free(text);
  PetscCheck(!code, PETSC_COMM_SELF, code, "no memory for a picture of %d x %d", width, height);
  *n = size;
  return PETSC_SUCCESS;
}

PetscErrorCode png_animation_open(const char *path, int width, int height, int n_plays, png_animation **out)
{
  PetscCall(open_part(path, width, height, out));
  const int64_t  n = (int64_t)width * height * BYTES_PER_PIXEL;
  PetscErrorCode code = memory_alloc("last frame", n, 1, &(*out)->previous);
  if (!code) code = memory_alloc("changed part", n, 1, &(*out)->crop);
  if (code) png_animation_abandon(out);
  PetscCall(code);
  (*out)->n_plays = n_plays;
  (*out)->actl_offset = ftell((*out)->file);
  put_actl(*out); /* the number of frames is filled in at the close */
  return PETSC_SUCCESS;
}

typedef struct {
  int x, y, width, height;
} rectangle;

/* What differs from the last frame; at least one pixel, as APNG wants. */
static rectangle changed_part(const png_animation *a, const uint8_t *rgb)
{
  int          x0 = a->width, x1 = 0, y0 = a->height, y1 = 0;
  const size_t n = (size_t)a->width * BYTES_PER_PIXEL;
  if (a->n_frames == 0) return (rectangle){0, 0, a->width, a->height};
  for (int y = 0; y < a->height; ++y) {
    const uint8_t *p = a->previous + (size_t)y * n, *q = rgb + (size_t)y * n;
    if (memcmp(p, q, n) == 0) continue;
    if (y < y0) y0 = y;
    y1 = y + 1;
    for (int x = 0; x < x0; ++x)
      if (memcmp(p + 3 * x, q + 3 * x, 3) != 0) x0 = x;
    for (int x = a->width; x > x1; --x)
      if (memcmp(p + 3 * (x - 1), q + 3 * (x - 1), 3) != 0) x1 = x;
  }
  if (y1 == 0) return (rectangle){0, 0, 1, 1};
  return (rectangle){x0, y0, x1 - x0, y1 - y0};
}

static void put_fctl(png_animation *a, rectangle r, double seconds)
{
  uint8_t      fctl[26] = {0};
  const double ms = fmin(fmax(round(1e3 * seconds), 1.0), 65535.0);
  store_u32(fctl, a->n_sequence++);
  store_u32(fctl + 4, (uint32_t)r.width);
  store_u32(fctl + 8, (uint32_t)r.height);
  store_u32(fctl + 12, (uint32_t)r.x);
  store_u32(fctl + 16, (uint32_t)r.y);
  store_u16(fctl + 20, (unsigned)ms);
  store_u16(fctl + 22, 1000);
  /* 24, 25: leave the frame standing, overwrite: both 0 */
  put_chunk(a, "fcTL", NULL, 0, fctl, sizeof fctl);
}

PetscErrorCode png_animation_add(png_animation *a, const uint8_t *rgb, double seconds)
{
  const rectangle r = changed_part(a, rgb);
  const size_t    row = (size_t)r.width * BYTES_PER_PIXEL, stride = (size_t)a->width * BYTES_PER_PIXEL;
  uint8_t        *stream = NULL, sequence[4];
  size_t          n = 0;
  for (int y = 0; y < r.height; ++y)
    memcpy(a->crop + (size_t)y * row, rgb + (size_t)(r.y + y) * stride + (size_t)r.x * BYTES_PER_PIXEL, row);
  PetscCall(compress_image(r.width, r.height, a->crop, &stream, &n));
  put_fctl(a, r, seconds);
  if (a->n_frames == 0) put_chunk(a, "IDAT", NULL, 0, stream, n);
  else {
    store_u32(sequence, a->n_sequence++);
    put_chunk(a, "fdAT", sequence, 4, stream, n);
  }
  memory_free(&stream);
  memcpy(a->previous, rgb, stride * (size_t)a->height);
  a->n_frames++;
  PetscCheck(!a->error, PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "cannot write %s: %s", a->path, strerror(a->error));
  return PETSC_SUCCESS;
}

PetscErrorCode png_animation_close(png_animation **a)
{
  const bool is_empty = (*a)->n_frames == 0;
  if (is_empty) png_animation_abandon(a);
  PetscCheck(!is_empty, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "an animation without frames cannot be closed");
  const long end = ftell((*a)->file);
  if (fseek((*a)->file, (*a)->actl_offset, SEEK_SET)) (*a)->error = errno;
  put_actl(*a);
  if (fseek((*a)->file, end, SEEK_SET)) (*a)->error = errno;
  PetscCall(close_part(a));
  return PETSC_SUCCESS;
}
