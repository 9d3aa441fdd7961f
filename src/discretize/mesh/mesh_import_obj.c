/* Wavefront .obj. */
#include "discretize/mesh/mesh_file.h"
#include "discretize/mesh/mesh_import.h"
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

PetscErrorCode mesh_parse_obj(const char *name, size_t size, const char *bytes, triangle_mesh **out)
{
  mesh_cells  b = {0};
  mesh_reader r = {0};
  PetscFunctionBegin;
  PetscCall(mesh_reader_open(name, size, bytes, &r));
  char *text = r.text;
  for (size_t i = 0; i + 1 < size; ++i) { /* a backslash joins lines */
    if (text[i] == '\\' && text[i + 1] == '\n') text[i] = text[i + 1] = ' ';
    else if (text[i] == '\\' && text[i + 1] == '\r' && i + 2 < size && text[i + 2] == '\n') text[i] = text[i + 1] = text[i + 2] = ' ';
  }
  PetscErrorCode code = obj_lines(&r, &b);
  if (!code) code = mesh_cells_surface(name, &b, out);
  mesh_cells_free(&b);
  mesh_reader_close(&r);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
