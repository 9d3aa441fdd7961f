/* Wavefront .obj. */
#include "core/memory.h"
#include "geometry/import/mesh_file.h"
#include "geometry/import/mesh_import.h"
#include <errno.h>
#include <string.h>

/* "7", "7/1", "7//3", "-1/...": index from 1, or from the end if negative. */
static PetscErrorCode read_corner(mesh_reader *r, char *w, int64_t n_vertices, int32_t *vertex)
{
  char *end = NULL;
  PetscFunctionBegin;
  errno         = 0;
  const long long i = strtoll(w, &end, 10);
  if (end == w || (*end != '\0' && *end != '/') || errno) PetscCall(mesh_bad_line(r, "not a vertex index:", w));
  const long long v = i > 0 ? i - 1 : i < 0 && i >= -n_vertices ? n_vertices + i : -1;
  if (v < 0 || v >= n_vertices) PetscCall(mesh_bad_line(r, "no such vertex (so far):", w));
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
  /* statements without influence on the surface: texture, normals, grouping, rendering, points and lines */
  static const char *const skipped[] = {"vt", "vn", "vp", "o", "g", "s", "mg", "usemtl", "mtllib", "l", "p", "lod", "shadow_obj", "trace_obj", "d_interp", "c_interp", "bevel", NULL};
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
      if (!is_skipped) PetscCall(mesh_bad_line(r, "this statement cannot be read; only polygon meshes can:", w));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A backslash joins lines. */
static void join_lines(size_t size, char *text)
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
  join_lines(size, r.text);
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
  memory_free(&l->start);
  memory_free(&l->x);
  *l = (mesh_lines){0};
}

/* What has been read of them so far. */
typedef struct {
  mesh_cells b; /* vertices */
  int64_t    n_points, n_lines, point_room, line_room;
  double    *x;
  int64_t   *start;
} line_list;

static PetscErrorCode add_polyline(mesh_reader *r, line_list *l)
{
  int n = 0;
  PetscFunctionBegin;
  PetscCall(memory_reserve("lines", l->n_lines + 2, sizeof *l->start, &l->line_room, &l->start));
  for (char *w = mesh_next_word(r); w; w = mesh_next_word(r), ++n) {
    int32_t v;
    PetscCall(read_corner(r, w, l->b.n_vertices, &v));
    PetscCall(memory_reserve("lines", 3 * (l->n_points + 1), sizeof *l->x, &l->point_room, &l->x));
    memcpy(l->x + 3 * l->n_points++, l->b.x + 3 * (int64_t)v, 3 * sizeof *l->x);
  }
  if (n < 2) PetscCall(mesh_bad_line(r, "a line needs at least two vertices", NULL));
  l->start[0]            = 0;
  l->start[++l->n_lines] = l->n_points;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All other statements have no influence on them. */
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
  PetscCheck(l->n_lines > 0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: has no line (a statement `l` with the numbers of its vertices)", r->name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mesh_parse_obj_lines(const char *name, size_t size, const char *bytes, mesh_lines *out)
{
  line_list   l = {0};
  mesh_reader r = {0};
  PetscFunctionBegin;
  *out = (mesh_lines){0};
  PetscCall(mesh_reader_open(name, size, bytes, &r));
  join_lines(size, r.text);
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
  PetscCheck(mesh_path_ends(path, ".obj"), PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: lines can be read from a Wavefront .obj file only", path);
  PetscCall(mesh_read_file(path, &bytes, &size));
  const PetscErrorCode code = mesh_parse_obj_lines(path, size, bytes, out);
  memory_free(&bytes);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
