#include "geometry/import/mesh_vtk_array.h"
#include "core/memory.h"
#include <errno.h>
#include <math.h>
#include <string.h>
#include <zlib.h>

static const int64_t MAX_BYTES = (int64_t)8 << 30, LARGEST_WHOLE = (int64_t)1 << 53;

PetscErrorCode vtk_bad(const char *name, const char *text, const char *at, const char *what, const char *word)
{
  long long line = 1;
  PetscFunctionBegin;
  for (const char *c = text; c < at; ++c) line += *c == '\n';
  SETERRQ(PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s:%lld: %s%s%.40s%s", name, line, what, word ? " \"" : "", word ? word : "", word ? "\"" : "");
}

static PetscErrorCode bad(const vtk_array *a, const char *what, const char *word)
{
  PetscFunctionBegin;
  PetscCall(vtk_bad(a->name, a->text, a->begin, what, word));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Room for one more: doubles it when full. Both kinds of number are eight bytes. */
static PetscErrorCode grow(int64_t n, int64_t *room, void *array)
{
  PetscFunctionBegin;
  if (n == *room) {
    *room = *room ? 2 * *room : 1024;
    PetscCall(memory_resize("mesh array", *room, 8, array));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- text ---- */

static PetscErrorCode read_text(const vtk_array *a, int64_t *n, double **real, int64_t **whole)
{
  int64_t     room = 0;
  const char *at   = a->begin;
  PetscFunctionBegin;
  for (*n = 0;; ++*n) {
    char   word[64], *end = NULL;
    size_t length = 0;
    while (at < a->end && strchr(" \t\r\n", *at) && *at) ++at;
    if (at >= a->end) break;
    while (at + length < a->end && !(strchr(" \t\r\n", at[length]) && at[length])) ++length;
    snprintf(word, sizeof word, "%.*s", (int)(length < 63 ? length : 63), at);
    errno = 0;
    PetscCall(grow(*n, &room, real ? (void *)real : (void *)whole));
    if (real) {
      const double x = strtod(word, &end);
      if (length > 63 || end == word || *end || !(fabs(x) <= 1e30)) PetscCall(vtk_bad(a->name, a->text, at, "not a finite number below 1e30:", word));
      (*real)[*n] = x;
    } else {
      const long long x = strtoll(word, &end, 10);
      if (length > 63 || end == word || *end || errno || x > LARGEST_WHOLE || x < -LARGEST_WHOLE) PetscCall(vtk_bad(a->name, a->text, at, "not a whole number:", word));
      (*whole)[*n] = x;
    }
    at += length;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- bytes, as they are or in base64 ---- */

typedef struct {
  const vtk_array *a;
  const char      *at;
  uint8_t          left[3]; /* of the last group of four letters */
  int              n_left;
} byte_source;

static int base64_value(char c)
{
  return c >= 'A' && c <= 'Z' ? c - 'A' : c >= 'a' && c <= 'z' ? c - 'a' + 26 : c >= '0' && c <= '9' ? c - '0' + 52 : c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Header and data may each be encoded by themselves: a group that ends with '=' does not end the source. */
static bool next_group(byte_source *s)
{
  int value[4], n = 0, n_pad = 0;
  while (n < 4) {
    while (s->at < s->a->end && *s->at && strchr(" \t\r\n", *s->at)) ++s->at;
    if (s->at >= s->a->end) return false;
    const char c = *s->at++;
    value[n]     = c == '=' ? 0 : base64_value(c);
    if (value[n] < 0 || (c != '=' && n_pad) || (c == '=' && n < 2)) return false;
    n_pad += c == '=';
    ++n;
  }
  const uint8_t bytes[3] = {(uint8_t)(value[0] << 2 | value[1] >> 4), (uint8_t)(value[1] << 4 | value[2] >> 2), (uint8_t)(value[2] << 6 | value[3])};
  s->n_left = 3 - n_pad;
  for (int i = 0; i < s->n_left; ++i) s->left[i] = bytes[s->n_left - 1 - i]; /* taken from the end */
  return true;
}

static PetscErrorCode take(byte_source *s, int64_t n, uint8_t *out)
{
  PetscFunctionBegin;
  if (s->a->encoding == VTK_RAW) {
    if (s->a->end - s->at < n) PetscCall(bad(s->a, "the file ends within this array", NULL));
    if (n) memcpy(out, s->at, (size_t)n); /* nothing: nowhere to put it */
    s->at += n;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (int64_t i = 0; i < n; ++i) {
    if (s->n_left == 0 && !next_group(s)) PetscCall(bad(s->a, "this array ends early, or is not base64", NULL));
    out[i] = s->left[--s->n_left];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A count of the header. */
static PetscErrorCode take_count(byte_source *s, int64_t hi, int64_t *out)
{
  uint8_t  byte[8] = {0};
  uint64_t value   = 0;
  char     text[32];
  PetscFunctionBegin;
  PetscCall(take(s, s->a->header_size, byte));
  for (int i = 0; i < s->a->header_size; ++i) value |= (uint64_t)byte[i] << 8 * i;
  snprintf(text, sizeof text, "%llu", (unsigned long long)value);
  if (value > (uint64_t)hi) PetscCall(bad(s->a, "the header of this array has a count that the file cannot hold:", text));
  *out = (int64_t)value;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode read_plain(byte_source *s, int64_t *n, uint8_t **bytes)
{
  PetscFunctionBegin;
  PetscCall(take_count(s, s->a->end - s->a->begin, n)); /* no more bytes than letters */
  PetscCall(memory_alloc("mesh array", *n, 1, bytes));
  PetscCall(take(s, *n, *bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Header: number of blocks, bytes of a block, of the last one if it is shorter (else 0), compressed bytes of each. */
static PetscErrorCode read_blocks(byte_source *s, int64_t *n, uint8_t **bytes, int64_t **packed, uint8_t **scratch)
{
  const int64_t room     = s->a->end - s->a->begin;
  int64_t       n_blocks, block, last, most = 0, sum = 0, at = 0;
  PetscFunctionBegin;
  PetscCall(take_count(s, room, &n_blocks));
  PetscCall(take_count(s, MAX_BYTES, &block));
  PetscCall(take_count(s, block, &last));
  PetscCall(memory_alloc("mesh array", n_blocks, sizeof **packed, packed));
  for (int64_t i = 0; i < n_blocks; ++i) {
    PetscCall(take_count(s, room, &(*packed)[i]));
    sum += (*packed)[i];
    most = (*packed)[i] > most ? (*packed)[i] : most;
  }
  s->n_left = 0; /* the header is encoded by itself */
  /* zlib packs nothing more than 1032 times as small */
  const double total = n_blocks ? ((double)n_blocks - 1.0) * (double)block + (double)(last ? last : block) : 0.0;
  if (sum > room || total > 1040.0 * (double)(room + 1) || total > (double)MAX_BYTES) PetscCall(bad(s->a, "the header of this array promises more than the file can hold", NULL));
  *n = (int64_t)total;
  PetscCall(memory_alloc("mesh array", *n, 1, bytes));
  PetscCall(memory_alloc("mesh array", most, 1, scratch));
  for (int64_t i = 0; i < n_blocks; ++i) {
    const int64_t expected = i + 1 < n_blocks || last == 0 ? block : last;
    uLongf        length   = (uLongf)expected;
    PetscCall(take(s, (*packed)[i], *scratch));
    const int status = expected ? uncompress(*bytes + at, &length, *scratch, (uLong)(*packed)[i]) : Z_OK;
    if (status != Z_OK || (int64_t)length != expected) PetscCall(bad(s->a, "a compressed block of this array is damaged", NULL));
    at += expected;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- bytes into numbers ---- */

static double real_of(const vtk_array *a, const uint8_t *p)
{
  float  f;
  double d;
  if (a->size == 4) {
    memcpy(&f, p, 4); /* this machine is little-endian, like the arrays that are let in */
    return f;
  }
  memcpy(&d, p, 8);
  return d;
}

static int64_t whole_of(const vtk_array *a, const uint8_t *p)
{
  uint64_t value = 0;
  for (int i = 0; i < a->size; ++i) value |= (uint64_t)p[i] << 8 * i;
  if (!a->is_unsigned && a->size < 8 && value >> (8 * a->size - 1)) value |= ~(uint64_t)0 << 8 * a->size;
  return a->is_unsigned && value > (uint64_t)INT64_MAX ? INT64_MAX : (int64_t)value;
}

static PetscErrorCode convert(const vtk_array *a, int64_t n_bytes, const uint8_t *bytes, int64_t *n, double **real, int64_t **whole)
{
  PetscFunctionBegin;
  if (n_bytes % a->size) PetscCall(bad(a, "the bytes of this array are no multiple of its numbers'", NULL));
  *n = n_bytes / a->size;
  PetscCall(memory_alloc("mesh array", *n, 8, real ? (void *)real : (void *)whole));
  for (int64_t i = 0; i < *n; ++i) {
    const uint8_t *p = bytes + i * a->size;
    if (real) {
      (*real)[i] = a->is_float ? real_of(a, p) : (double)whole_of(a, p);
      if (!(fabs((*real)[i]) <= 1e30)) PetscCall(bad(a, "a number in this array is not finite, or beyond 1e30", NULL));
    } else {
      (*whole)[i] = whole_of(a, p);
      if ((*whole)[i] > LARGEST_WHOLE || (*whole)[i] < -LARGEST_WHOLE) PetscCall(bad(a, "a whole number in this array is beyond 2^53", NULL));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode read_binary(const vtk_array *a, int64_t *n, double **real, int64_t **whole)
{
  byte_source s       = {.a = a, .at = a->begin};
  uint8_t    *bytes   = NULL, *scratch = NULL;
  int64_t    *packed  = NULL, n_bytes = 0;
  PetscFunctionBegin;
  PetscErrorCode code = a->is_compressed ? read_blocks(&s, &n_bytes, &bytes, &packed, &scratch) : read_plain(&s, &n_bytes, &bytes);
  if (!code) code = convert(a, n_bytes, bytes, n, real, whole);
  memory_free(&bytes);
  memory_free(&scratch);
  memory_free(&packed);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode vtk_array_read(const vtk_array *a, int64_t *n, double **real, int64_t **whole)
{
  PetscFunctionBegin;
  if (!real && a->is_float) PetscCall(bad(a, "this array must hold whole numbers", NULL));
  PetscErrorCode code = a->encoding == VTK_ASCII ? read_text(a, n, real, whole) : read_binary(a, n, real, whole);
  if (code) {
    if (real) memory_free(real);
    else memory_free(whole);
  }
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
