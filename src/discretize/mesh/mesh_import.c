#include "discretize/mesh/mesh_import.h"
#include "core/math3.h"
#include "core/memory.h"
#include <ctype.h>
#include <errno.h>
#include <strings.h>

enum { MAX_TRIANGLES = 50000000 };
static const int64_t MAX_FILE_SIZE = (int64_t)4 << 30;

/* ---- growing lists ---- */

typedef struct {
  int64_t  n_vertices, vertex_room, n_triangles, triangle_room;
  double  *x;
  int32_t *tri;
} mesh_builder;

static void builder_free(mesh_builder *b)
{
  memory_free(&b->x);
  memory_free(&b->tri);
}

static PetscErrorCode builder_vertex(mesh_builder *b, const double *x)
{
  PetscFunctionBegin;
  if (b->n_vertices == b->vertex_room) {
    b->vertex_room = b->vertex_room ? 2 * b->vertex_room : 1024;
    PetscCall(memory_resize("mesh vertices", 3 * b->vertex_room, sizeof *b->x, &b->x));
  }
  v3_copy(&b->x[3 * b->n_vertices++], x);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode builder_triangle(mesh_builder *b, int32_t v0, int32_t v1, int32_t v2)
{
  PetscFunctionBegin;
  PetscCheck(b->n_triangles < MAX_TRIANGLES, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "more than %d triangles", MAX_TRIANGLES);
  if (b->n_triangles == b->triangle_room) {
    b->triangle_room = b->triangle_room ? 2 * b->triangle_room : 1024;
    PetscCall(memory_resize("mesh triangles", 3 * b->triangle_room, sizeof *b->tri, &b->tri));
  }
  int32_t *t = &b->tri[3 * b->n_triangles++];
  t[0] = v0, t[1] = v1, t[2] = v2;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode builder_finish(const char *name, mesh_builder *b, triangle_mesh **out)
{
  triangle_mesh *m = NULL;
  PetscFunctionBegin;
  PetscCheck(b->n_triangles > 0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: no triangles in this file", name);
  PetscCall(memory_alloc("triangle mesh", 1, sizeof *m, &m));
  m->n_vertices = b->n_vertices, m->n_triangles = b->n_triangles;
  m->x = b->x, m->tri = b->tri;
  b->x = NULL, b->tri = NULL;
  PetscErrorCode code = memory_resize("mesh triangles", 3 * m->n_triangles, sizeof *m->tri, &m->tri);
  if (!code) code = triangle_mesh_compact(m);
  if (code) triangle_mesh_destroy(&m);
  PetscCall(code);
  *out = m;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- a line at a time, words within it ---- */

typedef struct {
  const char *name;
  char       *at, *end; /* of the rest of the text, which is our own copy and ends with '\0' */
  char       *word;     /* next word of this line */
  int64_t     line;
} line_reader;

/* Cut off the next line that has words; false at the end. */
static bool next_line(line_reader *r)
{
  while (r->at < r->end) {
    char *line = r->at, *stop = memchr(line, '\n', (size_t)(r->end - line));
    if (!stop) stop = r->end;
    r->at = stop < r->end ? stop + 1 : r->end;
    *stop = '\0';
    ++r->line;
    for (char *c = line; c < stop; ++c)
      if (*c == '\0' || *c == '\r') *c = ' '; /* stray NULs must not hide the rest of a line */
    line += strspn(line, " \t");
    if (*line == '\0' || *line == '#') continue;
    r->word = line;
    return true;
  }
  return false;
}

static char *next_word(line_reader *r)
{
  char *w = r->word + strspn(r->word, " \t");
  if (*w == '\0') return NULL;
  char *end = w + strcspn(w, " \t");
  r->word   = *end ? end + 1 : end;
  *end      = '\0';
  return w;
}

static PetscErrorCode bad_line(const line_reader *r, const char *what, const char *word)
{
  PetscFunctionBegin;
  SETERRQ(PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s:%lld: %s%s%.40s%s", r->name, (long long)r->line, what, word ? " \"" : "",
          word ? word : "", word ? "\"" : "");
}

static PetscErrorCode read_point(line_reader *r, double *x)
{
  PetscFunctionBegin;
  for (int k = 0; k < 3; ++k) {
    char *w = next_word(r), *end = NULL;
    if (!w) PetscCall(bad_line(r, "a vertex needs three coordinates", NULL));
    x[k] = strtod(w, &end); /* cppcheck-suppress nullPointerRedundantCheck; bad_line returned */
    if (end == w || *end != '\0' || !isfinite(x[k])) PetscCall(bad_line(r, "not a finite number:", w));
    if (fabs(x[k]) > 1e30) PetscCall(bad_line(r, "a coordinate beyond 1e30:", w));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode copy_text(size_t size, const char *bytes, char **out)
{
  PetscFunctionBegin;
  PetscCall(memory_alloc("mesh text", (int64_t)size + 1, 1, out)); /* zeroed: ends with '\0' */
  if (size) memcpy(*out, bytes, size);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- Wavefront .obj ---- */

/* "7", "7/1", "7//3", "-1/...": index from 1, or from the end if negative. */
static PetscErrorCode read_corner(line_reader *r, char *w, int64_t n_vertices, int32_t *vertex)
{
  char *end = NULL;
  PetscFunctionBegin;
  errno         = 0;
  const long long i = strtoll(w, &end, 10);
  if (end == w || (*end != '\0' && *end != '/') || errno) PetscCall(bad_line(r, "not a vertex index:", w));
  const long long v = i > 0 ? i - 1 : i < 0 && i >= -n_vertices ? n_vertices + i : -1;
  if (v < 0 || v >= n_vertices) PetscCall(bad_line(r, "no such vertex (so far):", w));
  *vertex = (int32_t)v;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode obj_face(line_reader *r, mesh_builder *b)
{
  int32_t first = 0, last = 0, v = 0;
  int     n = 0;
  PetscFunctionBegin;
  for (char *w = next_word(r); w; w = next_word(r), ++n) {
    PetscCall(read_corner(r, w, b->n_vertices, &v));
    if (n == 0) first = v;
    else if (n >= 2) PetscCall(builder_triangle(b, first, last, v));
    last = v;
  }
  if (n < 3) PetscCall(bad_line(r, "a face needs at least three vertices", NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode obj_lines(line_reader *r, mesh_builder *b)
{
  /* statements without influence on the surface: texture, normals, grouping, rendering, points and lines */
  static const char *const skipped[] = {"vt", "vn", "vp", "o", "g", "s", "mg", "usemtl", "mtllib", "l", "p", "lod", "shadow_obj", "trace_obj", "d_interp", "c_interp", "bevel", NULL};
  PetscFunctionBegin;
  while (next_line(r)) {
    char *w = next_word(r);
    if (!w) continue;
    if (strcmp(w, "v") == 0) {
      double x[3];
      PetscCall(read_point(r, x)); /* a weight or colour may follow */
      if (b->n_vertices >= 3 * (int64_t)MAX_TRIANGLES) PetscCall(bad_line(r, "too many vertices", NULL));
      PetscCall(builder_vertex(b, x));
    } else if (strcmp(w, "f") == 0) PetscCall(obj_face(r, b));
    else {
      bool is_skipped = false;
      for (int i = 0; skipped[i]; ++i) is_skipped = is_skipped || strcmp(w, skipped[i]) == 0;
      if (!is_skipped) PetscCall(bad_line(r, "this statement cannot be read; only polygon meshes can:", w));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mesh_parse_obj(const char *name, size_t size, const char *bytes, triangle_mesh **out)
{
  mesh_builder b    = {0};
  char        *text = NULL;
  PetscFunctionBegin;
  PetscCall(copy_text(size, bytes, &text));
  for (size_t i = 0; i + 1 < size; ++i) { /* a backslash joins lines */
    if (text[i] == '\\' && text[i + 1] == '\n') text[i] = text[i + 1] = ' ';
    else if (text[i] == '\\' && text[i + 1] == '\r' && i + 2 < size && text[i + 2] == '\n') text[i] = text[i + 1] = text[i + 2] = ' ';
  }
  line_reader    r    = {name, text, text + size, text, 0};
  PetscErrorCode code = obj_lines(&r, &b);
  if (!code) code = builder_finish(name, &b, out);
  builder_free(&b);
  memory_free(&text);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- merging the corners of an .stl ---- */

static uint64_t cell_hash(const int64_t *c)
{
  uint64_t h = (uint64_t)c[0] * 0x9e3779b97f4a7c15ULL ^ (uint64_t)c[1] * 0xc2b2ae3d27d4eb4fULL ^ (uint64_t)c[2] * 0x165667b19e3779f9ULL;
  h ^= h >> 29;
  h *= 0xbf58476d1ce4e5b9ULL;
  return h ^ h >> 32;
}

/* Corner 3t + i of the triangle soup -> vertex: the first vertex seen within `tolerance` in every coordinate, through a hash
 * of cells twice that size: only cells that the tolerance box touches are searched. */
static PetscErrorCode merge_corners(mesh_builder *b, double tolerance)
{
  const int64_t n = b->n_vertices;
  int64_t       n_slots = 16, n_kept = 0;
  int32_t      *head = NULL, *next = NULL, *vertex = NULL;
  PetscFunctionBegin;
  while (n_slots < n) n_slots *= 2;
  PetscCall(memory_alloc("mesh merging", n_slots, sizeof *head, &head));
  PetscCall(memory_alloc("mesh merging", n, sizeof *next, &next));
  PetscCall(memory_alloc("mesh merging", n, sizeof *vertex, &vertex));
  for (int64_t i = 0; i < n_slots; ++i) head[i] = -1;
  for (int64_t i = 0; i < n; ++i) {
    double  x[3];
    int64_t lo[3], hi[3], c[3], own[3];
    int32_t found = -1;
    v3_copy(x, &b->x[3 * i]);
    for (int k = 0; k < 3; ++k) {
      lo[k]  = (int64_t)floor((x[k] - tolerance) / (2.0 * tolerance));
      hi[k]  = (int64_t)floor((x[k] + tolerance) / (2.0 * tolerance));
      own[k] = (int64_t)floor(x[k] / (2.0 * tolerance));
    }
    for (c[0] = lo[0]; c[0] <= hi[0]; ++c[0])
      for (c[1] = lo[1]; c[1] <= hi[1]; ++c[1])
        for (c[2] = lo[2]; c[2] <= hi[2]; ++c[2])
          for (int32_t j = head[cell_hash(c) & (uint64_t)(n_slots - 1)]; j >= 0; j = next[j]) {
            const double *y = &b->x[3 * (int64_t)j];
            if (fabs(x[0] - y[0]) <= tolerance && fabs(x[1] - y[1]) <= tolerance && fabs(x[2] - y[2]) <= tolerance && (found < 0 || j < found)) found = j;
          }
    if (found < 0) {
      const uint64_t slot = cell_hash(own) & (uint64_t)(n_slots - 1);
      found               = (int32_t)n_kept++;
      v3_copy(&b->x[3 * (int64_t)found], x); /* kept vertices never overtake the corners still to come */
      next[found] = head[slot];
      head[slot]  = found;
    }
    vertex[i] = found;
  }
  b->n_vertices = n_kept;
  for (int64_t t = 0; t < n / 3; ++t) {
    const int32_t *v = &vertex[3 * t];
    if (v[0] != v[1] && v[1] != v[2] && v[2] != v[0]) PetscCall(builder_triangle(b, v[0], v[1], v[2]));
  }
  memory_free(&head);
  memory_free(&next);
  memory_free(&vertex);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode merge_soup(mesh_builder *b)
{
  double lo[3] = {INFINITY, INFINITY, INFINITY}, hi[3] = {-INFINITY, -INFINITY, -INFINITY}, size = 0.0, far = 0.0;
  PetscFunctionBegin;
  if (b->n_vertices == 0) PetscFunctionReturn(PETSC_SUCCESS);
  for (int64_t i = 0; i < b->n_vertices; ++i)
    for (int k = 0; k < 3; ++k) lo[k] = fmin(lo[k], b->x[3 * i + k]), hi[k] = fmax(hi[k], b->x[3 * i + k]);
  for (int k = 0; k < 3; ++k) size = fmax(size, hi[k] - lo[k]), far = fmax(far, fmax(fabs(lo[k]), fabs(hi[k])));
  /* the coordinates are floats: two of them far from the origin differ by at least 1e-7 of their size */
  const double tolerance = fmax(fmax(1e-6 * size, 1e-7 * far), 1e-300);
  PetscCall(merge_corners(b, tolerance));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- .stl ---- */

static double little_endian_float(const unsigned char *p)
{
  const uint32_t u = (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
  float          f;
  memcpy(&f, &u, sizeof f);
  return f;
}

static PetscErrorCode stl_binary(const char *name, const unsigned char *p, int64_t n, mesh_builder *b)
{
  PetscFunctionBegin;
  for (int64_t t = 0; t < n; ++t)
    for (int i = 0; i < 3; ++i) {
      double x[3];
      for (int k = 0; k < 3; ++k) {
        x[k] = little_endian_float(p + 84 + 50 * t + 12 * (i + 1) + 4 * k);
        PetscCheck(isfinite(x[k]) && fabs(x[k]) <= 1e30, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
                   "%s: triangle %lld has a coordinate that is not a finite number", name, (long long)t);
      }
      PetscCall(builder_vertex(b, x));
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Normals are read past: the order of the vertices says the same. */
static PetscErrorCode stl_text(line_reader *r, mesh_builder *b)
{
  static const char *const sequence[] = {"facet", "outer", "vertex", "vertex", "vertex", "endloop", "endfacet"};
  int                      step = -1; /* -1: outside a solid */
  PetscFunctionBegin;
  while (next_line(r)) {
    char *w = next_word(r);
    if (!w) continue;
    if (step == -1 && strcasecmp(w, "solid") == 0) step = 0;
    else if (step == 0 && strcasecmp(w, "endsolid") == 0) step = -1;
    else if (step >= 0 && strcasecmp(w, sequence[step]) == 0) {
      if (step >= 2 && step <= 4) {
        double x[3];
        PetscCall(read_point(r, x));
        if (next_word(r)) PetscCall(bad_line(r, "a vertex has three coordinates, not more", NULL));
        if (b->n_vertices >= 3 * (int64_t)MAX_TRIANGLES) PetscCall(bad_line(r, "too many triangles", NULL));
        PetscCall(builder_vertex(b, x));
      }
      step = (step + 1) % 7;
    } else {
      char what[64];
      snprintf(what, sizeof what, "expected \"%s\" but found", step == -1 ? "solid" : sequence[step]);
      PetscCall(bad_line(r, what, w));
    }
  }
  if (step > 0) PetscCall(bad_line(r, "the file ends within a facet", NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mesh_parse_stl(const char *name, size_t size, const char *bytes, triangle_mesh **out)
{
  const unsigned char *p    = (const unsigned char *)bytes;
  mesh_builder         b    = {0};
  char                *text = NULL;
  PetscErrorCode       code = PETSC_SUCCESS;
  PetscFunctionBegin;
  const int64_t n = size >= 84 ? (int64_t)((uint32_t)p[80] | (uint32_t)p[81] << 8 | (uint32_t)p[82] << 16 | (uint32_t)p[83] << 24) : -1;
  /* many binary files also start with "solid": only the size tells */
  if (n >= 0 && (int64_t)size == 84 + 50 * n) {
    PetscCheck(n <= MAX_TRIANGLES, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: %lld triangles are too many", name, (long long)n);
    code = stl_binary(name, p, n, &b);
  } else {
    size_t skip = 0;
    while (skip < size && isspace(p[skip])) ++skip;
    PetscCheck(size - skip >= 5 && strncasecmp(bytes + skip, "solid", 5) == 0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
               "%s: neither a text .stl (starts with \"solid\") nor a binary one (%lld bytes do not fit %lld triangles)", name,
               (long long)size, (long long)n);
    PetscCall(copy_text(size, bytes, &text));
    line_reader r = {name, text, text + size, text, 0};
    code          = stl_text(&r, &b);
  }
  if (!code) code = merge_soup(&b);
  if (!code) code = builder_finish(name, &b, out);
  builder_free(&b);
  memory_free(&text);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- files ---- */

static PetscErrorCode read_file(const char *path, char **bytes, size_t *size)
{
  PetscFunctionBegin;
  FILE *f = fopen(path, "rb");
  PetscCheck(f, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "%s: cannot be opened (%s)", path, strerror(errno));
  const bool    is_seekable = fseeko(f, 0, SEEK_END) == 0;
  const int64_t n           = is_seekable ? (int64_t)ftello(f) : -1;
  if (n <= 0 || n > MAX_FILE_SIZE || fseeko(f, 0, SEEK_SET) != 0) {
    fclose(f);
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_FILE_READ, "%s: not a mesh file (empty, larger than 4 GiB, or not a regular file)", path);
  }
  PetscErrorCode code = memory_alloc("mesh file", n, 1, bytes);
  *size               = code ? 0 : fread(*bytes, 1, (size_t)n, f);
  fclose(f); /* cppcheck-suppress doubleFree; SETERRQ returned above */
  if (!code && (int64_t)*size != n) memory_free(bytes);
  PetscCall(code);
  PetscCheck((int64_t)*size == n, PETSC_COMM_SELF, PETSC_ERR_FILE_READ, "%s: could not be read to its end", path);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mesh_import(const char *path, triangle_mesh **out)
{
  char       *bytes = NULL;
  size_t      size  = 0;
  const char *dot   = strrchr(path, '.');
  PetscFunctionBegin;
  const bool is_obj = dot && strcasecmp(dot, ".obj") == 0, is_stl = dot && strcasecmp(dot, ".stl") == 0;
  PetscCheck(is_obj || is_stl, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: only .obj and .stl meshes can be read", path);
  PetscCall(read_file(path, &bytes, &size));
  const PetscErrorCode code = is_obj ? mesh_parse_obj(path, size, bytes, out) : mesh_parse_stl(path, size, bytes, out);
  memory_free(&bytes);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
