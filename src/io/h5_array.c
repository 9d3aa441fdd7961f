#include "io/h5_array.h"
#include <string.h>
#include "core/memory.h"

/* Storage that looks larger than the file is believed up to here: entries that were never written read as zeros. */
static const double SMALL = 64.0 * 1024 * 1024;
static const double DEFLATE_LIMIT = 1032.0;

void h5_place(hid_t location, const char *name, char place[H5_PLACE])
{
  char          group[H5_PLACE] = "";
  const ssize_t n               = H5Iget_name(location, group, sizeof group);

  if (n < 0) H5Eclear2(H5E_DEFAULT);
  const char *from = group[0] == '/' ? group + 1 : group;
  (void)snprintf(place, H5_PLACE, "%.*s%s%.90s", (int)(H5_PLACE - 100), from, name && *from ? "/" : "", name ? name : "");
}

#define REFUSE_MEMBER(path, location, name, ...)                                    \
  do {                                                                              \
    char place_[H5_PLACE], what_[256];                                              \
    h5_place((location), (name), place_);                                           \
    (void)snprintf(what_, sizeof what_, __VA_ARGS__);                               \
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: %s %s", (path), place_, what_); \
  } while (0)

PetscErrorCode h5_has_member(const char *path, hid_t location, const char *name, bool *has)
{
  H5L_info_t link;

  PetscFunctionBegin;
  *has = H5Lexists(location, name, H5P_DEFAULT) > 0;
  if (!*has) {
    H5Eclear2(H5E_DEFAULT);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  H5_CALL(path, H5Lget_info(location, name, &link, H5P_DEFAULT));
  if (link.type != H5L_TYPE_HARD)
    REFUSE_MEMBER(path, location, name, "is a link; expected the data themselves: copy the file with h5repack or h5copy");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A member of the kind wanted; -1 if there is none. */
static PetscErrorCode open_member(h5_scope *scope, const char *path, hid_t location, const char *name, H5I_type_t kind, hid_t *member)
{
  bool has;

  PetscFunctionBegin;
  *member = -1;
  PetscCall(h5_has_member(path, location, name, &has));
  if (!has) PetscFunctionReturn(PETSC_SUCCESS);
  H5_CALL(path, *member = h5_keep(scope, H5Oopen(location, name, H5P_DEFAULT)));
  if (H5Iget_type(*member) != kind) REFUSE_MEMBER(path, location, name, "is not a %s", kind == H5I_GROUP ? "group" : "data set");
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode h5_open_group(h5_scope *scope, const char *path, hid_t location, const char *name, hid_t *group)
{
  PetscFunctionBegin;
  PetscCall(open_member(scope, path, location, name, H5I_GROUP, group));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Nothing outside the file, and not more than it can hold. */
static PetscErrorCode check_storage(const char *path, hid_t location, const char *name, hid_t dataset, int64_t n, size_t size)
{
  H5_SCOPE(scope);
  hid_t   create, file;
  hsize_t file_bytes = 0;

  PetscFunctionBegin;
  H5_CALL(path, create = h5_keep(&scope, H5Dget_create_plist(dataset)));
  H5_CALL(path, file = h5_keep(&scope, H5Iget_file_id(dataset)));
  H5_CALL(path, H5Fget_filesize(file, &file_bytes));
  const H5D_layout_t layout = H5Pget_layout(create);
  if (layout == H5D_VIRTUAL || (layout == H5D_CONTIGUOUS && H5Pget_external_count(create) > 0))
    REFUSE_MEMBER(path, location, name, "is stored in another file; expected the data themselves: copy the file with h5repack");
  double stored = (double)H5Dget_storage_size(dataset);
  if (stored > (double)file_bytes) stored = (double)file_bytes;
  if ((double)n * (double)size > SMALL + DEFLATE_LIMIT * stored)
    REFUSE_MEMBER(path, location, name, "claims %.3g bytes, but the file has %.3g", (double)n * (double)size, (double)file_bytes);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The data set with its type and number of entries; dataset -1 if there is none. */
static PetscErrorCode open_array(h5_scope *scope, const char *path, hid_t location, const char *name, hid_t *dataset, hid_t *type,
                                 int64_t *n)
{
  hid_t space;

  PetscFunctionBegin;
  *n = -1;
  PetscCall(open_member(scope, path, location, name, H5I_DATASET, dataset));
  if (*dataset < 0) PetscFunctionReturn(PETSC_SUCCESS);
  H5_CALL(path, *type = h5_keep(scope, H5Dget_type(*dataset)));
  H5_CALL(path, space = h5_keep(scope, H5Dget_space(*dataset)));
  const int rank = H5Sget_simple_extent_ndims(space);
  if (rank < 0 || rank > 1) REFUSE_MEMBER(path, location, name, "has %d dimensions; expected one", rank);
  const hssize_t entries = H5Sget_simple_extent_npoints(space);
  if (entries < 0) REFUSE_MEMBER(path, location, name, "has a length that cannot be read");
  *n = entries;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode h5_array_length(const char *path, hid_t location, const char *name, int64_t *n)
{
  H5_SCOPE(scope);
  hid_t dataset, type;

  PetscFunctionBegin;
  PetscCall(open_array(&scope, path, location, name, &dataset, &type, n));
  if (dataset >= 0) PetscCall(check_storage(path, location, name, dataset, *n, H5Tget_size(type)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode read_first(const char *path, hid_t location, const char *name, bool is_whole, int64_t n, void *out)
{
  H5_SCOPE(scope);
  hid_t         dataset, type, all, memory;
  int64_t       length;
  const hsize_t from = 0, count = (hsize_t)n;

  PetscFunctionBegin;
  PetscCall(open_array(&scope, path, location, name, &dataset, &type, &length));
  if (dataset < 0) REFUSE_MEMBER(path, location, name, "is missing");
  const H5T_class_t class = H5Tget_class(type);
  if (class != H5T_INTEGER && (is_whole || class != H5T_FLOAT))
    REFUSE_MEMBER(path, location, name, "does not hold %s", is_whole ? "whole numbers" : "real numbers");
  if (length < n) REFUSE_MEMBER(path, location, name, "has %lld entries; expected %lld", (long long)length, (long long)n);
  PetscCall(check_storage(path, location, name, dataset, n, H5Tget_size(type)));
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  H5_CALL(path, all = h5_keep(&scope, H5Dget_space(dataset)));
  if (H5Sget_simple_extent_ndims(all) == 1) H5_CALL(path, H5Sselect_hyperslab(all, H5S_SELECT_SET, &from, NULL, &count, NULL));
  H5_CALL(path, memory = h5_keep(&scope, H5Screate_simple(1, &count, NULL)));
  H5_CALL(path, H5Dread(dataset, is_whole ? H5T_NATIVE_INT64 : H5T_NATIVE_DOUBLE, memory, all, H5P_DEFAULT, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode h5_array_whole(const char *path, hid_t location, const char *name, int64_t n, int64_t *out)
{
  PetscFunctionBegin;
  PetscCall(read_first(path, location, name, true, n, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode h5_array_real(const char *path, hid_t location, const char *name, int64_t n, double *out)
{
  PetscFunctionBegin;
  PetscCall(read_first(path, location, name, false, n, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* HDF5 allocates these itself. */
static PetscErrorCode read_variable_text(const char *path, hid_t dataset, hid_t type, char **out)
{
  H5_SCOPE(scope);
  char *text = NULL;
  hid_t space;

  PetscFunctionBegin;
  H5_CALL(path, space = h5_keep(&scope, H5Dget_space(dataset)));
  H5_CALL(path, H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, &text));
  const size_t         n    = text ? strnlen(text, H5_TEXT_MAX) : 0;
  const PetscErrorCode code = memory_alloc("text", (int64_t)n + 1, 1, out);
  if (!code && n) memcpy(*out, text, n);
  H5Dvlen_reclaim(type, space, H5P_DEFAULT, &text);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode h5_array_text(const char *path, hid_t location, const char *name, char **out)
{
  H5_SCOPE(scope);
  hid_t   dataset, type;
  int64_t n;

  PetscFunctionBegin;
  *out = NULL;
  PetscCall(open_array(&scope, path, location, name, &dataset, &type, &n));
  if (dataset < 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (n != 1 || H5Tget_class(type) != H5T_STRING) REFUSE_MEMBER(path, location, name, "is not a text");
  if (H5Tis_variable_str(type) > 0) {
    PetscCall(read_variable_text(path, dataset, type, out));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  const size_t size = H5Tget_size(type);
  if (size > H5_TEXT_MAX) REFUSE_MEMBER(path, location, name, "is a text of %zu bytes; expected at most %d", size, H5_TEXT_MAX);
  PetscCall(check_storage(path, location, name, dataset, 1, size));
  PetscCall(memory_alloc("text", (int64_t)size + 1, 1, out));
  const herr_t status = H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, *out);
  if (status < 0) memory_free(out);
  H5_CALL(path, status);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode h5_attribute_whole(const char *path, hid_t object, const char *name, int64_t fallback, int64_t *out)
{
  H5_SCOPE(scope);
  hid_t attribute, type, space;

  PetscFunctionBegin;
  *out = fallback;
  if (!h5_has_attribute(object, name)) PetscFunctionReturn(PETSC_SUCCESS);
  H5_CALL(path, attribute = h5_keep(&scope, H5Aopen(object, name, H5P_DEFAULT)));
  H5_CALL(path, type = h5_keep(&scope, H5Aget_type(attribute)));
  H5_CALL(path, space = h5_keep(&scope, H5Aget_space(attribute)));
  if (H5Sget_simple_extent_npoints(space) != 1 || H5Tget_class(type) != H5T_INTEGER)
    REFUSE_MEMBER(path, object, NULL, "has an attribute \"%s\" that is not a whole number", name);
  H5_CALL(path, H5Aread(attribute, H5T_NATIVE_INT64, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode make_plain(h5_scope *scope, const char *path, hid_t location, const char *name, hid_t type, hid_t space,
                                 hid_t *dataset)
{
  H5_SCOPE(mine);
  hid_t create;

  PetscFunctionBegin;
  H5_CALL(path, create = h5_keep(&mine, H5Pcreate(H5P_DATASET_CREATE)));
  H5_CALL(path, H5Pset_obj_track_times(create, false));
  H5_CALL(path, *dataset = h5_keep(scope, H5Dcreate2(location, name, type, space, H5P_DEFAULT, create, H5P_DEFAULT)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode h5_array_write(const char *path, hid_t location, const char *name, hid_t memory_type, hid_t file_type, int64_t n,
                              const void *data)
{
  H5_SCOPE(scope);
  const hsize_t dims = (hsize_t)n;
  hid_t         space, dataset;

  PetscFunctionBegin;
  H5_CALL(path, space = h5_keep(&scope, H5Screate_simple(1, &dims, NULL)));
  PetscCall(make_plain(&scope, path, location, name, file_type, space, &dataset));
  if (n > 0) H5_CALL(path, H5Dwrite(dataset, memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode h5_text_write(const char *path, hid_t location, const char *name, const char *text)
{
  H5_SCOPE(scope);
  hid_t type, space, dataset;

  PetscFunctionBegin;
  H5_CALL(path, type = h5_keep(&scope, H5Tcopy(H5T_C_S1)));
  H5_CALL(path, H5Tset_size(type, strlen(text) + 1));
  H5_CALL(path, space = h5_keep(&scope, H5Screate(H5S_SCALAR)));
  PetscCall(make_plain(&scope, path, location, name, type, space, &dataset));
  H5_CALL(path, H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text));
  PetscFunctionReturn(PETSC_SUCCESS);
}
