/* Implementation: a file consists of sections between $Name and $EndName, of which $Nodes and $Elements are used.
 *
 * In version 2.2 every element is listed separately; in 4.1 elements come in blocks of one kind. Binary files of version 2.2 use
 * 32-bit counts, those of 4.1 use 64-bit counts. */
#include "geometry/import/mesh_import_msh.h"
#include "core/math3.h"
#include "core/memory.h"
#include "geometry/import/mesh_file.h"

typedef struct {
  mesh_reader r;
  mesh_cells *c;
  bool        is_4, is_binary, has_nodes;
} msh_file;

/* ---- values from text or binary files ---- */

static PetscErrorCode read_bytes(msh_file *f, size_t size, void *out)
{
  PetscFunctionBegin;
  PetscCheck((size_t)(f->r.end - f->r.at) >= size, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "%s: the file ends early, after %lld bytes; export it again", f->r.name, (long long)(f->r.end - f->r.text));
  memcpy(out, f->r.at, size);
  f->r.at += size;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode report_bad_value(const msh_file *f, const char *what, int64_t value)
{
  char text[32];
  PetscFunctionBegin;
  snprintf(text, sizeof text, "%lld", (long long)value);
  if (!f->is_binary) PetscCall(mesh_bad_line(&f->r, what, text));
  SETERRQ(PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: byte %lld: %s \"%s\"", f->r.name, (long long)(f->r.at - f->r.text), what, text);
}

/* A whole number in [0, hi]: the next word of the line, or n_bytes (4 or 8) of a binary file. */
static PetscErrorCode read_whole_number(msh_file *f, int n_bytes, const char *what, int64_t hi, int64_t *out)
{
  PetscFunctionBegin;
  if (!f->is_binary) {
    PetscCall(mesh_read_integer(&f->r, what, 0, hi, out));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  int32_t small = 0;
  if (n_bytes == 4) PetscCall(read_bytes(f, 4, &small));
  else PetscCall(read_bytes(f, 8, out));
  if (n_bytes == 4) *out = small;
  char text[120];
  snprintf(text, sizeof text, "%s must be a whole number from 0 to %lld, not", what, (long long)hi);
  if (*out < 0 || *out > hi) PetscCall(report_bad_value(f, text, *out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* In text files, advance to the next line. */
static PetscErrorCode start_line(msh_file *f, const char *what)
{
  PetscFunctionBegin;
  if (!f->is_binary && !mesh_next_line(&f->r)) PetscCall(mesh_bad_line(&f->r, "the file ends early:", what));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode read_point(msh_file *f, int n_more, double x[3])
{
  PetscFunctionBegin;
  if (!f->is_binary) {
    PetscCall(mesh_read_point(&f->r, x));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  double parameter;
  for (int k = 0; k < 3; ++k) {
    PetscCall(read_bytes(f, sizeof x[k], &x[k]));
    if (!(fabs(x[k]) <= 1e30)) PetscCall(report_bad_value(f, "a coordinate is not a finite number, at vertex", f->c->n_vertices));
  }
  for (int k = 0; k < n_more; ++k) PetscCall(read_bytes(f, sizeof parameter, &parameter));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- nodes ---- */

static PetscErrorCode read_nodes_2(msh_file *f)
{
  int64_t n, name;
  double  x[3];
  PetscFunctionBegin;
  if (!mesh_next_line(&f->r)) PetscCall(mesh_bad_line(&f->r, "the file ends early:", "the number of nodes"));
  PetscCall(mesh_read_integer(&f->r, "the number of nodes", 0, MESH_MAX_VERTICES, &n)); /* this line is text also in binary files */
  for (int64_t i = 0; i < n; ++i) {
    PetscCall(start_line(f, "a node"));
    PetscCall(read_whole_number(f, 4, "the number of a node", INT64_MAX, &name));
    PetscCall(read_point(f, 0, x));
    PetscCall(mesh_cells_vertex(f->c, name, x));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A block: first all node numbers, then all coordinates, followed by parameters on the entity if is_parametric. */
static PetscErrorCode read_node_block_4(msh_file *f, int64_t n_left, int64_t *n)
{
  int64_t dimension, entity, is_parametric, name;
  double  x[3] = {0};
  PetscFunctionBegin;
  PetscCall(start_line(f, "a block of nodes"));
  PetscCall(read_whole_number(f, 4, "the dimension of a block", 3, &dimension));
  if (f->is_binary) PetscCall(read_bytes(f, 4, &(int32_t){0})); /* tags of entities may be negative */
  else PetscCall(mesh_read_integer(&f->r, "the entity of a block", INT32_MIN, INT32_MAX, &entity));
  PetscCall(read_whole_number(f, 4, "\"parametric\"", 1, &is_parametric));
  PetscCall(read_whole_number(f, 8, "the number of nodes of a block", n_left, n));
  const int64_t first = f->c->n_vertices;
  for (int64_t i = 0; i < *n; ++i) {
    PetscCall(start_line(f, "the number of a node"));
    PetscCall(read_whole_number(f, 8, "the number of a node", INT64_MAX, &name));
    PetscCall(mesh_cells_vertex(f->c, name, x));
  }
  for (int64_t i = 0; i < *n; ++i) {
    PetscCall(start_line(f, "a node"));
    PetscCall(read_point(f, is_parametric ? (int)dimension : 0, x));
    v3_copy(&f->c->x[3 * (first + i)], x);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode read_nodes_4(msh_file *f)
{
  int64_t n_blocks, n, n_here, skip;
  PetscFunctionBegin;
  PetscCall(start_line(f, "the number of nodes"));
  PetscCall(read_whole_number(f, 8, "the number of blocks", INT32_MAX, &n_blocks));
  PetscCall(read_whole_number(f, 8, "the number of nodes", MESH_MAX_VERTICES, &n));
  for (int k = 0; k < 2; ++k) PetscCall(read_whole_number(f, 8, "the range of node numbers", INT64_MAX, &skip));
  for (int64_t b = 0; b < n_blocks; ++b, n -= n_here) PetscCall(read_node_block_4(f, n, &n_here));
  if (n != 0) PetscCall(report_bad_value(f, "the blocks have fewer nodes than the header states; missing:", n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- elements ---- */

/* Number of corners of an element of a supported or ignored type; fails for other types. */
static PetscErrorCode count_corners(const msh_file *f, int64_t type, int *n)
{
  PetscFunctionBegin;
  switch (type) {
  case 15: *n = 1; break;
  case 1: *n = 2; break;
  case 2: *n = 3; break;
  case 3:
  case 4: *n = 4; break;
  case 5:
  case 6:
  case 7: PetscCall(report_bad_value(f, "hexahedra, prisms and pyramids cannot be read, only tetrahedra: element type", type)); break;
  case 8:
  case 9:
  case 10:
  case 11:
  case 16:
    PetscCall(report_bad_value(f, "second-order elements cannot be read, mesh with Mesh.ElementOrder = 1: element type", type));
    break;
  default: PetscCall(report_bad_value(f, "only points, lines, triangles, quadrilaterals and tetrahedra can be read: element type", type));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode add_element(msh_file *f, int64_t type, int n_corners, int64_t name, int n_bytes)
{
  int64_t node;
  int32_t v[4];
  PetscFunctionBegin;
  for (int i = 0; i < n_corners; ++i) {
    PetscCall(read_whole_number(f, n_bytes, "a corner", INT64_MAX, &node));
    v[i] = mesh_cells_find(f->c, node);
    if (v[i] < 0) PetscCall(report_bad_value(f, "no such node:", node));
  }
  if (type == 4) PetscCall(mesh_cells_tet(f->c, name, v));
  if (type == 2 || type == 3) PetscCall(mesh_cells_triangle(f->c, v[0], v[1], v[2]));
  if (type == 3) PetscCall(mesh_cells_triangle(f->c, v[0], v[2], v[3]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Binary files have runs of elements with one header; in text files every element is a run of one, preceded by its number. */
static PetscErrorCode read_elements_2(msh_file *f)
{
  int64_t n, name = 0, type, n_run = 1, n_tags, tag;
  int     n_corners = 0;
  PetscFunctionBegin;
  if (!mesh_next_line(&f->r)) PetscCall(mesh_bad_line(&f->r, "the file ends early:", "the number of elements"));
  PetscCall(mesh_read_integer(&f->r, "the number of elements", 0, INT32_MAX, &n));
  while (n > 0) {
    PetscCall(start_line(f, "an element"));
    if (!f->is_binary) PetscCall(read_whole_number(f, 4, "the number of an element", INT64_MAX, &name));
    PetscCall(read_whole_number(f, 4, "the type of an element", INT32_MAX, &type));
    PetscCall(count_corners(f, type, &n_corners));
    if (f->is_binary) PetscCall(read_whole_number(f, 4, "the number of elements of a run", n, &n_run));
    if (n_run == 0) PetscCall(report_bad_value(f, "a run of elements has the length", n_run));
    PetscCall(read_whole_number(f, 4, "the number of tags", 1000, &n_tags));
    for (int64_t i = 0; i < n_run; ++i) {
      if (f->is_binary) PetscCall(read_whole_number(f, 4, "the number of an element", INT32_MAX, &name));
      for (int64_t t = 0; t < n_tags; ++t) {
        if (f->is_binary) PetscCall(read_bytes(f, 4, &(int32_t){0})); /* partition tags are negative */
        else PetscCall(mesh_read_integer(&f->r, "a tag", INT32_MIN, INT32_MAX, &tag));
      }
      PetscCall(add_element(f, type, n_corners, name, 4));
    }
    n -= n_run;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode read_elements_4(msh_file *f)
{
  int64_t n_blocks, n, n_here, skip, type, name;
  int     n_corners = 0;
  PetscFunctionBegin;
  PetscCall(start_line(f, "the number of elements"));
  PetscCall(read_whole_number(f, 8, "the number of blocks", INT32_MAX, &n_blocks));
  PetscCall(read_whole_number(f, 8, "the number of elements", INT32_MAX, &n));
  for (int k = 0; k < 2; ++k) PetscCall(read_whole_number(f, 8, "the range of element numbers", INT64_MAX, &skip));
  for (int64_t b = 0; b < n_blocks; ++b) {
    PetscCall(start_line(f, "a block of elements"));
    PetscCall(read_whole_number(f, 4, "the dimension of a block", 3, &skip));
    if (f->is_binary) PetscCall(read_bytes(f, 4, &(int32_t){0}));
    else PetscCall(mesh_read_integer(&f->r, "the entity of a block", INT32_MIN, INT32_MAX, &skip));
    PetscCall(read_whole_number(f, 4, "the type of an element", INT32_MAX, &type));
    PetscCall(count_corners(f, type, &n_corners));
    PetscCall(read_whole_number(f, 8, "the number of elements of a block", n, &n_here));
    for (int64_t i = 0; i < n_here; ++i) {
      PetscCall(start_line(f, "an element"));
      PetscCall(read_whole_number(f, 8, "the number of an element", INT64_MAX, &name));
      PetscCall(add_element(f, type, n_corners, name, 8));
    }
    n -= n_here;
  }
  if (n != 0) PetscCall(report_bad_value(f, "the blocks have fewer elements than the header states; missing:", n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- sections ---- */

static PetscErrorCode read_format(msh_file *f)
{
  PetscFunctionBegin;
  if (!mesh_next_line(&f->r)) PetscCall(mesh_bad_line(&f->r, "the file ends early:", "the version"));
  const char *version = mesh_next_word(&f->r);
  f->is_4             = version && strcmp(version, "4.1") == 0;
  if (!f->is_4 && (!version || strcmp(version, "2.2") != 0))
    PetscCall(mesh_bad_line(&f->r, "only versions 2.2 and 4.1 can be read (Mesh.MshFileVersion in Gmsh), not", version));
  int64_t is_binary, size;
  PetscCall(mesh_read_integer(&f->r, "the file type", 0, 1, &is_binary));
  PetscCall(mesh_read_integer(&f->r, "the data size", 8, 8, &size));
  if (is_binary) {
    int32_t one = 0;
    PetscCall(read_bytes(f, sizeof one, &one));
    if (one != 1) PetscCall(mesh_bad_line(&f->r, "written with the opposite byte order: save the mesh as text", NULL));
  }
  f->is_binary = is_binary;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Advance to the line $End... of this section. may_skip: ignore the lines before it; else they are an error. */
static PetscErrorCode end_section(msh_file *f, const char *section, bool may_skip)
{
  char end[64];
  PetscFunctionBegin;
  snprintf(end, sizeof end, "$End%s", section);
  while (mesh_next_line(&f->r)) {
    const char *w = mesh_next_word(&f->r);
    if (w && strcmp(w, end) == 0) PetscFunctionReturn(PETSC_SUCCESS);
    if (w && !may_skip) {
      snprintf(end, sizeof end, "expected $End%s but found", section);
      PetscCall(mesh_bad_line(&f->r, end, w));
    }
  }
  PetscCall(mesh_bad_line(&f->r, "the file ends within section", section));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode read_nodes(msh_file *f)
{
  int64_t twice = -1;
  PetscFunctionBegin;
  if (f->has_nodes) PetscCall(mesh_bad_line(&f->r, "a second section $Nodes", NULL));
  if (f->is_4) PetscCall(read_nodes_4(f));
  else PetscCall(read_nodes_2(f));
  PetscCall(mesh_cells_index(f->c, &twice));
  PetscCheck(twice < 0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: two nodes have the number %lld; renumber the nodes", f->r.name,
             (long long)twice);
  f->has_nodes = true;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode read_sections(msh_file *f)
{
  bool has_format = false, has_elements = false;
  PetscFunctionBegin;
  while (mesh_next_line(&f->r)) {
    char        section[40];
    const char *w = mesh_next_word(&f->r);
    if (!w) continue;
    if (w[0] != '$' || strlen(w) > sizeof section) PetscCall(mesh_bad_line(&f->r, "expected the start of a section, $..., but found", w));
    snprintf(section, sizeof section, "%s", w + 1);
    const bool is_format = strcmp(section, "MeshFormat") == 0, is_nodes = strcmp(section, "Nodes") == 0,
               is_elements = strcmp(section, "Elements") == 0;
    if (!is_format && !has_format) PetscCall(mesh_bad_line(&f->r, "a Gmsh file starts with $MeshFormat, not with", w));
    if (is_format && has_format) PetscCall(mesh_bad_line(&f->r, "a second section", w));
    if (is_elements && !f->has_nodes) PetscCall(mesh_bad_line(&f->r, "elements before the nodes they need", NULL));
    if (is_format) PetscCall(read_format(f));
    if (is_nodes) PetscCall(read_nodes(f));
    if (is_elements && f->is_4) PetscCall(read_elements_4(f));
    if (is_elements && !f->is_4) PetscCall(read_elements_2(f));
    PetscCall(end_section(f, section, !is_format && !is_nodes && !is_elements));
    has_format = true, has_elements = has_elements || is_elements;
  }
  PetscCheck(has_elements, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "%s: no section $Elements in this file; export the mesh with its elements", f->r.name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mesh_read_msh(const char *name, size_t size, const char *bytes, mesh_cells *c)
{
  msh_file f = {.c = c};
  PetscFunctionBegin;
  PetscCall(mesh_reader_open(name, size, bytes, &f.r));
  const PetscErrorCode code = read_sections(&f);
  mesh_reader_close(&f.r);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
