/* Triangle meshes from files: Wavefront .obj, .stl in its text and binary forms, and the triangles of Gmsh .msh (2.2, 4.1), VTK
 * .vtu and TetGen .face files. Nothing in a file is trusted. */
#ifndef SS_GEOMETRY_IMPORT_MESH_IMPORT_H
#define SS_GEOMETRY_IMPORT_MESH_IMPORT_H
#include "geometry/tet_mesh/tet_mesh.h"
#include "geometry/triangle_mesh/triangle_mesh.h"

/* Read a file; the form is told from its ending, and then its content. Polygons are cut into fans; vertices of an .stl
 * closer than 1e-6 of the mesh's size are merged, triangles that collapse are dropped; vertices no triangle uses are dropped.
 * The result has finite vertices and valid indices but need not be closed: triangle_mesh_check. On a bad file
 * PETSC_ERR_USER_INPUT with "file:line: what is wrong". */
PetscErrorCode mesh_import(const char *path, triangle_mesh **out);

/* Read the tetrahedra of a file: Gmsh .msh (2.2 or 4.1, text or binary), TetGen .node or .ele (the other is beside it), VTK .vtu
 * (text, base64 or raw, also zlib-compressed). Points, lines, triangles and quadrilaterals in it are passed over, as are vertices that no tetrahedron
 * uses; other cells are refused. Tetrahedra listed the other way round are turned. allow_parts: a body in several parts is all
 * right. On a bad file or an unsound mesh PETSC_ERR_USER_INPUT with "file:line: what is wrong" and the file's own numbers. */
PetscErrorCode tet_mesh_import(const char *path, bool allow_parts, tet_mesh **out);

/* Polylines of a Wavefront .obj file (`l`). Owned; free with mesh_lines_free. */
typedef struct {
  int64_t  n_lines;
  int64_t *start; /* [n_lines + 1] first point of each */
  double  *x;     /* [points][3] */
} mesh_lines;
PetscErrorCode mesh_import_lines(const char *path, mesh_lines *out);
PetscErrorCode mesh_parse_obj_lines(const char *name, size_t size, const char *bytes, mesh_lines *out);
void           mesh_lines_free(mesh_lines *l);

/* The same from memory: size bytes, `name` for messages. */
PetscErrorCode mesh_parse_obj(const char *name, size_t size, const char *bytes, triangle_mesh **out);
PetscErrorCode mesh_parse_stl(const char *name, size_t size, const char *bytes, triangle_mesh **out);
/* Formats that may hold both: exactly one of the outputs is not NULL. */
PetscErrorCode mesh_parse_msh(const char *name, size_t size, const char *bytes, bool allow_parts, triangle_mesh **surface, tet_mesh **solid);
PetscErrorCode mesh_parse_vtu(const char *name, size_t size, const char *bytes, bool allow_parts, triangle_mesh **surface, tet_mesh **solid);
/* cell: the .face file if a surface is wanted, else the .ele file. */
PetscErrorCode mesh_parse_tetgen(const char *node_name, size_t node_size, const char *node, const char *cell_name, size_t cell_size,
                                 const char *cell, bool allow_parts, triangle_mesh **surface, tet_mesh **solid);
#endif
