/* Triangle meshes from files: Wavefront .obj, and .stl in its text and binary forms. Nothing in a file is trusted. */
#ifndef SS_DISCRETIZE_MESH_IMPORT_H
#define SS_DISCRETIZE_MESH_IMPORT_H
#include "discretize/mesh/triangle_mesh.h"

/* Read a file; the form is told from its content (an .obj from its ending). Polygons are cut into fans; vertices of an .stl
 * closer than 1e-6 of the mesh's size are merged, triangles that collapse are dropped; vertices no triangle uses are dropped.
 * The result has finite vertices and valid indices but need not be closed: triangle_mesh_check. On a bad file
 * PETSC_ERR_USER_INPUT with "file:line: what is wrong". */
PetscErrorCode mesh_import(const char *path, triangle_mesh **out);

/* The same from memory: size bytes, `name` for messages. */
PetscErrorCode mesh_parse_obj(const char *name, size_t size, const char *bytes, triangle_mesh **out);
PetscErrorCode mesh_parse_stl(const char *name, size_t size, const char *bytes, triangle_mesh **out);
#endif
