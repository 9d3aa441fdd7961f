/* The operator of stored blocks, or of a system M, H with the factor of M. A system computes its diagonal blocks at creation, and all
 * other blocks when they are first needed. */
#include "optim/friction/delassus.h"
#include "core/math3.h"
#include "core/memory.h"
#include "core/sort.h"
#include "core/team.h"
#include <inttypes.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* M_c^-1 H_a^T of a component that is factored by an external package, at the unknowns that contacts act on. Its solves are done together, once. */
typedef struct {
  int64_t  n;     /* number of places with contacts, */
  int32_t *place; /* ascending; NULL: this component is solved when needed */
  double  *value; /* [members][n][3] of M_c^-1 H_a^T */
} delassus_response;

struct delassus {
  int64_t n, n_dof;
  double *diagonal; /* [n][9] */
  /* blocks of W; NULL until they are assembled */
  int64_t *start; /* [n+1] */
  int32_t *col;
  double  *value; /* [][9] */
  /* members used for systems only */
  sparse_rows        M, H;
  mass_factor       *factor;
  sparse_rows        Hp, HpT;                        /* H with its columns in places of the factor, and its transpose */
  int64_t           *touch_start;                    /* [n+1] components each contact touches, */
  int32_t           *touch;                          /* ascending */
  int64_t           *member_start;                   /* [n_components+1] contacts on each component, */
  int32_t           *member;                         /* ascending */
  double            *work;                           /* [n_dof] */
  double             solve_work;                     /* multiplications of one solve with M */
  delassus_response *response;                       /* [n_components]; NULL if all components are solved when needed */
  linear_solver     *motion_solver, *contact_solver; /* borrowed or NULL */
  const int32_t     *body;                           /* [n_dof] borrowed or NULL */
  void              *attached;                       /* delassus_attach */
  void (*destroy_attached)(void *object);
};

enum { PARALLEL_CONTACTS = 512 };

static inline bool delassus_is_system(const delassus *w) { return w->factor != NULL; }

/* Products through the factor of M. */
static void delassus_system_apply(const delassus *w, const double *r, double *u)
{
  sparse_rows_apply(&w->HpT, r, w->work);
  mass_factor_solve_places(w->factor, w->work);
  sparse_rows_apply(&w->Hp, w->work, u);
}

/* ---- incidence of contacts and components ---- */

/* Components with unknowns in the three rows of contact a, ascending, each once. component [n_dof]: of each place. Returns their number. */
static int64_t list_touched_components(const delassus *w, int64_t a, const int32_t *component, int32_t *out)
{
  const int64_t *start = mass_factor_start(w->factor);
  int64_t        count = 0, at[3];
  for (int i = 0; i < 3; ++i) at[i] = w->Hp.start[3 * a + i];
  for (;;) { /* merge three ascending rows */
    int32_t low = INT32_MAX;
    for (int i = 0; i < 3; ++i)
      if (at[i] < w->Hp.start[3 * a + i + 1] && w->Hp.col[at[i]] < low) low = w->Hp.col[at[i]];
    if (low == INT32_MAX) return count;
    const int32_t c = component[low];
    for (int i = 0; i < 3; ++i)
      while (at[i] < w->Hp.start[3 * a + i + 1] && w->Hp.col[at[i]] < start[c + 1]) ++at[i];
    if (out) out[count] = c;
    ++count;
  }
}

/* For each contact the components that it acts on. */
static PetscErrorCode list_touched(delassus *w, const int32_t *component)
{
  PetscFunctionBegin;
  PetscCall(memory_alloc("touched components", w->n + 1, sizeof *w->touch_start, &w->touch_start));
#pragma omp parallel for schedule(static) if (w->n >= PARALLEL_CONTACTS)
  for (int64_t a = 0; a < w->n; ++a) w->touch_start[a + 1] = list_touched_components(w, a, component, NULL);
  for (int64_t a = 0; a < w->n; ++a) w->touch_start[a + 1] += w->touch_start[a];
  PetscCall(memory_alloc("touched components", w->touch_start[w->n], sizeof *w->touch, &w->touch));
#pragma omp parallel for schedule(static) if (w->n >= PARALLEL_CONTACTS)
  for (int64_t a = 0; a < w->n; ++a) list_touched_components(w, a, component, w->touch + w->touch_start[a]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* For each contact the components that it acts on, and the reverse. */
static PetscErrorCode incidence_create(delassus *w)
{
  const int64_t *start = mass_factor_start(w->factor), m = mass_factor_n_components(w->factor);
  int32_t       *component = NULL;
  PetscFunctionBegin;
  PetscCall(memory_alloc("components", w->n_dof, sizeof *component, &component));
  for (int64_t c = 0; c < m; ++c)
    for (int64_t i = start[c]; i < start[c + 1]; ++i) component[i] = (int32_t)c;
  PetscErrorCode code = list_touched(w, component);
  memory_free(&component);
  PetscCall(code);
  const int64_t total = w->touch_start[w->n];
  PetscCall(MEMORY_ALLOC("delassus", ARRAY(w->member_start, m + 1), ARRAY(w->member, total)));
  for (int64_t k = 0; k < total; ++k) ++w->member_start[w->touch[k] + 1];
  for (int64_t c = 0; c < m; ++c) w->member_start[c + 1] += w->member_start[c];
  for (int64_t a = 0; a < w->n; ++a)
    for (int64_t k = w->touch_start[a]; k < w->touch_start[a + 1]; ++k) w->member[w->member_start[w->touch[k]]++] = (int32_t)a;
  for (int64_t c = m; c > 0; --c) w->member_start[c] = w->member_start[c - 1];
  w->member_start[0] = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- M_c^-1 H_a^T and the blocks ---- */

/* Add the three columns of H_a^T on component c to zeros: `stride` between places, `apart` between columns. */
static void add_jacobian_columns(const delassus *w, int64_t c, int64_t a, int64_t stride, int64_t apart, double *y)
{
  const int64_t *start = mass_factor_start(w->factor), first = start[c], end = start[c + 1];
  for (int i = 0; i < 3; ++i)
    for (int64_t k = delassus_row_from(&w->Hp, 3 * a + i, first); k < w->Hp.start[3 * a + i + 1] && w->Hp.col[k] < end; ++k)
      y[stride * (w->Hp.col[k] - first) + apart * i] = w->Hp.value[k];
}

void delassus_response_of(const delassus *w, int64_t c, int64_t a, double *y)
{
  const int64_t *start = mass_factor_start(w->factor), n = start[c + 1] - start[c];
  if (w->response && w->response[c].place) {
    const delassus_response *kept = w->response + c;
    int64_t                  low = w->member_start[c], high = w->member_start[c + 1];
    while (high - low > 1) {
      const int64_t middle = (low + high) / 2;
      if (w->member[middle] <= a) low = middle;
      else high = middle;
    }
    const double *value = kept->value + 3 * kept->n * (low - w->member_start[c]);
    for (int64_t k = 0; k < kept->n; ++k) v3_copy(y + 3 * (kept->place[k] - start[c]), value + 3 * k);
    return;
  }
  memset(y, 0, (size_t)(3 * n) * sizeof *y);
  add_jacobian_columns(w, c, a, 3, 1, y);
  mass_factor_solve_component(w->factor, c, 3, y);
}

enum { AT_ONCE = 16 }; /* number of contacts whose columns are solved together */

/* Response of one component factored by a package. */
static PetscErrorCode compute_response(delassus *w, int64_t c, delassus_response *kept)
{
  const int64_t *start = mass_factor_start(w->factor), first = start[c], n = start[c + 1] - first,
                m = w->member_start[c + 1] - w->member_start[c];
  double *b = NULL, *x = NULL;
  PetscFunctionBegin;
  for (int64_t at = first; at < start[c + 1]; ++at) kept->n += w->HpT.start[at + 1] > w->HpT.start[at];
  PetscCall(MEMORY_ALLOC("delassus", ARRAY(kept->place, kept->n), ARRAY(kept->value, 3 * (kept->n * m))));
  for (int64_t at = first, k = 0; at < start[c + 1]; ++at)
    if (w->HpT.start[at + 1] > w->HpT.start[at]) kept->place[k++] = (int32_t)at;
  PetscErrorCode code = MEMORY_ALLOC("contacts' columns", ARRAY(b, 3 * AT_ONCE * n), ARRAY(x, 3 * AT_ONCE * n));
  for (int64_t low = 0; !code && low < m; low += AT_ONCE) {
    const int64_t count = m - low < AT_ONCE ? m - low : AT_ONCE;
    memset(b, 0, (size_t)(3 * count * n) * sizeof *b);
    for (int64_t k = 0; k < count; ++k) add_jacobian_columns(w, c, w->member[w->member_start[c] + low + k], 1, n, b + 3 * k * n);
    code = mass_factor_solve_many(w->factor, c, 3 * count, b, x);
    for (int64_t k = 0; !code && k < count; ++k)
      for (int64_t t = 0; t < kept->n; ++t)
        for (int i = 0; i < 3; ++i) kept->value[3 * (kept->n * (low + k) + t) + i] = x[(3 * k + i) * n + kept->place[t] - first];
  }
  MEMORY_FREE(&b, &x);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode delassus_responses(delassus *w)
{
  const int64_t n_components = mass_factor_n_components(w->factor);
  PetscFunctionBegin;
  for (int64_t c = 0; c < n_components; ++c) {
    if (mass_factor_is_threadable(w->factor, c) || w->member_start[c + 1] == w->member_start[c]) continue;
    if (!w->response) PetscCall(memory_alloc("responses of bodies", n_components, sizeof *w->response, &w->response));
    PetscCall(compute_response(w, c, w->response + c));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* block += H_b y on component c. */
static void add_block(const delassus *w, int64_t c, int64_t b, const double *y, double *block)
{
  const int64_t *start = mass_factor_start(w->factor), first = start[c], end = start[c + 1];
  for (int i = 0; i < 3; ++i)
    for (int64_t k = delassus_row_from(&w->Hp, 3 * b + i, first); k < w->Hp.start[3 * b + i + 1] && w->Hp.col[k] < end; ++k)
      for (int j = 0; j < 3; ++j) block[3 * i + j] += w->Hp.value[k] * y[3 * (w->Hp.col[k] - first) + j];
}

static void symmetrise(double *b)
{
  b[1] = b[3] = 0.5 * (b[1] + b[3]);
  b[2] = b[6] = 0.5 * (b[2] + b[6]);
  b[5] = b[7] = 0.5 * (b[5] + b[7]);
}

/* The block in row a, column b, which exists. */
static inline double *find_block(const delassus *w, int64_t a, int64_t b)
{
  int64_t low = w->start[a], high = w->start[a + 1];
  while (high - low > 1) {
    const int64_t middle = (low + high) / 2;
    if (w->col[middle] <= b) low = middle;
    else high = middle;
  }
  return w->value + 9 * low;
}

/* Contribution of component c to W_aa. */
static void add_diagonal(delassus *w, int64_t a, int64_t c, double *y)
{
  const int64_t *start = mass_factor_start(w->factor), first = start[c], n = start[c + 1] - first;
  int64_t        low = n;
  if (!mass_factor_is_threadable(w->factor, c)) {
    delassus_response_of(w, c, a, y);
    add_block(w, c, a, y, w->diagonal + 9 * a);
    return;
  }
  for (int i = 0; i < 3; ++i) {
    const int64_t k = delassus_row_from(&w->Hp, 3 * a + i, first);
    if (k < w->Hp.start[3 * a + i + 1] && w->Hp.col[k] - first < low) low = w->Hp.col[k] - first;
  }
  memset(y + 3 * low, 0, (size_t)(3 * (n - low)) * sizeof *y);
  add_jacobian_columns(w, c, a, 3, 1, y);
  mass_factor_gram(w->factor, c, low, y, w->diagonal + 9 * a);
}

/* Contribution of component c to column a of W: diagonal block, or also the blocks below it. */
static void add_column(delassus *w, int64_t a, int64_t c, bool is_diagonal, double *y)
{
  if (is_diagonal) {
    add_diagonal(w, a, c, y);
    return;
  }
  delassus_response_of(w, c, a, y);
  for (int64_t k = w->member_start[c]; k < w->member_start[c + 1]; ++k)
    if (w->member[k] >= a) add_block(w, c, w->member[k], y, find_block(w, w->member[k], a));
}

/* All columns, in parallel over contacts. */
static PetscErrorCode add_columns(delassus *w, bool is_diagonal)
{
  const int64_t *start = mass_factor_start(w->factor), m = mass_factor_n_components(w->factor);
  const int      n_threads = team_threads();
  int64_t        largest   = 0;
  double        *scratch   = NULL;
  PetscFunctionBegin;
  for (int64_t c = 0; c < m; ++c)
    if (w->member_start[c + 1] > w->member_start[c] && start[c + 1] - start[c] > largest) largest = start[c + 1] - start[c];
  PetscCall(memory_alloc("responses of bodies", 3 * largest * n_threads, sizeof *scratch, &scratch));
#pragma omp parallel num_threads(n_threads) if (w->n >= 16)
  {
    double *y = scratch + 3 * largest * omp_get_thread_num();
#pragma omp for schedule(dynamic, 4)
    for (int64_t a = 0; a < w->n; ++a)
      for (int64_t k = w->touch_start[a]; k < w->touch_start[a + 1]; ++k) add_column(w, a, w->touch[k], is_diagonal, y);
  }
  memory_free(&scratch);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode delassus_system_diagonal(delassus *w)
{
  PetscFunctionBegin;
  PetscCall(add_columns(w, true));
  for (int64_t a = 0; a < w->n; ++a) symmetrise(w->diagonal + 9 * a);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Contacts that share a component with a, including a itself. `seen`: marks. Returns their number. */
static int64_t neighbours(const delassus *w, int64_t a, int64_t *seen, int32_t *out)
{
  int64_t count = 1;
  seen[a]       = a + 1;
  if (out) out[0] = (int32_t)a;
  for (int64_t k = w->touch_start[a]; k < w->touch_start[a + 1]; ++k)
    for (int64_t l = w->member_start[w->touch[k]]; l < w->member_start[w->touch[k] + 1]; ++l) {
      const int32_t b = w->member[l];
      if (seen[b] == a + 1) continue;
      seen[b] = a + 1;
      if (out) out[count] = b;
      ++count;
    }
  return count;
}

static PetscErrorCode pattern(delassus *w, int64_t *seen)
{
  PetscFunctionBegin;
  PetscCall(memory_alloc("rows of W", w->n + 1, sizeof *w->start, &w->start));
  for (int64_t a = 0; a < w->n; ++a) w->start[a + 1] = w->start[a] + neighbours(w, a, seen, NULL);
  PetscCall(memory_alloc("columns of W", w->start[w->n], sizeof *w->col, &w->col));
  memset(seen, 0, (size_t)w->n * sizeof *seen);
  for (int64_t a = 0; a < w->n; ++a) {
    const int64_t count = neighbours(w, a, seen, w->col + w->start[a]);
    qsort(w->col + w->start[a], (size_t)count, sizeof *w->col, sort_compare_int32);
  }
  PetscCall(memory_alloc("blocks of W", w->start[w->n], 9 * sizeof *w->value, &w->value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Computes the lower triangle and copies it to the upper one. */
static PetscErrorCode delassus_system_assemble(delassus *w)
{
  int64_t *seen = NULL;
  PetscFunctionBegin;
  PetscCall(memory_alloc("marks of contacts", w->n, sizeof *seen, &seen));
  PetscErrorCode code = pattern(w, seen);
  memory_free(&seen);
  if (!code) code = add_columns(w, false);
  if (code) memory_free(&w->start), memory_free(&w->col), memory_free(&w->value);
  PetscCall(code);
#pragma omp parallel for schedule(dynamic, 16) if (w->n >= 256)
  for (int64_t a = 0; a < w->n; ++a)
    for (int64_t k = w->start[a]; k < w->start[a + 1] && w->col[k] <= a; ++k) {
      if (w->col[k] == a) m3_copy(w->value + 9 * k, w->diagonal + 9 * a);
      else m3_transpose(find_block(w, w->col[k], a), w->value + 9 * k);
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

enum { PARALLEL_BLOCKS = 4000 };

void delassus_destroy(delassus **w)
{
  if (!*w) return;
  MEMORY_FREE(&(*w)->diagonal, &(*w)->start, &(*w)->col, &(*w)->value);
  sparse_rows_destroy(&(*w)->M), sparse_rows_destroy(&(*w)->H), sparse_rows_destroy(&(*w)->Hp), sparse_rows_destroy(&(*w)->HpT);
  MEMORY_FREE(&(*w)->touch_start, &(*w)->touch, &(*w)->member_start, &(*w)->member, &(*w)->work);
  for (int64_t c = 0; (*w)->response && c < mass_factor_n_components((*w)->factor); ++c)
    memory_free(&(*w)->response[c].place), memory_free(&(*w)->response[c].value);
  memory_free(&(*w)->response);
  mass_factor_destroy(&(*w)->factor);
  if ((*w)->attached) (*w)->destroy_attached((*w)->attached);
  memory_free(w);
}

int64_t delassus_n_contacts(const delassus *w) { return w->n; }
int64_t delassus_n_dof(const delassus *w) { return w->n_dof; }
double  delassus_coupling(const delassus *w)
{
  double pairs = 0.0;
  if (w->n == 0 || w->start) return w->n ? (double)w->start[w->n] / (double)w->n : 0.0;
  for (int64_t c = 0; c < mass_factor_n_components(w->factor); ++c) {
    const double members = (double)(w->member_start[c + 1] - w->member_start[c]);
    pairs += members * members;
  }
  return (pairs - (double)(w->touch_start[w->n] - w->n)) / (double)w->n; /* a contact is coupled with itself once, not once per
                                                                          * body */
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
               "W: the row of contact %" PRId64 " ends before it starts; row starts must not decrease", a);
  for (int64_t a = 0; a < n; ++a)
    for (int64_t k = start[a]; k < start[a + 1]; ++k) {
      PetscCheck(col[k] >= 0 && col[k] < n, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
                 "W: contact %" PRId64 " has a block in column %" PRId32 ", expected 0 ... %" PRId64, a, col[k], n - 1);
      for (int e = 0; e < 9; ++e)
        PetscCheck(isfinite(value[9 * k + e]), PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
                   "W: the block of contacts %" PRId64 " and %" PRId32 " contains a value that is not finite", a, col[k]);
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Copy with ascending columns, by transposing twice. */
static PetscErrorCode copy_with_sorted_columns(delassus *w, const int64_t *start, const int32_t *col, const double *value)
{
  const int64_t n = w->n, n_blocks = start[n];
  int64_t      *turned = NULL, *from = NULL, *next = NULL;
  int32_t      *row = NULL;
  PetscFunctionBegin;
  PetscErrorCode code = MEMORY_ALLOC("delassus", ARRAY(turned, n + 2), ARRAY(row, n_blocks), ARRAY(from, n_blocks), ARRAY(next, n));
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
  MEMORY_FREE(&turned, &row, &from, &next);
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
                 "W: the block of contacts %" PRId64 " and %" PRId32 " occurs twice; add the two", a, w->col[k]);
      if (w->col[k] != a) continue;
      m3_copy(w->diagonal + 9 * a, w->value + 9 * k);
      has_diagonal = true;
    }
    PetscCheck(has_diagonal, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
               "W: contact %" PRId64 " has no diagonal block: its impulse does not change its velocity; remove this contact", a);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode fill_blocks(delassus *w, const int64_t *start, const int32_t *col, const double *value)
{
  PetscFunctionBegin;
  PetscCall(MEMORY_ALLOC("delassus", ARRAY(w->diagonal, 9 * w->n), ARRAY(w->start, w->n + 1), ARRAY(w->col, start[w->n]),
                         ARRAY(w->value, 9 * (start[w->n]))));
  PetscCall(copy_with_sorted_columns(w, start, col, value));
  PetscCall(take_diagonal(w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode delassus_create_blocks(int64_t n_contacts, const int64_t *start, const int32_t *col, const double *value, int64_t n_dof,
                                      delassus **out)
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
  if (w->start[n] < PARALLEL_BLOCKS) { /* a parallel region calls the operating system, even for one thread */
    for (int64_t a = 0; a < n; ++a) apply_row(w, a, r, u);
    return;
  }
#pragma omp parallel for schedule(static)
  for (int64_t a = 0; a < n; ++a) apply_row(w, a, r, u);
}

/* ---- systems ---- */

/* H with its columns in the order of the factor. */
static PetscErrorCode reorder_jacobian(delassus *w)
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
  PetscCall(reorder_jacobian(w));
  w->solve_work = mass_factor_work(w->factor);
  PetscCall(incidence_create(w));
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
             "the mass matrix has %" PRId64 " rows, but the contact Jacobian %" PRId64 " columns; both count the unknowns", M->n_rows,
             H->n_cols);
  PetscCall(memory_alloc("Delassus operator", 1, sizeof *w, &w));
  w->n = H->n_rows / 3, w->n_dof = M->n_rows;
  const PetscErrorCode code = fill_system(w, M, H);
  if (code) delassus_destroy(&w);
  PetscCall(code);
  *out = w;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode divide_by_factor(void *context, const double *x, double *y)
{
  const delassus *w   = context;
  const int32_t  *dof = mass_factor_dof(w->factor);
  for (int64_t i = 0; i < w->n_dof; ++i) w->work[i] = x[dof[i]];
  mass_factor_solve_places(w->factor, w->work);
  for (int64_t i = 0; i < w->n_dof; ++i) y[dof[i]] = w->work[i];
  return PETSC_SUCCESS;
}

PetscErrorCode delassus_solve(const delassus *w, const double *x, double *y)
{
  const linear_system system = {
      .ksp = KSPPREONLY, .pc = PCMASSFACTOR, .n = w->n_dof, .context = (void *)w, .precondition = divide_by_factor, .A = &w->M};
  PetscFunctionBegin;
  if (w->motion_solver) {
    PetscCall(linear_solver_set(w->motion_solver, &system));
    PetscCall(linear_solver_solve(w->motion_solver, x, y, NULL));
  } else PetscCall(divide_by_factor((void *)w, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void delassus_set_solvers(delassus *w, linear_solver *motion, linear_solver *contact)
{
  w->motion_solver = motion, w->contact_solver = contact;
}

linear_solver *delassus_contact_solver(const delassus *w) { return w->contact_solver; }

/* ---- both kinds ---- */

PetscErrorCode delassus_blocks(delassus *w, const int64_t **start, const int32_t **col, const double **value)
{
  PetscFunctionBegin;
  if (!w->start) PetscCall(delassus_system_assemble(w));
  *start = w->start, *col = w->col, *value = w->value;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Multiplications of a product through the blocks; INFINITY if these are not assembled. */
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

delassus_incidence delassus_incidence_of(const delassus *w)
{
  return (delassus_incidence){w, w->n_dof, w->factor, w->Hp, w->HpT, w->touch_start, w->member_start, w->touch, w->member};
}

void           delassus_set_bodies(delassus *w, const int32_t *body) { w->body = body; }
const int32_t *delassus_bodies(const delassus *w) { return w->body; }

void delassus_attach(delassus *w, void *object, void (*destroy)(void *object))
{
  w->attached         = object;
  w->destroy_attached = destroy;
}

void *delassus_attached(const delassus *w) { return w->attached; }
