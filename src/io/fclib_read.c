#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "core/log.h"
#include "core/memory.h"
#include "io/fclib_matrix.h"
#include "io/html.h"

/* M comes out of finite elements and linearised steps, symmetric but for rounding. Beyond this it means something else. */
static const double MAX_ASYMMETRY = 1e-8;

#define REFUSE(path, ...)                                                           \
  do {                                                                              \
    char what_[400];                                                                \
    (void)snprintf(what_, sizeof what_, __VA_ARGS__);                               \
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: %s", (path), what_);        \
  } while (0)

void fclib_clear(fclib_problem *p)
{
  fclib_matrix_clear(&p->W);
  fclib_matrix_clear(&p->M);
  fclib_matrix_clear(&p->H);
  memory_free(&p->q);
  memory_free(&p->f);
  memory_free(&p->w);
  memory_free(&p->mu);
  memory_free(&p->title);
  memory_free(&p->description);
  memory_free(&p->math_info);
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

/* --- what kind of file it is ------------------------------------------------------------------------------------------ */

static void close_file(const int *fd)
{
  if (*fd >= 0) close(*fd);
}

/* Collections keep files in Git LFS: who did not fetch them has their pointers. */
static PetscErrorCode check_kind(const char *path)
{
  static const char pointer[] = "version https://git-lfs", magic[] = "\211HDF\r\n\032\n";
  char              head[64] = {0};
  struct stat       about;
  const int fd __attribute__((cleanup(close_file))) = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe must not hold us up */

  PetscFunctionBegin;
  PetscCheck(fd >= 0 && !fstat(fd, &about), PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "cannot open %s: %s", path, strerror(errno));
  if (!S_ISREG(about.st_mode))
    REFUSE(path, "is %s; expected an FCLIB file (HDF5)", S_ISDIR(about.st_mode) ? "a folder" : "not a regular file");
  const ssize_t n = read(fd, head, sizeof head - 1);
  PetscCheck(n >= 0, PETSC_COMM_SELF, PETSC_ERR_FILE_READ, "cannot read %s: %s", path, strerror(errno));
  if (n == 0) REFUSE(path, "is empty; expected an FCLIB file (HDF5)");
  if (!strncmp(head, pointer, sizeof pointer - 1))
    REFUSE(path, "is a pointer of Git LFS, not the file itself: its content was not fetched; run `git lfs pull` where it comes from");
  bool is_hdf5 = n >= 8 && !memcmp(head, magic, 8);
  for (off_t at = 512; !is_hdf5 && at + 8 <= about.st_size && at <= 1 << 20; at *= 2) /* behind a user block */
    is_hdf5 = pread(fd, head, 8, at) == 8 && !memcmp(head, magic, 8);
  if (!is_hdf5) REFUSE(path, "is not an HDF5 file; expected a problem in FCLIB's layout");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The one top group; what this program does not solve is named. */
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

/* Bilateral constraints are refused, not dropped: without them it would be another problem. */
static PetscErrorCode refuse_bilateral(const char *path, hid_t top, hid_t vectors)
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

/* A contact whose normal impulse moves nothing has no answer when it is pressed, and needs none when it is not: a mistake either way. */
static PetscErrorCode check_contacts(const char *path, const fclib_problem *p)
{
  const fclib_matrix *A = p->is_global ? &p->H : &p->W;
  const int           d = p->dimension;

  PetscFunctionBegin;
  for (int64_t a = 0; a < p->n_contacts; ++a) {
    double diagonal = 0;
    if (A->start[d * a + d] == A->start[d * a])
      REFUSE(path, "contact %lld acts on no degree of freedom: its columns of %s are zero; leave it out", (long long)a,
             p->is_global ? "H" : "W");
    if (p->is_global) {
      if (A->start[d * a + 1] == A->start[d * a])
        REFUSE(
            path,
            "the normal of contact %lld acts on no degree of freedom: column %lld of H is zero; expected a contact that can open",
            (long long)a, (long long)(d * a));
      continue;
    }
    for (int64_t k = A->start[d * a]; k < A->start[d * a + 1]; ++k)
      if (A->row[k] == d * a) diagonal = A->value[k];
    if (!(diagonal > 0))
      REFUSE(path, "W[%lld][%lld] is %g, of the normal of contact %lld; expected a positive number", (long long)(d * a),
             (long long)(d * a), diagonal, (long long)a);
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
  if (p->was_half_stored) log_info("%s: one triangle of M is stored alone; it is mirrored", path);
  const double asymmetry = fclib_asymmetry(&p->M);
  if (asymmetry > MAX_ASYMMETRY)
    REFUSE(path, "M is not symmetric: entries mirrored in the diagonal differ by %.2g of the largest; expected a mass matrix",
           asymmetry);
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

/* What the file says it has besides; looked at only when asked for. */
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
  PetscCall(refuse_bilateral(path, top, vectors));
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
