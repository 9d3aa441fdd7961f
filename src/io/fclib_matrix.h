/* A matrix group of an FCLIB file; private to fclib*.c. */
#ifndef SS_IO_FCLIB_MATRIX_H
#define SS_IO_FCLIB_MATRIX_H
#include "io/fclib.h"
#include "io/h5_array.h"

/* Member `name` of `parent`, which has to be n_rows x n_columns: any of the three storages, in any order, duplicates added up, zeros dropped. */
PetscErrorCode fclib_matrix_read(const char *path, hid_t parent, const char *name, int64_t n_rows, int64_t n_columns, fclib_matrix *out);
PetscErrorCode fclib_matrix_write(const char *path, hid_t parent, const char *name, const fclib_matrix *A);
void           fclib_matrix_clear(fclib_matrix *A);
/* If a square matrix has entries on one side of its diagonal alone, put their mirror images on the other. */
PetscErrorCode fclib_matrix_mirror(fclib_matrix *A, bool *is_mirrored);
#endif
