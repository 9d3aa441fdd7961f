/* What readers of mesh files share; only files named mesh_*.c include this. */
#ifndef SS_GEOMETRY_IMPORT_MESH_FILE_H
#define SS_GEOMETRY_IMPORT_MESH_FILE_H
#include "geometry/tet_mesh/tet_mesh.h"
#include "geometry/triangle_mesh/triangle_mesh.h"

/* ---- cells as they are found ---- */

enum { MESH_MAX_TRIANGLES = 50000000, MESH_MAX_TETS = 50000000, MESH_MAX_VERTICES = 150000000 };

/* Grows as the file is read: counts that a file promises are never trusted with memory. Starts as zeros, with is_named where the
 * file numbers its vertices and tetrahedra; mesh_cells_free at the end. */
typedef struct {
  bool     is_named;
  int64_t  n_vertices, vertex_room, n_triangles, triangle_room, n_tets, tet_room;
  double  *x;           /* [n_vertices][3] */
  int64_t *vertex_name; /* [n_vertices] if named */
  int32_t *tri;         /* [n_triangles][3] */
  int32_t *tet;         /* [n_tets][4] */
  int64_t *tet_name;    /* [n_tets] if named */
  uint64_t *sorted_name; /* [n_vertices] after mesh_cells_index, and whose it is */
  int32_t  *sorted_vertex;
} mesh_cells;

void           mesh_cells_free(mesh_cells *c);
PetscErrorCode mesh_cells_vertex(mesh_cells *c, int64_t name, const double x[3]);
PetscErrorCode mesh_cells_triangle(mesh_cells *c, int32_t v0, int32_t v1, int32_t v2);
PetscErrorCode mesh_cells_tet(mesh_cells *c, int64_t name, const int32_t v[4]);
/* Makes mesh_cells_find work, once all vertices are there. *twice: a name two of them have, or -1. Names are not negative. */
PetscErrorCode mesh_cells_index(mesh_cells *c, int64_t *twice);
int32_t        mesh_cells_find(const mesh_cells *c, int64_t name); /* -1: no such vertex */
/* The triangles, or the tetrahedra, as a mesh. `name` for messages. The arrays move out of c. */
PetscErrorCode mesh_cells_surface(const char *name, mesh_cells *c, triangle_mesh **out);
PetscErrorCode mesh_cells_solid(const char *name, mesh_cells *c, bool allow_parts, tet_mesh **out);

/* ---- a line at a time, words within it ---- */

typedef struct {
  const char *name;
  char       *at, *end; /* of the rest of the text, which is our own copy and ends with '\0' */
  char       *word;     /* next word of this line */
  int64_t     line;
  char       *text;     /* what to free */
} mesh_reader;

PetscErrorCode mesh_reader_open(const char *name, size_t size, const char *bytes, mesh_reader *r);
void           mesh_reader_close(mesh_reader *r);
/* Cut off the next line that has words and is no comment (#); false at the end. */
bool           mesh_next_line(mesh_reader *r);
/* The next word of this line; NULL at its end. */
char          *mesh_next_word(mesh_reader *r);
/* Fails with "name:line: what "word"". */
PetscErrorCode mesh_bad_line(const mesh_reader *r, const char *what, const char *word);
PetscErrorCode mesh_read_point(mesh_reader *r, double x[3]);
PetscErrorCode mesh_read_integer(mesh_reader *r, const char *what, int64_t lo, int64_t hi, int64_t *out);

/* ---- files ---- */

PetscErrorCode mesh_read_file(const char *path, char **bytes, size_t *size);
/* Does the path end like this (".obj"), in any case of letters? */
bool           mesh_path_ends(const char *path, const char *ending);
#endif
