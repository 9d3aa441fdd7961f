/* Reader of .msh files. */
#ifndef SS_GEOMETRY_IMPORT_MESH_IMPORT_MSH_H
#define SS_GEOMETRY_IMPORT_MESH_IMPORT_MSH_H
#include "geometry/import/mesh_file.h"

PetscErrorCode mesh_read_msh(const char *name, size_t size, const char *bytes, mesh_cells *c);
#endif
