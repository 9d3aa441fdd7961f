/* Reader and writer of FCLIB files, see fclib.h. */
#include "io/fclib.h"
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "core/log.h"
#include "core/memory.h"
#include "io/h5.h"
#include "io/html.h"
#include "io/sealed_file.h"

/* Entries as stored in the file. */
typedef struct {
  int64_t  n;
  int64_t *row, *column; /* [n] */
  double  *value;
} entry_list;

static void entries_clear(entry_list *e) { MEMORY_FREE(&e->row, &e->column, &e->value); }

static void fclib_matrix_clear(fclib_matrix *A)
{
  MEMORY_FREE(&A->start, &A->row, &A->value);
  A->n_rows = A->n_columns = 0;
}

#define REFUSE_PLACE(path, place, ...)                                                                                                     \
  do {                                                                                                                                     \
    char what_[256];                                                                                                                       \
    (void)snprintf(what_, sizeof what_, __VA_ARGS__);                                                                                      \
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: %s%s", (path), (place), what_);                                                    \
  } while (0)

static PetscErrorCode read_scalar(const char *path, hid_t group, const char *name, int64_t *out)
{
  char    place[H5_PLACE];
  int64_t n;

  PetscFunctionBegin;
  h5_place(group, name, place);
  PetscCall(h5_array_length(path, group, name, &n));
  if (n > 1) REFUSE_PLACE(path, place, " has %lld entries; expected one", (long long)n);
  PetscCall(h5_array_whole(path, group, name, 1, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Called before memory is allocated: sizes in other data sets are untrusted. */
static PetscErrorCode check_length(const char *path, hid_t group, const char *place, const char *array, int64_t n)
{
  int64_t length;

  PetscFunctionBegin;
  PetscCall(h5_array_length(path, group, array, &length));
  if (length < 0) REFUSE_PLACE(path, place, "/%s is missing", array);
  if (length < n) REFUSE_PLACE(path, place, "/%s has %lld entries; expected %lld", array, (long long)length, (long long)n);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Compressed storage: every entry's line (column or row) from the starts of the lines. */
static PetscErrorCode read_starts(const char *path, hid_t group, const char *place, int64_t n_lines, int64_t nzmax, int64_t n_dense,
                                  int64_t *n_used, int64_t **line)
{
  int64_t *start __attribute__((cleanup(memory_free))) = NULL;
  int64_t  bad                                         = -1;

  PetscFunctionBegin;
  PetscCall(check_length(path, group, place, "p", n_lines + 1));
  PetscCall(memory_alloc("FCLIB matrix", n_lines + 1, sizeof *start, &start));
  PetscCall(h5_array_whole(path, group, "p", n_lines + 1, start));
  if (start[0] != 0) REFUSE_PLACE(path, place, "/p[0] is %lld; expected 0", (long long)start[0]);
  for (int64_t j = n_lines; j > 0; --j)
    if (start[j] < start[j - 1]) bad = j;
  if (bad > 0)
    REFUSE_PLACE(path, place, "/p[%lld] is %lld, less than the entry before it; starts may not decrease", (long long)bad,
                 (long long)start[bad]);
  *n_used = start[n_lines];
  if (*n_used == 0 && nzmax > 0 && nzmax == n_dense)
    REFUSE_PLACE(path, place,
                 " is a dense matrix in the place of a compressed one: its starts are all 0 while nzmax = m n = %lld; write it as FCLIB "
                 "compressed columns",
                 (long long)nzmax);
  if (*n_used == 0 && nzmax > 0) REFUSE_PLACE(path, place, " is empty, its starts are all 0, while nzmax is %lld", (long long)nzmax);
  if (*n_used > nzmax) REFUSE_PLACE(path, place, "/p ends with %lld; expected at most nzmax = %lld", (long long)*n_used, (long long)nzmax);
  PetscCall(check_length(path, group, place, "x", *n_used));
  PetscCall(memory_alloc("FCLIB matrix", *n_used, sizeof **line, line));
  for (int64_t j = 0; j < n_lines; ++j)
    for (int64_t k = start[j]; k < start[j + 1]; ++k) (*line)[k] = j;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode check_range(const char *path, const char *place, const char *array, const char *what, int64_t n, const int64_t *index,
                                  int64_t limit, const char *advice)
{
  PetscFunctionBegin;
  for (int64_t k = 0; k < n; ++k)
    if (index[k] < 0 || index[k] >= limit)
      REFUSE_PLACE(path, place, "/%s[%lld] = %lld is no %s; expected 0 to %lld%s", array, (long long)k, (long long)index[k], what,
                   (long long)limit - 1, advice);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* In all known files, p contains the columns of triplets and i their rows, contrary to the header of the reference library. */
static PetscErrorCode read_entries(const char *path, hid_t group, const char *place, int64_t n_rows, int64_t n_columns, int64_t nz,
                                   int64_t nzmax, entry_list *e)
{
  static const char swapped[] = " (in triplets, p has the columns and i the rows)";
  const bool        is_rows = nz == -2, is_triplets = nz >= 0;

  PetscFunctionBegin;
  if (is_triplets) {
    if (nz > nzmax) REFUSE_PLACE(path, place, "/nz is %lld; expected at most nzmax = %lld", (long long)nz, (long long)nzmax);
    e->n = nz;
    PetscCall(check_length(path, group, place, "p", nz));
    PetscCall(check_length(path, group, place, "x", nz));
    PetscCall(memory_alloc("FCLIB matrix", nz, sizeof *e->column, &e->column));
    PetscCall(h5_array_whole(path, group, "p", nz, e->column));
  } else {
    PetscCall(
        read_starts(path, group, place, is_rows ? n_rows : n_columns, nzmax, n_rows * n_columns, &e->n, is_rows ? &e->row : &e->column));
  }
  int64_t **index = is_rows ? &e->column : &e->row;
  PetscCall(memory_alloc("FCLIB matrix", e->n, sizeof **index, index));
  PetscCall(h5_array_whole(path, group, "i", e->n, *index));
  PetscCall(memory_alloc("FCLIB matrix", e->n, sizeof *e->value, &e->value));
  PetscCall(h5_array_real(path, group, "x", e->n, e->value));
  PetscCall(check_range(path, place, is_rows ? "p" : "i", "row", is_rows ? 0 : e->n, e->row, n_rows, is_triplets ? swapped : ""));
  PetscCall(check_range(path, place, is_triplets ? "p" : "i", "column", is_rows || is_triplets ? e->n : 0, e->column, n_columns,
                        is_triplets ? swapped : ""));
  for (int64_t k = 0; k < e->n; ++k)
    if (!isfinite(e->value[k])) REFUSE_PLACE(path, place, "/x[%lld] is %g; expected a finite number", (long long)k, e->value[k]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries in a stable order by `key`: order[] is refilled with the sorted permutation of itself. */
static PetscErrorCode sort_by(int64_t n, const int64_t *key, int64_t n_keys, int64_t *order, int64_t *spare)
{
  int64_t *count __attribute__((cleanup(memory_free))) = NULL;

  PetscFunctionBegin;
  PetscCall(memory_alloc("FCLIB matrix", n_keys + 1, sizeof *count, &count));
  for (int64_t k = 0; k < n; ++k) ++count[key[k] + 1];
  for (int64_t j = 0; j < n_keys; ++j) count[j + 1] += count[j];
  for (int64_t k = 0; k < n; ++k) spare[count[key[order[k]]]++] = order[k];
  for (int64_t k = 0; k < n; ++k) order[k] = spare[k];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sort by columns, within them by rows; equal entries are added, and zeros omitted. */
static PetscErrorCode compress(const entry_list *e, const int64_t *order, fclib_matrix *A)
{
  int64_t n = 0, k = 0;

  PetscFunctionBegin;
  PetscCall(MEMORY_ALLOC("FCLIB matrix", ARRAY(A->start, A->n_columns + 1), ARRAY(A->row, e->n), ARRAY(A->value, e->n)));
  for (int64_t j = 0; j < A->n_columns; ++j) {
    while (k < e->n && e->column[order[k]] == j) {
      const int64_t i   = e->row[order[k]];
      double        sum = 0;
      for (; k < e->n && e->column[order[k]] == j && e->row[order[k]] == i; ++k) sum += e->value[order[k]];
      if (sum != 0) A->row[n] = (int32_t)i, A->value[n++] = sum;
    }
    A->start[j + 1] = n;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode sort_entries(const entry_list *e, fclib_matrix *A)
{
  int64_t *order __attribute__((cleanup(memory_free))) = NULL;
  int64_t *spare __attribute__((cleanup(memory_free))) = NULL;

  PetscFunctionBegin;
  PetscCall(MEMORY_ALLOC("FCLIB matrix", ARRAY(order, e->n), ARRAY(spare, e->n)));
  for (int64_t k = 0; k < e->n; ++k) order[k] = k;
  PetscCall(sort_by(e->n, e->row, A->n_rows, order, spare));
  PetscCall(sort_by(e->n, e->column, A->n_columns, order, spare));
  PetscCall(compress(e, order, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode fclib_matrix_read(const char *path, hid_t parent, const char *name, int64_t n_rows, int64_t n_columns,
                                        fclib_matrix *out)
{
  H5_SCOPE(scope);
  hid_t      group;
  char       place[H5_PLACE];
  int64_t    m, n, nz, nzmax;
  entry_list e __attribute__((cleanup(entries_clear))) = {0};

  PetscFunctionBegin;
  memset(out, 0, sizeof *out);
  h5_place(parent, name, place);
  PetscCall(h5_open_group(&scope, path, parent, name, &group));
  if (group < 0) REFUSE_PLACE(path, place, " is missing");
  PetscCall(read_scalar(path, group, "m", &m));
  PetscCall(read_scalar(path, group, "n", &n));
  PetscCall(read_scalar(path, group, "nz", &nz));
  PetscCall(read_scalar(path, group, "nzmax", &nzmax));
  if (m != n_rows || n != n_columns)
    REFUSE_PLACE(path, place, " is %lld x %lld; expected %lld x %lld by the lengths of the vectors", (long long)m, (long long)n,
                 (long long)n_rows, (long long)n_columns);
  if (nz < -2)
    REFUSE_PLACE(path, place, "/nz is %lld; expected -2 (compressed rows), -1 (compressed columns) or the number of triplets",
                 (long long)nz);
  if (nzmax < 0) REFUSE_PLACE(path, place, "/nzmax is %lld; expected at least 0", (long long)nzmax);
  PetscCall(read_entries(path, group, place, m, n, nz, nzmax, &e));
  out->n_rows = m, out->n_columns = n;
  PetscErrorCode code = sort_entries(&e, out);
  for (int64_t k = 0; !code && k < out->start[n]; ++k)
    if (!isfinite(out->value[k])) { /* duplicates of opposite or huge values */
      fclib_matrix_clear(out);
      REFUSE_PLACE(path, place, "/x has entries for row %lld whose sum is not finite", (long long)out->row[k]);
    }
  if (code) fclib_matrix_clear(out);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode fclib_matrix_mirror(fclib_matrix *A, bool *is_mirrored)
{
  entry_list   e __attribute__((cleanup(entries_clear))) = {0};
  fclib_matrix full                                      = {A->n_rows, A->n_columns, NULL, NULL, NULL};
  int64_t      n_above = 0, n_below = 0;

  PetscFunctionBegin;
  *is_mirrored = false;
  for (int64_t j = 0; j < A->n_columns; ++j)
    for (int64_t k = A->start[j]; k < A->start[j + 1]; ++k) n_above += A->row[k]<j, n_below += A->row[k]> j;
  if ((n_above == 0) == (n_below == 0)) PetscFunctionReturn(PETSC_SUCCESS);
  e.n = A->start[A->n_columns] + n_above + n_below;
  PetscCall(MEMORY_ALLOC("FCLIB matrix", ARRAY(e.row, e.n), ARRAY(e.column, e.n), ARRAY(e.value, e.n)));
  int64_t at = 0;
  for (int64_t j = 0; j < A->n_columns; ++j)
    for (int64_t k = A->start[j]; k < A->start[j + 1]; ++k) {
      const int64_t i = A->row[k];
      e.row[at] = i, e.column[at] = j, e.value[at++] = A->value[k];
      if (i != j) e.row[at] = j, e.column[at] = i, e.value[at++] = A->value[k];
    }
  const PetscErrorCode code = sort_entries(&e, &full);
  if (code) fclib_matrix_clear(&full);
  PetscCall(code);
  fclib_matrix_clear(A);
  *A           = full;
  *is_mirrored = true;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode fclib_matrix_write(const char *path, hid_t parent, const char *name, const fclib_matrix *A)
{
  H5_SCOPE(scope);
  hid_t                    group;
  const int64_t            n = A->start[A->n_columns], size[4] = {A->n_rows, A->n_columns, -1, n};
  static const char *const names[4] = {"m", "n", "nz", "nzmax"};

  PetscFunctionBegin;
  PetscCheck(A->n_rows < INT32_MAX && A->n_columns < INT32_MAX && n <= INT32_MAX, PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE,
             "cannot write %s: matrix %s has %lld entries, and FCLIB's numbers end at 2147483647", path, name, (long long)n);
  PetscCall(h5_make_group(&scope, path, parent, name, &group));
  for (int k = 0; k < 4; ++k) PetscCall(h5_array_write(path, group, names[k], H5T_NATIVE_INT64, H5T_STD_I32LE, 1, &size[k]));
  PetscCall(h5_array_write(path, group, "p", H5T_NATIVE_INT64, H5T_STD_I32LE, A->n_columns + 1, A->start));
  PetscCall(h5_array_write(path, group, "i", H5T_NATIVE_INT32, H5T_STD_I32LE, n, A->row));
  PetscCall(h5_array_write(path, group, "x", H5T_NATIVE_DOUBLE, H5T_IEEE_F64LE, n, A->value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void fclib_apply(const fclib_matrix *A, const double *x, double *y)
{
  for (int64_t i = 0; i < A->n_rows; ++i) y[i] = 0;
  for (int64_t j = 0; j < A->n_columns; ++j)
    for (int64_t k = A->start[j]; k < A->start[j + 1]; ++k) y[A->row[k]] += A->value[k] * x[j];
}

/* a_ij, 0 where nothing is stored. */
static double fclib_entry(const fclib_matrix *A, int64_t i, int64_t j)
{
  int64_t lo = A->start[j], hi = A->start[j + 1];
  while (lo < hi) {
    const int64_t mid = lo + (hi - lo) / 2;
    if (A->row[mid] < i) lo = mid + 1;
    else hi = mid;
  }
  return lo < A->start[j + 1] && A->row[lo] == i ? A->value[lo] : 0;
}

double fclib_asymmetry(const fclib_matrix *A)
{
  double difference = 0, largest = 0;
  for (int64_t j = 0; j < A->n_columns; ++j)
    for (int64_t k = A->start[j]; k < A->start[j + 1]; ++k) {
      largest    = fmax(largest, fabs(A->value[k]));
      difference = fmax(difference, fabs(A->value[k] - fclib_entry(A, j, A->row[k])));
    }
  return largest > 0 ? difference / largest : 0;
}

/* M from finite elements and linearised steps is symmetric except for rounding. A larger asymmetry is an error. */

static const double MAX_ASYMMETRY = 1e-8;

#define REFUSE(path, ...)                                                                                                                  \
  do {                                                                                                                                     \
    char what_[400];                                                                                                                       \
    (void)snprintf(what_, sizeof what_, __VA_ARGS__);                                                                                      \
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: %s", (path), what_);                                                               \
  } while (0)

void fclib_clear(fclib_problem *p)
{
  fclib_matrix_clear(&p->W);
  fclib_matrix_clear(&p->M);
  fclib_matrix_clear(&p->H);
  MEMORY_FREE(&p->q, &p->f, &p->w, &p->mu, &p->title, &p->description, &p->math_info);
  memset(p, 0, sizeof *p);
}

void fclib_clean_text(const char *text, size_t room, char *out)
{
  size_t n = 0;
  for (const unsigned char *s = (const unsigned char *)text; *s;) {
    const int length = *s == '\n' || *s == '\t' ? 0 : html_character_length(s);
    if (n + (size_t)(length ? length : 1) >= room) break;
    if (length) memcpy(out + n, s, (size_t)length);
    else out[n] = *s == '\n' || *s == '\t' ? ' ' : '?';
    n += (size_t)(length ? length : 1);
    s += length ? length : 1;
  }
  out[n] = '\0';
}

/* --- kind of file --- */

static void close_file(const int *fd)
{
  if (*fd >= 0) close(*fd);
}

/* Collections store files in Git LFS; without `git lfs pull` a file is only a pointer. */
static PetscErrorCode check_kind(const char *path)
{
  static const char pointer[] = "version https://git-lfs", magic[] = "\211HDF\r\n\032\n";
  char              head[64] = {0};
  struct stat       about;
  const int fd __attribute__((cleanup(close_file))) = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe must not hold us up */

  PetscFunctionBegin;
  if (fd < 0 && errno == ENOENT) REFUSE(path, "cannot be opened: there is no such file");
  PetscCheck(fd >= 0 && !fstat(fd, &about), PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "cannot open %s: %s", path, strerror(errno));
  if (!S_ISREG(about.st_mode))
    REFUSE(path, "is %s; expected an FCLIB file (HDF5)", S_ISDIR(about.st_mode) ? "a folder" : "not a regular file");
  const ssize_t n = read(fd, head, sizeof head - 1);
  PetscCheck(n >= 0, PETSC_COMM_SELF, PETSC_ERR_FILE_READ, "cannot read %s: %s", path, strerror(errno));
  if (n == 0) REFUSE(path, "is empty; expected an FCLIB file (HDF5)");
  if (!strncmp(head, pointer, sizeof pointer - 1))
    REFUSE(path, "is a pointer of Git LFS, not the file itself: its content was not fetched; run `git lfs pull` in its repository");
  bool is_hdf5 = n >= 8 && !memcmp(head, magic, 8);
  for (off_t at = 512; !is_hdf5 && at + 8 <= about.st_size && at <= 1 << 20; at *= 2) /* behind a user block */
    is_hdf5 = pread(fd, head, 8, at) == 8 && !memcmp(head, magic, 8);
  if (!is_hdf5) REFUSE(path, "is not an HDF5 file; expected a problem in FCLIB's layout");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The top group; problems that this program does not solve are rejected with their name. */
static PetscErrorCode open_top(h5_scope *scope, const char *path, hid_t file, hid_t *top, bool *is_global)
{
  static const char *const names[] = {"fclib_local",         "fclib_global",         "fclib_global_rolling",
                                      "fclib_local_rolling", "fclib_rolling_global", "fclib_rolling_local"};
  const char              *found   = NULL;

  PetscFunctionBegin;
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    bool has;
    PetscCall(h5_has_member(path, file, names[i], &has));
    if (has && found) REFUSE(path, "has both %s and %s; expected one problem in a file", found, names[i]);
    if (has) found = names[i];
  }
  if (!found) REFUSE(path, "has neither a group fclib_local nor fclib_global: it is HDF5, but no FCLIB problem");
  if (strstr(found, "rolling"))
    REFUSE(path, "is a problem with rolling friction (%s), which is not solved here; expected fclib_local or fclib_global", found);
  *is_global = !strcmp(found, "fclib_global");
  PetscCall(h5_open_group(scope, path, file, found, top));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bilateral constraints are rejected, because ignoring them would change the problem. */
static PetscErrorCode reject_bilateral(const char *path, hid_t top, hid_t vectors)
{
  static const char *const matrices[] = {"V", "R", "G"}, *const loads[] = {"s", "b"};

  PetscFunctionBegin;
  for (int i = 0; i < 5; ++i) {
    const char *name = i < 3 ? matrices[i] : loads[i - 3];
    bool        has;
    PetscCall(h5_has_member(path, i < 3 ? top : vectors, name, &has));
    if (has)
      REFUSE(path, "has bilateral constraints (%s%s), which are not solved here; eliminate them and write the problem without",
             i < 3 ? "" : "vectors/", name);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- contents --------------------------------------------------------------------------------------------------------- */

static PetscErrorCode check_finite(const char *path, hid_t group, const char *name, int64_t n, const double *x)
{
  char place[H5_PLACE];

  PetscFunctionBegin;
  h5_place(group, name, place);
  for (int64_t i = 0; i < n; ++i)
    if (!isfinite(x[i])) REFUSE(path, "%s[%lld] is %g; expected a finite number", place, (long long)i, x[i]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A vector of n entries; n < 0: any number, which is then *length. */
static PetscErrorCode read_vector(const char *path, hid_t group, const char *name, int64_t n, int64_t *length, double **out)
{
  char    place[H5_PLACE];
  int64_t found;

  PetscFunctionBegin;
  h5_place(group, name, place);
  PetscCall(h5_array_length(path, group, name, &found));
  if (found < 0) REFUSE(path, "%s is missing", place);
  if (n >= 0 && found != n) REFUSE(path, "%s has %lld entries; expected %lld", place, (long long)found, (long long)n);
  if (found >= INT32_MAX) REFUSE(path, "%s has %lld entries; expected fewer than 2147483647", place, (long long)found);
  PetscCall(memory_alloc("FCLIB vector", found, sizeof **out, out));
  PetscCall(h5_array_real(path, group, name, found, *out));
  PetscCall(check_finite(path, group, name, found, *out));
  if (length) *length = found;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode read_dimension(const char *path, hid_t top, fclib_problem *p)
{
  int64_t d;

  PetscFunctionBegin;
  PetscCall(h5_array_whole(path, top, "spacedim", 1, &d));
  if (d == 5) REFUSE(path, "spacedim is 5: a problem with rolling friction, which is not solved here; expected 2 or 3");
  if (d != 2 && d != 3) REFUSE(path, "spacedim is %lld; expected 2 or 3", (long long)d);
  p->dimension = (int)d;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode read_vectors(const char *path, hid_t vectors, fclib_problem *p)
{
  const char *of_contacts = p->is_global ? "w" : "q";
  int64_t     m;

  PetscFunctionBegin;
  PetscCall(read_vector(path, vectors, of_contacts, -1, &m, p->is_global ? &p->w : &p->q));
  if (m == 0) REFUSE(path, "vectors/%s is empty: there are no contacts", of_contacts);
  if (m % p->dimension)
    REFUSE(path, "vectors/%s has %lld entries; expected a multiple of spacedim = %d", of_contacts, (long long)m, p->dimension);
  p->n_contacts = m / p->dimension;
  PetscCall(read_vector(path, vectors, "mu", p->n_contacts, NULL, &p->mu));
  for (int64_t a = 0; a < p->n_contacts; ++a)
    if (p->mu[a] < 0) REFUSE(path, "vectors/mu[%lld] is %g; expected a coefficient of friction >= 0", (long long)a, p->mu[a]);
  if (p->is_global) PetscCall(read_vector(path, vectors, "f", -1, &p->n_dof, &p->f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A contact whose normal impulse changes no velocity is an error in the file: it has no solution under compression, and is
 * without effect otherwise. */
static PetscErrorCode check_contacts(const char *path, const fclib_problem *p)
{
  const fclib_matrix *A = p->is_global ? &p->H : &p->W;
  const int           d = p->dimension;

  PetscFunctionBegin;
  for (int64_t a = 0; a < p->n_contacts; ++a) {
    double diagonal = 0;
    if (A->start[d * a + d] == A->start[d * a])
      REFUSE(path, "contact %lld acts on no degree of freedom: its columns of %s are zero; remove it", (long long)a,
             p->is_global ? "H" : "W");
    if (p->is_global) {
      if (A->start[d * a + 1] == A->start[d * a])
        REFUSE(path, "the normal of contact %lld acts on no degree of freedom: column %lld of H is zero; expected a contact that can open",
               (long long)a, (long long)(d * a));
      continue;
    }
    for (int64_t k = A->start[d * a]; k < A->start[d * a + 1]; ++k)
      if (A->row[k] == d * a) diagonal = A->value[k];
    if (!(diagonal > 0))
      REFUSE(path, "W[%lld][%lld] is %g, of the normal of contact %lld; expected a positive number", (long long)(d * a), (long long)(d * a),
             diagonal, (long long)a);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode read_matrices(const char *path, hid_t top, fclib_problem *p)
{
  const int64_t m = p->dimension * p->n_contacts;

  PetscFunctionBegin;
  if (!p->is_global) {
    PetscCall(fclib_matrix_read(path, top, "W", m, m, &p->W));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(fclib_matrix_read(path, top, "M", p->n_dof, p->n_dof, &p->M));
  PetscCall(fclib_matrix_read(path, top, "H", p->n_dof, m, &p->H));
  PetscCall(fclib_matrix_mirror(&p->M, &p->was_half_stored));
  if (p->was_half_stored) log_info("%s: only one triangle of the symmetric matrix M is stored; the other one is copied from it", path);
  const double asymmetry = fclib_asymmetry(&p->M);
  if (asymmetry > MAX_ASYMMETRY)
    REFUSE(path, "M is not symmetric: entries mirrored in the diagonal differ by %.2g of the largest; expected a mass matrix", asymmetry);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode read_info(const char *path, hid_t top, fclib_problem *p)
{
  H5_SCOPE(scope);
  hid_t   info;
  int64_t n_dof;

  PetscFunctionBegin;
  PetscCall(h5_open_group(&scope, path, top, "info", &info));
  if (info < 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(h5_array_text(path, info, "title", &p->title));
  PetscCall(h5_array_text(path, info, "description", &p->description));
  PetscCall(h5_array_text(path, info, "math_info", &p->math_info));
  PetscCall(h5_attribute_whole(path, info, "numberOfDegreeOfFreedom", 0, &n_dof));
  PetscCall(h5_attribute_whole(path, info, "numberOfInvolvedDS", 0, &p->n_bodies));
  if (!p->is_global && n_dof > 0) p->n_dof = n_dof;
  if (p->n_bodies < 0) p->n_bodies = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Optional data of the file; read only on request. */
static PetscErrorCode read_extras(const char *path, hid_t file, fclib_problem *p)
{
  H5_SCOPE(scope);
  hid_t guesses;

  PetscFunctionBegin;
  PetscCall(h5_has_member(path, file, "solution", &p->has_solution));
  PetscCall(h5_open_group(&scope, path, file, "guesses", &guesses));
  if (guesses < 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(h5_array_whole(path, guesses, "number_of_guesses", 1, &p->n_guesses));
  if (p->n_guesses < 0 || p->n_guesses > INT32_MAX)
    REFUSE(path, "guesses/number_of_guesses is %lld; expected a number from 0", (long long)p->n_guesses);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode read_all(const char *path, fclib_problem *p)
{
  H5_SCOPE(scope);
  hid_t file, top, vectors;

  PetscFunctionBegin;
  PetscCall(h5_open(&scope, path, &file));
  PetscCall(open_top(&scope, path, file, &top, &p->is_global));
  PetscCall(read_dimension(path, top, p));
  PetscCall(h5_open_group(&scope, path, top, "vectors", &vectors));
  if (vectors < 0) REFUSE(path, "vectors is missing");
  PetscCall(reject_bilateral(path, top, vectors));
  PetscCall(read_vectors(path, vectors, p));
  PetscCall(read_matrices(path, top, p));
  PetscCall(check_contacts(path, p));
  PetscCall(read_info(path, top, p));
  PetscCall(read_extras(path, file, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode fclib_read(const char *path, fclib_problem *out)
{
  PetscFunctionBegin;
  memset(out, 0, sizeof *out);
  PetscCall(check_kind(path));
  const PetscErrorCode code = read_all(path, out);
  if (code) fclib_clear(out);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode fclib_read_guess(const char *path, const fclib_problem *p, int64_t guess, double *r)
{
  H5_SCOPE(scope);
  const int64_t m = p->dimension * p->n_contacts;
  hid_t         file, group, guesses;
  char          name[32];
  int64_t       n;

  PetscFunctionBegin;
  PetscCall(h5_open(&scope, path, &file));
  if (guess == 0) {
    PetscCall(h5_open_group(&scope, path, file, "solution", &group));
    if (group < 0) REFUSE(path, "has no solution to start from");
  } else {
    (void)snprintf(name, sizeof name, "%lld", (long long)guess);
    PetscCall(h5_open_group(&scope, path, file, "guesses", &guesses));
    if (guesses < 0) REFUSE(path, "has no guesses to start from");
    PetscCall(h5_open_group(&scope, path, guesses, name, &group));
    if (group < 0) REFUSE(path, "has no guess %s; there are %lld", name, (long long)p->n_guesses);
  }
  PetscCall(h5_array_length(path, group, "r", &n));
  if (n != m) REFUSE(path, "r of the %s has %lld entries; expected %lld", guess ? "guess" : "solution", (long long)n, (long long)m);
  PetscCall(h5_array_real(path, group, "r", m, r));
  PetscCall(check_finite(path, group, "r", m, r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* In the child: HDF5 messages are suppressed, because the parent repeats the error. The exit status is the result. */

static void __attribute__((noreturn)) read_and_end(const char *path, int seconds)
{
  const int     crashes[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGALRM};
  const int     nowhere   = open("/dev/null", O_WRONLY | O_CLOEXEC);
  fclib_problem p;

  for (size_t i = 0; i < sizeof crashes / sizeof *crashes; ++i) (void)signal(crashes[i], SIG_DFL);
  if (nowhere >= 0) (void)dup2(nowhere, 1), (void)dup2(nowhere, 2);
  log_redirect(NULL, false);
  (void)alarm((unsigned)seconds);
  if (!fclib_read(path, &p)) fclib_clear(&p);
  _exit(0);
}

PetscErrorCode fclib_check_readable(const char *path, int seconds)
{
  int status = 0;

  PetscFunctionBegin;
  (void)fflush(NULL); /* or the child would write it again */
  const pid_t child = fork();
  if (child == 0) read_and_end(path, seconds);
  if (child < 0) PetscFunctionReturn(PETSC_SUCCESS); /* no process available: continue without */
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(!WIFSIGNALED(status), PETSC_COMM_SELF, PETSC_ERR_FILE_READ,
             "%s is damaged: the HDF5 library %s when it reads the file; fetch or write the file again", path,
             WTERMSIG(status) == SIGALRM ? "does not terminate" : "crashes");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode put_reals(const char *path, hid_t group, const char *name, int64_t n, const double *x)
{
  return h5_array_write(path, group, name, H5T_NATIVE_DOUBLE, H5T_IEEE_F64LE, n, x);
}

static PetscErrorCode put_whole(const char *path, hid_t group, const char *name, int64_t x)
{
  return h5_array_write(path, group, name, H5T_NATIVE_INT64, H5T_STD_I32LE, 1, &x);
}

/* nu = 3 n_c / n cannot be computed from W alone, so n is stored as well. */
static PetscErrorCode write_info(const char *path, hid_t top, const fclib_problem *p)
{
  H5_SCOPE(scope);
  hid_t info;

  PetscFunctionBegin;
  PetscCall(h5_make_group(&scope, path, top, "info", &info));
  PetscCall(h5_text_write(path, info, "title", p->title ? p->title : ""));
  PetscCall(h5_text_write(path, info, "description", p->description ? p->description : ""));
  PetscCall(h5_text_write(path, info, "math_info", p->math_info ? p->math_info : ""));
  if (p->n_dof > 0 && !p->is_global)
    PetscCall(h5_put_numbers(path, info, "numberOfDegreeOfFreedom", H5T_NATIVE_INT64, H5T_STD_I32LE, 1, &p->n_dof));
  if (p->n_bodies > 0) PetscCall(h5_put_numbers(path, info, "numberOfInvolvedDS", H5T_NATIVE_INT64, H5T_STD_I64LE, 1, &p->n_bodies));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode write_problem(const char *path, hid_t file, const fclib_problem *p)
{
  H5_SCOPE(scope);
  const int64_t m = p->dimension * p->n_contacts;
  hid_t         top, vectors;

  PetscFunctionBegin;
  PetscCall(h5_make_group(&scope, path, file, p->is_global ? "fclib_global" : "fclib_local", &top));
  PetscCall(put_whole(path, top, "spacedim", p->dimension));
  PetscCall(h5_make_group(&scope, path, top, "vectors", &vectors));
  if (p->is_global) {
    PetscCall(fclib_matrix_write(path, top, "M", &p->M));
    PetscCall(fclib_matrix_write(path, top, "H", &p->H));
    PetscCall(put_reals(path, vectors, "f", p->n_dof, p->f));
    PetscCall(put_reals(path, vectors, "w", m, p->w));
  } else {
    PetscCall(fclib_matrix_write(path, top, "W", &p->W));
    PetscCall(put_reals(path, vectors, "q", m, p->q));
  }
  PetscCall(put_reals(path, vectors, "mu", p->n_contacts, p->mu));
  PetscCall(write_info(path, top, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode write_state(const char *path, hid_t location, const char *name, const fclib_problem *p, const fclib_state *s)
{
  H5_SCOPE(scope);
  const int64_t m = p->dimension * p->n_contacts;
  hid_t         group;

  PetscFunctionBegin;
  PetscCall(h5_make_group(&scope, path, location, name, &group));
  if (p->is_global && s->v) PetscCall(put_reals(path, group, "v", p->n_dof, s->v));
  PetscCall(put_reals(path, group, "u", m, s->u));
  PetscCall(put_reals(path, group, "r", m, s->r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode write_file(const char *path, const fclib_problem *p, const fclib_state *solution, int n_guesses,
                                 const fclib_state *guesses)
{
  H5_SCOPE(scope);
  hid_t file, group;
  char  name[16];

  PetscFunctionBegin;
  PetscCall(h5_create_for_all(&scope, path, &file));
  PetscCall(write_problem(path, file, p));
  if (solution) PetscCall(write_state(path, file, "solution", p, solution));
  if (n_guesses > 0) {
    PetscCall(h5_make_group(&scope, path, file, "guesses", &group));
    PetscCall(put_whole(path, group, "number_of_guesses", n_guesses));
    for (int i = 0; i < n_guesses; ++i) {
      (void)snprintf(name, sizeof name, "%d", i + 1);
      PetscCall(write_state(path, group, name, p, &guesses[i]));
    }
    H5_CALL(path, h5_release(&scope, group));
  }
  H5_CALL(path, h5_release(&scope, file)); /* closing flushes: here a full disk shows */
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode fclib_write(const char *path, const fclib_problem *p, const fclib_state *solution, int n_guesses, const fclib_state *guesses)
{
  char *temporary __attribute__((cleanup(memory_free))) = NULL;

  PetscFunctionBegin;
  PetscCall(file_temporary(path, &temporary));
  const PetscErrorCode code = write_file(temporary, p, solution, n_guesses, guesses);
  if (code) unlink(temporary);
  PetscCall(code);
  PetscCall(file_publish(temporary, path));
  PetscFunctionReturn(PETSC_SUCCESS);
}
