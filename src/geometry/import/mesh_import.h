/* Import of meshes from files: triangle meshes, tetrahedral meshes and polylines. Called by shapes, cloth, FEM bodies and rods.
 *
 * Triangles: Wavefront .obj, .stl (text and binary), Gmsh .msh (2.2, 4.1), VTK .vtu and TetGen .face. Tetrahedra: .msh, .vtu and
 * TetGen .node/.ele. Polylines: .obj. Files are untrusted; every count, index and number is checked. */
#ifndef SS_GEOMETRY_IMPORT_MESH_IMPORT_H
#define SS_GEOMETRY_IMPORT_MESH_IMPORT_H
#include "geometry/tet_mesh/tet_mesh.h"
#include "geometry/triangle_mesh/triangle_mesh.h"

/* Read the triangles of a file. Extension and content determine the format. Polygons are split into fans of triangles.
 * Vertices of an .stl that are closer than 1e-6 of the mesh size are merged, and collapsed triangles are removed. Unused vertices
 * are removed. The mesh has finite vertices and valid indices but need not be closed (triangle_mesh_check). *out is owned by the
 * caller. PETSC_ERR_USER_INPUT with "file:line: problem" for an invalid file. */
PetscErrorCode mesh_import(const char *path, triangle_mesh **out);

/* Read the tetrahedra of a file: Gmsh .msh (2.2 or 4.1, text or binary), TetGen .node or .ele (the other file must be in the same
 * folder), VTK .vtu (text, base64 or raw, also zlib-compressed). Points, lines, triangles, quadrilaterals and unused vertices are
 * ignored; other cells are an error. Tetrahedra listed in mirrored order are reoriented. allow_parts: accept several components.
 * *out is owned by the caller. PETSC_ERR_USER_INPUT with "file:line: problem" for an invalid file or a mesh with defects; vertices and
 * tetrahedra have the numbers of the file. */
PetscErrorCode tet_mesh_import(const char *path, bool allow_parts, tet_mesh **out);

/* Polylines of a Wavefront .obj file (statement `l`). Free with mesh_lines_free. */
typedef struct {
  int64_t  n_lines;
  int64_t *start; /* [n_lines + 1] index of the first point of each polyline */
  double  *x;     /* [start[n_lines]][3] points */
} mesh_lines;
PetscErrorCode mesh_import_lines(const char *path, mesh_lines *out);
PetscErrorCode mesh_parse_obj_lines(const char *name, size_t size, const char *bytes, mesh_lines *out);
void           mesh_lines_free(mesh_lines *l);

/* As mesh_import, for the contents of a file in memory: bytes [size]; `name`: file name for messages. Also called by tests and fuzzing. */
PetscErrorCode mesh_parse_obj(const char *name, size_t size, const char *bytes, triangle_mesh **out);
PetscErrorCode mesh_parse_stl(const char *name, size_t size, const char *bytes, triangle_mesh **out);
/* Formats with triangles and tetrahedra: exactly one of `surface` and `solid` is not NULL and selects the output. */
PetscErrorCode mesh_parse_msh(const char *name, size_t size, const char *bytes, bool allow_parts, triangle_mesh **surface,
                              tet_mesh **solid);
PetscErrorCode mesh_parse_vtu(const char *name, size_t size, const char *bytes, bool allow_parts, triangle_mesh **surface,
                              tet_mesh **solid);
/* As mesh_parse_msh, for two files. node: the .node file; cell: the .face file for a surface, the .ele file for a solid. */
PetscErrorCode mesh_parse_tetgen(const char *node_name, size_t node_size, const char *node, const char *cell_name, size_t cell_size,
                                 const char *cell, bool allow_parts, triangle_mesh **surface, tet_mesh **solid);
#endif
