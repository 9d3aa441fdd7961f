/* Reader of .vtu files. */
#ifndef SS_GEOMETRY_IMPORT_MESH_IMPORT_VTU_H
#define SS_GEOMETRY_IMPORT_MESH_IMPORT_VTU_H
#include "geometry/import/mesh_file.h"

PetscErrorCode mesh_read_vtu(const char *name, size_t size, const char *bytes, mesh_cells *c);
#endif
