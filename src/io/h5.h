/* Wrapper for HDF5; all modules that read or write HDF5 files call it. HDF5 errors become PETSc error codes, HDF5 ids are closed when a scope ends, also
 * after errors, and the error output of HDF5 is switched off.
 *
 * The MPI build of HDF5 is not thread-safe: only one thread may call these functions. Every error message names the file. */
#ifndef SS_IO_H5_H
#define SS_IO_H5_H
#include <hdf5.h>
#include "core/error.h"

/* H5_CALL(path, file = H5Fopen(...)): a negative result becomes an error that names `path` and the reason given by HDF5. */
#define H5_CALL(path, expression)                                                                                                          \
  do {                                                                                                                                     \
    if ((expression) < 0) PetscCall(h5_failed((path), #expression));                                                                       \
  } while (0)
PetscErrorCode h5_failed(const char *path, const char *expression);

/* List of HDF5 ids. H5_SCOPE(name) declares a list whose ids are closed in reverse order at the end of the C block, also after an early return. */
typedef struct {
  int   n;
  hid_t id[24];
} h5_scope;
#define H5_SCOPE(name) h5_scope name __attribute__((cleanup(h5_scope_close))) = {0, {0}}
hid_t  h5_keep(h5_scope *scope, hid_t id);    /* add id to the scope and return it; negative ids are ignored */
herr_t h5_release(h5_scope *scope, hid_t id); /* close now and remove from the scope */
void   h5_scope_close(h5_scope *scope);

/* Switch off HDF5's error output, and set HDF5_USE_FILE_LOCKING=FALSE unless the user has set this variable. Further calls have no effect. The functions
 * below that create or open files call it. */
PetscErrorCode h5_start(void);

/* Create a file with a user block of `user_block` bytes (h5_create), or open an existing file for reading (h5_open). Closing the file closes all
 * objects in it. No times are recorded, so that equal contents give equal bytes. */
PetscErrorCode h5_create(h5_scope *scope, const char *path, hsize_t user_block, hid_t *file);
/* Create a file without user block in a format that older versions of HDF5 can also read. */
PetscErrorCode h5_create_for_all(h5_scope *scope, const char *path, hid_t *file);
PetscErrorCode h5_open(h5_scope *scope, const char *path, hid_t *file);
/* Create a group and the parent groups that are missing. */
PetscErrorCode h5_make_group(h5_scope *scope, const char *path, hid_t location, const char *name, hid_t *group);

/* Create a chunked dataset with a Fletcher-32 checksum per chunk. `is_packed` adds shuffle and deflate, for indices, which compress well. dims [rank],
 * rank 1 or 2; dims[0], the number of rows, may be 0. A chunk consists of *chunk_rows complete rows (chunk_rows may be NULL). */
PetscErrorCode h5_make_dataset(h5_scope *scope, const char *path, hid_t location, const char *name, hid_t type, int rank,
                               const hsize_t *dims, bool is_packed, hid_t *dataset, hsize_t *chunk_rows);
/* Write rows first ... first + n - 1 from data [n][dims[1]] of type `memory_type`. */
PetscErrorCode h5_write_rows(const char *path, hid_t dataset, hid_t memory_type, hsize_t first, hsize_t n, const void *data);

/* Write an attribute: a text or n numbers. */
PetscErrorCode h5_put_text(const char *path, hid_t object, const char *name, const char *text);
PetscErrorCode h5_put_numbers(const char *path, hid_t object, const char *name, hid_t memory_type, hid_t file_type, int n,
                              const void *values);
/* Read an attribute: a text (text [room]) or n numbers. A missing attribute or another type or length is an error. '?' replaces control characters. */
PetscErrorCode h5_get_text(const char *path, hid_t object, const char *name, size_t room, char *text);
PetscErrorCode h5_get_numbers(const char *path, hid_t object, const char *name, hid_t memory_type, hid_t file_type, int n, void *values);
bool           h5_has_attribute(hid_t object, const char *name);

/* Reading of datasets of other programs, with checks of all sizes and types, and writing of plain datasets for other programs.
 *
 * `location` is an open group. Links and storage outside the file (external links, external or virtual storage) are rejected. The memory allocated is
 * limited by the size of the file. Invalid contents are PETSC_ERR_USER_INPUT with file and object. */

enum { H5_PLACE = 200, H5_TEXT_MAX = 1 << 20 };

/* Full name of the member `name` of `location` for messages, for example "fclib_local/W/p". name NULL: name of `location`. */
void h5_place(hid_t location, const char *name, char place[H5_PLACE]);
/* Whether `location` has a member `name`. A soft or external link is an error. */
PetscErrorCode h5_has_member(const char *path, hid_t location, const char *name, bool *has);
/* Open the group `name` below `location`; *group = -1 if it does not exist. */
PetscErrorCode h5_open_group(h5_scope *scope, const char *path, hid_t location, const char *name, hid_t *group);

/* Number of entries of a dataset of rank 0 or 1; -1 if it does not exist. */
PetscErrorCode h5_array_length(const char *path, hid_t location, const char *name, int64_t *n);
/* Read the first n entries of a dataset: h5_array_whole converts integers of any width to int64, h5_array_real real numbers or integers of any width to
 * double. A missing dataset, fewer entries and other types are errors. */
PetscErrorCode h5_array_whole(const char *path, hid_t location, const char *name, int64_t n, int64_t *out);
PetscErrorCode h5_array_real(const char *path, hid_t location, const char *name, int64_t n, double *out);
/* Read a dataset of one text of fixed or variable length, at most H5_TEXT_MAX bytes, unchanged; *out = NULL if it does not exist. memory_free(*out). */
PetscErrorCode h5_array_text(const char *path, hid_t location, const char *name, char **out);
/* Read an integer attribute (a scalar or an array of one entry); *out = fallback if it does not exist. */
PetscErrorCode h5_attribute_whole(const char *path, hid_t object, const char *name, int64_t fallback, int64_t *out);

/* Write contiguous datasets without times, so that equal contents give equal bytes. */
PetscErrorCode h5_array_write(const char *path, hid_t location, const char *name, hid_t memory_type, hid_t file_type, int64_t n,
                              const void *data);
PetscErrorCode h5_text_write(const char *path, hid_t location, const char *name, const char *text);
#endif
