/* PNG and APNG, see png.h. libpng compresses each picture in memory. A single picture is written unchanged. For an animation, the compressed rows (IDAT)
 * of each picture are written in the chunks of APNG. */
#include "io/png.h"
#include "core/memory.h"
#include "core/regular_file.h"
#include "io/file.h"
#include <errno.h>
#include <math.h>
#include <png.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum { BYTES_PER_PIXEL = 3, SIGNATURE = 8, CHUNK_FRAME = 12 }; /* CHUNK_FRAME: length, type and CRC around the data of a chunk */

/* One animation being written. The first failure is stored and reported by the next call that returns an error. */
struct png_animation {
  FILE    *file;
  char    *path, *temporary;
  int      width, height, n_plays;
  int      error; /* errno of the first failure, or 0 */
  uint32_t n_frames, n_sequence;
  long     actl_offset;
  uint8_t *previous; /* last frame, to find the changed rectangle */
};

/* ---- encoding with libpng ---- */

/* `rgb` points to the first pixel, rows are `stride` bytes apart. memory_free(*bytes). */
static PetscErrorCode encode_rectangle(int width, int height, const uint8_t *rgb, size_t stride, uint8_t **bytes, size_t *n)
{
  png_image image = {.version = PNG_IMAGE_VERSION, .format = PNG_FORMAT_RGB};

  PetscFunctionBegin;
  *bytes = NULL, *n = 0;
  PetscCheck(width > 0 && height > 0 && width <= 32768 && height <= 32768, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "a picture of %d x %d pixels: expected 1 to 32768 each", width, height);
  image.width = (png_uint_32)width, image.height = (png_uint_32)height;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  PetscCall(memory_alloc("png", (int64_t)size, 1, bytes));
  const int is_encoded = png_image_write_to_memory(&image, *bytes, &size, 0, rgb, (png_int_32)stride, NULL);
  if (!is_encoded) memory_free(bytes);
  PetscCheck(is_encoded, PETSC_COMM_SELF, PETSC_ERR_MEM, "libpng cannot compress a picture of %d x %d: %s", width, height, image.message);
  *n = size;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode png_encode(int width, int height, const uint8_t *rgb, uint8_t **bytes, size_t *n)
{
  PetscFunctionBegin;
  PetscCall(encode_rectangle(width, height, rgb, (size_t)width * BYTES_PER_PIXEL, bytes, n));
  PetscCall(memory_resize("png", (int64_t)*n, 1, bytes)); /* the allocation was for incompressible pixels */
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode png_file_write(const char *path, int width, int height, const uint8_t *rgb)
{
  uint8_t *bytes __attribute__((cleanup(memory_free))) = NULL;
  size_t   n;

  PetscFunctionBegin;
  PetscCall(encode_rectangle(width, height, rgb, (size_t)width * BYTES_PER_PIXEL, &bytes, &n));
  PetscCall(file_replace_text(path, n, (const char *)bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- chunks of an animation ---- */

static uint32_t load_u32(const uint8_t *p) { return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3]; }

static void store_u32(uint8_t *p, uint32_t v)
{
  for (int k = 0; k < 4; ++k) p[k] = (uint8_t)(v >> (24 - 8 * k));
}
static void store_u16(uint8_t *p, unsigned v) { p[0] = (uint8_t)(v >> 8), p[1] = (uint8_t)v; }

static void write_bytes(png_animation *a, const void *data, size_t n)
{
  if (!a->error && fwrite(data, 1, n, a->file) != n) a->error = errno ? errno : EIO;
}

/* Write a chunk whose data consist of two pieces; the first may be empty. */
static void write_chunk(png_animation *a, const char *type, const uint8_t *head, size_t n_head, const uint8_t *data, size_t n)
{
  uint8_t word[4];
  uLong   crc = crc32(crc32(0, NULL, 0), (const Bytef *)type, 4);
  if (n_head) crc = crc32(crc, head, (uInt)n_head);
  if (n) crc = crc32(crc, data, (uInt)n);
  store_u32(word, (uint32_t)(n_head + n));
  write_bytes(a, word, 4);
  write_bytes(a, type, 4);
  if (n_head) write_bytes(a, head, n_head);
  if (n) write_bytes(a, data, n);
  store_u32(word, (uint32_t)crc);
  write_bytes(a, word, 4);
}

/* Split a picture encoded by libpng: bytes before its first IDAT chunk; the data of all IDAT chunks, moved together in place. */
static void split_picture(uint8_t *bytes, size_t n, size_t *n_head, uint8_t **data, size_t *n_data)
{
  *n_head = 0, *data = bytes, *n_data = 0;
  for (size_t at = SIGNATURE; at + CHUNK_FRAME <= n;) {
    const size_t length  = load_u32(bytes + at);
    const bool   is_data = memcmp(bytes + at + 4, "IDAT", 4) == 0;
    if (is_data && *n_head == 0) *n_head = at, *data = bytes + at;
    if (is_data) {
      memmove(*data + *n_data, bytes + at + 8, length);
      *n_data += length;
    }
    at += CHUNK_FRAME + length;
  }
}

static void write_actl(png_animation *a)
{
  uint8_t actl[8];
  store_u32(actl, a->n_frames);
  store_u32(actl + 4, (uint32_t)a->n_plays);
  write_chunk(a, "acTL", NULL, 0, actl, sizeof actl);
}

typedef struct {
  int x, y, width, height;
} rectangle;

static void write_fctl(png_animation *a, rectangle r, double seconds)
{
  uint8_t      fctl[26] = {0};
  const double ms       = fmin(fmax(round(1e3 * seconds), 1.0), 65535.0);
  store_u32(fctl, a->n_sequence++);
  store_u32(fctl + 4, (uint32_t)r.width);
  store_u32(fctl + 8, (uint32_t)r.height);
  store_u32(fctl + 12, (uint32_t)r.x);
  store_u32(fctl + 16, (uint32_t)r.y);
  store_u16(fctl + 20, (unsigned)ms);
  store_u16(fctl + 22, 1000);
  /* bytes 24, 25: keep the frame after its time, overwrite the rectangle: both 0 */
  write_chunk(a, "fcTL", NULL, 0, fctl, sizeof fctl);
}

/* ---- animations ---- */

void png_animation_abandon(png_animation **a)
{
  if (!*a) return;
  if ((*a)->file) {
    fclose((*a)->file);
    remove((*a)->temporary);
  }
  MEMORY_FREE(&(*a)->path, &(*a)->temporary, &(*a)->previous, a);
}

static PetscErrorCode open_temporary(png_animation *a, const char *path)
{
  PetscFunctionBegin;
  PetscCheck(a->width > 0 && a->height > 0 && a->width <= 32768 && a->height <= 32768, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "an animation of %d x %d pixels: expected 1 to 32768 each", a->width, a->height);
  PetscCall(memory_alloc("last frame", (int64_t)a->width * a->height, BYTES_PER_PIXEL, &a->previous));
  PetscCall(file_format(&a->path, "%s", path));
  PetscCall(file_temporary(path, &a->temporary));
  const char *why;
  const int   fd = regular_file_create(a->temporary, &why);
  PetscCheck(fd >= 0, PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "cannot write %s: %s%s", path, why, file_advice(errno));
  a->file = fdopen(fd, "w");
  if (!a->file) close(fd);
  PetscCheck(a->file, PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "cannot write %s: %s%s", path, strerror(errno), file_advice(errno));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode png_animation_open(const char *path, int width, int height, int n_plays, png_animation **out)
{
  PetscFunctionBegin;
  PetscCall(memory_alloc("png animation", 1, sizeof **out, out));
  (*out)->width = width, (*out)->height = height, (*out)->n_plays = n_plays;
  const PetscErrorCode code = open_temporary(*out, path);
  if (code) png_animation_abandon(out);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rectangle in which rgb differs from the last frame; at least one pixel, as APNG requires. */
static rectangle changed_rectangle(const png_animation *a, const uint8_t *rgb)
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

PetscErrorCode png_animation_add(png_animation *a, const uint8_t *rgb, double seconds)
{
  const rectangle r                                           = changed_rectangle(a, rgb);
  const size_t    stride                                      = (size_t)a->width * BYTES_PER_PIXEL;
  uint8_t        *bytes __attribute__((cleanup(memory_free))) = NULL;
  uint8_t        *data, sequence[4];
  size_t          n, n_head, n_data;

  PetscFunctionBegin;
  PetscCall(encode_rectangle(r.width, r.height, rgb + (size_t)r.y * stride + (size_t)r.x * BYTES_PER_PIXEL, stride, &bytes, &n));
  split_picture(bytes, n, &n_head, &data, &n_data);
  if (a->n_frames == 0) {
    write_bytes(a, bytes, n_head); /* signature, IHDR and sRGB of the first frame are those of the animation */
    a->actl_offset = ftell(a->file);
    write_actl(a); /* written again by png_animation_close, with the number of frames */
    write_fctl(a, r, seconds);
    write_chunk(a, "IDAT", NULL, 0, data, n_data);
  } else {
    write_fctl(a, r, seconds);
    store_u32(sequence, a->n_sequence++);
    write_chunk(a, "fdAT", sequence, 4, data, n_data);
  }
  memcpy(a->previous, rgb, stride * (size_t)a->height);
  a->n_frames++;
  PetscCheck(!a->error, PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "cannot write %s: %s%s", a->path, strerror(a->error), file_advice(a->error));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Write the last chunk and the number of frames, and put the file in place. */
static PetscErrorCode finish_file(png_animation *a)
{
  PetscFunctionBegin;
  PetscCheck(a->n_frames > 0, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "an animation without frames cannot be closed");
  write_chunk(a, "IEND", NULL, 0, NULL, 0);
  if (fseek(a->file, a->actl_offset, SEEK_SET) && !a->error) a->error = errno;
  write_actl(a);
  if (fflush(a->file) && !a->error) a->error = errno;
  PetscCheck(!a->error, PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "cannot write %s: %s%s", a->path, strerror(a->error), file_advice(a->error));
  PetscCall(file_publish(a->temporary, a->path));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode png_animation_close(png_animation **a)
{
  PetscFunctionBegin;
  const PetscErrorCode code = finish_file(*a);
  if (!code) { /* in place: nothing to remove */
    fclose((*a)->file);
    (*a)->file = NULL;
  }
  png_animation_abandon(a);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
