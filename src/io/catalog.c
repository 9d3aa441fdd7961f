/* Table of contents of a sealed HDF5 file, see catalog.h. */
#include "io/catalog.h"
#include "core/memory.h"
#include "core/version.h"
#include "io/checksum.h"
#include "io/sealed_file.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Bounds for damaged files. */
enum { MAX_DEPTH = 8, MAX_GROUPS = 1 << 17, MAX_FIELDS = 1 << 17, MAX_TEXT = 1 << 28 };

/* Every error message contains the file, the object in the file and the remedy. */
#define REJECT(c, place, format, ...)                                                                                                      \
  SETERRQ(PETSC_COMM_SELF, PETSC_ERR_FILE_READ, "%s: %s " format "; use another file", (c)->path, place, __VA_ARGS__)

PetscErrorCode catalog_write_head(const char *path, hid_t file, const char *kind, const char *job_name, const char *formulation,
                                  const char *job_text, int64_t step, double time)
{
  H5_SCOPE(scope);
  hid_t         type, dataset;
  const hsize_t one = 1;
  char          program[10 + VERSION_TEXT];

  PetscFunctionBegin;
  (void)snprintf(program, sizeof program, "stickslip %s", version_text());
  PetscCall(h5_put_text(path, file, "kind", kind));
  PetscCall(h5_put_text(path, file, "program", program));
  PetscCall(h5_put_text(path, file, "job", job_name ? job_name : ""));
  PetscCall(h5_put_text(path, file, "formulation", formulation ? formulation : ""));
  PetscCall(h5_put_numbers(path, file, "step", H5T_NATIVE_INT64, H5T_STD_I64LE, 1, &step));
  PetscCall(h5_put_numbers(path, file, "time", H5T_NATIVE_DOUBLE, H5T_IEEE_F64LE, 1, &time));
  if (job_text) {
    H5_CALL(path, type = h5_keep(&scope, H5Tcopy(H5T_C_S1)));
    H5_CALL(path, H5Tset_size(type, strlen(job_text) + 1));
    PetscCall(h5_make_dataset(&scope, path, file, "job", type, 1, &one, false, &dataset, NULL));
    PetscCall(h5_write_rows(path, dataset, type, 0, 1, job_text));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Check a dataset: no external links, no unexpected filters, not larger than the file. */
static PetscErrorCode dataset_check(const catalog *c, hid_t dataset, const char *place, hsize_t n, size_t size, bool is_packed)
{
  H5_SCOPE(scope);
  hid_t create;
  int   n_foreign = 0;

  PetscFunctionBegin;
  H5_CALL(c->path, create = h5_keep(&scope, H5Dget_create_plist(dataset)));
  if (H5Pget_layout(create) != H5D_CHUNKED) REJECT(c, place, "is %s", "not stored in chunks");
  const int n_filters = H5Pget_nfilters(create);
  for (int i = 0; i < n_filters; ++i) {
    unsigned           flags, values[8];
    size_t             n_values = 8;
    const H5Z_filter_t filter   = H5Pget_filter2(create, (unsigned)i, &flags, &n_values, values, 0, NULL, NULL);
    const bool is_ours = filter == H5Z_FILTER_FLETCHER32 || (is_packed && (filter == H5Z_FILTER_SHUFFLE || filter == H5Z_FILTER_DEFLATE));
    n_foreign += !is_ours;
  }
  if (n_foreign) REJECT(c, place, "has %d filters that are not ours", n_foreign);
  /* Packed indices shrink by at most a factor of a thousand (deflate's limit); plain data do not shrink at all. */
  const double stored = (double)H5Dget_storage_size(dataset) * (is_packed ? 1032.0 : 1.0);
  if ((double)n * (double)size > stored || H5Dget_storage_size(dataset) > (hsize_t)c->bytes)
    REJECT(c, place, "has a declared size of %.0f bytes but the file contains fewer", (double)n * (double)size);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode read_job_text(catalog *c)
{
  H5_SCOPE(scope);
  hid_t dataset, type, space;

  PetscFunctionBegin;
  H5O_info_t about;
  if (H5Lexists(c->file, "job", H5P_DEFAULT) <= 0) {
    H5Eclear2(H5E_DEFAULT);
    PetscCall(file_format(&c->job_text, "%s", ""));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  H5_CALL(c->path, H5Oget_info_by_name2(c->file, "job", &about, H5O_INFO_BASIC, H5P_DEFAULT));
  if (about.type != H5O_TYPE_DATASET) REJECT(c, "/job", "is %s", "not a dataset");
  H5_CALL(c->path, dataset = h5_keep(&scope, H5Dopen2(c->file, "job", H5P_DEFAULT)));
  H5_CALL(c->path, type = h5_keep(&scope, H5Dget_type(dataset)));
  H5_CALL(c->path, space = h5_keep(&scope, H5Dget_space(dataset)));
  const size_t size = H5Tget_size(type);
  if (H5Tget_class(type) != H5T_STRING || H5Tis_variable_str(type) || H5Sget_simple_extent_npoints(space) != 1 || size < 1 ||
      size > MAX_TEXT)
    REJECT(c, "/job", "is %s", "not a text");
  PetscCall(dataset_check(c, dataset, "/job", 1, size, false));
  PetscCall(memory_alloc("job text", (int64_t)size + 1, 1, &c->job_text));
  H5_CALL(c->path, H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, c->job_text));
  c->job_text[size] = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode read_head(catalog *c, const char *kind)
{
  char is_kind[32];

  PetscFunctionBegin;
  PetscCall(h5_get_text(c->path, c->file, "kind", sizeof is_kind, is_kind));
  if (strcmp(is_kind, kind)) REJECT(c, "the file", "is a %s", is_kind);
  PetscCall(h5_get_text(c->path, c->file, "program", sizeof c->program, c->program));
  PetscCall(h5_get_text(c->path, c->file, "job", sizeof c->job_name, c->job_name));
  PetscCall(h5_get_text(c->path, c->file, "formulation", sizeof c->formulation, c->formulation));
  PetscCall(h5_get_numbers(c->path, c->file, "step", H5T_NATIVE_INT64, H5T_STD_I64LE, 1, &c->step));
  PetscCall(h5_get_numbers(c->path, c->file, "time", H5T_NATIVE_DOUBLE, H5T_IEEE_F64LE, 1, &c->time));
  c->needs_constants = h5_has_attribute(c->file, "has_constants");
  if (c->step < 0) REJECT(c, "attribute \"step\"", "is negative: %lld", (long long)c->step);
  if (!isfinite(c->time)) REJECT(c, "attribute \"time\"", "is %s", "not finite");
  PetscCall(read_job_text(c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode read_field(catalog *c, catalog_group *group, hid_t dataset, const char *name)
{
  H5_SCOPE(scope);
  hid_t   type, space;
  hsize_t dims[2] = {0, 1};
  char    place[192];

  PetscFunctionBegin;
  snprintf(place, sizeof place, "%s/%s", group->name, name);
  PetscCall(memory_resize("catalog", group->n_fields + 1, sizeof *group->fields, &group->fields));
  catalog_field *f = &group->fields[group->n_fields];
  memset(f, 0, sizeof *f);
  memcpy(f->name, name, strnlen(name, sizeof f->name - 1)); /* the caller knows that it fits */
  H5_CALL(c->path, type = h5_keep(&scope, H5Dget_type(dataset)));
  H5_CALL(c->path, space = h5_keep(&scope, H5Dget_space(dataset)));
  for (f->type = STORE_F64; f->type < STORE_N_TYPES; ++f->type)
    if (H5Tequal(type, store_file_type(f->type)) > 0) break;
  if (f->type == STORE_N_TYPES) REJECT(c, place, "has a type that is %s", "none of ours");
  const int rank = H5Sget_simple_extent_ndims(space);
  if (rank < 1 || rank > 2 || H5Sget_simple_extent_dims(space, dims, NULL) < 0) REJECT(c, place, "has rank %d", rank);
  if (dims[0] != (hsize_t)group->n_rows)
    REJECT(c, place, "has %llu rows, its group has %lld", (unsigned long long)dims[0], (long long)group->n_rows);
  if (dims[1] < 1 || dims[1] > FIELD_MAX_COMPONENTS) REJECT(c, place, "has %llu components", (unsigned long long)dims[1]);
  f->n_components = (int)dims[1];
  PetscCall(dataset_check(c, dataset, place, dims[0] * dims[1], store_size(f->type), false));
  PetscCall(h5_get_text(c->path, dataset, "unit", sizeof f->unit, f->unit));
  PetscCall(h5_get_numbers(c->path, dataset, "checksum", H5T_NATIVE_UINT64, H5T_STD_U64LE, CHECKSUM_WORDS, f->checksum));
  ++group->n_fields;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Number of triangles of a surface, or segments of fibres, from /topology/G. */
static PetscErrorCode read_topology_size(catalog *c, catalog_group *group)
{
  H5_SCOPE(scope);
  hid_t   dataset, type, space;
  hsize_t dims[2] = {0, 0};
  char    place[128];

  PetscFunctionBegin;
  const hsize_t corners = (hsize_t)field_geometry_corners(group->geometry);
  snprintf(place, sizeof place, "topology/%s", group->name);
  H5_CALL(c->path, dataset = h5_keep(&scope, H5Dopen2(c->file, place, H5P_DEFAULT)));
  H5_CALL(c->path, type = h5_keep(&scope, H5Dget_type(dataset)));
  H5_CALL(c->path, space = h5_keep(&scope, H5Dget_space(dataset)));
  if (H5Tequal(type, H5T_STD_I32LE) <= 0 || H5Sget_simple_extent_ndims(space) != 2 || H5Sget_simple_extent_dims(space, dims, NULL) < 0 ||
      dims[1] != corners)
    REJECT(c, place, "is %s", corners == 3 ? "not a list of triangles" : "not a list of segments");
  PetscCall(dataset_check(c, dataset, place, corners * dims[0], sizeof(int32_t), true));
  group->n_cells = (int64_t)dims[0];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode walk(catalog *c, hid_t location, const char *prefix, int depth);

/* A group whose members are visited. */
typedef struct {
  catalog       *c;
  const char    *prefix;
  int            i_group, depth;
  PetscErrorCode code;
} visit;

/* One member: a dataset is a field of the group; groups are walked in turn. */
static PetscErrorCode walk_member(const visit *v, hid_t location, const char *name, H5L_type_t link)
{
  H5_SCOPE(scope);
  catalog   *c = v->c;
  char       below[96];
  hid_t      member;
  H5O_info_t about;

  PetscFunctionBegin;
  const int full = snprintf(below, sizeof below, "%s%s%s", v->prefix, *v->prefix ? "/" : "", name);
  if (full >= (int)sizeof below) REJECT(c, v->prefix, "has the too long name \"%.80s\"", name);
  if (link != H5L_TYPE_HARD) REJECT(c, below, "is %s", "a link to elsewhere");
  H5_CALL(c->path, member = h5_keep(&scope, H5Oopen(location, name, H5P_DEFAULT)));
  H5_CALL(c->path, H5Oget_info2(member, &about, H5O_INFO_BASIC));
  if (about.rc != 1) REJECT(c, below, "has %u links, which may form cycles", about.rc);
  const H5I_type_t kind = H5Iget_type(member);
  if (kind == H5I_GROUP) {
    PetscCall(walk(c, member, below, v->depth + 1));
  } else if (kind == H5I_DATASET && v->i_group >= 0) {
    if (strlen(name) >= sizeof c->groups->fields->name) REJECT(c, v->prefix, "has the too long name \"%s\"", name);
    PetscCall(read_field(c, &c->groups[v->i_group], member, name));
  } else {
    REJECT(c, below, "is %s", "neither a group nor a field of one");
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static herr_t visit_member(hid_t location, const char *name, const H5L_info_t *link, void *context)
{
  visit *v = context;
  v->code  = walk_member(v, location, name, link->type);
  return v->code ? 1 : 0; /* 1 stops the iteration */
}

/* The members of one HDF5 group by name. One iteration: looking up members by their index sorts all names for each of them. */
static PetscErrorCode walk_members(catalog *c, hid_t location, const char *prefix, int i_group, int depth)
{
  H5G_info_t about;
  visit      v = {c, prefix, i_group, depth, PETSC_SUCCESS};

  PetscFunctionBegin;
  H5_CALL(c->path, H5Gget_info(location, &about));
  if (about.nlinks > MAX_FIELDS) REJECT(c, prefix, "has %llu members", (unsigned long long)about.nlinks);
  const herr_t end = H5Literate(location, H5_INDEX_NAME, H5_ITER_INC, NULL, visit_member, &v);
  PetscCall(v.code);
  H5_CALL(c->path, end);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Append an empty group; *out is valid until the next call. */
static PetscErrorCode add_group(catalog *c, const char *name, catalog_group **out)
{
  PetscFunctionBegin;
  PetscCall(memory_reserve("catalog", c->n_groups + 1, sizeof *c->groups, &c->capacity, &c->groups));
  *out = &c->groups[c->n_groups++];
  memset(*out, 0, sizeof **out);
  snprintf((*out)->name, sizeof(*out)->name, "%s", name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode walk(catalog *c, hid_t location, const char *prefix, int depth)
{
  int     i_group = -1;
  int32_t numbers[2]; /* geometry, n_fields */

  PetscFunctionBegin;
  if (depth > MAX_DEPTH) REJECT(c, prefix, "is nested deeper than %d", MAX_DEPTH);
  if (h5_has_attribute(location, "n_rows")) {
    if (c->n_groups >= MAX_GROUPS) REJECT(c, prefix, "is one group too many: %d", c->n_groups);
    catalog_group *g = NULL;
    PetscCall(add_group(c, prefix, &g));
    i_group = c->n_groups - 1;
    PetscCall(h5_get_numbers(c->path, location, "n_rows", H5T_NATIVE_INT64, H5T_STD_I64LE, 1, &g->n_rows));
    PetscCall(h5_get_numbers(c->path, location, "geometry", H5T_NATIVE_INT32, H5T_STD_I32LE, 1, &numbers[0]));
    PetscCall(h5_get_numbers(c->path, location, "n_fields", H5T_NATIVE_INT32, H5T_STD_I32LE, 1, &numbers[1]));
    if (g->n_rows < 0 || g->n_rows > INT64_MAX / 256) REJECT(c, prefix, "has %lld rows", (long long)g->n_rows);
    if (numbers[0] < FIELD_GROUP_PLAIN || numbers[0] > FIELD_GROUP_SHAPES)
      REJECT(c, prefix, "has the unknown geometry %d", (int)numbers[0]);
    g->geometry      = (field_geometry)numbers[0];
    g->has_constants = h5_has_attribute(location, "has_constants");
  }
  PetscCall(walk_members(c, location, prefix, i_group, depth));
  if (i_group >= 0 && c->groups[i_group].n_fields != numbers[1])
    REJECT(c, prefix, "has %d fields, %d were written", c->groups[i_group].n_fields, (int)numbers[1]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static bool has_topology(const catalog_group *g) { return field_geometry_corners(g->geometry) > 1; }

static int by_name(const void *a, const void *b) { return strcmp(((const catalog_group *)a)->name, ((const catalog_group *)b)->name); }

static PetscErrorCode catalog_fill(catalog *c, const char *kind, int newest_format, bool is_quick)
{
  char    why[SEALED_WHY];
  hid_t   fields;
  hsize_t bytes;

  PetscFunctionBegin;
  PetscCheck(sealed_file_check(c->path, kind, newest_format, is_quick, why), PETSC_COMM_SELF, PETSC_ERR_FILE_READ, "%s %s", c->path, why);
  PetscCall(h5_open(&c->scope, c->path, &c->file));
  H5_CALL(c->path, H5Fget_filesize(c->file, &bytes));
  c->bytes = (int64_t)bytes;
  PetscCall(read_head(c, kind));
  if (H5Lexists(c->file, "fields", H5P_DEFAULT) <= 0) REJECT(c, "group", "\"%s\" is missing", "fields");
  H5_CALL(c->path, fields = h5_keep(&c->scope, H5Gopen2(c->file, "fields", H5P_DEFAULT)));
  PetscCall(walk(c, fields, "", 0));
  if (c->n_groups) qsort(c->groups, (size_t)c->n_groups, sizeof *c->groups, by_name);
  for (int i = 0; i < c->n_groups; ++i)
    if (has_topology(&c->groups[i]) && !c->groups[i].has_constants && strcmp(kind, "checkpoint") != 0)
      PetscCall(read_topology_size(c, &c->groups[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode catalog_open(const char *path, const char *kind, int newest_format, bool is_quick, catalog **out)
{
  PetscFunctionBegin;
  PetscCall(memory_alloc("catalog", 1, sizeof **out, out));
  PetscErrorCode code = file_format(&(*out)->path, "%s", path);
  if (!code) code = catalog_fill(*out, kind, newest_format, is_quick);
  if (code) catalog_close(out);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Binary search among the first n groups, which are sorted. */
static int find_group(const catalog *c, int n, const char *name)
{
  int lo = 0, hi = n;
  while (lo < hi) {
    const int middle = lo + (hi - lo) / 2, order = strcmp(c->groups[middle].name, name);
    if (order == 0) return middle;
    if (order < 0) lo = middle + 1;
    else hi = middle;
  }
  return -1;
}

/* Add the fields and the number of cells of group `from` of the constants. The first n_sorted groups are those of the file itself. */
static PetscErrorCode attach_group(catalog *c, int n_sorted, const catalog_group *from)
{
  const int      at = find_group(c, n_sorted, from->name);
  catalog_group *g  = at >= 0 ? &c->groups[at] : NULL;

  PetscFunctionBegin;
  if (!g) {
    PetscCall(add_group(c, from->name, &g));
    g->geometry = from->geometry, g->n_rows = from->n_rows, g->has_constants = true;
  }
  if (!g->has_constants || g->n_rows != from->n_rows || g->geometry != from->geometry)
    REJECT(c, g->name, "is not the group of this name in %s: the files belong to different runs", c->constants->path);
  g->n_cells = from->n_cells;
  PetscCall(memory_resize("catalog", g->n_fields + from->n_fields, sizeof *g->fields, &g->fields));
  for (int k = 0; k < from->n_fields; ++k) {
    if (catalog_find_field(g, from->fields[k].name) >= 0) REJECT(c, g->name, "has the field \"%s\" twice", from->fields[k].name);
    g->fields[g->n_fields]               = from->fields[k];
    g->fields[g->n_fields++].is_constant = true;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode catalog_attach(catalog *c, const catalog *constants)
{
  const int n = c->n_groups;

  PetscFunctionBegin;
  c->constants = constants;
  for (int i = 0; i < constants->n_groups; ++i) PetscCall(attach_group(c, n, &constants->groups[i]));
  for (int i = 0; i < n; ++i)
    if (c->groups[i].has_constants && catalog_find_group(constants, c->groups[i].name) < 0)
      REJECT(c, c->groups[i].name, "is missing in %s: the files belong to different runs", constants->path);
  if (c->n_groups) qsort(c->groups, (size_t)c->n_groups, sizeof *c->groups, by_name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void catalog_close_file(catalog *c) { h5_scope_close(&c->scope); }

void catalog_close(catalog **c)
{
  if (!*c) return;
  h5_scope_close(&(*c)->scope);
  for (int i = 0; i < (*c)->n_groups; ++i) memory_free(&(*c)->groups[i].fields);
  MEMORY_FREE(&(*c)->groups, &(*c)->job_text, &(*c)->path, c);
}

int catalog_find_group(const catalog *c, const char *name) { return find_group(c, c->n_groups, name); }

int catalog_find_field(const catalog_group *group, const char *name)
{
  for (int i = 0; i < group->n_fields; ++i)
    if (!strcmp(group->fields[i].name, name)) return i;
  return -1;
}

PetscErrorCode catalog_read(const catalog *c, int i_group, int i_field, void **rows)
{
  H5_SCOPE(scope);
  const catalog_group *g = &c->groups[i_group];
  const catalog_field *f = &g->fields[i_field];
  const int64_t        n = g->n_rows * f->n_components;
  char                 place[192];
  hid_t                dataset;
  checksum             sum;
  uint64_t             words[CHECKSUM_WORDS];
  void                *data __attribute__((cleanup(memory_free))) = NULL;

  PetscFunctionBegin;
  *rows = NULL;
  if (f->is_constant) {
    const int at = catalog_find_group(c->constants, g->name);
    PetscCall(catalog_read(c->constants, at, catalog_find_field(&c->constants->groups[at], f->name), rows));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  snprintf(place, sizeof place, "fields/%s/%s", g->name, f->name);
  H5_CALL(c->path, dataset = h5_keep(&scope, H5Dopen2(c->file, place, H5P_DEFAULT)));
  PetscCall(memory_alloc("catalog", n, store_size(f->type), &data));
  if (n) H5_CALL(c->path, H5Dread(dataset, store_memory_type(f->type), H5S_ALL, H5S_ALL, H5P_DEFAULT, data));
  checksum_begin(&sum);
  if (n) checksum_add(&sum, data, (size_t)n * store_size(f->type));
  checksum_end(&sum, words);
  if (memcmp(words, f->checksum, sizeof words)) REJECT(c, place + 7, "is damaged: %s", "its checksum does not fit its data");
  *rows = data;
  data  = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode catalog_read_f64(const catalog *c, int i_group, int i_field, double **rows)
{
  const catalog_field *f                                          = &c->groups[i_group].fields[i_field];
  const int64_t        n                                          = c->groups[i_group].n_rows * f->n_components;
  void                *data __attribute__((cleanup(memory_free))) = NULL;

  PetscFunctionBegin;
  *rows = NULL;
  PetscCall(catalog_read(c, i_group, i_field, &data));
  if (f->type == STORE_F64) {
    *rows = data;
    data  = NULL;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(memory_alloc("catalog", n, sizeof **rows, rows));
  double *x = *rows;
  switch (f->type) {
  case STORE_F32:
    for (int64_t i = 0; i < n; ++i) x[i] = (double)((const float *)data)[i];
    break;
  case STORE_I32:
    for (int64_t i = 0; i < n; ++i) x[i] = (double)((const int32_t *)data)[i];
    break;
  case STORE_I64:
    for (int64_t i = 0; i < n; ++i) x[i] = (double)((const int64_t *)data)[i];
    break;
  case STORE_U64:
    for (int64_t i = 0; i < n; ++i) x[i] = (double)((const uint64_t *)data)[i];
    break;
  default:
    for (int64_t i = 0; i < n; ++i) x[i] = (double)((const uint8_t *)data)[i];
    break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode catalog_read_cells(const catalog *c, int i_group, int32_t **cells)
{
  H5_SCOPE(scope);
  const catalog_group *g = &c->groups[i_group];
  hid_t                dataset;
  char                 place[128];
  int32_t             *data __attribute__((cleanup(memory_free))) = NULL;

  PetscFunctionBegin;
  *cells = NULL;
  if (c->constants && g->has_constants) {
    PetscCall(catalog_read_cells(c->constants, catalog_find_group(c->constants, g->name), cells));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  snprintf(place, sizeof place, "topology/%s", g->name);
  const int corners = field_geometry_corners(g->geometry);
  PetscCall(memory_alloc("catalog", corners * g->n_cells, sizeof *data, &data));
  H5_CALL(c->path, dataset = h5_keep(&scope, H5Dopen2(c->file, place, H5P_DEFAULT)));
  if (g->n_cells) H5_CALL(c->path, H5Dread(dataset, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, data));
  for (int64_t i = 0; i < corners * g->n_cells; ++i)
    if (data[i] < 0 || data[i] >= g->n_rows)
      REJECT(c, place, "names vertex %d in %s %lld, there are %lld", (int)data[i], corners == 3 ? "triangle" : "segment",
             (long long)(i / corners), (long long)g->n_rows);
  *cells = data;
  data   = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}
