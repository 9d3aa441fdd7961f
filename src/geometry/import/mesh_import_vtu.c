/* Implementation: decoding of data arrays, then a minimal XML scanner, then conversion to cells.
 *
 * Only these elements are used: VTKFile (data encoding), Piece (number of points and cells), the arrays in Points and Cells, and
 * AppendedData, which may contain arbitrary bytes. */
#include "geometry/import/mesh_import_vtu.h"
#include "core/memory.h"
#include "geometry/import/mesh_file.h"
#include <errno.h>
#include <math.h>
#include <string.h>
#include <zlib.h>

typedef enum { VTK_ASCII, VTK_BASE64, VTK_RAW } vtk_encoding;

typedef struct {
  const char  *name;        /* file name */
  const char  *text;        /* the whole file, for line numbers in messages */
  const char  *begin, *end; /* range of the data; raw and appended data extend to the end of the section */
  vtk_encoding encoding;
  bool         is_float; /* Float32 or Float64; false: Int.. or UInt.. */
  bool         is_unsigned;
  int          size;          /* bytes per number: 1, 2, 4, 8 */
  int          header_size;   /* bytes per count in the header of binary data: 4 or 8 */
  bool         is_compressed; /* with zlib, in blocks */
} vtk_array;

static const int64_t MAX_BYTES = (int64_t)8 << 30, LARGEST_WHOLE = (int64_t)1 << 53;

/* Fails with "file:line: what "word"" for the line of `at`. */
static PetscErrorCode report_bad_place(const char *name, const char *text, const char *at, const char *what, const char *word)
{
  long long line = 1;
  PetscFunctionBegin;
  for (const char *c = text; c < at; ++c) line += *c == '\n';
  SETERRQ(PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s:%lld: %s%s%.40s%s", name, line, what, word ? " \"" : "", word ? word : "",
          word ? "\"" : "");
}

static PetscErrorCode report_bad_array(const vtk_array *a, const char *what, const char *word)
{
  PetscFunctionBegin;
  PetscCall(report_bad_place(a->name, a->text, a->begin, what, word));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Reserve memory for one more number; the capacity doubles when full. Both kinds of numbers have eight bytes. */
static PetscErrorCode reserve_one_more(int64_t n, int64_t *capacity, void *array)
{
  PetscFunctionBegin;
  if (n == *capacity) {
    *capacity = *capacity ? 2 * *capacity : 1024;
    PetscCall(memory_resize("mesh array", *capacity, 8, array));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- numbers as text ---- */

static PetscErrorCode read_text(const vtk_array *a, int64_t *n, double **real, int64_t **whole)
{
  int64_t     capacity = 0;
  const char *at       = a->begin;
  PetscFunctionBegin;
  for (*n = 0;; ++*n) {
    char   word[64], *end = NULL;
    size_t length = 0;
    while (at < a->end && strchr(" \t\r\n", *at) && *at) ++at;
    if (at >= a->end) break;
    while (at + length < a->end && !(strchr(" \t\r\n", at[length]) && at[length])) ++length;
    snprintf(word, sizeof word, "%.*s", (int)(length < 63 ? length : 63), at);
    errno = 0;
    PetscCall(reserve_one_more(*n, &capacity, real ? (void *)real : (void *)whole));
    if (real) {
      const double x = strtod(word, &end);
      if (length > 63 || end == word || *end || !(fabs(x) <= 1e30))
        PetscCall(report_bad_place(a->name, a->text, at, "not a finite number below 1e30:", word));
      (*real)[*n] = x;
    } else {
      const long long x = strtoll(word, &end, 10);
      if (length > 63 || end == word || *end || errno || x > LARGEST_WHOLE || x < -LARGEST_WHOLE)
        PetscCall(report_bad_place(a->name, a->text, at, "not a whole number:", word));
      (*whole)[*n] = x;
    }
    at += length;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- bytes, raw or in base64 ---- */

typedef struct {
  const vtk_array *a;
  const char      *at;
  uint8_t          left[3]; /* decoded bytes of the last group of four letters that are not yet used, last byte first */
  int              n_left;
} byte_source;

static int base64_value(char c)
{
  return c >= 'A' && c <= 'Z'   ? c - 'A'
         : c >= 'a' && c <= 'z' ? c - 'a' + 26
         : c >= '0' && c <= '9' ? c - '0' + 52
         : c == '+'             ? 62
         : c == '/'             ? 63
                                : -1;
}

/* Decode the next group of four letters. Header and data may be encoded separately, so a group that ends with '=' need not be the
 * last. */
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
  const uint8_t bytes[3] = {(uint8_t)(value[0] << 2 | value[1] >> 4), (uint8_t)(value[1] << 4 | value[2] >> 2),
                            (uint8_t)(value[2] << 6 | value[3])};
  s->n_left              = 3 - n_pad;
  for (int i = 0; i < s->n_left; ++i) s->left[i] = bytes[s->n_left - 1 - i]; /* used from the end */
  return true;
}

static PetscErrorCode read_bytes(byte_source *s, int64_t n, uint8_t *out)
{
  PetscFunctionBegin;
  if (s->a->encoding == VTK_RAW) {
    if (s->a->end - s->at < n) PetscCall(report_bad_array(s->a, "the file ends within this array", NULL));
    if (n) memcpy(out, s->at, (size_t)n); /* out may be NULL if n is 0 */
    s->at += n;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (int64_t i = 0; i < n; ++i) {
    if (s->n_left == 0 && !next_group(s)) PetscCall(report_bad_array(s->a, "this array ends early, or is not base64", NULL));
    out[i] = s->left[--s->n_left];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A count in the header, at most hi. */
static PetscErrorCode read_count(byte_source *s, int64_t hi, int64_t *out)
{
  uint8_t  byte[8] = {0};
  uint64_t value   = 0;
  char     text[32];
  PetscFunctionBegin;
  PetscCall(read_bytes(s, s->a->header_size, byte));
  for (int i = 0; i < s->a->header_size; ++i) value |= (uint64_t)byte[i] << 8 * i;
  snprintf(text, sizeof text, "%llu", (unsigned long long)value);
  if (value > (uint64_t)hi) PetscCall(report_bad_array(s->a, "the header of this array has a count larger than the file:", text));
  *out = (int64_t)value;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode read_plain(byte_source *s, int64_t *n, uint8_t **bytes)
{
  PetscFunctionBegin;
  PetscCall(read_count(s, s->a->end - s->a->begin, n)); /* the data cannot have more bytes than the file has letters */
  PetscCall(memory_alloc("mesh array", *n, 1, bytes));
  PetscCall(read_bytes(s, *n, *bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Compressed data. Header: number of blocks, bytes per block, bytes of the last block if it is shorter (else 0), compressed bytes
 * of each block. */
static PetscErrorCode read_blocks(byte_source *s, int64_t *n, uint8_t **bytes, int64_t **packed, uint8_t **scratch)
{
  const int64_t available = s->a->end - s->a->begin;
  int64_t       n_blocks, block, last, most = 0, sum = 0, at = 0;
  PetscFunctionBegin;
  PetscCall(read_count(s, available, &n_blocks));
  PetscCall(read_count(s, MAX_BYTES, &block));
  PetscCall(read_count(s, block, &last));
  PetscCall(memory_alloc("mesh array", n_blocks, sizeof **packed, packed));
  for (int64_t i = 0; i < n_blocks; ++i) {
    PetscCall(read_count(s, available, &(*packed)[i]));
    sum += (*packed)[i];
    most = (*packed)[i] > most ? (*packed)[i] : most;
  }
  s->n_left = 0; /* the header is encoded separately */
  /* the compression ratio of zlib is at most 1032 */
  const double total = n_blocks ? ((double)n_blocks - 1.0) * (double)block + (double)(last ? last : block) : 0.0;
  if (sum > available || total > 1040.0 * (double)(available + 1) || total > (double)MAX_BYTES)
    PetscCall(report_bad_array(s->a, "the header of this array states more data than the file can contain", NULL));
  *n = (int64_t)total;
  PetscCall(MEMORY_ALLOC("mesh array", ARRAY(*bytes, *n), ARRAY(*scratch, most)));
  for (int64_t i = 0; i < n_blocks; ++i) {
    const int64_t expected = i + 1 < n_blocks || last == 0 ? block : last;
    uLongf        length   = (uLongf)expected;
    PetscCall(read_bytes(s, (*packed)[i], *scratch));
    const int status = expected ? uncompress(*bytes + at, &length, *scratch, (uLong)(*packed)[i]) : Z_OK;
    if (status != Z_OK || (int64_t)length != expected)
      PetscCall(report_bad_array(s->a, "a compressed block of this array is damaged", NULL));
    at += expected;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- conversion of bytes to numbers ---- */

static double real_of(const vtk_array *a, const uint8_t *p)
{
  float  f;
  double d;
  if (a->size == 4) {
    memcpy(&f, p, 4); /* only little-endian arrays are accepted, and this machine is little-endian */
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

static PetscErrorCode convert_bytes(const vtk_array *a, int64_t n_bytes, const uint8_t *bytes, int64_t *n, double **real, int64_t **whole)
{
  PetscFunctionBegin;
  if (n_bytes % a->size) PetscCall(report_bad_array(a, "the size of this array is not a multiple of the size of its numbers", NULL));
  *n = n_bytes / a->size;
  PetscCall(memory_alloc("mesh array", *n, 8, real ? (void *)real : (void *)whole));
  for (int64_t i = 0; i < *n; ++i) {
    const uint8_t *p = bytes + i * a->size;
    if (real) {
      (*real)[i] = a->is_float ? real_of(a, p) : (double)whole_of(a, p);
      if (!(fabs((*real)[i]) <= 1e30)) PetscCall(report_bad_array(a, "a number in this array is not finite, or beyond 1e30", NULL));
    } else {
      (*whole)[i] = whole_of(a, p);
      if ((*whole)[i] > LARGEST_WHOLE || (*whole)[i] < -LARGEST_WHOLE)
        PetscCall(report_bad_array(a, "a whole number in this array is beyond 2^53", NULL));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode read_binary(const vtk_array *a, int64_t *n, double **real, int64_t **whole)
{
  byte_source s     = {.a = a, .at = a->begin};
  uint8_t    *bytes = NULL, *scratch = NULL;
  int64_t    *packed = NULL, n_bytes = 0;
  PetscFunctionBegin;
  PetscErrorCode code = a->is_compressed ? read_blocks(&s, &n_bytes, &bytes, &packed, &scratch) : read_plain(&s, &n_bytes, &bytes);
  if (!code) code = convert_bytes(a, n_bytes, bytes, n, real, whole);
  MEMORY_FREE(&bytes, &scratch, &packed);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All numbers of an array. One of the outputs is NULL; the caller frees the other. Numbers that are not finite or exceed 1e30, and
 * whole numbers beyond 2^53, are an error. */
static PetscErrorCode vtk_array_read(const vtk_array *a, int64_t *n, double **real, int64_t **whole)
{
  PetscFunctionBegin;
  if (!real && a->is_float) PetscCall(report_bad_array(a, "this array must contain whole numbers", NULL));
  PetscErrorCode code = a->encoding == VTK_ASCII ? read_text(a, n, real, whole) : read_binary(a, n, real, whole);
  if (code) {
    if (real) memory_free(real);
    else memory_free(whole);
  }
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ==== XML ==== */

enum { MAX_PIECES = 10000, POINTS = 0, CONNECTIVITY, OFFSETS, TYPES, N_ARRAYS };

typedef struct {
  int64_t     n_points, n_cells;
  const char *place;
  vtk_array   array[N_ARRAYS];
  bool        has[N_ARRAYS];
  int64_t     offset[N_ARRAYS]; /* offset in the appended data; -1: the data are inline */
  int64_t     n_components;     /* components per point */
} vtu_piece;

typedef struct {
  const char *name, *text, *at, *end;
  char        tag[48]; /* tag of the current element, with '/' in front for a closing tag */
  const char *attributes, *attributes_end;
  bool        is_empty; /* <.../> */
  bool        is_little, is_compressed, in_points, in_cells;
  int         header_size;
  int64_t     n_pieces, piece_capacity;
  vtu_piece  *piece;
  const char *appended; /* first byte after the underscore */
  const char *appended_end;
  bool        appended_is_raw;
} vtu_file;

static PetscErrorCode report_bad_element(const vtu_file *f, const char *at, const char *what, const char *word)
{
  PetscFunctionBegin;
  PetscCall(report_bad_place(f->name, f->text, at, what, word));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- XML scanner ---- */

static const char *find_text(const vtu_file *f, const char *from, const char *what)
{
  const size_t n = strlen(what);
  for (const char *p = from; p < f->end && (size_t)(f->end - p) >= n; ++p) {
    p = memchr(p, what[0], (size_t)(f->end - p) - n + 1);
    if (!p) return NULL;
    if (memcmp(p, what, n) == 0) return p;
  }
  return NULL;
}

/* Advance to the tag of the next element; false at the end of the file. */
static PetscErrorCode next_tag(vtu_file *f, bool *is_there)
{
  PetscFunctionBegin;
  for (*is_there = false;;) {
    const char *open = f->at < f->end ? memchr(f->at, '<', (size_t)(f->end - f->at)) : NULL,
               *close; /* NOLINT(clang-analyzer-core.NonNullParamChecker): checked below */
    if (!open) PetscFunctionReturn(PETSC_SUCCESS);
    const bool is_comment = f->end - open >= 4 && memcmp(open, "<!--", 4) == 0;
    close                 = find_text(f, open, is_comment ? "-->" : ">");
    if (!close) PetscCall(report_bad_element(f, open, "this tag does not end", NULL));
    f->at = close + (is_comment ? 3 : 1); /* cppcheck-suppress nullPointerArithmeticRedundantCheck; bad returned */
    if (is_comment || open[1] == '?' || open[1] == '!') continue;
    const char *name_end = open + 1;
    while (name_end < close && !strchr(" \t\r\n", *name_end) && (*name_end != '/' || name_end == open + 1)) ++name_end;
    if (name_end - open - 1 >= (int64_t)sizeof f->tag) PetscCall(report_bad_element(f, open, "not an element of a .vtu file", NULL));
    snprintf(f->tag, sizeof f->tag, "%.*s", (int)(name_end - open - 1), open + 1);
    f->attributes = name_end, f->attributes_end = close;
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): without an end of the tag, report_bad_element returned */
    f->is_empty = close[-1] == '/' && close - 1 > open;
    *is_there   = true;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
}

/* Value of an attribute of the current element, truncated to `size`; false if it is missing. */
static bool attribute(const vtu_file *f, const char *key, size_t size, char *value)
{
  const char  *p = f->attributes;
  const size_t n = strlen(key);
  value[0]       = '\0';
  while (p < f->attributes_end) {
    while (p < f->attributes_end && strchr(" \t\r\n/", *p)) ++p;
    const char *name = p;
    while (p < f->attributes_end && *p != '=') ++p;
    const char *name_end = p;
    while (name_end > name && strchr(" \t\r\n", name_end[-1])) --name_end;
    while (p < f->attributes_end && *p != '"' && *p != '\'') ++p;
    if (p >= f->attributes_end) return false;
    const char quote = *p++, *from = p;
    while (p < f->attributes_end && *p != quote) ++p;
    if (p >= f->attributes_end) return false;
    if ((size_t)(name_end - name) == n && memcmp(name, key, n) == 0) {
      snprintf(value, size, "%.*s", (int)(p - from < 1000 ? p - from : 1000), from);
      return true;
    }
    ++p;
  }
  return false;
}

static PetscErrorCode count_attribute(const vtu_file *f, const char *key, int64_t fallback, int64_t hi, int64_t *out)
{
  char text[32], what[120], *end = NULL;
  PetscFunctionBegin;
  *out = fallback;
  if (!attribute(f, key, sizeof text, text)) {
    snprintf(what, sizeof what, "%s= is missing in element", key);
    if (fallback < 0) PetscCall(report_bad_element(f, f->attributes, what, f->tag));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  errno             = 0;
  const long long i = strtoll(text, &end, 10);
  snprintf(what, sizeof what, "%s must be a whole number from 0 to %lld, not", key, (long long)hi);
  if (end == text || *end || errno || i < 0 || i > hi) PetscCall(report_bad_element(f, f->attributes, what, text));
  *out = i;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- elements ---- */

static PetscErrorCode read_header(vtu_file *f)
{
  char value[64];
  PetscFunctionBegin;
  if (!attribute(f, "type", sizeof value, value) || strcmp(value, "UnstructuredGrid") != 0)
    PetscCall(report_bad_element(f, f->attributes, "only a VTKFile of type UnstructuredGrid can be read, not", value));
  f->is_little = !attribute(f, "byte_order", sizeof value, value) || strcmp(value, "LittleEndian") == 0;
  if (attribute(f, "compressor", sizeof value, value) && value[0]) {
    if (strcmp(value, "vtkZLibDataCompressor") != 0)
      PetscCall(report_bad_element(f, f->attributes, "only vtkZLibDataCompressor is supported, not", value));
    f->is_compressed = true;
  }
  f->header_size = 4;
  if (attribute(f, "header_type", sizeof value, value)) {
    if (strcmp(value, "UInt64") == 0) f->header_size = 8;
    else if (strcmp(value, "UInt32") != 0)
      PetscCall(report_bad_element(f, f->attributes, "header_type must be UInt32 or UInt64, not", value));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode read_piece(vtu_file *f)
{
  PetscFunctionBegin;
  if (f->n_pieces >= MAX_PIECES) PetscCall(report_bad_element(f, f->attributes, "too many elements", f->tag));
  if (f->n_pieces == f->piece_capacity) {
    f->piece_capacity = f->piece_capacity ? 2 * f->piece_capacity : 4;
    PetscCall(memory_resize("mesh pieces", f->piece_capacity, sizeof *f->piece, &f->piece));
  }
  vtu_piece *p = &f->piece[f->n_pieces];
  *p           = (vtu_piece){.place = f->attributes};
  PetscCall(count_attribute(f, "NumberOfPoints", -1, MESH_MAX_VERTICES, &p->n_points));
  PetscCall(count_attribute(f, "NumberOfCells", -1, INT32_MAX, &p->n_cells));
  ++f->n_pieces;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode read_type(const vtu_file *f, vtk_array *a)
{
  static const struct {
    const char *name;
    bool        is_float, is_unsigned;
    int         size;
  } type[] = {{"Float32", true, false, 4}, {"Float64", true, false, 8}, {"Int8", false, false, 1},  {"UInt8", false, true, 1},
              {"Int16", false, false, 2},  {"UInt16", false, true, 2},  {"Int32", false, false, 4}, {"UInt32", false, true, 4},
              {"Int64", false, false, 8},  {"UInt64", false, true, 8}};
  char value[64];
  PetscFunctionBegin;
  (void)attribute(f, "type", sizeof value, value);
  for (size_t i = 0; i < sizeof type / sizeof *type; ++i)
    if (strcmp(value, type[i].name) == 0) {
      a->is_float = type[i].is_float, a->is_unsigned = type[i].is_unsigned, a->size = type[i].size;
      PetscFunctionReturn(PETSC_SUCCESS);
    }
  PetscCall(report_bad_element(f, f->attributes, "unknown type of a DataArray:", value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Kind of the current array; N_ARRAYS: not used. */
static int array_kind(const vtu_file *f)
{
  static const char *const name[N_ARRAYS] = {"", "connectivity", "offsets", "types"};
  char                     value[64];
  if (f->n_pieces == 0) return N_ARRAYS;
  if (f->in_points) return POINTS;
  (void)attribute(f, "Name", sizeof value, value);
  for (int k = CONNECTIVITY; f->in_cells && k < N_ARRAYS; ++k)
    if (strcmp(value, name[k]) == 0) return k;
  return N_ARRAYS;
}

static PetscErrorCode read_array(vtu_file *f)
{
  char      format[32];
  vtk_array a    = {.name = f->name, .text = f->text, .begin = f->at, .header_size = f->header_size, .is_compressed = f->is_compressed};
  const int kind = array_kind(f);
  PetscFunctionBegin;
  if (kind == N_ARRAYS) PetscFunctionReturn(PETSC_SUCCESS);
  vtu_piece *p = &f->piece[f->n_pieces - 1];
  if (p->has[kind]) PetscCall(report_bad_element(f, f->attributes, "this array occurs twice", NULL));
  PetscCall(read_type(f, &a));
  if (kind == POINTS) PetscCall(count_attribute(f, "NumberOfComponents", 1, 1000, &p->n_components));
  (void)attribute(f, "format", sizeof format, format);
  p->offset[kind] = -1;
  if (strcmp(format, "appended") == 0) PetscCall(count_attribute(f, "offset", -1, INT64_MAX, &p->offset[kind]));
  else if (strcmp(format, "ascii") == 0) a.encoding = VTK_ASCII;
  else if (strcmp(format, "binary") == 0) a.encoding = VTK_BASE64;
  else PetscCall(report_bad_element(f, f->attributes, "the format of a DataArray is ascii, binary or appended, not", format));
  if (strcmp(format, "ascii") != 0 && !f->is_little)
    PetscCall(report_bad_element(f, f->attributes, "byte_order BigEndian cannot be read: save as text", NULL));
  a.end = f->is_empty ? a.begin : memchr(a.begin, '<', (size_t)(f->end - a.begin));
  if (!a.end) PetscCall(report_bad_element(f, f->attributes, "this DataArray does not end", NULL));
  p->array[kind] = a;
  p->has[kind]   = true;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode read_appended(vtu_file *f)
{
  char value[32];
  PetscFunctionBegin;
  (void)attribute(f, "encoding", sizeof value, value);
  f->appended_is_raw = strcmp(value, "raw") == 0;
  if (!f->appended_is_raw && strcmp(value, "base64") != 0)
    PetscCall(report_bad_element(f, f->attributes, "the encoding of AppendedData is raw or base64, not", value));
  while (f->at < f->end && strchr(" \t\r\n", *f->at)) ++f->at;
  if (f->at >= f->end || *f->at != '_') PetscCall(report_bad_element(f, f->attributes, "AppendedData must start with an underscore", NULL));
  f->appended = f->at + 1;
  /* raw bytes may look like a closing tag: use the last one, because only the end of the file follows it */
  for (const char *p = f->appended; p; p = find_text(f, p + 1, "</AppendedData")) f->appended_end = p;
  if (f->appended_end == f->appended) PetscCall(report_bad_element(f, f->attributes, "AppendedData do not end", NULL));
  f->at = f->end;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode read_elements(vtu_file *f)
{
  bool is_there = false, has_header = false;
  PetscFunctionBegin;
  for (;;) {
    PetscCall(next_tag(f, &is_there));
    if (!is_there) break;
    const bool is_header = strcmp(f->tag, "VTKFile") == 0;
    if (!has_header && !is_header) PetscCall(report_bad_element(f, f->attributes, "a .vtu file starts with VTKFile, not with", f->tag));
    if (is_header) PetscCall(read_header(f));
    has_header = true;
    if (strcmp(f->tag, "Points") == 0) f->in_points = !f->is_empty;
    if (strcmp(f->tag, "/Points") == 0) f->in_points = false;
    if (strcmp(f->tag, "Cells") == 0) f->in_cells = !f->is_empty;
    if (strcmp(f->tag, "/Cells") == 0) f->in_cells = false;
    if (strcmp(f->tag, "Piece") == 0) PetscCall(read_piece(f));
    if (strcmp(f->tag, "DataArray") == 0) PetscCall(read_array(f));
    if (strcmp(f->tag, "AppendedData") == 0) PetscCall(read_appended(f));
  }
  PetscCheck(has_header, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: not a .vtu file: no element VTKFile", f->name);
  PetscCheck(f->n_pieces > 0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: no element Piece in this file; export the mesh again", f->name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- cells ---- */

typedef struct {
  int64_t  n[N_ARRAYS];
  double  *x;
  int64_t *whole[N_ARRAYS]; /* [CONNECTIVITY] to [TYPES] */
} piece_data;

static PetscErrorCode read_numbers(const vtu_file *f, const vtu_piece *p, piece_data *d)
{
  static const char *const what[N_ARRAYS] = {"Points", "connectivity", "offsets", "types"};
  PetscFunctionBegin;
  for (int k = 0; k < N_ARRAYS; ++k)
    if (!p->has[k]) PetscCall(report_bad_element(f, p->place, "this Piece lacks the array", what[k]));
  for (int k = 0; k < N_ARRAYS; ++k) {
    vtk_array a = p->array[k];
    if (p->offset[k] >= 0) {
      a.encoding = f->appended_is_raw ? VTK_RAW : VTK_BASE64;
      if (!f->appended || p->offset[k] >= f->appended_end - f->appended)
        PetscCall(report_bad_element(f, a.begin, "the offset of this array lies beyond the AppendedData", NULL));
      a.begin = f->appended + p->offset[k], a.end = f->appended_end;
    }
    PetscCall(vtk_array_read(&a, &d->n[k], k == POINTS ? &d->x : NULL, k == POINTS ? NULL : &d->whole[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode check_numbers(const vtu_file *f, const vtu_piece *p, const piece_data *d)
{
  char text[120];
  PetscFunctionBegin;
  if (p->n_components != 3) PetscCall(report_bad_element(f, p->array[POINTS].begin, "Points need NumberOfComponents=\"3\"", NULL));
  const int64_t *offset             = d->whole[OFFSETS];
  const int64_t  expected[N_ARRAYS] = {3 * p->n_points, p->n_cells && d->n[OFFSETS] == p->n_cells ? offset[p->n_cells - 1] : 0, p->n_cells,
                                       p->n_cells};
  for (int k = N_ARRAYS - 1; k >= 0; --k) {
    snprintf(text, sizeof text, "this array must have %lld numbers, but has %lld", (long long)expected[k], (long long)d->n[k]);
    if (d->n[k] != expected[k]) PetscCall(report_bad_element(f, p->array[k].begin, text, NULL));
  }
  for (int64_t i = 0; i < p->n_cells; ++i) {
    if (offset[i] >= (i ? offset[i - 1] : 0)) continue;
    snprintf(text, sizeof text, "the offsets must not decrease; they do at cell %lld", (long long)i);
    PetscCall(report_bad_element(f, p->array[OFFSETS].begin, text, NULL));
  }
  for (int64_t i = 0; i < d->n[CONNECTIVITY]; ++i) {
    const int64_t v = d->whole[CONNECTIVITY][i];
    if (v >= 0 && v < p->n_points) continue;
    snprintf(text, sizeof text, "there are points 0 to %lld, but number %lld of the connectivity names point %lld",
             (long long)p->n_points - 1, (long long)i, (long long)v);
    PetscCall(report_bad_element(f, p->array[CONNECTIVITY].begin, text, NULL));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode add_cell(const vtu_file *f, const vtu_piece *p, const piece_data *d, int64_t i, int64_t first_point,
                               int64_t first_cell, mesh_cells *c)
{
  const int64_t  from = i ? d->whole[OFFSETS][i - 1] : 0, n = d->whole[OFFSETS][i] - from, type = d->whole[TYPES][i];
  const int64_t *v          = &d->whole[CONNECTIVITY][from];
  const bool     is_skipped = type >= 1 && type <= 4, is_polygon = type == 5 || type == 7 || type == 9, is_tet = type == 10;
  const bool     is_good = is_skipped || (is_tet && n == 4) || (type == 5 && n == 3) || (type == 9 && n == 4) || (type == 7 && n >= 3);
  char           text[160];
  PetscFunctionBegin;
  if (!is_skipped && !is_polygon && !is_tet) {
    snprintf(text, sizeof text, "cell %lld is of type %lld; only vertices, lines, polygons and linear tetrahedra can be read",
             (long long)(first_cell + i), (long long)type);
    PetscCall(report_bad_element(f, p->array[TYPES].begin, text, NULL));
  }
  if (!is_good) {
    snprintf(text, sizeof text, "cell %lld of type %lld cannot have %lld points", (long long)(first_cell + i), (long long)type,
             (long long)n);
    PetscCall(report_bad_element(f, p->array[OFFSETS].begin, text, NULL));
  }
  if (is_tet) {
    const int32_t tet[4] = {(int32_t)(first_point + v[0]), (int32_t)(first_point + v[1]), (int32_t)(first_point + v[2]),
                            (int32_t)(first_point + v[3])};
    PetscCall(mesh_cells_tet(c, first_cell + i, tet));
  }
  for (int64_t k = 2; is_polygon && k < n; ++k)
    PetscCall(mesh_cells_triangle(c, (int32_t)(first_point + v[0]), (int32_t)(first_point + v[k - 1]), (int32_t)(first_point + v[k])));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode add_piece(const vtu_file *f, const vtu_piece *p, const piece_data *d, int64_t first_cell, mesh_cells *c)
{
  const int64_t first_point = c->n_vertices;
  PetscFunctionBegin;
  PetscCall(check_numbers(f, p, d));
  for (int64_t i = 0; i < p->n_points; ++i) PetscCall(mesh_cells_vertex(c, first_point + i, &d->x[3 * i]));
  for (int64_t i = 0; i < p->n_cells; ++i) PetscCall(add_cell(f, p, d, i, first_point, first_cell, c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode read_pieces(const vtu_file *f, mesh_cells *c)
{
  int64_t first_cell = 0;
  PetscFunctionBegin;
  for (int64_t i = 0; i < f->n_pieces; ++i) {
    piece_data     d    = {0};
    PetscErrorCode code = read_numbers(f, &f->piece[i], &d);
    if (!code) code = add_piece(f, &f->piece[i], &d, first_cell, c);
    memory_free(&d.x);
    for (int k = 0; k < N_ARRAYS; ++k) memory_free(&d.whole[k]);
    PetscCall(code);
    first_cell += f->piece[i].n_cells;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mesh_read_vtu(const char *name, size_t size, const char *bytes, mesh_cells *c)
{
  vtu_file f = {.name = name, .text = bytes, .at = bytes, .end = bytes + size, .is_little = true, .header_size = 4};
  PetscFunctionBegin;
  PetscErrorCode code = read_elements(&f);
  if (!code) code = read_pieces(&f, c);
  memory_free(&f.piece);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
