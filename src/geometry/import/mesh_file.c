/* Implementation of the cell list, the line reader and file access. */
#include "geometry/import/mesh_file.h"
#include "core/math3.h"
#include "core/memory.h"
#include "core/regular_file.h"
#include "core/sort.h"
#include <errno.h>
#include <strings.h>

static const int64_t MAX_FILE_SIZE = (int64_t)4 << 30;

/* ---- cells ---- */

void mesh_cells_free(mesh_cells *c)
{
  MEMORY_FREE(&c->x, &c->vertex_name, &c->tri, &c->tet, &c->tet_name, &c->sorted_name, &c->sorted_vertex);
}

PetscErrorCode mesh_cells_vertex(mesh_cells *c, int64_t name, const double x[3])
{
  PetscFunctionBegin;
  PetscCheck(c->n_vertices < MESH_MAX_VERTICES, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "more than %d vertices; use a coarser mesh",
             MESH_MAX_VERTICES);
  PetscCall(MEMORY_RESERVE("mesh vertices", c->n_vertices + 1, &c->vertex_capacity, ARRAY(c->x, 3), ARRAY(c->vertex_name, c->is_named)));
  if (c->is_named) c->vertex_name[c->n_vertices] = name;
  v3_copy(&c->x[3 * c->n_vertices++], x);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mesh_cells_triangle(mesh_cells *c, int32_t v0, int32_t v1, int32_t v2)
{
  PetscFunctionBegin;
  PetscCheck(c->n_triangles < MESH_MAX_TRIANGLES, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "more than %d triangles; use a coarser mesh",
             MESH_MAX_TRIANGLES);
  PetscCall(MEMORY_RESERVE("mesh triangles", c->n_triangles + 1, &c->triangle_capacity, ARRAY(c->tri, 3)));
  int32_t *t = &c->tri[3 * c->n_triangles++];
  t[0] = v0, t[1] = v1, t[2] = v2;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mesh_cells_tet(mesh_cells *c, int64_t name, const int32_t v[4])
{
  PetscFunctionBegin;
  PetscCheck(c->n_tets < MESH_MAX_TETS, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "more than %d tetrahedra; use a coarser mesh",
             MESH_MAX_TETS);
  PetscCall(MEMORY_RESERVE("mesh tetrahedra", c->n_tets + 1, &c->tet_capacity, ARRAY(c->tet, 4), ARRAY(c->tet_name, c->is_named)));
  if (c->is_named) c->tet_name[c->n_tets] = name;
  memcpy(&c->tet[4 * c->n_tets++], v, 4 * sizeof *v);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mesh_cells_index(mesh_cells *c, int64_t *twice)
{
  PetscFunctionBegin;
  MEMORY_FREE(&c->sorted_name, &c->sorted_vertex);
  PetscCall(MEMORY_ALLOC("mesh names", ARRAY(c->sorted_name, c->n_vertices), ARRAY(c->sorted_vertex, c->n_vertices)));
  for (int64_t i = 0; i < c->n_vertices; ++i) c->sorted_name[i] = (uint64_t)c->vertex_name[i];
  PetscCall(sort_keys(c->n_vertices, 64, c->sorted_name, c->sorted_vertex));
  *twice = -1;
  for (int64_t i = 1; i < c->n_vertices && *twice < 0; ++i)
    if (c->sorted_name[i] == c->sorted_name[i - 1]) *twice = (int64_t)c->sorted_name[i];
  PetscFunctionReturn(PETSC_SUCCESS);
}

int32_t mesh_cells_find(const mesh_cells *c, int64_t name)
{
  int64_t lo = 0, hi = c->n_vertices;
  if (!c->sorted_name || name < 0) return -1;
  while (lo < hi) {
    const int64_t middle = (lo + hi) / 2;
    if (c->sorted_name[middle] < (uint64_t)name) lo = middle + 1;
    else hi = middle;
  }
  return lo < c->n_vertices && c->sorted_name[lo] == (uint64_t)name ? c->sorted_vertex[lo] : -1;
}

PetscErrorCode mesh_cells_surface(const char *name, mesh_cells *c, triangle_mesh **out)
{
  triangle_mesh *m = NULL;
  PetscFunctionBegin;
  PetscCheck(c->n_triangles > 0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: no triangles in this file%s", name,
             c->n_tets ? ", only tetrahedra: import it as a tetrahedral mesh, or also save the surface triangles" : "");
  PetscCall(memory_alloc("triangle mesh", 1, sizeof *m, &m));
  m->n_vertices = c->n_vertices, m->n_triangles = c->n_triangles;
  m->x = c->x, m->tri = c->tri;
  c->x = NULL, c->tri = NULL;
  PetscErrorCode code = memory_resize("mesh triangles", 3 * m->n_triangles, sizeof *m->tri, &m->tri);
  if (!code) code = triangle_mesh_compact(m);
  if (code) triangle_mesh_destroy(&m);
  PetscCall(code);
  *out = m;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Remove unused vertices; the remaining vertices keep their numbers. */
static PetscErrorCode compact_names(mesh_cells *c, tet_mesh *m)
{
  int32_t      *new_index = NULL;
  const int64_t n         = m->n_vertices;
  PetscFunctionBegin;
  PetscCall(memory_alloc("mesh renumbering", n, sizeof *new_index, &new_index));
  PetscErrorCode code = tet_mesh_compact(m, new_index);
  for (int64_t i = 0; !code && c->is_named && i < n; ++i)
    if (new_index[i] >= 0) c->vertex_name[new_index[i]] = c->vertex_name[i];
  memory_free(&new_index);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mesh_cells_solid(const char *name, mesh_cells *c, bool allow_parts, tet_mesh **out)
{
  tet_mesh *m = NULL;
  PetscFunctionBegin;
  PetscCheck(c->n_tets > 0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: no tetrahedra in this file%s", name,
             c->n_triangles ? ", only triangles: generate tetrahedra inside the surface and save again" : "");
  PetscCall(memory_alloc("tetrahedral mesh", 1, sizeof *m, &m));
  m->n_vertices = c->n_vertices, m->n_tets = c->n_tets;
  m->x = c->x, m->tet = c->tet;
  c->x = NULL, c->tet = NULL;
  PetscErrorCode code = memory_resize("mesh tetrahedra", 4 * m->n_tets, sizeof *m->tet, &m->tet);
  if (!code) code = compact_names(c, m);
  if (!code) code = tet_mesh_orient(m, NULL);
  const tet_mesh_names names = {c->vertex_name, c->tet_name};
  if (!code) code = tet_mesh_require(name, m, allow_parts, c->is_named ? &names : NULL);
  if (!code) code = tet_mesh_finish(m);
  if (code) tet_mesh_destroy(&m);
  PetscCall(code);
  *out = m;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- lines and words ---- */

PetscErrorCode mesh_reader_open(const char *name, size_t size, const char *bytes, mesh_reader *r)
{
  PetscFunctionBegin;
  *r = (mesh_reader){.name = name};
  PetscCall(memory_alloc("mesh text", (int64_t)size + 1, 1, &r->text)); /* zeroed: ends with '\0' */
  if (size) memcpy(r->text, bytes, size);
  r->at = r->word = r->text, r->end = r->text + size;
  PetscFunctionReturn(PETSC_SUCCESS);
}

void mesh_reader_close(mesh_reader *r) { memory_free(&r->text); }

bool mesh_next_line(mesh_reader *r)
{
  while (r->at < r->end) {
    char *line = r->at, *stop = memchr(line, '\n', (size_t)(r->end - line));
    if (!stop) stop = r->end;
    r->at = stop < r->end ? stop + 1 : r->end;
    *stop = '\0';
    ++r->line;
    for (char *c = line; c < stop; ++c)
      if (*c == '\0' || *c == '\r') *c = ' '; /* embedded NUL bytes must not hide the rest of a line */
    line += strspn(line, " \t");
    if (*line == '\0' || *line == '#') continue;
    r->word = line;
    return true;
  }
  return false;
}

char *mesh_next_word(mesh_reader *r)
{
  char *w = r->word + strspn(r->word, " \t");
  if (*w == '\0') return NULL;
  char *end = w + strcspn(w, " \t");
  r->word   = *end ? end + 1 : end;
  *end      = '\0';
  return w;
}

PetscErrorCode mesh_bad_line(const mesh_reader *r, const char *what, const char *word)
{
  PetscFunctionBegin;
  SETERRQ(PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s:%lld: %s%s%.40s%s", r->name, (long long)r->line, what, word ? " \"" : "",
          word ? word : "", word ? "\"" : "");
}

static PetscErrorCode mesh_read_number(mesh_reader *r, const char *what, double *x)
{
  char *w = mesh_next_word(r), *end = NULL;
  PetscFunctionBegin;
  if (!w) PetscCall(mesh_bad_line(r, what, NULL));
  *x = strtod(w, &end); /* cppcheck-suppress nullPointerRedundantCheck; mesh_bad_line returned */
  if (end == w || *end != '\0' || !isfinite(*x)) PetscCall(mesh_bad_line(r, "not a finite number:", w));
  if (fabs(*x) > 1e30) PetscCall(mesh_bad_line(r, "a coordinate beyond 1e30:", w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mesh_read_point(mesh_reader *r, double x[3])
{
  PetscFunctionBegin;
  for (int k = 0; k < 3; ++k) PetscCall(mesh_read_number(r, "a vertex needs three coordinates", &x[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mesh_read_integer(mesh_reader *r, const char *what, int64_t lo, int64_t hi, int64_t *out)
{
  char *w = mesh_next_word(r), *end = NULL, text[160];
  PetscFunctionBegin;
  snprintf(text, sizeof text, "%s is missing", what);
  if (!w) PetscCall(mesh_bad_line(r, text, NULL));
  errno             = 0;
  const long long i = strtoll(w, &end, 10); /* cppcheck-suppress nullPointerRedundantCheck; mesh_bad_line returned */
  snprintf(text, sizeof text, "%s must be a whole number from %lld to %lld, not", what, (long long)lo, (long long)hi);
  if (end == w || *end != '\0' || errno || i < lo || i > hi) PetscCall(mesh_bad_line(r, text, w));
  *out = i;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- files ---- */

bool mesh_path_ends(const char *path, const char *ending)
{
  const size_t n = strlen(path), k = strlen(ending);
  return n >= k && strcasecmp(path + n - k, ending) == 0;
}

PetscErrorCode mesh_read_file(const char *path, char **bytes, size_t *size)
{
  PetscFunctionBegin;
  const char *why;
  FILE       *f = regular_file_stream(path, "r", &why);
  PetscCheck(f, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "%s: cannot be opened (%s)", path, why);
  const bool    is_seekable = fseeko(f, 0, SEEK_END) == 0;
  const int64_t n           = is_seekable ? (int64_t)ftello(f) : -1;
  if (n <= 0 || n > MAX_FILE_SIZE || fseeko(f, 0, SEEK_SET) != 0) {
    fclose(f);
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_FILE_READ, "%s: not a mesh file (empty, larger than 4 GiB, or not a regular file)", path);
  }
  PetscErrorCode code = memory_alloc("mesh file", n, 1, bytes);
  *size               = code ? 0 : fread(*bytes, 1, (size_t)n, f);
  fclose(f); /* cppcheck-suppress doubleFree; SETERRQ returned above */
  if (!code && (int64_t)*size != n) memory_free(bytes);
  PetscCall(code);
  PetscCheck((int64_t)*size == n, PETSC_COMM_SELF, PETSC_ERR_FILE_READ, "%s: could not be read completely", path);
  PetscFunctionReturn(PETSC_SUCCESS);
}
