/* Arbitrary bytes as a checkpoint: rejected with a message and unchanged state, or restored; never a crash.
 *
 * The first byte selects a mode. 0: the rest is the file. 1: the rest changes bytes of a valid file. 2: the rest is a program that
 * builds a file through HDF5, with any types, shapes, links and attributes, and seals it. Only mode 2 passes the contents of the fuzzer to
 * HDF5; sealed contents must be harmless in the catalog. (Forged bytes with a correct seal would find faults of libhdf5 itself,
 * which the seal excludes.) */
#include "fuzz_h5.h"
#include "core/memory.h"
#include "io/checkpoint.h"
#include "io/h5.h"
#include "io/sealed_file.h"
#include <string.h>
#include <unistd.h>

static char           folder[256], path[300];
static unsigned char *good;
static long           n_good;
static int64_t        n_rows;
static double        *x, *m;
static int32_t       *id;
static field_table   *table;
static FILE          *nowhere;

static PetscErrorCode resize(void *context, int64_t n)
{
  PetscFunctionBegin;
  (void)context;
  PetscCheck(n < 1 << 20, PETSC_COMM_SELF, PETSC_ERR_MEM, "too many");
  PetscCall(memory_resize("fuzz", 3 * n, sizeof *x, &x));
  PetscCall(memory_resize("fuzz", n, sizeof *m, &m));
  PetscCall(memory_resize("fuzz", n, sizeof *id, &id));
  n_rows = n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void reset(void)
{
  MUST(!resize(NULL, 4));
  for (int i = 0; i < 12; ++i) x[i] = i;
  for (int i = 0; i < 4; ++i) m[i] = 1.0, id[i] = i;
}

static bool is_untouched(void)
{
  if (n_rows != 4) return false;
  for (int i = 0; i < 12; ++i)
    if (x[i] != i) return false;
  for (int i = 0; i < 4; ++i)
    if (m[i] != 1.0 || id[i] != i) return false;
  return true;
}

static void clean_up(void)
{
  remove(path);
  remove(folder);
}

static void fuzz_set_up(void)
{
  const checkpoint_head head = {"fuzz", "none", "name: fuzz\n", 3, 0.25};
  const char           *base = getenv("TMPDIR");
  field_group          *g;
  snprintf(folder, sizeof folder, "%s/stickslip-fuzz-XXXXXX", base ? base : "/tmp");
  MUST(mkdtemp(folder));
  atexit(clean_up);
  snprintf(path, sizeof path, "%s/checkpoint_000000003.h5", folder);
  MUST(!field_table_create(&table) && !field_table_add_group(table, "bodies/bed", FIELD_GROUP_POINTS, &n_rows, NULL, &g));
  g->resize = resize;
  MUST(!field_table_add(table, g, "position", "m", FIELD_F64, 3, &x, FIELD_CHECKPOINT, "x"));
  MUST(!field_table_add(table, g, "mass", "kg", FIELD_F64, 1, &m, FIELD_CHECKPOINT | FIELD_ANY_BITS, "m"));
  MUST(!field_table_add(table, g, "id", "1", FIELD_I32, 1, &id, FIELD_CHECKPOINT, "id"));
  reset();
  MUST(!checkpoint_write(folder, &head, table, 0));
  FILE *in = fopen(path, "rb");
  MUST(in && !fseek(in, 0, SEEK_END) && (n_good = ftell(in)) > 0 && (good = malloc((size_t)n_good)));
  rewind(in);
  MUST(fread(good, 1, (size_t)n_good, in) == (size_t)n_good);
  fclose(in);
  nowhere = fopen("/dev/null", "w");
  MUST(nowhere);
}

static void write_bytes(const void *bytes, size_t n)
{
  FILE *out = fopen(path, "wb");
  MUST(out && fwrite(bytes, 1, n, out) == n && !fclose(out));
}

/* Three bytes a change: where (16 bits), which bits. True if the file is another one after all. */
static bool write_spoilt(const uint8_t *data, size_t n)
{
  unsigned char *bytes = malloc((size_t)n_good);
  MUST(bytes);
  memcpy(bytes, good, (size_t)n_good);
  for (size_t i = 0; i + 3 <= n; i += 3) bytes[(data[i] | data[i + 1] << 8) % n_good] ^= data[i + 2];
  const bool differs = memcmp(bytes, good, (size_t)n_good) != 0;
  write_bytes(bytes, (size_t)n_good);
  free(bytes);
  return differs;
}

/* ---- A file built by the fuzzer ---- */
static const char *name_at(int i)
{
  static const char *const names[] = {
      "/",
      "/job",
      "/fields",
      "/fields/bodies",
      "/fields/bodies/bed",
      "/fields/bodies/bed/position",
      "/fields/bodies/bed/mass",
      "/fields/bodies/bed/id",
      "/fields/bodies/bed/other",
      "/fields/x",
      "/fields/x/y",
      "/topology",
      "/fields/a name of many characters that continues far beyond the room there is for names in catalogs of ours"};
  return names[i % (int)(sizeof names / sizeof *names)];
}

static void attribute_op(tape *t, hid_t file)
{
  H5_SCOPE(scope);
  static const char *const names[]  = {"kind",   "program",  "job",      "formulation", "step", "time",
                                       "n_rows", "geometry", "n_fields", "unit",        "help", "checksum"};
  static const int64_t     values[] = {0, 1, 2, 3, 4, 5, -1, INT64_MAX, INT64_MIN, (int64_t)1 << 40, 0x7ff8000000000000, 7};
  int64_t                  value[8];
  const hid_t              object = h5_keep(&scope, H5Oopen(file, name_at(next(t)), H5P_DEFAULT));
  const char              *name   = names[next(t) % 12];
  const hid_t              type   = type_at(&scope, next(t));
  const hsize_t            n      = (hsize_t)(next(t) % 8 + 1);
  for (int k = 0; k < 8; ++k) value[k] = values[next(t) % 12];
  if (object < 0) return;
  H5Adelete(object, name);
  const hid_t space = h5_keep(&scope, n == 1 ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &n, NULL));
  const hid_t a     = h5_keep(&scope, H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT));
  if (a >= 0 && H5Tget_class(type) <= H5T_FLOAT && H5Tget_size(type) <= 8) H5Awrite(a, type, value);
}

/* Start from the good file, so that few changes reach far. */
static void write_built(const uint8_t *data, size_t n)
{
  tape  t         = {data, n, 0};
  char *temporary = NULL;
  MUST(!file_temporary(path, &temporary));
  write_bytes(good, (size_t)n_good);
  MUST(!rename(path, temporary));
  const hid_t file = H5Fopen(temporary, H5F_ACC_RDWR, H5P_DEFAULT);
  MUST(file >= 0);
  for (int i = 0; i < 32 && t.at < t.n; ++i) switch (next(&t) % 3) {
    case 0: dataset_op(&t, file); break;
    case 1: attribute_op(&t, file); break;
    default: link_op(&t, file); break;
    }
  H5Eclear2(H5E_DEFAULT);
  const bool is_closed = H5Fclose(file) >= 0;
  if (is_closed) MUST(!sealed_file_publish(temporary, path, "checkpoint", CHECKPOINT_FORMAT));
  else unlink(temporary);
  memory_free(&temporary);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
  static int64_t live = -1;
  int            n_different;
  bool           must_fail = false;

  if (n < 1) return 0;
  switch (data[0] % 3) {
  case 0: write_bytes(data + 1, n - 1), must_fail = true; break;
  case 1: must_fail = write_spoilt(data + 1, n - 1); break;
  default: write_built(data + 1, n - 1);
  }
  reset();
  if (live < 0) live = memory_live();
  const PetscErrorCode code = checkpoint_read(path, "fuzz", table, NULL, NULL);
  MUST(!must_fail || code);
  if (code) {
    MUST(is_untouched());
    MUST(*error_message());
    error_clear();
  }
  if (checkpoint_info(path, nowhere)) error_clear();
  if (checkpoint_diff(path, path, 0.0, NULL, nowhere, &n_different)) error_clear();
  else MUST(n_different == 0);
  reset();
  MUST(memory_live() == live);
  return 0;
}
