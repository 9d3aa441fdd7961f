/* TetGen .node with .ele or .face. */
#include "geometry/import/mesh_file.h"
#include <string.h>

/* The next line; the rest of it after a # is a comment. */
static PetscErrorCode line_of(mesh_reader *r, const char *what)
{
  PetscFunctionBegin;
  if (!mesh_next_line(r)) PetscCall(mesh_bad_line(r, "the file ends early:", what));
  r->word[strcspn(r->word, "#")] = '\0';
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Attributes and markers may follow on each line; how many does not matter. */
static PetscErrorCode read_nodes(mesh_reader *r, mesh_cells *c)
{
  int64_t n, dimension, name, twice;
  double  x[3];
  PetscFunctionBegin;
  PetscCall(line_of(r, "the number of points"));
  PetscCall(mesh_read_integer(r, "the number of points", 0, MESH_MAX_VERTICES, &n));
  if (n == 0) PetscCall(mesh_bad_line(r, "there are no points in this file: TetGen has written them elsewhere", NULL));
  PetscCall(mesh_read_integer(r, "the dimension", 3, 3, &dimension));
  for (int64_t i = 0; i < n; ++i) {
    PetscCall(line_of(r, "a point"));
    PetscCall(mesh_read_integer(r, "the number of a point", 0, INT64_MAX, &name));
    PetscCall(mesh_read_point(r, x));
    PetscCall(mesh_cells_vertex(c, name, x));
  }
  PetscCall(mesh_cells_index(c, &twice));
  PetscCheck(twice < 0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: two points have the number %lld", r->name, (long long)twice);
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
  PetscCall(line_of(r, "the number of cells"));
  PetscCall(mesh_read_integer(r, "the number of cells", 0, has_tets ? MESH_MAX_TETS : MESH_MAX_TRIANGLES, &n));
  if (has_tets) {
    PetscCall(mesh_read_integer(r, "the number of corners", 1, 100, &n_corners));
    if (n_corners == 10) PetscCall(mesh_bad_line(r, "tetrahedra with 10 nodes cannot be read: run TetGen without -o2", NULL));
    if (n_corners != 4) PetscCall(mesh_bad_line(r, "a tetrahedron has four corners", NULL));
  }
  for (int64_t i = 0; i < n; ++i) {
    PetscCall(line_of(r, has_tets ? "a tetrahedron" : "a face"));
    PetscCall(mesh_read_integer(r, "the number of a cell", 0, INT64_MAX, &name));
    PetscCall(read_corners(r, c, has_tets ? 4 : 3, v));
    if (has_tets) PetscCall(mesh_cells_tet(c, name, v));
    else PetscCall(mesh_cells_triangle(c, v[0], v[1], v[2]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mesh_read_tetgen(const char *node_name, size_t node_size, const char *node, const char *cell_name, size_t cell_size,
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
