#include "geometry/import/mesh_import.h"
#include "core/memory.h"
#include "geometry/import/mesh_file.h"
#include <string.h>

/* Cells that were read, or why not, into the mesh that is wanted: one of the two outputs is NULL. */
static PetscErrorCode deliver(const char *name, PetscErrorCode code, mesh_cells *c, bool allow_parts, triangle_mesh **surface, tet_mesh **solid)
{
  PetscFunctionBegin;
  if (!code && surface) code = mesh_cells_surface(name, c, surface);
  if (!code && solid) code = mesh_cells_solid(name, c, allow_parts, solid);
  mesh_cells_free(c);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mesh_parse_msh(const char *name, size_t size, const char *bytes, bool allow_parts, triangle_mesh **surface, tet_mesh **solid)
{
  mesh_cells c = {.is_named = true};
  PetscFunctionBegin;
  PetscCall(deliver(name, mesh_read_msh(name, size, bytes, &c), &c, allow_parts, surface, solid));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mesh_parse_vtu(const char *name, size_t size, const char *bytes, bool allow_parts, triangle_mesh **surface, tet_mesh **solid)
{
  mesh_cells c = {.is_named = true};
  PetscFunctionBegin;
  PetscCall(deliver(name, mesh_read_vtu(name, size, bytes, &c), &c, allow_parts, surface, solid));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mesh_parse_tetgen(const char *node_name, size_t node_size, const char *node, const char *cell_name, size_t cell_size,
                                 const char *cell, bool allow_parts, triangle_mesh **surface, tet_mesh **solid)
{
  mesh_cells c = {.is_named = true};
  PetscFunctionBegin;
  const PetscErrorCode code = mesh_read_tetgen(node_name, node_size, node, cell_name, cell_size, cell, !surface, &c);
  PetscCall(deliver(cell_name, code, &c, allow_parts, surface, solid));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- files ---- */

/* `path` is one of the pair of files; the other has the same name up to its ending. */
static PetscErrorCode import_tetgen(const char *path, bool allow_parts, triangle_mesh **surface, tet_mesh **solid)
{
  char        *name[2] = {NULL, NULL}, *bytes[2] = {NULL, NULL};
  size_t       size[2] = {0, 0};
  const size_t stem    = (size_t)(strrchr(path, '.') - path);
  PetscErrorCode code  = PETSC_SUCCESS;
  PetscFunctionBegin;
  for (int i = 0; i < 2 && !code; ++i) {
    code = memory_alloc("mesh path", (int64_t)stem + 8, 1, &name[i]);
    if (code) break;
    memcpy(name[i], path, stem);
    strcpy(name[i] + stem, i == 0 ? ".node" : surface ? ".face" : ".ele");
    code = mesh_read_file(name[i], &bytes[i], &size[i]);
  }
  if (!code) code = mesh_parse_tetgen(name[0], size[0], bytes[0], name[1], size[1], bytes[1], allow_parts, surface, solid);
  for (int i = 0; i < 2; ++i) {
    memory_free(&bytes[i]);
    memory_free(&name[i]);
  }
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mesh_import(const char *path, triangle_mesh **out)
{
  char  *bytes = NULL;
  size_t size  = 0;
  PetscFunctionBegin;
  const bool is_obj = mesh_path_ends(path, ".obj"), is_stl = mesh_path_ends(path, ".stl"), is_msh = mesh_path_ends(path, ".msh");
  const bool is_vtu = mesh_path_ends(path, ".vtu"), is_face = mesh_path_ends(path, ".face");
  PetscCheck(is_obj || is_stl || is_msh || is_vtu || is_face, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "%s: only .obj, .stl, .msh, .vtu and .face (with .node beside it) surfaces can be read", path);
  if (is_face) {
    PetscCall(import_tetgen(path, false, out, NULL));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(mesh_read_file(path, &bytes, &size));
  const PetscErrorCode code = is_obj   ? mesh_parse_obj(path, size, bytes, out)
                              : is_stl ? mesh_parse_stl(path, size, bytes, out)
                              : is_msh ? mesh_parse_msh(path, size, bytes, false, out, NULL)
                                       : mesh_parse_vtu(path, size, bytes, false, out, NULL);
  memory_free(&bytes);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tet_mesh_import(const char *path, bool allow_parts, tet_mesh **out)
{
  char  *bytes = NULL;
  size_t size  = 0;
  PetscFunctionBegin;
  const bool is_msh = mesh_path_ends(path, ".msh"), is_vtu = mesh_path_ends(path, ".vtu");
  const bool is_tetgen = mesh_path_ends(path, ".node") || mesh_path_ends(path, ".ele");
  PetscCheck(is_msh || is_vtu || is_tetgen, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "%s: only .msh, .vtu and .ele (with .node beside it) tetrahedra can be read", path);
  if (is_tetgen) {
    PetscCall(import_tetgen(path, allow_parts, NULL, out));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(mesh_read_file(path, &bytes, &size));
  const PetscErrorCode code = is_msh ? mesh_parse_msh(path, size, bytes, allow_parts, NULL, out) : mesh_parse_vtu(path, size, bytes, allow_parts, NULL, out);
  memory_free(&bytes);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
