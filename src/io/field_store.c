/* Fields as HDF5 datasets, see field_store.h. */
#include "io/field_store.h"
#include "core/memory.h"
#include "io/checksum.h"
#include <math.h>
#include <string.h>

hid_t store_file_type(store_type type)
{
  switch (type) {
  case STORE_F64: return H5T_IEEE_F64LE;
  case STORE_I32: return H5T_STD_I32LE;
  case STORE_I64: return H5T_STD_I64LE;
  case STORE_U64: return H5T_STD_U64LE;
  case STORE_U8: return H5T_STD_U8LE;
  case STORE_F32: return H5T_IEEE_F32LE;
  default: return H5I_INVALID_HID;
  }
}

hid_t store_memory_type(store_type type)
{
  switch (type) {
  case STORE_F64: return H5T_NATIVE_DOUBLE;
  case STORE_I32: return H5T_NATIVE_INT32;
  case STORE_I64: return H5T_NATIVE_INT64;
  case STORE_U64: return H5T_NATIVE_UINT64;
  case STORE_U8: return H5T_NATIVE_UINT8;
  case STORE_F32: return H5T_NATIVE_FLOAT;
  default: return H5I_INVALID_HID;
  }
}

size_t store_size(store_type type) { return type == STORE_F32 || type == STORE_I32 ? 4 : type == STORE_U8 ? 1 : 8; }

const char *store_name(store_type type)
{
  static const char *const names[] = {"f64", "i32", "i64", "u64", "u8", "f32"};
  return type < STORE_N_TYPES ? names[type] : "unknown";
}

int64_t store_first_not_finite(int64_t n, const double *x)
{
  for (int64_t i = 0; i < n; ++i)
    if (!isfinite(x[i])) return i;
  return n;
}

/* One loop per size of entry: 4- and 8-byte entries of any type are copied as bits. */
#define COPY_STRIDED(type)                                                                                                                 \
  do {                                                                                                                                     \
    const type *restrict from = (const type *)source;                                                                                      \
    type *restrict to         = (type *)target;                                                                                            \
    for (int64_t i = 0; i < n; ++i) to[i * to_stride] = from[i * from_stride];                                                             \
  } while (0)

static void copy_strided(size_t size, int64_t n, const void *source, int from_stride, void *target, int to_stride)
{
  if (size == 8) COPY_STRIDED(uint64_t);
  else if (size == 4) COPY_STRIDED(uint32_t);
  else COPY_STRIDED(uint8_t);
}

/* Rows [first, first + n) as interleaved entries: in place where the field lies so already, else gathered into `room`. */
static const void *field_store_gather(const field *f, int64_t first, int64_t n, void *room)
{
  const size_t size = field_type_size(f->type);
  const int    nc   = f->n_components;

  if (f->stride == nc) return (const char *)field_component(f, 0) + (size_t)first * (size_t)nc * size;
  for (int k = 0; k < nc; ++k)
    copy_strided(size, n, (const char *)field_component(f, k) + (size_t)(first * f->stride) * size, f->stride,
                 (char *)room + (size_t)k * size, nc);
  return room;
}

void field_store_scatter(const field *f, int64_t n, const void *rows)
{
  const size_t size = field_type_size(f->type);
  const int    nc   = f->n_components;

  if (f->stride == nc) {
    if (n) memcpy(field_component(f, 0), rows, (size_t)n * (size_t)nc * size);
    return;
  }
  for (int k = 0; k < nc; ++k) copy_strided(size, n, (const char *)rows + (size_t)k * size, nc, field_component(f, k), f->stride);
}

static PetscErrorCode check_finite(const field_group *group, const field *f, int64_t first, int64_t n, const double *x)
{
  const int64_t nx = n * f->n_components, bad = store_first_not_finite(nx, x);

  PetscFunctionBegin;
  PetscCheck(bad == nx, PETSC_COMM_SELF, PETSC_ERR_FP,
             "%s/%s is not finite in row %lld, component %d: nothing was written, because a run cannot be resumed from this state",
             group->name, f->name, (long long)(first + bad / f->n_components), (int)(bad % f->n_components));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode field_store_describe(const char *path, hid_t dataset, const field *f, checksum *sum)
{
  uint64_t words[CHECKSUM_WORDS];

  PetscFunctionBegin;
  checksum_end(sum, words);
  PetscCall(h5_put_text(path, dataset, "unit", f->unit));
  PetscCall(h5_put_text(path, dataset, "help", f->help));
  PetscCall(h5_put_numbers(path, dataset, "checksum", H5T_NATIVE_UINT64, H5T_STD_U64LE, CHECKSUM_WORDS, words));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode field_store_write(const char *path, hid_t location, const field_group *group, const field *f, int64_t n, bool is_single,
                                 bool must_be_finite)
{
  H5_SCOPE(scope);
  const store_type type    = is_single && f->type == FIELD_F64 ? STORE_F32 : (store_type)f->type;
  const int        nc      = f->n_components;
  const hsize_t    dims[2] = {(hsize_t)n, (hsize_t)nc};
  const bool       check   = must_be_finite && f->type == FIELD_F64 && !(f->flags & FIELD_ANY_BITS);
  hid_t            dataset;
  hsize_t          step;
  checksum         sum;
  char            *room __attribute__((cleanup(memory_free)))   = NULL;
  float           *narrow __attribute__((cleanup(memory_free))) = NULL;

  PetscFunctionBegin;
  for (int k = 0; k < nc && n; ++k)
    PetscCheck(field_component(f, k), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s/%s has %lld rows but no memory", group->name, f->name,
               (long long)n);
  PetscCall(h5_make_dataset(&scope, path, location, f->name, store_file_type(type), nc == 1 ? 1 : 2, dims, false, &dataset, &step));
  if (f->stride != nc) PetscCall(memory_alloc("field store", (int64_t)step * nc, field_type_size(f->type), &room));
  if (type == STORE_F32) PetscCall(memory_alloc("field store", (int64_t)step * nc, sizeof *narrow, &narrow));
  checksum_begin(&sum);
  for (int64_t lo = 0; lo < n; lo += (int64_t)step) {
    const int64_t rows   = n - lo < (int64_t)step ? n - lo : (int64_t)step;
    const void   *source = field_store_gather(f, lo, rows, room);
    if (check) PetscCall(check_finite(group, f, lo, rows, source));
    if (narrow) {
      const double *wide = source;
      for (int64_t i = 0; i < rows * nc; ++i) narrow[i] = (float)wide[i];
      source = narrow;
    }
    checksum_add(&sum, source, (size_t)(rows * nc) * store_size(type));
    PetscCall(h5_write_rows(path, dataset, store_memory_type(type), (hsize_t)lo, (hsize_t)rows, source));
  }
  PetscCall(field_store_describe(path, dataset, f, &sum));
  PetscFunctionReturn(PETSC_SUCCESS);
}
