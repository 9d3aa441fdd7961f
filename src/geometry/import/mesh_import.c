/* Implementation: readers of .obj, .stl and TetGen files, and the choice of the reader by the extension of the file name. */
#include "geometry/import/mesh_import.h"
#include "core/math3.h"
#include "core/memory.h"
#include "geometry/import/mesh_file.h"
#include "geometry/import/mesh_import_msh.h"
#include "geometry/import/mesh_import_vtu.h"
#include "geometry/primitive/vertex_merge.h"
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

/* Wavefront .obj. */

/* "7", "7/1", "7//3", "-1/...": index from 1, or from the end if negative. */
static PetscErrorCode read_corner(mesh_reader *r, char *w, int64_t n_vertices, int32_t *vertex)
{
  char *end = NULL;
  PetscFunctionBegin;
  errno             = 0;
  const long long i = strtoll(w, &end, 10);
  if (end == w || (*end != '\0' && *end != '/') || errno) PetscCall(mesh_bad_line(r, "not a vertex index:", w));
  const long long v = i > 0 ? i - 1 : i < 0 && i >= -n_vertices ? n_vertices + i : -1;
  if (v < 0 || v >= n_vertices) PetscCall(mesh_bad_line(r, "no such vertex up to this line:", w));
  *vertex = (int32_t)v;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode obj_face(mesh_reader *r, mesh_cells *b)
{
  int32_t first = 0, last = 0, v = 0;
  int     n = 0;
  PetscFunctionBegin;
  for (char *w = mesh_next_word(r); w; w = mesh_next_word(r), ++n) {
    PetscCall(read_corner(r, w, b->n_vertices, &v));
    if (n == 0) first = v;
    else if (n >= 2) PetscCall(mesh_cells_triangle(b, first, last, v));
    last = v;
  }
  if (n < 3) PetscCall(mesh_bad_line(r, "a face needs at least three vertices", NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode obj_lines(mesh_reader *r, mesh_cells *b)
{
  /* ignored statements: texture, normals, grouping, rendering, points and lines */
  static const char *const skipped[] = {"vt", "vn", "vp",  "o",          "g",         "s",        "mg",       "usemtl", "mtllib",
                                        "l",  "p",  "lod", "shadow_obj", "trace_obj", "d_interp", "c_interp", "bevel",  NULL};
  PetscFunctionBegin;
  while (mesh_next_line(r)) {
    char *w = mesh_next_word(r);
    if (!w) continue;
    if (strcmp(w, "v") == 0) {
      double x[3];
      PetscCall(mesh_read_point(r, x)); /* a weight or colour may follow */
      if (b->n_vertices >= 3 * (int64_t)MESH_MAX_TRIANGLES) PetscCall(mesh_bad_line(r, "too many vertices", NULL));
      PetscCall(mesh_cells_vertex(b, 0, x));
    } else if (strcmp(w, "f") == 0) PetscCall(obj_face(r, b));
    else {
      bool is_skipped = false;
      for (int i = 0; skipped[i]; ++i) is_skipped = is_skipped || strcmp(w, skipped[i]) == 0;
      if (!is_skipped) PetscCall(mesh_bad_line(r, "unsupported statement; only polygon meshes are supported:", w));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A backslash at the end of a line continues it on the next one. */
static void join_continued_lines(size_t size, char *text)
{
  for (size_t i = 0; i + 1 < size; ++i) {
    if (text[i] == '\\' && text[i + 1] == '\n') text[i] = text[i + 1] = ' ';
    else if (text[i] == '\\' && text[i + 1] == '\r' && i + 2 < size && text[i + 2] == '\n') text[i] = text[i + 1] = text[i + 2] = ' ';
  }
}

PetscErrorCode mesh_parse_obj(const char *name, size_t size, const char *bytes, triangle_mesh **out)
{
  mesh_cells  b = {0};
  mesh_reader r = {0};
  PetscFunctionBegin;
  PetscCall(mesh_reader_open(name, size, bytes, &r));
  join_continued_lines(size, r.text);
  PetscErrorCode code = obj_lines(&r, &b);
  if (!code) code = mesh_cells_surface(name, &b, out);
  mesh_cells_free(&b);
  mesh_reader_close(&r);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- polylines ---- */

void mesh_lines_free(mesh_lines *l)
{
  MEMORY_FREE(&l->start, &l->x);
  *l = (mesh_lines){0};
}

/* Polylines read so far. */
typedef struct {
  mesh_cells b; /* vertices of the file */
  int64_t    n_points, n_lines, point_capacity, line_capacity;
  double    *x;
  int64_t   *start;
} line_list;

static PetscErrorCode add_polyline(mesh_reader *r, line_list *l)
{
  int n = 0;
  PetscFunctionBegin;
  PetscCall(memory_reserve("lines", l->n_lines + 2, sizeof *l->start, &l->line_capacity, &l->start));
  for (char *w = mesh_next_word(r); w; w = mesh_next_word(r), ++n) {
    int32_t v;
    PetscCall(read_corner(r, w, l->b.n_vertices, &v));
    PetscCall(memory_reserve("lines", 3 * (l->n_points + 1), sizeof *l->x, &l->point_capacity, &l->x));
    memcpy(l->x + 3 * l->n_points++, l->b.x + 3 * (int64_t)v, 3 * sizeof *l->x);
  }
  if (n < 2) PetscCall(mesh_bad_line(r, "a line needs at least two vertices", NULL));
  l->start[0]            = 0;
  l->start[++l->n_lines] = l->n_points;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Statements other than v and l are ignored. */
static PetscErrorCode read_polylines(mesh_reader *r, line_list *l)
{
  PetscFunctionBegin;
  while (mesh_next_line(r)) {
    char  *w = mesh_next_word(r);
    double x[3];
    if (w && strcmp(w, "v") == 0) {
      PetscCall(mesh_read_point(r, x));
      if (l->b.n_vertices >= MESH_MAX_VERTICES) PetscCall(mesh_bad_line(r, "too many vertices", NULL));
      PetscCall(mesh_cells_vertex(&l->b, 0, x));
    } else if (w && strcmp(w, "l") == 0) {
      if (l->n_points >= MESH_MAX_VERTICES) PetscCall(mesh_bad_line(r, "too many points of lines", NULL));
      PetscCall(add_polyline(r, l));
    }
  }
  PetscCheck(l->n_lines > 0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: has no line (a statement `l` with the numbers of its vertices)",
             r->name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mesh_parse_obj_lines(const char *name, size_t size, const char *bytes, mesh_lines *out)
{
  line_list   l = {0};
  mesh_reader r = {0};
  PetscFunctionBegin;
  *out = (mesh_lines){0};
  PetscCall(mesh_reader_open(name, size, bytes, &r));
  join_continued_lines(size, r.text);
  PetscErrorCode code = read_polylines(&r, &l);
  mesh_cells_free(&l.b);
  mesh_reader_close(&r);
  *out = (mesh_lines){l.n_lines, l.start, l.x};
  if (code) mesh_lines_free(out);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mesh_import_lines(const char *path, mesh_lines *out)
{
  char  *bytes = NULL;
  size_t size  = 0;
  PetscFunctionBegin;
  *out = (mesh_lines){0};
  PetscCheck(mesh_path_ends(path, ".obj"), PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: lines can be read from a Wavefront .obj file only",
             path);
  PetscCall(mesh_read_file(path, &bytes, &size));
  const PetscErrorCode code = mesh_parse_obj_lines(path, size, bytes, out);
  memory_free(&bytes);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ==== STL ==== */

/* .stl, text or binary. */

/* Merge the corners of unconnected triangles (corner 3 t + i) to vertices; collapsed triangles are removed. */
static PetscErrorCode merge_corners(mesh_cells *b, double tolerance)
{
  const int64_t n      = b->n_vertices;
  int32_t      *vertex = NULL;
  int64_t       n_kept = 0, next = 0;
  PetscFunctionBegin;
  PetscCall(memory_alloc("mesh merging", n, sizeof *vertex, &vertex));
  PetscCall(vertex_merge(n, b->x, tolerance, vertex, &n_kept));
  for (int64_t i = 0; i < n; ++i)
    if (vertex[i] == next) v3_copy(&b->x[3 * next++], &b->x[3 * i]); /* in place: a kept vertex never overwrites a later corner */
  b->n_vertices = n_kept;
  for (int64_t t = 0; t < n / 3; ++t) {
    const int32_t *v = &vertex[3 * t];
    if (v[0] != v[1] && v[1] != v[2] && v[2] != v[0]) PetscCall(mesh_cells_triangle(b, v[0], v[1], v[2]));
  }
  memory_free(&vertex);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode merge_all_corners(mesh_cells *b)
{
  double lo[3] = {INFINITY, INFINITY, INFINITY}, hi[3] = {-INFINITY, -INFINITY, -INFINITY}, size = 0.0, far = 0.0;
  PetscFunctionBegin;
  if (b->n_vertices == 0) PetscFunctionReturn(PETSC_SUCCESS);
  for (int64_t i = 0; i < b->n_vertices; ++i)
    for (int k = 0; k < 3; ++k) lo[k] = fmin(lo[k], b->x[3 * i + k]), hi[k] = fmax(hi[k], b->x[3 * i + k]);
  for (int k = 0; k < 3; ++k) size = fmax(size, hi[k] - lo[k]), far = fmax(far, fmax(fabs(lo[k]), fabs(hi[k])));
  /* coordinates in single precision: far from the origin, neighbouring values differ by 1e-7 of their magnitude */
  const double tolerance = fmax(fmax(1e-6 * size, 1e-7 * far), 1e-300);
  PetscCall(merge_corners(b, tolerance));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static double little_endian_float(const unsigned char *p)
{
  const uint32_t u = (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
  float          f;
  memcpy(&f, &u, sizeof f);
  return f;
}

static PetscErrorCode stl_binary(const char *name, const unsigned char *p, int64_t n, mesh_cells *b)
{
  PetscFunctionBegin;
  for (int64_t t = 0; t < n; ++t)
    for (int i = 0; i < 3; ++i) {
      double x[3];
      for (int k = 0; k < 3; ++k) {
        x[k] = little_endian_float(p + 84 + 50 * t + 12 * (i + 1) + 4 * k);
        PetscCheck(isfinite(x[k]) && fabs(x[k]) <= 1e30, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
                   "%s: triangle %lld has a coordinate that is not a finite number; repair the mesh", name, (long long)t);
      }
      PetscCall(mesh_cells_vertex(b, 0, x));
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Normals are ignored, because the order of the vertices defines the orientation. */
static PetscErrorCode stl_text(mesh_reader *r, mesh_cells *b)
{
  static const char *const sequence[] = {"facet", "outer", "vertex", "vertex", "vertex", "endloop", "endfacet"};
  int                      step       = -1; /* -1: outside a solid */
  PetscFunctionBegin;
  while (mesh_next_line(r)) {
    char *w = mesh_next_word(r);
    if (!w) continue;
    if (step == -1 && strcasecmp(w, "solid") == 0) step = 0;
    else if (step == 0 && strcasecmp(w, "endsolid") == 0) step = -1;
    else if (step >= 0 && strcasecmp(w, sequence[step]) == 0) {
      if (step >= 2 && step <= 4) {
        double x[3];
        PetscCall(mesh_read_point(r, x));
        if (mesh_next_word(r)) PetscCall(mesh_bad_line(r, "a vertex has three coordinates, not more", NULL));
        if (b->n_vertices >= 3 * (int64_t)MESH_MAX_TRIANGLES) PetscCall(mesh_bad_line(r, "too many triangles", NULL));
        PetscCall(mesh_cells_vertex(b, 0, x));
      }
      step = (step + 1) % 7;
    } else {
      char what[64];
      snprintf(what, sizeof what, "expected \"%s\" but found", step == -1 ? "solid" : sequence[step]);
      PetscCall(mesh_bad_line(r, what, w));
    }
  }
  if (step > 0) PetscCall(mesh_bad_line(r, "the file ends within a facet", NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mesh_parse_stl(const char *name, size_t size, const char *bytes, triangle_mesh **out)
{
  const unsigned char *p    = (const unsigned char *)bytes;
  mesh_cells           b    = {0};
  mesh_reader          r    = {0};
  PetscErrorCode       code = PETSC_SUCCESS;
  PetscFunctionBegin;
  const int64_t n = size >= 84 ? (int64_t)((uint32_t)p[80] | (uint32_t)p[81] << 8 | (uint32_t)p[82] << 16 | (uint32_t)p[83] << 24) : -1;
  /* binary files may also start with "solid"; the file size decides */
  if (n >= 0 && (int64_t)size == 84 + 50 * n) {
    PetscCheck(n <= MESH_MAX_TRIANGLES, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: %lld triangles; at most %lld are supported", name,
               (long long)n, (long long)MESH_MAX_TRIANGLES);
    code = stl_binary(name, p, n, &b);
  } else {
    size_t skip = 0;
    while (skip < size && isspace(p[skip])) ++skip;
    PetscCheck(size - skip >= 5 && strncasecmp(bytes + skip, "solid", 5) == 0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
               "%s: neither a text .stl (starts with \"solid\") nor a binary one (%lld bytes do not fit %lld triangles)", name,
               (long long)size, (long long)n);
    PetscCall(mesh_reader_open(name, size, bytes, &r));
    code = stl_text(&r, &b);
  }
  if (!code) code = merge_all_corners(&b);
  if (!code) code = mesh_cells_surface(name, &b, out);
  mesh_cells_free(&b);
  mesh_reader_close(&r);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ==== TetGen ==== */

/* TetGen .node with .ele or .face. */

/* Advance to the next line, without a comment that starts with #. */
static PetscErrorCode next_data_line(mesh_reader *r, const char *what)
{
  PetscFunctionBegin;
  if (!mesh_next_line(r)) PetscCall(mesh_bad_line(r, "the file ends early:", what));
  r->word[strcspn(r->word, "#")] = '\0';
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Attributes and markers at the end of a line are ignored. */
static PetscErrorCode read_nodes(mesh_reader *r, mesh_cells *c)
{
  int64_t n, dimension, name, twice;
  double  x[3];
  PetscFunctionBegin;
  PetscCall(next_data_line(r, "the number of points"));
  PetscCall(mesh_read_integer(r, "the number of points", 0, MESH_MAX_VERTICES, &n));
  if (n == 0) PetscCall(mesh_bad_line(r, "there are no points in this file: TetGen has written them to another file", NULL));
  PetscCall(mesh_read_integer(r, "the dimension", 3, 3, &dimension));
  for (int64_t i = 0; i < n; ++i) {
    PetscCall(next_data_line(r, "a point"));
    PetscCall(mesh_read_integer(r, "the number of a point", 0, INT64_MAX, &name));
    PetscCall(mesh_read_point(r, x));
    PetscCall(mesh_cells_vertex(c, name, x));
  }
  PetscCall(mesh_cells_index(c, &twice));
  PetscCheck(twice < 0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: two points have the number %lld; renumber the points", r->name,
             (long long)twice);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode read_corners(mesh_reader *r, const mesh_cells *c, int n, int32_t *v)
{
  int64_t name;
  PetscFunctionBegin;
  for (int i = 0; i < n; ++i) {
    PetscCall(mesh_read_integer(r, "a corner", 0, INT64_MAX, &name));
    v[i] = mesh_cells_find(c, name);
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)name);
    if (v[i] < 0) PetscCall(mesh_bad_line(r, "no such point:", text));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode read_cells(mesh_reader *r, bool has_tets, mesh_cells *c)
{
  int64_t n, n_corners, name;
  int32_t v[4];
  PetscFunctionBegin;
  PetscCall(next_data_line(r, "the number of cells"));
  PetscCall(mesh_read_integer(r, "the number of cells", 0, has_tets ? MESH_MAX_TETS : MESH_MAX_TRIANGLES, &n));
  if (has_tets) {
    PetscCall(mesh_read_integer(r, "the number of corners", 1, 100, &n_corners));
    if (n_corners == 10) PetscCall(mesh_bad_line(r, "tetrahedra with 10 nodes are not supported: run TetGen without -o2", NULL));
    if (n_corners != 4) PetscCall(mesh_bad_line(r, "a tetrahedron has four corners", NULL));
  }
  for (int64_t i = 0; i < n; ++i) {
    PetscCall(next_data_line(r, has_tets ? "a tetrahedron" : "a face"));
    PetscCall(mesh_read_integer(r, "the number of a cell", 0, INT64_MAX, &name));
    PetscCall(read_corners(r, c, has_tets ? 4 : 3, v));
    if (has_tets) PetscCall(mesh_cells_tet(c, name, v));
    else PetscCall(mesh_cells_triangle(c, v[0], v[1], v[2]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A .node file, and the corresponding .ele (has_tets) or .face file. */
static PetscErrorCode mesh_read_tetgen(const char *node_name, size_t node_size, const char *node, const char *cell_name, size_t cell_size,
                                       const char *cell, bool has_tets, mesh_cells *c)
{
  mesh_reader r = {0};
  PetscFunctionBegin;
  PetscCall(mesh_reader_open(node_name, node_size, node, &r));
  PetscErrorCode code = read_nodes(&r, c);
  mesh_reader_close(&r);
  PetscCall(code);
  PetscCall(mesh_reader_open(cell_name, cell_size, cell, &r));
  code = read_cells(&r, has_tets, c);
  mesh_reader_close(&r);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ==== all formats ==== */

/* Convert the cells to the requested mesh unless `code` reports an error; one of the two outputs is NULL. Frees the cells. */
static PetscErrorCode convert_cells(const char *name, PetscErrorCode code, mesh_cells *c, bool allow_parts, triangle_mesh **surface,
                                    tet_mesh **solid)
{
  PetscFunctionBegin;
  if (!code && surface) code = mesh_cells_surface(name, c, surface);
  if (!code && solid) code = mesh_cells_solid(name, c, allow_parts, solid);
  mesh_cells_free(c);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mesh_parse_msh(const char *name, size_t size, const char *bytes, bool allow_parts, triangle_mesh **surface, tet_mesh **solid)
{
  mesh_cells c = {.is_named = true};
  PetscFunctionBegin;
  PetscCall(convert_cells(name, mesh_read_msh(name, size, bytes, &c), &c, allow_parts, surface, solid));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mesh_parse_vtu(const char *name, size_t size, const char *bytes, bool allow_parts, triangle_mesh **surface, tet_mesh **solid)
{
  mesh_cells c = {.is_named = true};
  PetscFunctionBegin;
  PetscCall(convert_cells(name, mesh_read_vtu(name, size, bytes, &c), &c, allow_parts, surface, solid));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mesh_parse_tetgen(const char *node_name, size_t node_size, const char *node, const char *cell_name, size_t cell_size,
                                 const char *cell, bool allow_parts, triangle_mesh **surface, tet_mesh **solid)
{
  mesh_cells c = {.is_named = true};
  PetscFunctionBegin;
  const PetscErrorCode code = mesh_read_tetgen(node_name, node_size, node, cell_name, cell_size, cell, !surface, &c);
  PetscCall(convert_cells(cell_name, code, &c, allow_parts, surface, solid));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- files ---- */

/* `path` is one of a pair of files; the other one differs in the extension only. */
static PetscErrorCode import_tetgen(const char *path, bool allow_parts, triangle_mesh **surface, tet_mesh **solid)
{
  char          *name[2] = {NULL, NULL}, *bytes[2] = {NULL, NULL};
  size_t         size[2] = {0, 0};
  const size_t   stem    = (size_t)(strrchr(path, '.') - path);
  PetscErrorCode code    = PETSC_SUCCESS;
  PetscFunctionBegin;
  for (int i = 0; i < 2 && !code; ++i) {
    code = memory_alloc("mesh path", (int64_t)stem + 8, 1, &name[i]);
    if (code) break;
    memcpy(name[i], path, stem);
    strcpy(name[i] + stem, i == 0 ? ".node" : surface ? ".face" : ".ele");
    code = mesh_read_file(name[i], &bytes[i], &size[i]);
  }
  if (!code) code = mesh_parse_tetgen(name[0], size[0], bytes[0], name[1], size[1], bytes[1], allow_parts, surface, solid);
  for (int i = 0; i < 2; ++i) MEMORY_FREE(&bytes[i], &name[i]);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mesh_import(const char *path, triangle_mesh **out)
{
  char  *bytes = NULL;
  size_t size  = 0;
  PetscFunctionBegin;
  const bool is_obj = mesh_path_ends(path, ".obj"), is_stl = mesh_path_ends(path, ".stl"), is_msh = mesh_path_ends(path, ".msh");
  const bool is_vtu = mesh_path_ends(path, ".vtu"), is_face = mesh_path_ends(path, ".face");
  PetscCheck(is_obj || is_stl || is_msh || is_vtu || is_face, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "%s: only .obj, .stl, .msh, .vtu and .face (with .node in the same folder) surfaces can be read", path);
  if (is_face) {
    PetscCall(import_tetgen(path, false, out, NULL));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(mesh_read_file(path, &bytes, &size));
  const PetscErrorCode code = is_obj   ? mesh_parse_obj(path, size, bytes, out)
                              : is_stl ? mesh_parse_stl(path, size, bytes, out)
                              : is_msh ? mesh_parse_msh(path, size, bytes, false, out, NULL)
                                       : mesh_parse_vtu(path, size, bytes, false, out, NULL);
  memory_free(&bytes);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tet_mesh_import(const char *path, bool allow_parts, tet_mesh **out)
{
  char  *bytes = NULL;
  size_t size  = 0;
  PetscFunctionBegin;
  const bool is_msh = mesh_path_ends(path, ".msh"), is_vtu = mesh_path_ends(path, ".vtu");
  const bool is_tetgen = mesh_path_ends(path, ".node") || mesh_path_ends(path, ".ele");
  PetscCheck(is_msh || is_vtu || is_tetgen, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "%s: only .msh, .vtu and .ele (with .node in the same folder) tetrahedra can be read", path);
  if (is_tetgen) {
    PetscCall(import_tetgen(path, allow_parts, NULL, out));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(mesh_read_file(path, &bytes, &size));
  const PetscErrorCode code =
      is_msh ? mesh_parse_msh(path, size, bytes, allow_parts, NULL, out) : mesh_parse_vtu(path, size, bytes, allow_parts, NULL, out);
  memory_free(&bytes);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
