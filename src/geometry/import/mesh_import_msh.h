/* Reader of Gmsh .msh files, versions 2.2 and 4.1, text and binary. Called by mesh_import.c. */
#ifndef SS_GEOMETRY_IMPORT_MESH_IMPORT_MSH_H
#define SS_GEOMETRY_IMPORT_MESH_IMPORT_MSH_H
#include "geometry/import/mesh_file.h"

/* Append the contents of the file to c. PETSC_ERR_USER_INPUT with the position if the file is invalid. */
PetscErrorCode mesh_read_msh(const char *name, size_t size, const char *bytes, mesh_cells *c);
#endif
