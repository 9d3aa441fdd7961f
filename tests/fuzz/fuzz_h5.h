/* Files built through HDF5 from a sequence of the fuzzer's bytes: all types, shapes, filters and links. */
#ifndef SS_TESTS_FUZZ_H5_H
#define SS_TESTS_FUZZ_H5_H
#include "fuzz.h"
#include "io/h5.h"

typedef struct {
  const uint8_t *data;
  size_t         n, at;
} tape;
static int next(tape *t) { return t->at < t->n ? t->data[t->at++] : 0; }

/* The objects of the file that is spoiled, by number. */
static const char *name_at(int i);

static hid_t type_at(h5_scope *scope, int i)
{
  switch (i % 12) {
  case 0: return H5T_IEEE_F64LE;
  case 1: return H5T_STD_I32LE;
  case 2: return H5T_STD_I64LE;
  case 3: return H5T_STD_U64LE;
  case 4: return H5T_STD_U8LE;
  case 5: return H5T_IEEE_F32LE;
  case 6: return H5T_IEEE_F64BE;
  case 7: return H5T_C_S1;
  case 8: return H5T_STD_REF_OBJ;
  case 9: {
    const hid_t s = h5_keep(scope, H5Tcopy(H5T_C_S1));
    H5Tset_size(s, H5T_VARIABLE);
    return s;
  }
  case 10: {
    const hid_t s = h5_keep(scope, H5Tcopy(H5T_C_S1));
    H5Tset_size(s, 40);
    return s;
  }
  default: return h5_keep(scope, H5Tvlen_create(H5T_NATIVE_INT));
  }
}

static void dataset_op(tape *t, hid_t file)
{
  H5_SCOPE(scope);
  static const hsize_t sizes[] = {0, 1, 3, 4, 5, 9, 10, 1u << 20, (hsize_t)1 << 40, (hsize_t)1 << 61};
  static double        zeros[512];
  const char          *name = name_at(next(t));
  const hid_t          type = type_at(&scope, next(t));
  const int            rank = next(t) % 4, how = next(t);
  hsize_t              dims[3], chunk[3], entries = 1;
  for (int k = 0; k < 3; ++k) dims[k] = sizes[next(t) % 10], chunk[k] = dims[k] > 4 || !dims[k] ? 4 : dims[k];
  for (int k = 0; k < rank; ++k) {
    if (dims[k] && chunk[k] > dims[k]) chunk[k] = dims[k];
    entries = dims[k] > 100 || entries > 100 ? 1000 : entries * dims[k];
  }
  H5Ldelete(file, name, H5P_DEFAULT);
  const hid_t space  = h5_keep(&scope, rank ? H5Screate_simple(rank, dims, NULL) : H5Screate(H5S_SCALAR));
  const hid_t create = h5_keep(&scope, H5Pcreate(H5P_DATASET_CREATE));
  if (how & 1 && rank) H5Pset_chunk(create, rank, chunk);
  if (how & 2) H5Pset_fletcher32(create);
  if (how & 4) H5Pset_deflate(create, 1);
  if (how & 8) H5Pset_layout(create, H5D_COMPACT);
  const hid_t d = h5_keep(&scope, H5Dcreate2(file, name, type, space, H5P_DEFAULT, create, H5P_DEFAULT));
  if (d >= 0 && entries < 100 && how & 16 && H5Tget_class(type) <= H5T_FLOAT) H5Dwrite(d, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, zeros);
}

static void link_op(tape *t, hid_t file)
{
  H5_SCOPE(scope);
  const int   how  = next(t);
  const char *name = name_at(next(t)), *to = name_at(next(t));
  switch (how % 6) {
  case 0: H5Ldelete(file, name, H5P_DEFAULT); break;
  case 1: H5Lcreate_soft(to, file, name, H5P_DEFAULT, H5P_DEFAULT); break;
  case 2: H5Lcreate_external("/etc/hostname", to, file, name, H5P_DEFAULT, H5P_DEFAULT); break;
  case 3: H5Lcreate_hard(file, to, file, name, H5P_DEFAULT, H5P_DEFAULT); break;
  case 4: H5Ocopy(file, to, file, name, H5P_DEFAULT, H5P_DEFAULT); break;
  default: h5_keep(&scope, H5Gcreate2(file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)); break;
  }
}

#endif
