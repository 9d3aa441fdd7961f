/* Writes fields as HDF5 datasets, for checkpoints and frames. A field becomes /fields/<group>/<name>, [n] for scalars and
 * [n][n_components] otherwise, little-endian, with its unit, help and a checksum of the data as attributes. */
#ifndef SS_IO_FIELD_STORE_H
#define SS_IO_FIELD_STORE_H
#include "core/field_table.h"
#include "io/h5.h"

/* Types of datasets: the types of field tables, and single precision (frames). */
typedef enum { STORE_F64, STORE_I32, STORE_I64, STORE_U64, STORE_U8, STORE_F32, STORE_N_TYPES } store_type;
hid_t       store_file_type(store_type type);
hid_t       store_memory_type(store_type type);
size_t      store_size(store_type type); /* bytes of one entry */
const char *store_name(store_type type); /* "f64" */

/* Write rows 0 ... n - 1 of a field into the group `location`. `is_single`: reals are stored with 32 bits. `must_be_finite`: an infinity or NaN is
 * PETSC_ERR_FP with group, field and row, unless the field has FIELD_ANY_BITS. `path`: name of the file in messages. */
PetscErrorCode field_store_write(const char *path, hid_t location, const field_group *group, const field *f, int64_t n, bool is_single,
                                 bool must_be_finite);
/* Copy rows [n][n_components], of the type of the field, to the arrays of the field. */
void field_store_scatter(const field *f, int64_t n, const void *rows);
/* Index of the first entry that is not finite; n if all are finite. */
int64_t store_first_not_finite(int64_t n, const double *x);
#endif
