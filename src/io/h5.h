/* The one door to HDF5: its codes become ours, its ids are closed on every way out, its own error printing is silent.
 *
 * The MPI build of HDF5 is not thread-safe: one thread calls these. Every function names the file in its errors. */
#ifndef SS_IO_H5_H
#define SS_IO_H5_H
#include <hdf5.h>
#include "core/error.h"

/* H5_CALL(path, file = H5Fopen(...)): a negative result becomes an error that names `path` and HDF5's own reason. */
#define H5_CALL(path, expression)                                                             \
  do {                                                                                        \
    if ((expression) < 0) PetscCall(h5_failed((path), #expression));                          \
  } while (0)
PetscErrorCode h5_failed(const char *path, const char *expression);

/* Ids that are released, last first, when the scope is left, by whatever way. */
typedef struct {
  int   n;
  hid_t id[24];
} h5_scope;
#define H5_SCOPE(name) h5_scope name __attribute__((cleanup(h5_scope_close))) = {0, {0}}
hid_t  h5_keep(h5_scope *scope, hid_t id);    /* returns id; negative ids are not kept */
herr_t h5_release(h5_scope *scope, hid_t id); /* close now and forget */
void   h5_scope_close(h5_scope *scope);

/* Silence HDF5, set HDF5_USE_FILE_LOCKING=FALSE unless the user has set it. Cheap to repeat; the calls below do it. */
PetscErrorCode h5_start(void);

/* A new file with a user block of `user_block` bytes; an existing one for reading. Closing closes all that is open in it. The
 * same contents give the same bytes: no times are recorded. */
PetscErrorCode h5_create(h5_scope *scope, const char *path, hsize_t user_block, hid_t *file);
/* A new file that older versions of HDF5, too, can read, from its first byte. */
PetscErrorCode h5_create_for_all(h5_scope *scope, const char *path, hid_t *file);
PetscErrorCode h5_open(h5_scope *scope, const char *path, hid_t *file);
/* A new group, with the groups on the way to it. */
PetscErrorCode h5_make_group(h5_scope *scope, const char *path, hid_t location, const char *name, hid_t *group);

/* Chunked, with Fletcher-32 on every chunk; `is_packed` adds shuffle + deflate (for indices that compress to nothing).
 * rank 1 or 2; rows may be 0. Chunks are of whole rows, *chunk_rows of them (NULL: not asked). */
PetscErrorCode h5_make_dataset(h5_scope *scope, const char *path, hid_t location, const char *name, hid_t type, int rank,
                               const hsize_t *dims, bool is_packed, hid_t *dataset, hsize_t *chunk_rows);
/* Write rows [first, first + n) from interleaved memory of type `memory_type`. */
PetscErrorCode h5_write_rows(const char *path, hid_t dataset, hid_t memory_type, hsize_t first, hsize_t n, const void *data);

PetscErrorCode h5_put_text(const char *path, hid_t object, const char *name, const char *text);
PetscErrorCode h5_put_numbers(const char *path, hid_t object, const char *name, hid_t memory_type, hid_t file_type, int n,
                              const void *values);
/* Read back, refusing another type or length. Text: at most room - 1 bytes, printable. */
PetscErrorCode h5_get_text(const char *path, hid_t object, const char *name, size_t room, char *text);
PetscErrorCode h5_get_numbers(const char *path, hid_t object, const char *name, hid_t memory_type, hid_t file_type, int n,
                              void *values);
bool           h5_has_attribute(hid_t object, const char *name);

/* Data sets of files that others wrote, read with nothing taken on trust; and plain ones, written for others to read.
 *
 * A `location` is an open group. Nothing outside the file is followed (external links, external or virtual storage), and no more memory is asked for
 * than a file of that size can fill. What is wrong with the contents is PETSC_ERR_USER_INPUT, naming file and object. */

enum { H5_PLACE = 200, H5_TEXT_MAX = 1 << 20 };

/* "fclib_local/W/p" of member `name` of `location`, for messages. name NULL: of itself. */
void h5_place(hid_t location, const char *name, char place[H5_PLACE]);
/* Is there a member of this name? One that leads out of the file is refused. */
PetscErrorCode h5_has_member(const char *path, hid_t location, const char *name, bool *has);
/* A group below `location`; *group = -1 if there is none of that name. */
PetscErrorCode h5_open_group(h5_scope *scope, const char *path, hid_t location, const char *name, hid_t *group);

/* How many entries a data set of rank 0 or 1 has; -1: there is none of that name. */
PetscErrorCode h5_array_length(const char *path, hid_t location, const char *name, int64_t *n);
/* Its first n entries: whole numbers of any width as int64, reals (or whole numbers) of any width as double. Refused: no such data set, fewer entries,
 * other types. */
PetscErrorCode h5_array_whole(const char *path, hid_t location, const char *name, int64_t n, int64_t *out);
PetscErrorCode h5_array_real(const char *path, hid_t location, const char *name, int64_t n, double *out);
/* One text of at most H5_TEXT_MAX bytes, of fixed or variable length, as it stands; *out = NULL if there is none. memory_free(*out). */
PetscErrorCode h5_array_text(const char *path, hid_t location, const char *name, char **out);
/* A whole number in an attribute, a scalar or an array of one; `fallback` if there is none. */
PetscErrorCode h5_attribute_whole(const char *path, hid_t object, const char *name, int64_t fallback, int64_t *out);

/* Contiguous, without times: the same contents give the same bytes. */
PetscErrorCode h5_array_write(const char *path, hid_t location, const char *name, hid_t memory_type, hid_t file_type, int64_t n, const void *data);
PetscErrorCode h5_text_write(const char *path, hid_t location, const char *name, const char *text);
#endif
