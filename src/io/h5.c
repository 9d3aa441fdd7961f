/* Wrapper for HDF5, see h5.h: scopes, error texts, attributes, groups. */
#include "io/h5.h"
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "core/memory.h"
#include "core/regular_file.h"
#include "core/process.h"
#include "io/sealed_file.h"

enum { CHUNK_BYTES = 1 << 20, CACHE_BYTES = 8 << 20 };

PetscErrorCode h5_start(void)
{
  PetscFunctionBegin;
  setenv("HDF5_USE_FILE_LOCKING", "FALSE", 0); /* locks fail on some network file systems; read when a file is opened */
  PetscCheck(H5open() >= 0 && H5Eset_auto2(H5E_DEFAULT, NULL, NULL) >= 0, PETSC_COMM_SELF, PETSC_ERR_LIB, "HDF5 cannot be initialised");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* HDF5's error stack runs from the cause (last in an upward walk) to the call; the cause is the useful entry. For system errors
 * HDF5 adds time, file number and more on several lines; the system's message is in quotes. */

/* The innermost entry of the error stack of HDF5. */
typedef struct {
  char text[256];
  bool is_memory; /* an allocation failed; HDF5 states this in the error numbers, with a different text in every function */
} h5_reason;

static herr_t first_reason(unsigned n, const H5E_error2_t *error, void *data)
{
  h5_reason  *reason    = data;
  const char *of_system = error->desc ? strstr(error->desc, "error message = '") : NULL;

  if (n > 0) return 0;
  if (of_system) snprintf(reason->text, sizeof reason->text, "%.*s", (int)strcspn(of_system + 17, "'"), of_system + 17);
  else if (error->desc) snprintf(reason->text, sizeof reason->text, "%s", error->desc);
  reason->is_memory = !of_system && error->maj_num == H5E_RESOURCE && (error->min_num == H5E_NOSPACE || error->min_num == H5E_CANTALLOC);
  return 0;
}

static const char *advice_on(const char *reason)
{
  const int errors[] = {ENOSPC, EDQUOT, EFBIG, EROFS, EACCES};

  for (size_t i = 0; i < sizeof errors / sizeof *errors; ++i)
    if (!strcmp(reason, strerror(errors[i]))) return file_advice(errors[i]);
  return "";
}

PetscErrorCode h5_failed(const char *path, const char *expression)
{
  h5_reason   reason = {.text = "no reason given"};
  char        call[64];
  const char *start = strstr(expression, "H5");
  size_t      n     = 0;

  PetscFunctionBegin;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, first_reason, &reason);
  H5Eclear2(H5E_DEFAULT);
  if (!start) start = expression;
  for (; n + 1 < sizeof call && (isalnum((unsigned char)start[n]) || start[n] == '_'); ++n) call[n] = start[n];
  call[n]               = 0;
  const bool is_writing = strstr(call, "rite") || strstr(call, "reate") || strstr(call, "release");
  if (reason.is_memory) {
    process_skip_clean_up();
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_MEM,
            "out of memory: HDF5 could not allocate memory in %s, for %s; use a smaller scene or a larger machine", call, path);
  }
  if (!is_writing) SETERRQ(PETSC_COMM_SELF, PETSC_ERR_FILE_READ, "%s: HDF5 failed in %s: %s", path, call, reason.text);
  process_skip_clean_up(); /* HDF5 still has unwritten data; at exit it would try again, and crash */
  SETERRQ(PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "cannot write %s (HDF5 failed in %s): %s%s", path, call, reason.text,
          advice_on(reason.text));
}

hid_t h5_keep(h5_scope *scope, hid_t id)
{
  SS_ASSERT(scope->n < (int)(sizeof scope->id / sizeof *scope->id));
  if (id >= 0) scope->id[scope->n++] = id;
  return id;
}

herr_t h5_release(h5_scope *scope, hid_t id)
{
  for (int i = scope->n - 1; i >= 0; --i)
    if (scope->id[i] == id) {
      memmove(scope->id + i, scope->id + i + 1, (size_t)(scope->n - i - 1) * sizeof *scope->id);
      --scope->n;
      break;
    }
  return H5Idec_ref(id) < 0 ? -1 : 0;
}

void h5_scope_close(h5_scope *scope)
{
  while (scope->n) H5Idec_ref(scope->id[--scope->n]);
}

static PetscErrorCode access_list(h5_scope *scope, const char *path, H5F_libver_t oldest, hid_t *list)
{
  PetscFunctionBegin;
  PetscCall(h5_start());
  H5_CALL(path, *list = h5_keep(scope, H5Pcreate(H5P_FILE_ACCESS)));
  H5_CALL(path, H5Pset_fclose_degree(*list, H5F_CLOSE_STRONG));
  H5_CALL(path, H5Pset_libver_bounds(*list, oldest, H5F_LIBVER_LATEST));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode h5_create_file(h5_scope *scope, const char *path, H5F_libver_t oldest, hsize_t user_block, hid_t *file)
{
  H5_SCOPE(mine);
  hid_t       access, list;
  const char *why;

  PetscFunctionBegin;
  const int fd = regular_file_create(path, &why); /* removes an earlier file; H5F_ACC_EXCL below does not follow links */
  PetscCheck(fd >= 0, PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "cannot write %s: %s%s", path, why, file_advice(errno));
  close(fd);
  unlink(path);
  PetscCall(access_list(&mine, path, oldest, &access));
  H5_CALL(path, list = h5_keep(&mine, H5Pcreate(H5P_FILE_CREATE)));
  H5_CALL(path, H5Pset_userblock(list, user_block));
  H5_CALL(path, H5Pset_obj_track_times(list, false));
  H5_CALL(path, *file = h5_keep(scope, H5Fcreate(path, H5F_ACC_EXCL, list, access)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode h5_create(h5_scope *scope, const char *path, hsize_t user_block, hid_t *file)
{
  return h5_create_file(scope, path, H5F_LIBVER_V110, user_block, file);
}

PetscErrorCode h5_create_for_all(h5_scope *scope, const char *path, hid_t *file)
{
  return h5_create_file(scope, path, H5F_LIBVER_EARLIEST, 0, file);
}

PetscErrorCode h5_open(h5_scope *scope, const char *path, hid_t *file)
{
  H5_SCOPE(mine);
  hid_t access;

  PetscFunctionBegin;
  PetscCall(access_list(&mine, path, H5F_LIBVER_V110, &access));
  H5_CALL(path, *file = h5_keep(scope, H5Fopen(path, H5F_ACC_RDONLY, access)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One group in one that is there. */
static PetscErrorCode make_one_group(h5_scope *scope, const char *path, hid_t location, const char *name, hid_t *group)
{
  H5_SCOPE(mine);
  hid_t create;

  PetscFunctionBegin;
  if (H5Lexists(location, name, H5P_DEFAULT) > 0) { /* a parent of a group made before */
    H5_CALL(path, *group = h5_keep(scope, H5Gopen2(location, name, H5P_DEFAULT)));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  H5Eclear2(H5E_DEFAULT);
  H5_CALL(path, create = h5_keep(&mine, H5Pcreate(H5P_GROUP_CREATE)));
  H5_CALL(path, H5Pset_obj_track_times(create, false));
  H5_CALL(path, *group = h5_keep(scope, H5Gcreate2(location, name, H5P_DEFAULT, create, H5P_DEFAULT)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One level at a time: intermediate groups created by HDF5 itself would contain the time of creation. */
PetscErrorCode h5_make_group(h5_scope *scope, const char *path, hid_t location, const char *name, hid_t *group)
{
  H5_SCOPE(mine);
  char part[256];

  PetscFunctionBegin;
  for (;;) {
    const size_t n = strcspn(name, "/");
    PetscCheck(n > 0 && n < sizeof part, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ, "%s: a group cannot be named \"%s\"", path, name);
    snprintf(part, sizeof part, "%.*s", (int)n, name);
    const bool is_last = !name[n];
    PetscCall(make_one_group(is_last ? scope : &mine, path, location, part, group));
    if (is_last) PetscFunctionReturn(PETSC_SUCCESS);
    location = *group;
    name += n + 1;
  }
}

PetscErrorCode h5_make_dataset(h5_scope *scope, const char *path, hid_t location, const char *name, hid_t type, int rank,
                               const hsize_t *dims, bool is_packed, hid_t *dataset, hsize_t *chunk_rows)
{
  H5_SCOPE(mine);
  hid_t   space, create, access;
  hsize_t chunk[2] = {1, 1}, most[2] = {1, 1};
  size_t  row = H5Tget_size(type);

  PetscFunctionBegin;
  SS_ASSERT(rank == 1 || rank == 2);
  if (rank == 2) row *= dims[1], chunk[1] = most[1] = dims[1];
  most[0] = dims[0] > 0 ? dims[0] : 1; /* a chunk may not be larger than the most there can be */
  if (row < CHUNK_BYTES) chunk[0] = CHUNK_BYTES / row;
  const hsize_t n_chunks = (most[0] + chunk[0] - 1) / chunk[0];
  chunk[0]               = (most[0] + n_chunks - 1) / n_chunks; /* of equal size: every chunk is stored in full */
  H5_CALL(path, space = h5_keep(&mine, H5Screate_simple(rank, dims, most)));
  H5_CALL(path, create = h5_keep(&mine, H5Pcreate(H5P_DATASET_CREATE)));
  H5_CALL(path, H5Pset_chunk(create, rank, chunk));
  H5_CALL(path, H5Pset_obj_track_times(create, false));
  H5_CALL(path, H5Pset_fill_time(create, H5D_FILL_TIME_NEVER));
  if (is_packed) {
    H5_CALL(path, H5Pset_shuffle(create));
    H5_CALL(path, H5Pset_deflate(create, 1));
  }
  H5_CALL(path, H5Pset_fletcher32(create));
  H5_CALL(path, access = h5_keep(&mine, H5Pcreate(H5P_DATASET_ACCESS)));
  H5_CALL(path, H5Pset_chunk_cache(access, 13, CACHE_BYTES, 1.0)); /* full chunks leave at once */
  H5_CALL(path, *dataset = h5_keep(scope, H5Dcreate2(location, name, type, space, H5P_DEFAULT, create, access)));
  if (chunk_rows) *chunk_rows = chunk[0];
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode h5_write_rows(const char *path, hid_t dataset, hid_t memory_type, hsize_t first, hsize_t n, const void *data)
{
  H5_SCOPE(mine);
  hid_t   all, memory;
  hsize_t dims[2] = {0, 0}, start[2] = {first, 0}, count[2];

  PetscFunctionBegin;
  if (!n) PetscFunctionReturn(PETSC_SUCCESS);
  H5_CALL(path, all = h5_keep(&mine, H5Dget_space(dataset)));
  const int rank = H5Sget_simple_extent_dims(all, dims, NULL);
  H5_CALL(path, rank);
  count[0] = n, count[1] = dims[1];
  H5_CALL(path, H5Sselect_hyperslab(all, H5S_SELECT_SET, start, NULL, count, NULL));
  H5_CALL(path, memory = h5_keep(&mine, H5Screate_simple(rank, count, NULL)));
  H5_CALL(path, H5Dwrite(dataset, memory_type, memory, all, H5P_DEFAULT, data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode h5_put_text(const char *path, hid_t object, const char *name, const char *text)
{
  H5_SCOPE(mine);
  hid_t type, space, attribute;

  PetscFunctionBegin;
  H5_CALL(path, type = h5_keep(&mine, H5Tcopy(H5T_C_S1)));
  H5_CALL(path, H5Tset_size(type, strlen(text) + 1));
  H5_CALL(path, space = h5_keep(&mine, H5Screate(H5S_SCALAR)));
  H5_CALL(path, attribute = h5_keep(&mine, H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT)));
  H5_CALL(path, H5Awrite(attribute, type, text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode h5_put_numbers(const char *path, hid_t object, const char *name, hid_t memory_type, hid_t file_type, int n,
                              const void *values)
{
  H5_SCOPE(mine);
  hid_t         space, attribute;
  const hsize_t dims = (hsize_t)n;

  PetscFunctionBegin;
  H5_CALL(path, space = h5_keep(&mine, n == 1 ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &dims, NULL)));
  H5_CALL(path, attribute = h5_keep(&mine, H5Acreate2(object, name, file_type, space, H5P_DEFAULT, H5P_DEFAULT)));
  H5_CALL(path, H5Awrite(attribute, memory_type, values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

bool h5_has_attribute(hid_t object, const char *name)
{
  const htri_t has = H5Aexists(object, name);
  if (has < 0) H5Eclear2(H5E_DEFAULT);
  return has > 0;
}

static PetscErrorCode open_attribute(h5_scope *scope, const char *path, hid_t object, const char *name, hid_t *attribute, hid_t *type,
                                     hssize_t *n)
{
  hid_t space;

  PetscFunctionBegin;
  PetscCheck(h5_has_attribute(object, name), PETSC_COMM_SELF, PETSC_ERR_FILE_READ,
             "%s: attribute \"%s\" is missing; the file is damaged or was written by another program", path, name);
  H5_CALL(path, *attribute = h5_keep(scope, H5Aopen(object, name, H5P_DEFAULT)));
  H5_CALL(path, *type = h5_keep(scope, H5Aget_type(*attribute)));
  H5_CALL(path, space = h5_keep(scope, H5Aget_space(*attribute)));
  H5_CALL(path, *n = H5Sget_simple_extent_npoints(space));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode h5_get_text(const char *path, hid_t object, const char *name, size_t room, char *text)
{
  H5_SCOPE(mine);
  hid_t    attribute, type;
  hssize_t n;

  PetscFunctionBegin;
  text[0] = 0;
  PetscCall(open_attribute(&mine, path, object, name, &attribute, &type, &n));
  PetscCheck(n == 1 && H5Tget_class(type) == H5T_STRING && H5Tis_variable_str(type) == 0 && H5Tget_size(type) <= room, PETSC_COMM_SELF,
             PETSC_ERR_FILE_READ,
             "%s: attribute \"%s\" is not a text of at most %d bytes; the file is damaged or was written by another program", path, name,
             (int)room);
  H5_CALL(path, H5Aread(attribute, type, text));
  text[H5Tget_size(type) < room ? H5Tget_size(type) : room - 1] = 0;
  for (char *c = text; *c; ++c)
    if (iscntrl((unsigned char)*c)) *c = '?'; /* it may end on a terminal */
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode h5_get_numbers(const char *path, hid_t object, const char *name, hid_t memory_type, hid_t file_type, int n, void *values)
{
  H5_SCOPE(mine);
  hid_t    attribute, type;
  hssize_t found;

  PetscFunctionBegin;
  PetscCall(open_attribute(&mine, path, object, name, &attribute, &type, &found));
  PetscCheck(found == n && H5Tequal(type, file_type) > 0, PETSC_COMM_SELF, PETSC_ERR_FILE_READ,
             "%s: attribute \"%s\" has another type or length than expected; the file is damaged or was written by another program", path,
             name);
  H5_CALL(path, H5Aread(attribute, memory_type, values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Storage that is larger than the file is accepted up to here: entries that were never written read as zeros. */

static const double SMALL         = 64.0 * 1024 * 1024;
static const double DEFLATE_LIMIT = 1032.0;

void h5_place(hid_t location, const char *name, char place[H5_PLACE])
{
  char          group[H5_PLACE] = "";
  const ssize_t n               = H5Iget_name(location, group, sizeof group);

  if (n < 0) H5Eclear2(H5E_DEFAULT);
  const char *from = group[0] == '/' ? group + 1 : group;
  (void)snprintf(place, H5_PLACE, "%.*s%s%.90s", (int)(H5_PLACE - 100), from, name && *from ? "/" : "", name ? name : "");
}

#define REFUSE_MEMBER(path, location, name, ...)                                                                                           \
  do {                                                                                                                                     \
    char place_[H5_PLACE], what_[256];                                                                                                     \
    h5_place((location), (name), place_);                                                                                                  \
    (void)snprintf(what_, sizeof what_, __VA_ARGS__);                                                                                      \
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: %s %s", (path), place_, what_);                                                    \
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

/* Open a member of the given kind; -1 if there is none. */
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
  return open_member(scope, path, location, name, H5I_GROUP, group);
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
  return read_first(path, location, name, true, n, out);
}

PetscErrorCode h5_array_real(const char *path, hid_t location, const char *name, int64_t n, double *out)
{
  return read_first(path, location, name, false, n, out);
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
