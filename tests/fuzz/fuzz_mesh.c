/* Arbitrary bytes as a mesh file. An accepted mesh must have indices in range and finite numbers; tetrahedra must be valid.
 *
 * The first byte selects the format, and surface or solid; for TetGen the first byte 255 separates the two files. */
#include "fuzz.h"
#include "core/memory.h"
#include "geometry/import/mesh_import.h"
#include <string.h>

static void fuzz_set_up(void) {}

static void check_surface(triangle_mesh *m)
{
  triangle_mesh_defects d;
  char                  text[1024];
  MUST(!triangle_mesh_check(m, &d));
  MUST(m->n_triangles > 0 && !d.n_not_finite && !d.n_bad_index && !d.n_unused);
  triangle_mesh_defects_text(m, &d, sizeof text, text);
  triangle_mesh_destroy(&m);
}

static void check_solid(tet_mesh *m)
{
  triangle_mesh_defects d;
  MUST(!tet_mesh_require("accepted", m, false, NULL));
  MUST(!triangle_mesh_check(m->surface, &d));
  MUST(!d.n_open && !d.n_nonmanifold && !d.n_misoriented && !d.n_pinched);
  for (int64_t t = 0; t < m->n_tets; ++t) MUST(m->volume[t] > 0.0);
  tet_mesh_destroy(&m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
  triangle_mesh *surface = NULL;
  tet_mesh      *solid   = NULL;
  PetscErrorCode code;
  if (n < 1) return 0;
  const int       kind          = data[0] % 5;
  const bool      wants_surface = data[0] / 5 % 2;
  const char     *text          = (const char *)data + 1;
  triangle_mesh **s             = wants_surface ? &surface : NULL;
  --n;
  if (kind == 0) code = mesh_parse_obj("fuzz", n, text, &surface);
  else if (kind == 1) code = mesh_parse_stl("fuzz", n, text, &surface);
  else if (kind == 2) code = mesh_parse_msh("fuzz", n, text, false, s, wants_surface ? NULL : &solid);
  else if (kind == 3) code = mesh_parse_vtu("fuzz", n, text, false, s, wants_surface ? NULL : &solid);
  else {
    const char  *cut  = n ? memchr(text, 255, n) : NULL;
    const size_t head = cut ? (size_t)(cut - text) : n;
    code              = mesh_parse_tetgen("fuzz.node", head, text, "fuzz.ele", cut ? n - head - 1 : 0, cut ? cut + 1 : text, false, s,
                             wants_surface ? NULL : &solid);
  }
  MUST(code == PETSC_SUCCESS || code == PETSC_ERR_USER_INPUT);
  MUST((code == PETSC_SUCCESS) == (surface || solid));
  MUST(code == PETSC_SUCCESS || strlen(error_message()) > 0);
  if (surface) check_surface(surface);
  if (solid) check_solid(solid);
  error_clear();
  MUST(memory_live() == 0);
  return 0;
}
