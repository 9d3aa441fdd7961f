#include "optim/friction/delassus.h"
#include "core/math3.h"
#include "core/memory.h"
#include "optim/friction/contact_groups.h"
#include "optim/friction/delassus_impl.h"
#include <inttypes.h>

enum { PARALLEL_BLOCKS = 4000 };

void delassus_destroy(delassus **w)
{
  if (!*w) return;
  memory_free(&(*w)->diagonal), memory_free(&(*w)->start), memory_free(&(*w)->col), memory_free(&(*w)->value);
  sparse_rows_destroy(&(*w)->M), sparse_rows_destroy(&(*w)->H), sparse_rows_destroy(&(*w)->Hp), sparse_rows_destroy(&(*w)->HpT);
  memory_free(&(*w)->touch_start), memory_free(&(*w)->touch), memory_free(&(*w)->member_start), memory_free(&(*w)->member);
  memory_free(&(*w)->work);
  for (int64_t c = 0; (*w)->response && c < mass_factor_n_components((*w)->factor); ++c)
    memory_free(&(*w)->response[c].place), memory_free(&(*w)->response[c].value);
  memory_free(&(*w)->response);
  mass_factor_destroy(&(*w)->factor);
  if ((*w)->groups) contact_groups_destroy((*w)->groups);
  memory_free(&(*w)->groups);
  memory_free(w);
}

int64_t            delassus_n_contacts(const delassus *w) { return w->n; }
int64_t            delassus_n_dof(const delassus *w) { return w->n_dof; }
double             delassus_coupling(const delassus *w)
{
  double pairs = 0.0;
  if (w->n == 0 || w->start) return w->n ? (double)w->start[w->n] / (double)w->n : 0.0;
  for (int64_t c = 0; c < mass_factor_n_components(w->factor); ++c) {
    const double members = (double)(w->member_start[c + 1] - w->member_start[c]);
    pairs += members * members;
  }
  return (pairs - (double)(w->touch_start[w->n] - w->n)) / (double)w->n; /* a contact meets itself on each of its bodies */
}
const double      *delassus_diagonal(const delassus *w) { return w->diagonal; }
const sparse_rows *delassus_mass(const delassus *w) { return delassus_is_system(w) ? &w->M : NULL; }
const sparse_rows *delassus_jacobian(const delassus *w) { return delassus_is_system(w) ? &w->H : NULL; }
const mass_factor *delassus_factor(const delassus *w) { return w->factor; }

/* ---- stored blocks ---- */

static PetscErrorCode check_blocks(int64_t n, const int64_t *start, const int32_t *col, const double *value)
{
  PetscFunctionBegin;
  PetscCheck(start[0] == 0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "W: row 0 starts at %" PRId64 ", expected 0", start[0]);
  for (int64_t a = 0; a < n; ++a)
    PetscCheck(start[a] <= start[a + 1], PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
               "W: the row of contact %" PRId64 " ends before it starts; starts must not fall", a);
  for (int64_t a = 0; a < n; ++a)
    for (int64_t k = start[a]; k < start[a + 1]; ++k) {
      PetscCheck(col[k] >= 0 && col[k] < n, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
                 "W: contact %" PRId64 " has a block in column %" PRId32 ", expected 0 ... %" PRId64, a, col[k], n - 1);
      for (int e = 0; e < 9; ++e)
        PetscCheck(isfinite(value[9 * k + e]), PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
                   "W: the block of contacts %" PRId64 " and %" PRId32 " holds a value that is not a finite number", a, col[k]);
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* By the transpose of the transpose: columns ascending. */
static PetscErrorCode copy_sorted(delassus *w, const int64_t *start, const int32_t *col, const double *value)
{
  const int64_t n = w->n, n_blocks = start[n];
  int64_t      *turned = NULL, *from = NULL, *next = NULL;
  int32_t      *row    = NULL;
  PetscFunctionBegin;
  PetscErrorCode code = memory_alloc("transposed starts", n + 2, sizeof *turned, &turned);
  if (!code) code = memory_alloc("transposed rows", n_blocks, sizeof *row, &row);
  if (!code) code = memory_alloc("transposed places", n_blocks, sizeof *from, &from);
  if (!code) code = memory_alloc("places in rows", n, sizeof *next, &next);
  if (!code) {
    for (int64_t k = 0; k < n_blocks; ++k) ++turned[col[k] + 2];
    for (int64_t b = 0; b < n; ++b) turned[b + 2] += turned[b + 1];
    for (int64_t a = 0; a < n; ++a)
      for (int64_t k = start[a]; k < start[a + 1]; ++k) {
        const int64_t slot = turned[col[k] + 1]++;
        row[slot] = (int32_t)a, from[slot] = k;
      }
    for (int64_t a = 0; a < n; ++a) w->start[a + 1] = start[a + 1], next[a] = start[a];
    for (int64_t b = 0; b < n; ++b)
      for (int64_t k = turned[b]; k < turned[b + 1]; ++k) {
        const int64_t slot = next[row[k]]++;
        w->col[slot]       = (int32_t)b;
        m3_copy(w->value + 9 * slot, value + 9 * from[k]);
      }
  }
  memory_free(&turned), memory_free(&row), memory_free(&from), memory_free(&next);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode take_diagonal(delassus *w)
{
  PetscFunctionBegin;
  for (int64_t a = 0; a < w->n; ++a) {
    bool has_diagonal = false;
    for (int64_t k = w->start[a]; k < w->start[a + 1]; ++k) {
      PetscCheck(k == w->start[a] || w->col[k] != w->col[k - 1], PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
                 "W: the block of contacts %" PRId64 " and %" PRId32 " is there twice; add the two", a, w->col[k]);
      if (w->col[k] != a) continue;
      m3_copy(w->diagonal + 9 * a, w->value + 9 * k);
      has_diagonal = true;
    }
    PetscCheck(has_diagonal, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
               "W: contact %" PRId64 " has no diagonal block: no impulse of its own moves it; leave such a contact out", a);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode fill_blocks(delassus *w, const int64_t *start, const int32_t *col, const double *value)
{
  PetscFunctionBegin;
  PetscCall(memory_alloc("diagonal blocks of W", 9 * w->n, sizeof *w->diagonal, &w->diagonal));
  PetscCall(memory_alloc("rows of W", w->n + 1, sizeof *w->start, &w->start));
  PetscCall(memory_alloc("columns of W", start[w->n], sizeof *w->col, &w->col));
  PetscCall(memory_alloc("blocks of W", start[w->n], 9 * sizeof *w->value, &w->value));
  PetscCall(copy_sorted(w, start, col, value));
  PetscCall(take_diagonal(w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode delassus_create_blocks(int64_t n_contacts, const int64_t *start, const int32_t *col, const double *value,
                                      int64_t n_dof, delassus **out)
{
  delassus *w;
  PetscFunctionBegin;
  *out = NULL;
  PetscCheck(n_contacts >= 0 && n_contacts <= INT32_MAX / 3 && n_dof >= 0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "W: %" PRId64 " contacts on %" PRId64 " unknowns, expected at least 0 and at most 2^31 / 3", n_contacts, n_dof);
  PetscCall(check_blocks(n_contacts, start, col, value));
  PetscCall(memory_alloc("Delassus operator", 1, sizeof *w, &w));
  w->n = n_contacts, w->n_dof = n_dof;
  const PetscErrorCode code = fill_blocks(w, start, col, value);
  if (code) delassus_destroy(&w);
  PetscCall(code);
  *out = w;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline void apply_row(const delassus *w, int64_t a, const double *restrict r, double *restrict u)
{
  double s[3] = {0.0, 0.0, 0.0};
  for (int64_t k = w->start[a]; k < w->start[a + 1]; ++k) {
    const double *const b = w->value + 9 * k, *const x = r + 3 * (int64_t)w->col[k];
    for (int i = 0; i < 3; ++i) s[i] += b[3 * i] * x[0] + b[3 * i + 1] * x[1] + b[3 * i + 2] * x[2];
  }
  v3_copy(u + 3 * a, s);
}

static void apply_blocks(const delassus *w, const double *restrict r, double *restrict u)
{
  const int64_t n = w->n;
  if (w->start[n] < PARALLEL_BLOCKS) { /* a region calls the kernel, even for one thread */
    for (int64_t a = 0; a < n; ++a) apply_row(w, a, r, u);
    return;
  }
  #pragma omp parallel for schedule(static)
  for (int64_t a = 0; a < n; ++a) apply_row(w, a, r, u);
}

/* ---- systems ---- */

/* H with its columns in the order of the factor. */
static PetscErrorCode place_jacobian(delassus *w)
{
  const int64_t  n_entries = w->H.start[w->H.n_rows];
  const int32_t *place     = mass_factor_place(w->factor);
  int32_t       *col       = NULL;
  PetscFunctionBegin;
  PetscCall(memory_alloc("placed columns", n_entries, sizeof *col, &col));
  for (int64_t k = 0; k < n_entries; ++k) col[k] = place[w->H.col[k]];
  PetscErrorCode code = sparse_rows_create("contact Jacobian", w->H.n_rows, w->H.n_cols, w->H.start, col, w->H.value, &w->Hp);
  memory_free(&col);
  if (!code) code = sparse_rows_transposed(&w->Hp, &w->HpT);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode fill_system(delassus *w, const sparse_rows *M, const sparse_rows *H)
{
  PetscFunctionBegin;
  PetscCall(sparse_rows_create("mass matrix", M->n_rows, M->n_cols, M->start, M->col, M->value, &w->M));
  PetscCall(sparse_rows_create("contact Jacobian", H->n_rows, H->n_cols, H->start, H->col, H->value, &w->H));
  PetscCall(mass_factor_create(&w->M, &w->factor));
  PetscCall(memory_alloc("unknowns of W", w->n_dof, sizeof *w->work, &w->work));
  PetscCall(place_jacobian(w));
  w->solve_work = mass_factor_work(w->factor);
  PetscCall(delassus_incidence(w));
  PetscCall(delassus_responses(w));
  PetscCall(memory_alloc("diagonal blocks of W", 9 * w->n, sizeof *w->diagonal, &w->diagonal));
  PetscCall(delassus_system_diagonal(w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode delassus_create_system(const sparse_rows *M, const sparse_rows *H, delassus **out)
{
  delassus *w;
  PetscFunctionBegin;
  *out = NULL;
  PetscCheck(H->n_rows % 3 == 0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "the contact Jacobian has %" PRId64 " rows, expected three for each contact", H->n_rows);
  PetscCheck(M->n_rows == H->n_cols, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "the mass matrix has %" PRId64 " rows, but the contact Jacobian %" PRId64 " columns; both count the unknowns",
             M->n_rows, H->n_cols);
  PetscCall(memory_alloc("Delassus operator", 1, sizeof *w, &w));
  w->n = H->n_rows / 3, w->n_dof = M->n_rows;
  const PetscErrorCode code = fill_system(w, M, H);
  if (code) delassus_destroy(&w);
  PetscCall(code);
  *out = w;
  PetscFunctionReturn(PETSC_SUCCESS);
}

void delassus_solve(const delassus *w, const double *x, double *y)
{
  const int32_t *dof = mass_factor_dof(w->factor);
  for (int64_t i = 0; i < w->n_dof; ++i) w->work[i] = x[dof[i]];
  mass_factor_solve_places(w->factor, w->work);
  for (int64_t i = 0; i < w->n_dof; ++i) y[dof[i]] = w->work[i];
}

/* ---- both ---- */

PetscErrorCode delassus_blocks(delassus *w, const int64_t **start, const int32_t **col, const double **value)
{
  PetscFunctionBegin;
  if (!w->start) PetscCall(delassus_system_assemble(w));
  *start = w->start, *col = w->col, *value = w->value;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of a product through the blocks, infinite without them, and through the factor. */
static inline double blocks_work(const delassus *w) { return w->start ? 9.0 * (double)w->start[w->n] : INFINITY; }
static inline double system_work(const delassus *w)
{
  return delassus_is_system(w) ? 2.0 * (double)w->H.start[w->H.n_rows] + w->solve_work : INFINITY;
}

double delassus_work(const delassus *w) { return w->n > 0 ? fmin(blocks_work(w), system_work(w)) : 0.0; }

void delassus_apply(const delassus *w, const double *r, double *u)
{
  if (blocks_work(w) < system_work(w)) apply_blocks(w, r, u);
  else if (delassus_is_system(w)) delassus_system_apply(w, r, u);
}
