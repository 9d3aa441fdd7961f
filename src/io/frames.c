/* Frames for ParaView, see frames.h. */
#include "io/frames.h"
#include "core/log.h"
#include "core/memory.h"
#include "io/catalog.h"
#include "io/numbered_files.h"
#include "io/sealed_file.h"
#include "io/xdmf.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { FRAME_FORMAT = 2, CONSTANT_FORMAT = 1 };
static const char KIND[] = "frame", CONSTANT_KIND[] = "constants";

struct frames {
  char          *directory, *xdmf_path, *constant_path;
  bool           has_constants; /* the file has been written */
  frames_options options;
  char          *job_name;
  xdmf          *series;
  catalog       *constants; /* their table of contents; NULL: not read yet */
};
struct frame {
  catalog *c, *constants; /* constants: NULL if there are none */
};

/* ---- The folder ------------------------------------------------------------------------------------------------------ */

static const numbered_files FILES = {"frames/", "frame", 6};

PetscErrorCode frames_path(const char *directory, int64_t index, char **path)
{
  return numbered_files_path(&FILES, directory, index, path);
}

PetscErrorCode frames_list(const char *directory, int64_t *n, int64_t **indices)
{
  return numbered_files_list(&FILES, directory, n, indices);
}

/* ---- Writing --------------------------------------------------------------------------------------------------------- */

/* Open a frame and, if it refers to them, the constants in the same folder, unless they are open. The caller closes both. is_quick: only tables of
 * contents, without the checksum of the frame. */
static PetscErrorCode open_catalog(const char *path, bool is_quick, catalog **constants, catalog **out)
{
  const char *slash                                      = strrchr(path, '/');
  char       *file __attribute__((cleanup(memory_free))) = NULL;

  PetscFunctionBegin;
  PetscCall(catalog_open(path, KIND, FRAME_FORMAT, is_quick, out));
  if (!(*out)->needs_constants) PetscFunctionReturn(PETSC_SUCCESS);
  if (!*constants) {
    PetscCall(file_format(&file, "%.*s" CATALOG_CONSTANTS, slash ? (int)(slash + 1 - path) : 0, path));
    PetscCall(catalog_open(file, CONSTANT_KIND, CONSTANT_FORMAT, false, constants));
    if (is_quick) catalog_close_file(*constants);
  }
  PetscCall(catalog_attach(*out, *constants));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A frame that went wrong is no reason to stop: the picture misses it, the state does not. */
static PetscErrorCode check_and_add(frames *f, int64_t index)
{
  char     why[SEALED_WHY];
  char    *path __attribute__((cleanup(memory_free))) = NULL;
  catalog *c __attribute__((cleanup(catalog_close)))  = NULL;

  PetscFunctionBegin;
  PetscCall(frames_path(f->directory, index, &path));
  if (!sealed_file_check(path, KIND, FRAME_FORMAT, false, why)) {
    log_warn("%s %s; the time series continues without it", path, why);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(open_catalog(path, true, &f->constants, &c));
  PetscCall(xdmf_add(f->series, c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A killed writer can only have damaged the last frame, which is checked completely. Earlier frames are taken from the old
 * series without opening them; frame_open still validates what it reads. */
static PetscErrorCode continue_with(frames *f, xdmf *old, int64_t index, bool is_last)
{
  char name[64];
  bool is_there = false;

  PetscFunctionBegin;
  snprintf(name, sizeof name, "frame_%06lld.h5", (long long)index);
  if (old && !is_last) PetscCall(xdmf_copy(f->series, old, name, &is_there));
  if (!is_there) PetscCall(check_and_add(f, index));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode resume_series(frames *f, int64_t next_index)
{
  int64_t  n;
  int64_t *indices __attribute__((cleanup(memory_free))) = NULL;
  xdmf    *old __attribute__((cleanup(xdmf_destroy)))    = NULL;

  PetscFunctionBegin;
  numbered_files_remove_temporaries(&FILES, f->directory);
  PetscCall(frames_list(f->directory, &n, &indices));
  if (next_index > 0) PetscCall(xdmf_read(f->xdmf_path, f->job_name, &old));
  for (int64_t i = 0; i < n; ++i) {
    char *path __attribute__((cleanup(memory_free))) = NULL;
    if (indices[i] < next_index) {
      PetscCall(continue_with(f, old, indices[i], i + 1 == n || indices[i + 1] >= next_index));
      continue;
    }
    PetscCall(frames_path(f->directory, indices[i], &path));
    PetscCheck(!unlink(path), PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "cannot remove %s: %s", path, strerror(errno));
  }
  PetscCall(xdmf_write(f->series, f->xdmf_path));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void frames_close(frames **f)
{
  if (!*f) return;
  xdmf_destroy(&(*f)->series);
  catalog_close(&(*f)->constants);
  MEMORY_FREE(&(*f)->directory, &(*f)->xdmf_path, &(*f)->constant_path, &(*f)->job_name, f);
}

/* Whether the field belongs to the frames (is_constant: to the constants). */
static bool is_wanted(const frames *f, const field_group *group, const field *x, bool is_constant)
{
  if (((x->flags & FIELD_CONSTANT) != 0) != is_constant) return false;
  if (is_constant) return (x->flags & FIELD_FRAME) != 0;
  if (group->geometry != FIELD_GROUP_PLAIN && !strcmp(x->name, "position")) return true;
  if (group->geometry == FIELD_GROUP_POSES && !strcmp(x->name, "orientation")) return true;
  if (!(x->flags & FIELD_FRAME)) return false;
  for (int k = 0; k < f->options.n_names; ++k)
    if (!strcmp(f->options.names[k], x->name)) return true;
  return f->options.n_names == 0;
}

static PetscErrorCode write_topology(const char *path, hid_t file, const field_group *group)
{
  H5_SCOPE(scope);
  const int      corners = field_geometry_corners(group->geometry);
  const int64_t  n_cells = corners == 3 ? group->n_triangles : corners == 2 ? group->n_segments : *group->n_rows;
  const int32_t *cells   = corners == 3 ? group->triangles : group->segments;
  const hsize_t  dims[2] = {(hsize_t)n_cells, (hsize_t)corners};
  hid_t          parent, dataset;
  char           name[128];
  int32_t       *index __attribute__((cleanup(memory_free))) = NULL;

  PetscFunctionBegin;
  /* The dataset carries the last part of the name; the groups before it may exist. */
  snprintf(name, sizeof name, "topology/%s", group->name);
  char *slash = strrchr(name, '/');
  *slash      = 0;
  PetscCall(h5_make_group(&scope, path, file, name, &parent));
  PetscCall(h5_make_dataset(&scope, path, parent, slash + 1, H5T_STD_I32LE, 2, dims, true, &dataset, NULL));
  if (corners == 1) {
    PetscCall(memory_alloc("frame index", *group->n_rows, sizeof *index, &index));
    for (int64_t i = 0; i < *group->n_rows; ++i) index[i] = (int32_t)i;
  }
  PetscCall(h5_write_rows(path, dataset, H5T_NATIVE_INT32, 0, dims[0], corners > 1 ? cells : index));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The changing part of a group with its topology, or the constant part of a group with is_fixed. */
static PetscErrorCode write_group(const frames *f, const char *path, hid_t file, hid_t fields, const field_group *group, bool is_constant)
{
  H5_SCOPE(scope);
  const int32_t geometry = (int32_t)group->geometry, yes = 1;
  int32_t       n = 0;
  hid_t         location;

  PetscFunctionBegin;
  for (int i = 0; i < group->n_fields; ++i) {
    n += is_wanted(f, group, &group->fields[i], is_constant);
    SS_ASSERT(group->is_fixed || !(group->fields[i].flags & FIELD_CONSTANT));
  }
  if (is_constant ? !group->is_fixed : !n) PetscFunctionReturn(PETSC_SUCCESS);
  if (group->is_fixed == is_constant && group->geometry != FIELD_GROUP_PLAIN) {
    const field *x = field_group_find(group, "position");
    PetscCheck(x && x->n_components == 3 && x->type == FIELD_F64, PETSC_COMM_SELF, PETSC_ERR_PLIB,
               "group %s has a geometry, but no \"position\" of 3 reals", group->name);
    PetscCheck(*group->n_rows <= INT32_MAX, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "group %s has too many rows for a frame",
               group->name);
    PetscCall(write_topology(path, file, group));
  }
  PetscCall(h5_make_group(&scope, path, fields, group->name, &location));
  PetscCall(h5_put_numbers(path, location, "n_rows", H5T_NATIVE_INT64, H5T_STD_I64LE, 1, group->n_rows));
  PetscCall(h5_put_numbers(path, location, "geometry", H5T_NATIVE_INT32, H5T_STD_I32LE, 1, &geometry));
  PetscCall(h5_put_numbers(path, location, "n_fields", H5T_NATIVE_INT32, H5T_STD_I32LE, 1, &n));
  if (group->is_fixed && !is_constant) PetscCall(h5_put_numbers(path, location, "has_constants", H5T_NATIVE_INT32, H5T_STD_I32LE, 1, &yes));
  for (int i = 0; i < group->n_fields; ++i)
    if (is_wanted(f, group, &group->fields[i], is_constant))
      PetscCall(field_store_write(path, location, group, &group->fields[i], *group->n_rows, !f->options.is_double, false));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode write_file(const frames *f, const char *path, int64_t step, double time, const field_table *table, bool is_constant)
{
  H5_SCOPE(scope);
  const int32_t yes = 1;
  hid_t         file, fields;

  PetscFunctionBegin;
  PetscCall(h5_create(&scope, path, SEAL_BYTES, &file));
  PetscCall(catalog_write_head(path, file, is_constant ? CONSTANT_KIND : KIND, f->job_name, NULL, NULL, step, time));
  if (f->has_constants && !is_constant) PetscCall(h5_put_numbers(path, file, "has_constants", H5T_NATIVE_INT32, H5T_STD_I32LE, 1, &yes));
  PetscCall(h5_make_group(&scope, path, file, "fields", &fields));
  for (int i = 0; i < field_table_n_groups(table); ++i)
    PetscCall(write_group(f, path, file, fields, field_table_group(table, i), is_constant));
  H5_CALL(path, h5_release(&scope, fields));
  H5_CALL(path, h5_release(&scope, file));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static int64_t frame_bytes(const frames *f, const field_table *table, bool is_constant)
{
  int64_t bytes = 0;

  for (int i = 0; i < field_table_n_groups(table); ++i) {
    const field_group *g = field_table_group(table, i);
    if (g->is_fixed == is_constant) bytes += 12 * g->n_triangles + 8 * g->n_segments + 4 * *g->n_rows;
    for (int j = 0; j < g->n_fields; ++j)
      if (is_wanted(f, g, &g->fields[j], is_constant))
        bytes += *g->n_rows * g->fields[j].n_components * (int64_t)field_type_size(g->fields[j].type);
  }
  return bytes;
}

/* Write, seal and rename a frame or the constants. */
static PetscErrorCode write_sealed(const frames *f, const char *path, int64_t step, double time, const field_table *table, bool is_constant)
{
  char *temporary __attribute__((cleanup(memory_free))) = NULL;
  char *folder __attribute__((cleanup(memory_free)))    = NULL;

  PetscFunctionBegin;
  PetscCall(file_format(&folder, "%s/frames", f->directory));
  PetscCall(file_make_directory(folder)); /* the user may have deleted the folder */
  PetscCall(file_check_space(f->directory, frame_bytes(f, table, is_constant) + (1 << 20)));
  PetscCall(file_temporary(path, &temporary));
  const PetscErrorCode code = write_file(f, temporary, step, time, table, is_constant);
  if (code) unlink(temporary);
  PetscCall(code);
  PetscCall(sealed_file_publish(temporary, path, is_constant ? CONSTANT_KIND : KIND, is_constant ? CONSTANT_FORMAT : FRAME_FORMAT));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the existing file of constants has the groups and fields of the table: a resumed run then writes nothing. */
static PetscErrorCode has_current_constants(const frames *f, const field_table *table, bool *is_current)
{
  char     why[SEALED_WHY];
  int      n                                         = 0;
  catalog *c __attribute__((cleanup(catalog_close))) = NULL;

  PetscFunctionBegin;
  *is_current = sealed_file_check(f->constant_path, CONSTANT_KIND, CONSTANT_FORMAT, false, why);
  if (!*is_current) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(catalog_open(f->constant_path, CONSTANT_KIND, CONSTANT_FORMAT, true, &c));
  for (int i = 0; i < field_table_n_groups(table); ++i) {
    const field_group *g = field_table_group(table, i);
    if (!g->is_fixed) continue;
    const int at = catalog_find_group(c, g->name);
    ++n;
    if (at < 0 || c->groups[at].n_rows != *g->n_rows) *is_current = false;
    for (int k = 0; k < g->n_fields && *is_current; ++k)
      if (is_wanted(f, g, &g->fields[k], true) && catalog_find_field(&c->groups[at], g->fields[k].name) < 0) *is_current = false;
  }
  *is_current = *is_current && n == c->n_groups;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* next_index > 0: continue with the existing file if it is that of the table. */
static PetscErrorCode write_constants(frames *f, int64_t next_index, const field_table *table)
{
  bool is_needed = false, is_current = false;

  PetscFunctionBegin;
  for (int i = 0; i < field_table_n_groups(table); ++i) is_needed = is_needed || field_table_group(table, i)->is_fixed;
  if (is_needed && next_index > 0) PetscCall(has_current_constants(f, table, &is_current));
  catalog_close(&f->constants);
  if (is_needed && !is_current) PetscCall(write_sealed(f, f->constant_path, 0, 0.0, table, true));
  f->has_constants = is_needed;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode set_up(frames *f, const char *directory, int64_t next_index, const frames_options *options)
{
  char *folder __attribute__((cleanup(memory_free))) = NULL;

  PetscFunctionBegin;
  if (options) f->options = *options;
  PetscCall(file_format(&f->directory, "%s", directory));
  PetscCall(file_format(&f->xdmf_path, "%s/frames.xmf", directory));
  PetscCall(file_format(&f->constant_path, "%s/frames/" CATALOG_CONSTANTS, directory));
  PetscCall(file_format(&f->job_name, "%s", f->options.job_name ? f->options.job_name : "stickslip"));
  PetscCall(file_format(&folder, "%s/frames", directory));
  PetscCall(file_make_directory(folder));
  PetscCall(xdmf_create(f->job_name, &f->series));
  if (next_index == 0) (void)unlink(f->constant_path);
  if (f->options.table) PetscCall(write_constants(f, next_index, f->options.table));
  PetscCall(resume_series(f, next_index));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode frames_open(const char *directory, int64_t next_index, const frames_options *options, frames **out)
{
  PetscFunctionBegin;
  PetscCall(memory_alloc("frames", 1, sizeof **out, out));
  const PetscErrorCode code = set_up(*out, directory, next_index, options);
  if (code) frames_close(out);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode frames_write(frames *f, int64_t index, int64_t step, double time, field_table *table)
{
  char    *path __attribute__((cleanup(memory_free))) = NULL;
  catalog *c __attribute__((cleanup(catalog_close)))  = NULL;

  PetscFunctionBegin;
  PetscCheck(index >= 0, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "frame index %lld: expected 0 or more", (long long)index);
  for (int i = 0; i < field_table_n_groups(table); ++i) {
    field_group *group = field_table_group(table, i);
    if (group->refresh) PetscCall(group->refresh(group->context));
  }
  if (!f->has_constants || access(f->constant_path, F_OK)) PetscCall(write_constants(f, 0, table));
  PetscCall(frames_path(f->directory, index, &path));
  PetscCall(write_sealed(f, path, step, time, table, false));
  PetscCall(open_catalog(path, true, &f->constants, &c));
  PetscCall(xdmf_add(f->series, c));
  PetscCall(xdmf_write(f->series, f->xdmf_path));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- Reading --------------------------------------------------------------------------------------------------------- */

PetscErrorCode frame_open(const char *path, frame **out)
{
  PetscFunctionBegin;
  PetscCall(memory_alloc("frame", 1, sizeof **out, out));
  const PetscErrorCode code = open_catalog(path, false, &(*out)->constants, &(*out)->c);
  if (code) frame_close(out);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void frame_close(frame **f)
{
  if (!*f) return;
  catalog_close(&(*f)->c);
  catalog_close(&(*f)->constants);
  memory_free(f);
}

double         frame_time(const frame *f) { return f->c->time; }
const char    *frame_job_name(const frame *f) { return f->c->job_name; }
int            frame_n_groups(const frame *f) { return f->c->n_groups; }
const char    *frame_group_name(const frame *f, int i_group) { return f->c->groups[i_group].name; }
field_geometry frame_group_geometry(const frame *f, int i_group) { return f->c->groups[i_group].geometry; }
int64_t        frame_group_rows(const frame *f, int i_group) { return f->c->groups[i_group].n_rows; }
int            frame_n_fields(const frame *f, int i_group) { return f->c->groups[i_group].n_fields; }

const char *frame_field_name(const frame *f, int i_group, int i_field) { return f->c->groups[i_group].fields[i_field].name; }
const char *frame_field_unit(const frame *f, int i_group, int i_field) { return f->c->groups[i_group].fields[i_field].unit; }

PetscErrorCode frame_read(const frame *f, int i_group, const char *name, int *n_components, double **values)
{
  const int i_field = catalog_find_field(&f->c->groups[i_group], name);

  PetscFunctionBegin;
  *n_components = 0, *values = NULL;
  if (i_field < 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(catalog_read_f64(f->c, i_group, i_field, values));
  *n_components = f->c->groups[i_group].fields[i_field].n_components;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode frame_read_triangles(const frame *f, int i_group, int64_t *n_triangles, int32_t **triangles)
{
  PetscFunctionBegin;
  *n_triangles = 0, *triangles = NULL;
  if (f->c->groups[i_group].geometry != FIELD_GROUP_SURFACE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(catalog_read_cells(f->c, i_group, triangles));
  *n_triangles = f->c->groups[i_group].n_cells;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode frame_read_segments(const frame *f, int i_group, int64_t *n_segments, int32_t **segments)
{
  PetscFunctionBegin;
  *n_segments = 0, *segments = NULL;
  if (f->c->groups[i_group].geometry != FIELD_GROUP_FIBRES) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(catalog_read_cells(f->c, i_group, segments));
  *n_segments = f->c->groups[i_group].n_cells;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- Poses ----------------------------------------------------------------------------------------------------------- */

/* The group of this name next to group i_group; -1: none. */
static int find_sibling(const catalog *c, int i_group, const char *name)
{
  const char *own = c->groups[i_group].name, *slash = strrchr(own, '/');
  char        path[2 * sizeof c->groups->name];

  snprintf(path, sizeof path, "%.*s%s", slash ? (int)(slash + 1 - own) : 0, own, name);
  return catalog_find_group(c, path);
}

int frame_poses_of(const frame *f, int i_group)
{
  const int poses = find_sibling(f->c, i_group, "bodies");
  return poses >= 0 && poses != i_group && f->c->groups[poses].geometry == FIELD_GROUP_POSES ? poses : -1;
}

void frame_poses_free(frame_poses *p)
{
  MEMORY_FREE(&p->x, &p->q, &p->radius, &p->shape, &p->names, &p->name, &p->first_vertex, &p->first_triangle, &p->vertex, &p->triangle);
}

/* Read a field that must exist with this type and number of components. */
static PetscErrorCode read_exact(const catalog *c, int i_group, const char *name, bool is_real, int n_components, void **rows)
{
  const catalog_group *g = &c->groups[i_group];
  const int            i = catalog_find_field(g, name);

  PetscFunctionBegin;
  const bool is_good = i >= 0 && g->fields[i].n_components == n_components &&
                       (is_real ? g->fields[i].type == STORE_F64 || g->fields[i].type == STORE_F32 : g->fields[i].type == STORE_I32);
  PetscCheck(is_good, PETSC_COMM_SELF, PETSC_ERR_FILE_READ, "%s: %s has no field \"%s\" with %d %s; use another file", c->path, g->name,
             name, n_components, is_real ? "reals" : "integers of 32 bits");
  if (is_real) PetscCall(catalog_read_f64(c, i_group, i, (double **)rows));
  else PetscCall(catalog_read(c, i_group, i, rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Divide the surface NAME/shapes into the shapes. */
static PetscErrorCode read_shapes(const catalog *c, int i_group, frame_poses *p)
{
  const catalog_group *g                                           = &c->groups[i_group];
  int32_t             *shape __attribute__((cleanup(memory_free))) = NULL;

  PetscFunctionBegin;
  PetscCheck(g->geometry == FIELD_GROUP_SHAPES, PETSC_COMM_SELF, PETSC_ERR_FILE_READ, "%s: %s contains no shapes; use another file",
             c->path, g->name);
  PetscCall(read_exact(c, i_group, "shape", false, 1, (void **)&shape));
  PetscCall(read_exact(c, i_group, "position", true, 3, (void **)&p->vertex));
  PetscCall(catalog_read_cells(c, i_group, &p->triangle));
  p->n_shapes = g->n_rows > 0 ? 1 + shape[g->n_rows - 1] : 0;
  for (int64_t i = 0; i < g->n_rows; ++i)
    PetscCheck(shape[i] == (i == 0 ? 0 : shape[i - 1]) || (i > 0 && shape[i] == shape[i - 1] + 1), PETSC_COMM_SELF, PETSC_ERR_FILE_READ,
               "%s: the shapes of %s are not numbered from 0 in row %lld; use another file", c->path, g->name, (long long)i);
  PetscCall(MEMORY_ALLOC("shapes", ARRAY(p->first_vertex, (int64_t)p->n_shapes + 1), ARRAY(p->first_triangle, (int64_t)p->n_shapes + 1)));
  for (int64_t i = 0; i < g->n_rows; ++i) p->first_vertex[shape[i] + 1] = i + 1;
  int32_t last = 0; /* shape of the last triangle */
  for (int64_t k = 0; k < g->n_cells; ++k) {
    const int32_t *t = p->triangle + 3 * k, s = shape[t[0]];
    PetscCheck(s >= last && shape[t[1]] == s && shape[t[2]] == s, PETSC_COMM_SELF, PETSC_ERR_FILE_READ,
               "%s: triangle %lld of %s does not belong to one shape, in the order of the shapes; use another file", c->path, (long long)k,
               g->name);
    last                     = s;
    p->first_triangle[s + 1] = k + 1;
  }
  for (int s = 0; s < p->n_shapes; ++s) /* shapes without triangles */
    if (p->first_triangle[s + 1] == 0) p->first_triangle[s + 1] = p->first_triangle[s];
  for (int s = 0; s < p->n_shapes; ++s)
    for (int64_t k = 3 * p->first_triangle[s]; k < 3 * p->first_triangle[s + 1]; ++k) p->triangle[k] -= (int32_t)p->first_vertex[s];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One name per row, each followed by a line feed. */
static PetscErrorCode read_names(const catalog *c, int i_group, frame_poses *p)
{
  const catalog_group *g = &c->groups[i_group];
  const int            i = catalog_find_field(g, "text");
  int64_t              n = 0;

  PetscFunctionBegin;
  PetscCheck(i >= 0 && g->fields[i].type == STORE_U8 && g->fields[i].n_components == 1, PETSC_COMM_SELF, PETSC_ERR_FILE_READ,
             "%s: %s has no text; use another file", c->path, g->name);
  PetscCall(catalog_read(c, i_group, i, (void **)&p->names));
  PetscCall(memory_alloc("names", p->n, sizeof *p->name, &p->name));
  for (int64_t k = 0, begin = 0; k < g->n_rows; ++k) {
    if (p->names[k] != '\n') continue;
    p->names[k] = 0;
    if (n < p->n) p->name[n] = p->names + begin;
    begin = k + 1, ++n;
  }
  PetscCheck(n == p->n && (g->n_rows == 0 || p->names[g->n_rows - 1] == 0), PETSC_COMM_SELF, PETSC_ERR_FILE_READ,
             "%s: %s has %lld names for %lld bodies; use another file", c->path, g->name, (long long)n, (long long)p->n);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode read_poses(const catalog *c, int i_group, frame_poses *p)
{
  const catalog_group *g = &c->groups[i_group];

  PetscFunctionBegin;
  p->n = g->n_rows;
  PetscCall(read_exact(c, i_group, "position", true, 3, (void **)&p->x));
  PetscCall(read_exact(c, i_group, "orientation", true, 4, (void **)&p->q));
  PetscCall(read_exact(c, i_group, "radius", true, 1, (void **)&p->radius));
  PetscCall(read_exact(c, i_group, "shape", false, 1, (void **)&p->shape));
  const int shapes = find_sibling(c, i_group, "shapes"), names = find_sibling(c, i_group, "names");
  if (shapes >= 0) PetscCall(read_shapes(c, shapes, p));
  PetscCheck(names >= 0, PETSC_COMM_SELF, PETSC_ERR_FILE_READ, "%s: the names of %s are missing; use another file", c->path, g->name);
  PetscCall(read_names(c, names, p));
  for (int64_t i = 0; i < p->n; ++i)
    PetscCheck(p->shape[i] >= -1 && p->shape[i] < p->n_shapes, PETSC_COMM_SELF, PETSC_ERR_FILE_READ,
               "%s: row %lld of %s has the shape %d, there are %d; use another file", c->path, (long long)i, g->name, (int)p->shape[i],
               p->n_shapes);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode frame_read_poses(const frame *f, int i_group, frame_poses *out)
{
  PetscFunctionBegin;
  memset(out, 0, sizeof *out);
  const PetscErrorCode code = read_poses(f->c, i_group, out);
  if (code) frame_poses_free(out);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
