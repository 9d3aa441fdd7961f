/* Data sets of files that others wrote, read with nothing taken on trust; and plain ones, written for others to read.
 *
 * A `location` is an open group. Nothing outside the file is followed (external links, external or virtual storage), and no more memory is asked for
 * than a file of that size can fill. What is wrong with the contents is PETSC_ERR_USER_INPUT, naming file and object. */
#ifndef SS_IO_H5_ARRAY_H
#define SS_IO_H5_ARRAY_H
#include "io/h5.h"

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
