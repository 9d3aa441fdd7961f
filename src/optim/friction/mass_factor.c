/* Band matrices of equal size and width, such as those of the strands of a wisp, are factored and solved BAND_LANES at a time. The recurrence
 * of one matrix is a chain of dependent additions; the additions of several matrices run in parallel in the vector units. The operations on
 * each matrix are the same as for a single matrix, so its bits do not depend on the others. */
#include "optim/friction/mass_factor.h"
#include "core/memory.h"
#include "core/sort.h"
#include "optim/friction/sparse_direct.h"
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { BAND_LANES = 8, BAND_LANES_ROWS_MAX = 512 }; /* as many rows as a caller's vectors hold on its stack */

#define LANES _Pragma("omp simd") for (int v = 0; v < BAND_LANES; ++v)

/* l [n][width + 1][BAND_LANES]: of row i the entries of columns i - width ... i, zero where there is none; becomes L, and D^-1 in the last place of each row.
 * False if a pivot of one of them is not above rounding. */
static bool band_lanes_factor(int64_t n, int64_t width, double *l)
{
  const int64_t stride = (width + 1) * BAND_LANES;
  for (int64_t i = 0; i < n; ++i) {
    double *const row      = l + i * stride + (width - i) * BAND_LANES; /* row + j BAND_LANES: column j, i - width <= j <= i */
    const int64_t first    = i > width ? i - width : 0;
    double       *pivot    = row + i * BAND_LANES, floor[BAND_LANES];
    LANES         floor[v] = 8.0 * DBL_EPSILON * fabs(pivot[v]);
    for (int64_t j = first; j < i; ++j) { /* L_ij D_j, then L_ij below */
      const double *const above = l + j * stride + (width - j) * BAND_LANES;
      double              sum[BAND_LANES];
      LANES               sum[v] = row[j * BAND_LANES + v];
      for (int64_t k = first; k < j; ++k) LANES sum[v] -= row[k * BAND_LANES + v] * above[k * BAND_LANES + v];
      LANES row[j * BAND_LANES + v] = sum[v];
    }
    for (int64_t j = first; j < i; ++j) {
      const double *const inverse = l + j * stride + width * BAND_LANES;
      double *const       entry   = row + j * BAND_LANES;
      LANES
      {
        const double scaled = entry[v] * inverse[v];
        pivot[v] -= scaled * entry[v];
        entry[v] = scaled;
      }
    }
    for (int v = 0; v < BAND_LANES; ++v)
      if (!(pivot[v] > floor[v]) || !isfinite(pivot[v])) return false;
    LANES pivot[v] = 1.0 / pivot[v];
  }
  return true;
}

/* y [n][BAND_LANES] <- (L D L^T)^-1 y. */
static void band_lanes_solve(int64_t n, int64_t width, const double *restrict l, double *restrict y)
{
  const int64_t stride = (width + 1) * BAND_LANES;
  for (int64_t i = 0; i < n; ++i) {
    const double *const row             = l + i * stride + (width - i) * BAND_LANES;
    double              sum[BAND_LANES] = {0};
    for (int64_t j = i > width ? i - width : 0; j < i; ++j) LANES sum[v] += row[j * BAND_LANES + v] * y[j * BAND_LANES + v];
    LANES y[i * BAND_LANES + v] -= sum[v];
  }
  for (int64_t i = 0; i < n; ++i) {
    const double *const inverse = l + i * stride + width * BAND_LANES;
    LANES               y[i * BAND_LANES + v] *= inverse[v];
  }
  for (int64_t i = n - 1; i > 0; --i) {
    const double *const row = l + i * stride + (width - i) * BAND_LANES, *const from = y + i * BAND_LANES;
    /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): y has n rows, all set by the caller */
    for (int64_t j = i > width ? i - width : 0; j < i; ++j) LANES y[j * BAND_LANES + v] -= row[j * BAND_LANES + v] * from[v];
  }
}

/* One component. Band: row i of L holds its entries of columns i - width ... i - 1 in factor[i * width ...]; D^-1 is stored separately. */
typedef struct {
  int64_t        width; /* half bandwidth; -1: direct */
  double        *factor;
  sparse_direct *direct;
} component;

struct mass_factor {
  int64_t    n, n_components;
  bool       by_pattern; /* zeros couple, too */
  int64_t   *start;
  int32_t   *dof, *place;
  component *part;
  double    *inverse_pivot; /* [n] in places */
  int64_t    n_batches;
  int64_t   *batch; /* [n_batches+1] first component of each: one, or BAND_LANES of one shape */
  double   **lanes; /* [n_batches] interleaved factors of a batch, in addition to those of its components; NULL: one component */
};

/* A band of width b costs n b^2 multiplications; from here on ordering for little fill is worth a package. */
static const double BAND_WORK_MAX = 2e7;
enum { BAND_WIDTH_FINE = 64, PARALLEL_PLACES = 2000 };

void mass_factor_destroy(mass_factor **f)
{
  if (!*f) return;
  for (int64_t c = 0; (*f)->part && c < (*f)->n_components; ++c) {
    memory_free(&(*f)->part[c].factor);
    sparse_direct_destroy(&(*f)->part[c].direct);
  }
  for (int64_t b = 0; (*f)->lanes && b < (*f)->n_batches; ++b) memory_free(&(*f)->lanes[b]);
  MEMORY_FREE(&(*f)->lanes, &(*f)->batch, &(*f)->part, &(*f)->start, &(*f)->dof, &(*f)->place, &(*f)->inverse_pivot, f);
}

int64_t        mass_factor_n_components(const mass_factor *f) { return f->n_components; }
const int64_t *mass_factor_start(const mass_factor *f) { return f->start; }
const int32_t *mass_factor_dof(const mass_factor *f) { return f->dof; }
const int32_t *mass_factor_place(const mass_factor *f) { return f->place; }
bool           mass_factor_is_threadable(const mass_factor *f, int64_t c) { return f->part[c].width >= 0; }

/* ---- components and their order ---- */

static inline bool couples(const sparse_rows *M, bool by_pattern, int64_t k) { return by_pattern || M->value[k] != 0.0; }

/* Visit what hangs together with `seed`, breadth first; `place` is -1 where not visited yet. Returns the end of the queue. */
static int64_t breadth_first(const sparse_rows *M, bool by_pattern, int32_t seed, int64_t first, int32_t *queue, int32_t *place)
{
  int64_t end  = first;
  place[seed]  = (int32_t)end;
  queue[end++] = seed;
  for (int64_t at = first; at < end; ++at)
    for (int64_t k = M->start[queue[at]]; k < M->start[queue[at] + 1]; ++k) {
      const int32_t j = M->col[k];
      if (place[j] >= 0 || !couples(M, by_pattern, k)) continue;
      place[j]     = (int32_t)end;
      queue[end++] = j;
    }
  return end;
}

static int64_t half_bandwidth(const sparse_rows *M, bool by_pattern, int64_t first, int64_t end, const int32_t *dof, const int32_t *place)
{
  int64_t width = 0;
  for (int64_t at = first; at < end; ++at)
    for (int64_t k = M->start[dof[at]]; k < M->start[dof[at] + 1]; ++k) {
      const int64_t distance = at - place[M->col[k]];
      if (couples(M, by_pattern, k) && distance > width) width = distance;
    }
  return width;
}

/* Reverse Cuthill-McKee: breadth first from an unknown far out, backwards. Keeps whichever order has the narrower band. */
static int64_t narrow_band(const sparse_rows *M, bool by_pattern, int64_t first, int64_t end, int64_t width, int32_t *spare, int32_t *dof,
                           int32_t *place)
{
  const size_t bytes = (size_t)(end - first) * sizeof *dof;
  int32_t      seed  = dof[first];
  memcpy(spare + first, dof + first, bytes);
  for (int round = 0; round < 3; ++round) { /* twice to the far end, then the order itself */
    for (int64_t at = first; at < end; ++at) place[dof[at]] = -1;
    breadth_first(M, by_pattern, seed, first, dof, place);
    seed = dof[end - 1];
  }
  for (int64_t low = first, high = end - 1; low < high; ++low, --high) {
    const int32_t swap = dof[low];
    dof[low] = dof[high], dof[high] = swap;
  }
  for (int64_t at = first; at < end; ++at) place[dof[at]] = (int32_t)at;
  const int64_t other = half_bandwidth(M, by_pattern, first, end, dof, place);
  if (other < width) return other;
  memcpy(dof + first, spare + first, bytes);
  for (int64_t at = first; at < end; ++at) place[dof[at]] = (int32_t)at;
  return width;
}

static double band_work(int64_t n, int64_t width) { return (double)n * (double)width * (double)width; }

static PetscErrorCode split(const sparse_rows *M, mass_factor *f)
{
  int32_t *spare = NULL;
  PetscFunctionBegin;
  PetscCall(MEMORY_ALLOC("mass factor", ARRAY(f->start, M->n_rows + 1), ARRAY(f->dof, M->n_rows), ARRAY(f->place, M->n_rows)));
  for (int64_t i = 0; i < f->n; ++i) f->place[i] = -1;
  int64_t end = 0;
  for (int64_t i = 0; i < f->n; ++i) {
    if (f->place[i] >= 0) continue;
    end                         = breadth_first(M, f->by_pattern, (int32_t)i, end, f->dof, f->place);
    f->start[++f->n_components] = end;
  }
  PetscCall(MEMORY_ALLOC("mass factor", ARRAY(f->part, f->n_components), ARRAY(spare, f->n)));
  for (int64_t c = 0; c < f->n_components; ++c) { /* the given order first: rods come well numbered */
    const int64_t low = f->start[c], high = f->start[c + 1], n = high - low;
    qsort(f->dof + low, (size_t)n, sizeof *f->dof, sort_compare_int32);
    for (int64_t at = low; at < high; ++at) f->place[f->dof[at]] = (int32_t)at;
    int64_t width = half_bandwidth(M, f->by_pattern, low, high, f->dof, f->place);
    if (width > 12 && width > n / 8) width = narrow_band(M, f->by_pattern, low, high, width, spare, f->dof, f->place);
    f->part[c].width = width > BAND_WIDTH_FINE && band_work(n, width) > BAND_WORK_MAX ? -1 : width;
  }
  memory_free(&spare);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Are components c to c + BAND_LANES - 1 bands of one shape, worth going side by side? */
static bool is_batch(const mass_factor *f, int64_t c)
{
  if (c + BAND_LANES > f->n_components) return false;
  const int64_t n = f->start[c + 1] - f->start[c], width = f->part[c].width;
  if (width <= 0 || n > BAND_LANES_ROWS_MAX) return false;
  for (int k = 1; k < BAND_LANES; ++k)
    if (f->part[c + k].width != width || f->start[c + k + 1] - f->start[c + k] != n) return false;
  return true;
}

static PetscErrorCode make_batches(mass_factor *f)
{
  PetscFunctionBegin;
  PetscCall(MEMORY_ALLOC("batches of components", ARRAY(f->batch, f->n_components + 1), ARRAY(f->lanes, f->n_components)));
  for (int64_t c = 0; c < f->n_components;) {
    const bool is_one = !is_batch(f, c);
    if (!is_one)
      PetscCall(memory_alloc("factors side by side", (f->start[c + 1] - f->start[c]) * (f->part[c].width + 1), BAND_LANES * sizeof(double),
                             &f->lanes[f->n_batches]));
    c += is_one ? 1 : BAND_LANES;
    f->batch[++f->n_batches] = c;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- factors ---- */

/* L D L^T within the band, row by row. Returns the place of the first pivot that is not positive, or `end`. */
static int64_t factor_band(const sparse_rows *M, const mass_factor *f, int64_t c)
{
  const int64_t first = f->start[c], n = f->start[c + 1] - first, b = f->part[c].width;
  double *const l = f->part[c].factor, *const d = f->inverse_pivot + first;
  if (b > 0) memset(l, 0, (size_t)(n * b) * sizeof *l);
  for (int64_t i = 0; i < n; ++i) {
    double *const row   = l + i * b - i + b; /* row[j] is the entry of column j, i - b <= j < i */
    const int32_t dof   = f->dof[first + i];
    double        pivot = 0.0;
    for (int64_t k = M->start[dof]; k < M->start[dof + 1]; ++k) {
      const int64_t j = f->place[M->col[k]] - first;
      if (M->value[k] == 0.0) continue;
      if (j < i) row[j] = M->value[k];
      if (j == i) pivot = M->value[k];
    }
    const double floor = 8.0 * DBL_EPSILON * fabs(pivot);
    for (int64_t j = i > b ? i - b : 0; j < i; ++j) { /* row[j] becomes L_ij D_j, then L_ij below */
      const double *const above = l + j * b - j + b;
      double              sum   = row[j];
      for (int64_t k = i > b ? i - b : 0; k < j; ++k) sum -= row[k] * above[k];
      row[j] = sum;
    }
    for (int64_t j = i > b ? i - b : 0; j < i; ++j) {
      const double scaled = row[j] * d[j];
      pivot -= scaled * row[j];
      row[j] = scaled;
    }
    if (!(pivot > floor) || !isfinite(pivot)) return first + i;
    d[i] = 1.0 / pivot;
  }
  return f->start[c + 1];
}

/* The same of a batch, side by side; false if one of them has a pivot that is not positive. */
static bool factor_lanes(const sparse_rows *M, const mass_factor *f, int64_t batch)
{
  const int64_t c = f->batch[batch], n = f->start[c + 1] - f->start[c], b = f->part[c].width;
  double *const l = f->lanes[batch];
  memset(l, 0, (size_t)(n * (b + 1) * BAND_LANES) * sizeof *l);
  for (int64_t at = f->start[c]; at < f->start[c + BAND_LANES]; ++at) {
    const int64_t v = (at - f->start[c]) / n, i = (at - f->start[c]) % n, first = at - i;
    for (int64_t k = M->start[f->dof[at]]; k < M->start[f->dof[at] + 1]; ++k) {
      const int64_t j = f->place[M->col[k]] - first;
      if (M->value[k] != 0.0 && j <= i) l[(i * (b + 1) + b - i + j) * BAND_LANES + v] = M->value[k];
    }
  }
  if (!band_lanes_factor(n, b, l)) return false;
  for (int64_t v = 0; v < BAND_LANES; ++v)
    for (int64_t i = 0; i < n; ++i) {
      const double *const row = l + i * (b + 1) * BAND_LANES + v;
      for (int64_t k = 0; k < b; ++k) f->part[c + v].factor[i * b + k] = row[k * BAND_LANES];
      f->inverse_pivot[f->start[c + v] + i] = row[b * BAND_LANES];
    }
  return true;
}

/* Component c as a matrix of its own, in places. */
static PetscErrorCode component_rows(const sparse_rows *M, const mass_factor *f, int64_t c, sparse_rows *part)
{
  const int64_t first = f->start[c], n = f->start[c + 1] - first;
  int64_t      *start = NULL, slot = 0, n_entries = 0;
  int32_t      *col   = NULL;
  double       *value = NULL;
  PetscFunctionBegin;
  for (int64_t i = 0; i < n; ++i) n_entries += M->start[f->dof[first + i] + 1] - M->start[f->dof[first + i]];
  PetscErrorCode code = MEMORY_ALLOC("mass factor", ARRAY(start, n + 1), ARRAY(col, n_entries), ARRAY(value, n_entries));
  for (int64_t i = 0; !code && i < n; ++i) {
    const int32_t dof = f->dof[first + i];
    for (int64_t k = M->start[dof]; k < M->start[dof + 1]; ++k) {
      if (!couples(M, f->by_pattern, k)) continue;
      col[slot]     = (int32_t)(f->place[M->col[k]] - first);
      value[slot++] = M->value[k];
    }
    start[i + 1] = slot;
  }
  if (!code) code = sparse_rows_create("mass matrix", n, n, start, col, value, part);
  MEMORY_FREE(&start, &col, &value);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode factor_direct(const sparse_rows *M, const mass_factor *f, int64_t c, bool *is_regular)
{
  sparse_rows part = {0};
  PetscFunctionBegin;
  PetscCall(component_rows(M, f, c, &part));
  const PetscErrorCode code = f->part[c].direct ? sparse_direct_refactor(f->part[c].direct, &part, is_regular)
                                                : sparse_direct_create(SPARSE_DIRECT_CHOLESKY, &part, is_regular, &f->part[c].direct);
  sparse_rows_destroy(&part);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* *bad: the first row whose pivot is not above zero; n: there is none. */
static void factor_bands(const sparse_rows *M, mass_factor *f, int64_t *bad)
{
  int64_t first = f->n;
#pragma omp parallel for schedule(dynamic, 8) reduction(min : first) if (f->n >= PARALLEL_PLACES)
  for (int64_t b = 0; b < f->n_batches; ++b) {
    if (f->lanes[b] && factor_lanes(M, f, b)) continue;
    for (int64_t c = f->batch[b]; c < f->batch[b + 1]; ++c) {
      if (f->part[c].width < 0) continue;
      const int64_t stop = factor_band(M, f, c);
      if (stop < f->start[c + 1] && f->dof[stop] < first) first = f->dof[stop];
    }
  }
  *bad = first;
}

static PetscErrorCode factor_all(const sparse_rows *M, mass_factor *f)
{
  int64_t bad;
  bool    is_regular = true;
  PetscFunctionBegin;
  PetscCall(memory_alloc("pivots", f->n, sizeof *f->inverse_pivot, &f->inverse_pivot));
  PetscCall(make_batches(f));
  for (int64_t c = 0; c < f->n_components; ++c)
    if (f->part[c].width > 0)
      PetscCall(memory_alloc("banded factors", (f->start[c + 1] - f->start[c]) * f->part[c].width, sizeof(double), &f->part[c].factor));
  factor_bands(M, f, &bad);
  PetscCheck(bad == f->n, PETSC_COMM_SELF, PETSC_ERR_MAT_CH_ZRPVT,
             "the mass matrix is not positive definite: the pivot of row %" PRId64 " is not above zero; check the mass of that unknown",
             bad);
  for (int64_t c = 0; c < f->n_components; ++c) {
    if (f->part[c].width < 0) PetscCall(factor_direct(M, f, c, &is_regular));
    PetscCheck(is_regular, PETSC_COMM_SELF, PETSC_ERR_MAT_CH_ZRPVT,
               "the mass matrix is not positive definite; check the masses of the %" PRId64 " unknowns coupled with row %" PRId32,
               f->start[c + 1] - f->start[c], f->dof[f->start[c]]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mass_factor_refactor(mass_factor *f, const sparse_rows *M, bool *is_definite)
{
  int64_t bad;
  PetscFunctionBegin;
  factor_bands(M, f, &bad);
  *is_definite = bad == f->n;
  for (int64_t c = 0; c < f->n_components && *is_definite; ++c)
    if (f->part[c].width < 0) PetscCall(factor_direct(M, f, c, is_definite));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode create(const sparse_rows *M, bool by_pattern, mass_factor **out)
{
  mass_factor *f;
  PetscFunctionBegin;
  *out = NULL;
  PetscCheck(M->n_rows == M->n_cols, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "the mass matrix has %" PRId64 " rows and %" PRId64 " columns, expected a square one", M->n_rows, M->n_cols);
  PetscCall(memory_alloc("factored mass matrix", 1, sizeof *f, &f));
  f->n = M->n_rows, f->by_pattern = by_pattern;
  PetscErrorCode code = split(M, f);
  if (!code) code = factor_all(M, f);
  if (code) mass_factor_destroy(&f);
  PetscCall(code);
  *out = f;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mass_factor_create(const sparse_rows *M, mass_factor **out) { return create(M, false, out); }
PetscErrorCode mass_factor_create_pattern(const sparse_rows *M, mass_factor **out) { return create(M, true, out); }

PetscErrorCode mass_factor_needs_package(const sparse_rows *M, bool *is_wanted)
{
  mass_factor *f;
  PetscFunctionBegin;
  *is_wanted = false;
  PetscCall(memory_alloc("factored mass matrix", 1, sizeof *f, &f));
  f->n                      = M->n_rows;
  const PetscErrorCode code = split(M, f);
  for (int64_t c = 0; c < f->n_components && !code; ++c) *is_wanted |= f->part[c].width < 0;
  mass_factor_destroy(&f);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- solves ---- */

double mass_factor_work(const mass_factor *f)
{
  const double fill = 150.0; /* entries a row in factors of meshes, about */
  double       work = 0.0;
  for (int64_t c = 0; c < f->n_components; ++c)
    work += (double)(f->start[c + 1] - f->start[c]) * (f->part[c].width < 0 ? 2.0 * fill : 2.0 * (double)f->part[c].width + 1.0);
  return work;
}

static inline __attribute__((always_inline)) void solve_band(int64_t n, int64_t b, const double *restrict l, const double *restrict d,
                                                             const int m, double *restrict x)
{
  for (int64_t i = 0; i < n; ++i) {
    const int64_t       first  = i > b ? i - b : 0;
    const double *const row    = l + i * b - i + b;
    double              sum[3] = {0.0, 0.0, 0.0};
    for (int64_t j = first; j < i; ++j)
      for (int v = 0; v < m; ++v) sum[v] += row[j] * x[j * m + v];
    for (int v = 0; v < m; ++v) x[i * m + v] -= sum[v];
  }
  for (int64_t i = 0; i < n; ++i)
    for (int v = 0; v < m; ++v) x[i * m + v] *= d[i];
  for (int64_t i = n - 1; i > 0; --i) {
    const int64_t       first = i > b ? i - b : 0;
    const double *const row   = l + i * b - i + b;
    for (int64_t j = first; j < i; ++j)
      for (int v = 0; v < m; ++v) x[j * m + v] -= row[j] * x[i * m + v];
  }
}

void mass_factor_gram(const mass_factor *f, int64_t c, int64_t low, double *y, double *block)
{
  const int64_t       n = f->start[c + 1] - f->start[c], b = f->part[c].width;
  const double *const d = f->inverse_pivot + f->start[c];
  for (int64_t i = low; i < n; ++i) {
    const int64_t       first = i - low > b ? i - b : low;
    const double *const row   = f->part[c].factor + i * b - i + b;
    double *const       at = y + 3 * i, sum[3] = {0.0, 0.0, 0.0};
    for (int64_t j = first; j < i; ++j)
      for (int v = 0; v < 3; ++v) sum[v] += row[j] * y[3 * j + v];
    for (int v = 0; v < 3; ++v) at[v] -= sum[v];
    for (int v = 0; v < 9; ++v) block[v] += d[i] * at[v / 3] * at[v % 3];
  }
}

static void solve_direct(const mass_factor *f, int64_t c, int m, double *x)
{
  const int64_t n = f->start[c + 1] - f->start[c];
  double       *y = NULL;
  if (m == 1) {
    PetscCallAbort(PETSC_COMM_SELF, sparse_direct_solve(f->part[c].direct, x, x));
    return;
  }
  PetscCallAbort(PETSC_COMM_SELF, memory_alloc("component solve", n, sizeof *y, &y));
  for (int v = 0; v < m; ++v) {
    for (int64_t i = 0; i < n; ++i) y[i] = x[i * m + v];
    PetscCallAbort(PETSC_COMM_SELF, sparse_direct_solve(f->part[c].direct, y, y));
    for (int64_t i = 0; i < n; ++i) x[i * m + v] = y[i];
  }
  memory_free(&y);
}

void mass_factor_solve_component(const mass_factor *f, int64_t c, int n_vectors, double *x)
{
  const component *p     = f->part + c;
  const int64_t    first = f->start[c], n = f->start[c + 1] - first;
  const double    *d = f->inverse_pivot + first;
  if (p->width < 0) solve_direct(f, c, n_vectors, x);
  else if (n == 1) {
    for (int v = 0; v < n_vectors; ++v) x[v] *= d[0];
  } else if (n_vectors == 1) solve_band(n, p->width, p->factor, d, 1, x);
  else solve_band(n, p->width, p->factor, d, 3, x);
}

PetscErrorCode mass_factor_solve_many(const mass_factor *f, int64_t c, int64_t n_vectors, double *b, double *x)
{
  PetscFunctionBegin;
  PetscCall(sparse_direct_solve_many(f->part[c].direct, n_vectors, b, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void solve_batch(const mass_factor *f, int64_t batch, double *x)
{
  const int64_t c = f->batch[batch], n = f->start[c + 1] - f->start[c];
  if (!f->lanes[batch]) {
    mass_factor_solve_component(f, c, 1, x + f->start[c]);
    return;
  }
  double y[BAND_LANES * BAND_LANES_ROWS_MAX], *const of = x + f->start[c];
  for (int64_t i = 0; i < n; ++i)
    for (int v = 0; v < BAND_LANES; ++v) y[i * BAND_LANES + v] = of[v * n + i];
  band_lanes_solve(n, f->part[c].width, f->lanes[batch], y);
  for (int v = 0; v < BAND_LANES; ++v)
    for (int64_t i = 0; i < n; ++i) of[v * n + i] = y[i * BAND_LANES + v];
}

void mass_factor_solve_places(const mass_factor *f, double *x)
{
  if (f->n < PARALLEL_PLACES) { /* a region calls the kernel, even for one thread */
    for (int64_t b = 0; b < f->n_batches; ++b) solve_batch(f, b, x);
    return;
  }
#pragma omp parallel for schedule(dynamic, 8)
  for (int64_t b = 0; b < f->n_batches; ++b)
    if (f->part[f->batch[b]].width >= 0) solve_batch(f, b, x);
  for (int64_t b = 0; b < f->n_batches; ++b)
    if (f->part[f->batch[b]].width < 0) solve_batch(f, b, x);
}
