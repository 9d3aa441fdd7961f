/* .stl, text or binary. */
#include "core/math3.h"
#include "core/memory.h"
#include "geometry/import/mesh_file.h"
#include "geometry/import/mesh_import.h"
#include "geometry/triangle_mesh/vertex_merge.h"
#include <ctype.h>
#include <strings.h>

/* Corner 3t + i of the triangle soup -> vertex; triangles that collapse are dropped. */
static PetscErrorCode merge_corners(mesh_cells *b, double tolerance)
{
  const int64_t n      = b->n_vertices;
  int32_t      *vertex = NULL;
  int64_t       n_kept = 0, next = 0;
  PetscFunctionBegin;
  PetscCall(memory_alloc("mesh merging", n, sizeof *vertex, &vertex));
  PetscCall(vertex_merge(n, b->x, tolerance, vertex, &n_kept));
  for (int64_t i = 0; i < n; ++i)
    if (vertex[i] == next) v3_copy(&b->x[3 * next++], &b->x[3 * i]); /* kept vertices never overtake the corners still to come */
  b->n_vertices = n_kept;
  for (int64_t t = 0; t < n / 3; ++t) {
    const int32_t *v = &vertex[3 * t];
    if (v[0] != v[1] && v[1] != v[2] && v[2] != v[0]) PetscCall(mesh_cells_triangle(b, v[0], v[1], v[2]));
  }
  memory_free(&vertex);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode merge_soup(mesh_cells *b)
{
  double lo[3] = {INFINITY, INFINITY, INFINITY}, hi[3] = {-INFINITY, -INFINITY, -INFINITY}, size = 0.0, far = 0.0;
  PetscFunctionBegin;
  if (b->n_vertices == 0) PetscFunctionReturn(PETSC_SUCCESS);
  for (int64_t i = 0; i < b->n_vertices; ++i)
    for (int k = 0; k < 3; ++k) lo[k] = fmin(lo[k], b->x[3 * i + k]), hi[k] = fmax(hi[k], b->x[3 * i + k]);
  for (int k = 0; k < 3; ++k) size = fmax(size, hi[k] - lo[k]), far = fmax(far, fmax(fabs(lo[k]), fabs(hi[k])));
  /* the coordinates are floats: two of them far from the origin differ by at least 1e-7 of their size */
  const double tolerance = fmax(fmax(1e-6 * size, 1e-7 * far), 1e-300);
  PetscCall(merge_corners(b, tolerance));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static double little_endian_float(const unsigned char *p)
{
  const uint32_t u = (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
  float          f;
  memcpy(&f, &u, sizeof f);
  return f;
}

static PetscErrorCode stl_binary(const char *name, const unsigned char *p, int64_t n, mesh_cells *b)
{
  PetscFunctionBegin;
  for (int64_t t = 0; t < n; ++t)
    for (int i = 0; i < 3; ++i) {
      double x[3];
      for (int k = 0; k < 3; ++k) {
        x[k] = little_endian_float(p + 84 + 50 * t + 12 * (i + 1) + 4 * k);
        PetscCheck(isfinite(x[k]) && fabs(x[k]) <= 1e30, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
                   "%s: triangle %lld has a coordinate that is not a finite number", name, (long long)t);
      }
      PetscCall(mesh_cells_vertex(b, 0, x));
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Normals are read past: the order of the vertices says the same. */
static PetscErrorCode stl_text(mesh_reader *r, mesh_cells *b)
{
  static const char *const sequence[] = {"facet", "outer", "vertex", "vertex", "vertex", "endloop", "endfacet"};
  int                      step = -1; /* -1: outside a solid */
  PetscFunctionBegin;
  while (mesh_next_line(r)) {
    char *w = mesh_next_word(r);
    if (!w) continue;
    if (step == -1 && strcasecmp(w, "solid") == 0) step = 0;
    else if (step == 0 && strcasecmp(w, "endsolid") == 0) step = -1;
    else if (step >= 0 && strcasecmp(w, sequence[step]) == 0) {
      if (step >= 2 && step <= 4) {
        double x[3];
        PetscCall(mesh_read_point(r, x));
        if (mesh_next_word(r)) PetscCall(mesh_bad_line(r, "a vertex has three coordinates, not more", NULL));
        if (b->n_vertices >= 3 * (int64_t)MESH_MAX_TRIANGLES) PetscCall(mesh_bad_line(r, "too many triangles", NULL));
        PetscCall(mesh_cells_vertex(b, 0, x));
      }
      step = (step + 1) % 7;
    } else {
      char what[64];
      snprintf(what, sizeof what, "expected \"%s\" but found", step == -1 ? "solid" : sequence[step]);
      PetscCall(mesh_bad_line(r, what, w));
    }
  }
  if (step > 0) PetscCall(mesh_bad_line(r, "the file ends within a facet", NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mesh_parse_stl(const char *name, size_t size, const char *bytes, triangle_mesh **out)
{
  const unsigned char *p    = (const unsigned char *)bytes;
  mesh_cells           b    = {0};
  mesh_reader          r    = {0};
  PetscErrorCode       code = PETSC_SUCCESS;
  PetscFunctionBegin;
  const int64_t n = size >= 84 ? (int64_t)((uint32_t)p[80] | (uint32_t)p[81] << 8 | (uint32_t)p[82] << 16 | (uint32_t)p[83] << 24) : -1;
  /* many binary files also start with "solid": only the size tells */
  if (n >= 0 && (int64_t)size == 84 + 50 * n) {
    PetscCheck(n <= MESH_MAX_TRIANGLES, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: %lld triangles are too many", name, (long long)n);
    code = stl_binary(name, p, n, &b);
  } else {
    size_t skip = 0;
    while (skip < size && isspace(p[skip])) ++skip;
    PetscCheck(size - skip >= 5 && strncasecmp(bytes + skip, "solid", 5) == 0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
               "%s: neither a text .stl (starts with \"solid\") nor a binary one (%lld bytes do not fit %lld triangles)", name,
               (long long)size, (long long)n);
    PetscCall(mesh_reader_open(name, size, bytes, &r));
    code = stl_text(&r, &b);
  }
  if (!code) code = merge_soup(&b);
  if (!code) code = mesh_cells_surface(name, &b, out);
  mesh_cells_free(&b);
  mesh_reader_close(&r);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
