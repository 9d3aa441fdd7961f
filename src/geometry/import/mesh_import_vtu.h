/* Reader of VTK .vtu files: unstructured grids in XML, with text, base64 or raw data, also zlib-compressed. Called by
 * mesh_import.c. */
#ifndef SS_GEOMETRY_IMPORT_MESH_IMPORT_VTU_H
#define SS_GEOMETRY_IMPORT_MESH_IMPORT_VTU_H
#include "geometry/import/mesh_file.h"

/* Append the contents of the file to c. PETSC_ERR_USER_INPUT with the position if the file is invalid. */
PetscErrorCode mesh_read_vtu(const char *name, size_t size, const char *bytes, mesh_cells *c);
#endif
