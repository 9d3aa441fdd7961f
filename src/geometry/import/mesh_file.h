/* Common functions of the mesh readers: a growing list of cells, a line reader for text files, and file access.
 *
 * Files are untrusted: counts stated in a file do not determine the size of arrays. Included by mesh_import*.c only. */
#ifndef SS_GEOMETRY_IMPORT_MESH_FILE_H
#define SS_GEOMETRY_IMPORT_MESH_FILE_H
#include "geometry/tet_mesh/tet_mesh.h"
#include "geometry/triangle_mesh/triangle_mesh.h"

/* ---- cells ---- */

enum { MESH_MAX_TRIANGLES = 50000000, MESH_MAX_TETS = 50000000, MESH_MAX_VERTICES = 150000000 };

/* Vertices, triangles and tetrahedra read so far. The arrays grow with the data read. Initialise with zeros, and with is_named =
 * true if the file numbers its vertices and tetrahedra. Free with mesh_cells_free. */
typedef struct {
  bool      is_named;
  int64_t   n_vertices, vertex_capacity, n_triangles, triangle_capacity, n_tets, tet_capacity;
  double   *x;             /* [n_vertices][3] */
  int64_t  *vertex_name;   /* [n_vertices] number in the file, if is_named */
  int32_t  *tri;           /* [n_triangles][3] */
  int32_t  *tet;           /* [n_tets][4] */
  int64_t  *tet_name;      /* [n_tets] number in the file, if is_named */
  uint64_t *sorted_name;   /* [n_vertices] sorted numbers, set by mesh_cells_index */
  int32_t  *sorted_vertex; /* [n_vertices] vertex of each sorted number */
} mesh_cells;

void mesh_cells_free(mesh_cells *c);
/* Append a vertex, triangle or tetrahedron. `name`: number of the vertex or tetrahedron in the file, ignored unless is_named. */
PetscErrorCode mesh_cells_vertex(mesh_cells *c, int64_t name, const double x[3]);
PetscErrorCode mesh_cells_triangle(mesh_cells *c, int32_t v0, int32_t v1, int32_t v2);
PetscErrorCode mesh_cells_tet(mesh_cells *c, int64_t name, const int32_t v[4]);
/* Sort the numbers (>= 0) of all vertices; required before mesh_cells_find. *twice: a number that two vertices have, or -1. */
PetscErrorCode mesh_cells_index(mesh_cells *c, int64_t *twice);
int32_t        mesh_cells_find(const mesh_cells *c, int64_t name); /* index of the vertex with this number; -1: none */
/* Convert the triangles, or the tetrahedra, to a mesh, which takes the arrays of c. `name`: file name. allow_parts: as tet_mesh_import. */
PetscErrorCode mesh_cells_surface(const char *name, mesh_cells *c, triangle_mesh **out);
PetscErrorCode mesh_cells_solid(const char *name, mesh_cells *c, bool allow_parts, tet_mesh **out);

/* ---- lines and words of a text file ---- */

typedef struct {
  const char *name;
  char       *at, *end; /* remaining text, a copy that ends with '\0' */
  char       *word;     /* next word of this line */
  int64_t     line;
  char       *text; /* start of the copy, owned */
} mesh_reader;

/* Copy the text; the first call of mesh_next_line advances to its first line. `name`: file name for messages. */
PetscErrorCode mesh_reader_open(const char *name, size_t size, const char *bytes, mesh_reader *r);
void           mesh_reader_close(mesh_reader *r);
/* Advance to the next line that is neither empty nor a comment (#); false at the end of the text. */
bool mesh_next_line(mesh_reader *r);
/* The next word of this line; NULL at its end. */
char *mesh_next_word(mesh_reader *r);
/* Return PETSC_ERR_USER_INPUT with the message: name:line: what "word". */
PetscErrorCode mesh_bad_line(const mesh_reader *r, const char *what, const char *word);
/* Read three finite numbers, or a whole number in [lo, hi]; PETSC_ERR_USER_INPUT otherwise. `what` names the value in messages. */
PetscErrorCode mesh_read_point(mesh_reader *r, double x[3]);
PetscErrorCode mesh_read_integer(mesh_reader *r, const char *what, int64_t lo, int64_t hi, int64_t *out);

/* ---- files ---- */

/* Read a complete file of at most 4 GiB: *bytes [*size], memory_free(*bytes). */
PetscErrorCode mesh_read_file(const char *path, char **bytes, size_t *size);
/* True if the path ends with `ending`, for example ".obj"; the case of letters is ignored. */
bool mesh_path_ends(const char *path, const char *ending);
#endif
