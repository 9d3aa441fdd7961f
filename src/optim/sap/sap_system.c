#include "optim/sap/sap_system.h"
#include "core/memory.h"
#include <math.h>
#include <petscmat.h>
#include <string.h>

void sap_columns_destroy(sap_columns *t)
{
  MEMORY_FREE(&t->start, &t->column, &t->value);
  t->n = 0;
}

/* Merge the three rows of term a into columns of three values; a column may be missing in some rows. Returns the number of columns. */
static int64_t merge_rows(const sparse_rows *J, int64_t a, int32_t *column, double *value)
{
  int64_t at[3], n = 0;
  for (int i = 0; i < 3; ++i) at[i] = J->start[3 * a + i];
  for (;;) {
    int32_t next = INT32_MAX;
    for (int i = 0; i < 3; ++i)
      if (at[i] < J->start[3 * a + i + 1] && J->col[at[i]] < next) next = J->col[at[i]];
    if (next == INT32_MAX) return n;
    for (int i = 0; i < 3; ++i) {
      const bool is_there = at[i] < J->start[3 * a + i + 1] && J->col[at[i]] == next;
      if (value) value[3 * n + i] = is_there ? J->value[at[i]] : 0.0;
      at[i] += is_there;
    }
    if (column) column[n] = next;
    ++n;
  }
}

static PetscErrorCode fill_columns(const sparse_rows *J, sap_columns *t)
{
  PetscFunctionBegin;
  PetscCall(memory_alloc("columns of terms", t->n + 1, sizeof *t->start, &t->start));
  for (int64_t a = 0; a < t->n; ++a) t->start[a + 1] = t->start[a] + merge_rows(J, a, NULL, NULL);
  PetscCall(MEMORY_ALLOC("columns of terms", ARRAY(t->column, t->start[t->n]), ARRAY(t->value, 3 * t->start[t->n])));
  for (int64_t a = 0; a < t->n; ++a) merge_rows(J, a, t->column + t->start[a], t->value + 3 * t->start[a]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode sap_columns_create(const sparse_rows *J, int64_t n, sap_columns *out)
{
  PetscFunctionBegin;
  *out                      = (sap_columns){.n = n};
  const PetscErrorCode code = fill_columns(J, out);
  if (code) sap_columns_destroy(out);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A component is reduced if it is large and few of its unknowns are touched, because the Schur complement is dense. */
enum { REDUCED_SIZE = 64, REDUCED_RATIO = 8, REDUCED_MOST = 900, SOLVE_BATCH = 64, PARALLEL_WORK = 4096 };

void sap_system_destroy(sap_system *s)
{
  sparse_rows_destroy(&s->S);
  sap_columns_destroy(&s->J);
  MEMORY_FREE(&s->own, &s->v_free, &s->inverse, &s->touch_start, &s->touch, &s->term, &s->wide, &s->wide_too);
  s->n = 0;
}

/* Work data of the construction. */
typedef struct {
  const sap_problem *p;
  sap_system        *s;
  bool              *is_touched; /* [of the problem's unknowns] */
  int32_t           *index;      /* [of the problem's unknowns] number in the reduced system, -1: not in it */
  int64_t            n_entries;
  int32_t           *row, *col;
  double            *entry;
} builder;

static PetscErrorCode mark_touched(builder *b)
{
  const sparse_rows *J = b->p->J;
  PetscFunctionBegin;
  PetscCall(MEMORY_ALLOC("sap system", ARRAY(b->is_touched, b->p->A->n_rows), ARRAY(b->index, b->p->A->n_rows)));
  for (int64_t k = 0; k < J->start[J->n_rows]; ++k) b->is_touched[J->col[k]] = true;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static int64_t count_touched(const builder *b, int64_t c)
{
  const int64_t *start = mass_factor_start(b->p->factor);
  const int32_t *dof   = mass_factor_dof(b->p->factor);
  int64_t        n     = 0;
  for (int64_t at = start[c]; at < start[c + 1]; ++at) n += b->is_touched[dof[at]];
  return n;
}

static bool is_reduced(const builder *b, int64_t c, int64_t n_touched)
{
  const int64_t *start = mass_factor_start(b->p->factor), size = start[c + 1] - start[c];
  return size >= REDUCED_SIZE && n_touched * REDUCED_RATIO <= size && n_touched <= REDUCED_MOST;
}

/* Mark the unknowns of the reduced system in `index` (0: in it, -1: not) and count the entries of S. */
static void select_unknowns(builder *b)
{
  const sparse_rows *A     = b->p->A;
  const int64_t     *start = mass_factor_start(b->p->factor);
  const int32_t     *dof   = mass_factor_dof(b->p->factor);
  for (int64_t c = 0; c < mass_factor_n_components(b->p->factor); ++c) {
    const int64_t n_touched = count_touched(b, c);
    const bool    is_small  = is_reduced(b, c, n_touched);
    if (is_small) b->n_entries += n_touched * n_touched;
    for (int64_t at = start[c]; at < start[c + 1]; ++at) {
      const int32_t i = dof[at];
      b->index[i]     = n_touched > 0 && (!is_small || b->is_touched[i]) ? 0 : -1;
      if (b->index[i] == 0 && !is_small) b->n_entries += A->start[i + 1] - A->start[i];
    }
  }
}

/* The same with a multifrontal factor: its late unknowns. */
static PetscErrorCode select_late_unknowns(builder *b)
{
  bool *is_late;
  PetscFunctionBegin;
  PetscCall(memory_alloc("late unknowns", b->p->A->n_rows, sizeof *is_late, &is_late));
  multifrontal_factor_late(b->p->front, is_late);
  for (int64_t i = 0; i < b->p->A->n_rows; ++i) b->index[i] = is_late[i] ? 0 : -1;
  memory_free(&is_late);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Number the unknowns of the reduced system in ascending order. */
static PetscErrorCode number_unknowns(builder *b)
{
  sap_system        *s = b->s;
  const sparse_rows *A = b->p->A;
  PetscFunctionBegin;
  if (b->p->operator) memset(b->index, 0, (size_t)A->n_rows * sizeof *b->index); /* all */
  else if (b->p->front) PetscCall(select_late_unknowns(b));
  else select_unknowns(b);
  for (int64_t i = 0; i < A->n_rows; ++i)
    if (b->index[i] == 0) b->index[i] = (int32_t)s->n++;
  PetscCall(memory_alloc("unknowns in contact", s->n, sizeof *s->own, &s->own));
  for (int64_t i = 0; i < A->n_rows; ++i)
    if (b->index[i] >= 0) s->own[b->index[i]] = (int32_t)i;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void add_entry(builder *b, int32_t row, int32_t col, double value)
{
  b->row[b->n_entries] = row, b->col[b->n_entries] = col, b->entry[b->n_entries++] = value;
}

/* B [m][m]: the entries of A_c^-1 of component c at rows and columns `at`. */
static PetscErrorCode compute_inverse_block(const builder *b, int64_t c, int64_t m, const int64_t *at, double *B)
{
  const mass_factor *f       = b->p->factor;
  const int64_t      size    = mass_factor_start(f)[c + 1] - mass_factor_start(f)[c];
  const bool         is_band = mass_factor_is_threadable(f, c);
  const int          width   = is_band ? 3 : SOLVE_BATCH;
  double            *from, *to = NULL;
  PetscFunctionBegin;
  PetscCall(memory_alloc("columns of an inverse", width * size, sizeof *from, &from));
  PetscErrorCode code = is_band ? PETSC_SUCCESS : memory_alloc("columns of an inverse", width * size, sizeof *to, &to);
  for (int64_t k = 0; k < m && !code; k += width) {
    const int64_t n = m - k < width ? m - k : width;
    memset(from, 0, (size_t)(width * size) * sizeof *from);
    for (int64_t j = 0; j < n; ++j) from[is_band ? at[k + j] * 3 + j : j * size + at[k + j]] = 1.0;
    if (is_band) mass_factor_solve_component(f, c, 3, from);
    else code = mass_factor_solve_many(f, c, n, from, to);
    for (int64_t j = 0; j < n && !code; ++j)
      for (int64_t i = 0; i < m; ++i) B[(k + j) * m + i] = is_band ? from[at[i] * 3 + j] : to[j * size + at[i]];
  }
  MEMORY_FREE(&from, &to);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* X = B^-1, both [m][m]; B is overwritten. */
static PetscErrorCode invert_dense(int64_t m, double *B, double *X)
{
  Mat      from = NULL, one = NULL, to = NULL;
  double  *unit = NULL;
  PetscInt n;
  PetscFunctionBegin;
  PetscCall(PetscIntCast(m, &n));
  PetscCall(memory_alloc("unit matrix", m * m, sizeof *unit, &unit));
  for (int64_t i = 0; i < m; ++i) unit[i * m + i] = 1.0;
  PetscErrorCode code = MatCreateSeqDense(PETSC_COMM_SELF, n, n, B, &from);
  if (!code) code = MatCreateSeqDense(PETSC_COMM_SELF, n, n, unit, &one);
  if (!code) code = MatCreateSeqDense(PETSC_COMM_SELF, n, n, X, &to);
  if (!code) code = MatCholeskyFactor(from, NULL, NULL);
  if (!code) code = MatMatSolve(from, one, to);
  PetscCall(MatDestroy(&from));
  PetscCall(MatDestroy(&one));
  PetscCall(MatDestroy(&to));
  memory_free(&unit);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Add the Schur complement of component c that eliminates the untouched unknowns: the inverse of the touched block of A_c^-1. */
static PetscErrorCode add_schur_complement(builder *b, int64_t c, int64_t m)
{
  const mass_factor *f     = b->p->factor;
  const int64_t      first = mass_factor_start(f)[c], end = mass_factor_start(f)[c + 1];
  int64_t           *at, k                                = 0;
  double            *B = NULL, *X = NULL;
  PetscFunctionBegin;
  PetscCall(memory_alloc("touched places", m, sizeof *at, &at));
  for (int64_t i = first; i < end; ++i)
    if (b->is_touched[mass_factor_dof(f)[i]]) at[k++] = i - first;
  PetscErrorCode code = MEMORY_ALLOC("Schur complement", ARRAY(B, m * m), ARRAY(X, m * m));
  if (!code) code = compute_inverse_block(b, c, m, at, B);
  if (!code) code = invert_dense(m, B, X);
  for (int64_t i = 0; i < m && !code; ++i)
    for (int64_t j = 0; j < m; ++j)
      add_entry(b, b->index[mass_factor_dof(f)[first + at[i]]], b->index[mass_factor_dof(f)[first + at[j]]],
                0.5 * (X[i * m + j] + X[j * m + i]));
  MEMORY_FREE(&at, &B, &X);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* diag(S)^-1/2 from A, or from the Schur complement in the multifrontal factor. */
static PetscErrorCode build_diagonal(builder *b)
{
  sap_system        *s = b->s;
  const sparse_rows *A = b->p->A;
  const int64_t      n = A->n_rows;
  PetscFunctionBegin;
  if (b->p->operator) {
    for (int64_t i = 0; i < n; ++i)
      for (int64_t k = A->start[i]; k < A->start[i + 1]; ++k)
        if (A->col[k] == i) s->inverse[i] = 1.0 / sqrt(A->value[k]);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MEMORY_ALLOC("velocities", ARRAY(s->wide, n), ARRAY(s->wide_too, n)));
  multifrontal_diagonal_late(b->p->front, s->wide);
  for (int64_t i = 0; i < s->n; ++i) s->inverse[i] = 1.0 / sqrt(s->wide[s->own[i]]);
  for (int64_t i = 0; i < n; ++i) s->wide[i] = 0.0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode build_matrix(builder *b)
{
  sap_system        *s     = b->s;
  const sparse_rows *A     = b->p->A;
  const int64_t     *start = mass_factor_start(b->p->factor);
  const int32_t     *dof   = mass_factor_dof(b->p->factor);
  PetscFunctionBegin;
  PetscCall(MEMORY_ALLOC("matrix in contact", ARRAY(b->row, b->n_entries), ARRAY(b->col, b->n_entries), ARRAY(b->entry, b->n_entries)));
  b->n_entries = 0;
  for (int64_t c = 0; c < mass_factor_n_components(b->p->factor); ++c) {
    const int64_t m = count_touched(b, c);
    if (m == 0) continue;
    if (is_reduced(b, c, m)) {
      PetscCall(add_schur_complement(b, c, m));
      continue;
    }
    for (int64_t at = start[c]; at < start[c + 1]; ++at) /* stored zeros may couple components: skip them */
      for (int64_t k = A->start[dof[at]]; k < A->start[dof[at] + 1]; ++k)
        if (A->value[k] != 0.0) add_entry(b, b->index[dof[at]], b->index[A->col[k]], A->value[k]);
  }
  PetscCall(sparse_rows_from_triplets("matrix in contact", s->n, s->n, b->n_entries, b->row, b->col, b->entry, &s->S));
  for (int64_t i = 0; i < s->n; ++i) {
    for (int64_t k = s->S.start[i]; k < s->S.start[i + 1]; ++k)
      if (s->S.col[k] == i) s->inverse[i] = 1.0 / sqrt(s->S.value[k]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Build J by terms and by unknowns. */
static PetscErrorCode build_terms(builder *b)
{
  sap_system *s = b->s;
  PetscFunctionBegin;
  PetscCall(sap_columns_create(b->p->J, sap_terms_size(&b->p->terms), &s->J));
  const int64_t n = s->J.start[s->J.n];
  PetscCall(MEMORY_ALLOC("sap system", ARRAY(s->term, n), ARRAY(s->touch, n), ARRAY(s->touch_start, s->n + 1)));
  for (int64_t e = 0; e < n; ++e) s->J.column[e] = b->index[s->J.column[e]];
  for (int64_t a = 0; a < s->J.n; ++a)
    for (int64_t e = s->J.start[a]; e < s->J.start[a + 1]; ++e) s->term[e] = (int32_t)a;
  for (int64_t e = 0; e < n; ++e) ++s->touch_start[s->J.column[e] + 1];
  for (int64_t i = 0; i < s->n; ++i) s->touch_start[i + 1] += s->touch_start[i];
  for (int64_t e = 0; e < n; ++e) s->touch[s->touch_start[s->J.column[e]]++] = e;
  for (int64_t i = s->n; i > 0; --i) s->touch_start[i] = s->touch_start[i - 1];
  s->touch_start[0] = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode sap_system_create(const sap_problem *p, sap_system *out)
{
  builder b = {.p = p, .s = out};
  PetscFunctionBegin;
  *out                = (sap_system){.problem = p};
  PetscErrorCode code = mark_touched(&b);
  if (!code) code = number_unknowns(&b);
  if (!code) code = MEMORY_ALLOC("sap system", ARRAY(out->v_free, out->n), ARRAY(out->inverse, out->n));
  for (int64_t i = 0; i < out->n && !code; ++i) out->v_free[i] = p->v_free[out->own[i]];
  if (!code) code = p->front || p->operator? build_diagonal(&b) : build_matrix(&b);
  if (!code) code = build_terms(&b);
  MEMORY_FREE(&b.is_touched, &b.index, &b.row, &b.col, &b.entry);
  if (code) sap_system_destroy(out);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void sap_system_velocity(const sap_system *s, const double *restrict x, double *restrict u)
{
#pragma omp parallel for schedule(static) if (s->J.start[s->J.n] >= PARALLEL_WORK)
  for (int64_t a = 0; a < s->J.n; ++a) {
    double sum[3] = {0.0, 0.0, 0.0};
    for (int64_t e = s->J.start[a]; e < s->J.start[a + 1]; ++e)
      for (int i = 0; i < 3; ++i) sum[i] += s->J.value[3 * e + i] * x[s->J.column[e]];
    for (int i = 0; i < 3; ++i) u[3 * a + i] = sum[i];
  }
}

void sap_system_impulse(const sap_system *s, const double *restrict r, double *restrict y)
{
#pragma omp parallel for schedule(static) if (s->J.start[s->J.n] >= PARALLEL_WORK)
  for (int64_t i = 0; i < s->n; ++i) {
    double sum = 0.0;
    for (int64_t k = s->touch_start[i]; k < s->touch_start[i + 1]; ++k) {
      const double *const J = s->J.value + 3 * s->touch[k], *const push = r + 3 * (int64_t)s->term[s->touch[k]];
      sum += J[0] * push[0] + J[1] * push[1] + J[2] * push[2];
    }
    y[i] = sum;
  }
}

void sap_system_product(const sap_system *s, const double *restrict x, double *restrict y)
{
  const sap_operator *o = s->problem->operator;
  if (o) PetscCallAbort(PETSC_COMM_SELF, o->product(o->context, x, y));
  else if (!s->problem->front) sparse_rows_apply(&s->S, x, y);
  if (o || !s->problem->front) return;
  for (int64_t i = 0; i < s->n; ++i) s->wide[s->own[i]] = x[i];
  multifrontal_product_late(s->problem->front, s->wide, s->wide_too);
  for (int64_t i = 0; i < s->n; ++i) y[i] = s->wide_too[s->own[i]];
}
