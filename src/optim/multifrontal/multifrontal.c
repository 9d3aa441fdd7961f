#include "core/memory.h"
#include "core/team.h"
#include "optim/multifrontal/multifrontal_dense.h"
#include "optim/multifrontal/multifrontal.h"
#include <omp.h>
#include <string.h>

/* Arrays of a front with k = n_columns and r = n_rows: columns [k][k + r], lower trapezoid by columns; update [r][r], lower triangle. */
struct multifrontal_factor {
  const multifrontal_tree *t;
  double                 **A, **update;   /* of A; updates of early fronts below late ones are kept */
  double                 **H, **update_H; /* of A + terms, late fronts */
  int32_t                **map;           /* [threads][n] index of a place within the current front */
  double                  *dense;         /* [threads][room] sums of terms */
  int64_t                  room;
  int                      n_threads;
  double                  *x; /* [n] work, in places */
};

static void free_all(int64_t n, double ***list)
{
  for (int64_t q = 0; *list && q < n; ++q) memory_free(&(*list)[q]);
  memory_free(list);
}

void multifrontal_factor_destroy(multifrontal_factor **f)
{
  if (!*f) return;
  const int64_t n = (*f)->t->n_fronts;
  free_all(n, &(*f)->A), free_all(n, &(*f)->update), free_all(n, &(*f)->H), free_all(n, &(*f)->update_H);
  for (int k = 0; (*f)->map && k < (*f)->n_threads; ++k) memory_free(&(*f)->map[k]);
  MEMORY_FREE(&(*f)->map, &(*f)->dense, &(*f)->x, f);
}

/* Arrays of fronts; of late ones alone for H. */
static PetscErrorCode reserve(const multifrontal_tree *t, bool late_alone, double **columns, double **update)
{
  PetscFunctionBegin;
  for (int64_t q = 0; q < t->n_fronts; ++q) {
    const frontal_matrix *p = &t->front[q];
    if (late_alone && !p->is_late) continue;
    if (!columns[q]) PetscCall(memory_alloc("fronts", p->n_columns * (p->n_columns + p->n_rows), sizeof(double), &columns[q]));
    if (!update[q]) PetscCall(memory_alloc("fronts", p->n_rows * p->n_rows, sizeof(double), &update[q]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode multifrontal_factor_create(const multifrontal_tree *t, multifrontal_factor **out)
{
  multifrontal_factor *f;
  PetscFunctionBegin;
  PetscCall(memory_alloc("multifrontal factor", 1, sizeof *f, &f));
  f->t = t, f->n_threads = team_threads(), *out = f;
  double ***lists[] = {&f->A, &f->update, &f->H, &f->update_H};
  for (int k = 0; k < 4; ++k) PetscCall(memory_alloc("fronts", t->n_fronts, sizeof(double *), lists[k]));
  PetscCall(memory_alloc("fronts", f->n_threads, sizeof *f->map, &f->map));
  for (int k = 0; k < f->n_threads; ++k) PetscCall(memory_alloc("fronts", t->n, sizeof(int32_t), &f->map[k]));
  PetscCall(memory_alloc("fronts", t->n, sizeof *f->x, &f->x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- one front ---- */

/* Arguments of the factorisation, the same for all fronts. */
typedef struct {
  multifrontal_factor      *f;
  const sparse_rows        *A;
  const multifrontal_terms *terms; /* NULL: A alone */
  const double             *G;
  double                  **columns, **update;
  bool                     *is_bad; /* [n_fronts] */
} factoring;

/* Add the entries of A to the columns of a front. */
static void add_matrix(const factoring *w, const frontal_matrix *p, double *columns, const int32_t *map)
{
  const multifrontal_tree *t = w->f->t;
  const int64_t            m = p->n_columns + p->n_rows;
  for (int64_t j = 0; j < p->n_columns; ++j) {
    const int32_t i = t->unknown[p->first + j];
    for (int64_t k = w->A->start[i]; k < w->A->start[i + 1]; ++k) {
      const int64_t at = t->place[w->A->col[k]];
      if (at < p->first + j) continue;
      columns[j * m + (at < p->first + p->n_columns ? at - p->first : map[at])] += w->A->value[k];
    }
  }
}

/* Add the terms of a front. Terms with the same columns are summed first, then added together. */
static void add_terms(const factoring *w, int64_t q, double *columns, double *update, double *sum)
{
  const multifrontal_tree  *t = w->f->t;
  const multifrontal_terms *s = w->terms;
  const int64_t             k = t->front[q].n_columns, r = t->front[q].n_rows, m = k + r;
  for (int64_t at = t->term_start[q]; at < t->term_start[q + 1];) {
    const int64_t        a = t->term[at], n = s->start[a + 1] - s->start[a];
    const int32_t *const local    = t->local + s->start[a];
    int64_t              end      = at;
    bool                 is_empty = true;
    for (; end < t->term_start[q + 1]; ++end) {
      const int64_t b = t->term[end];
      if (s->start[b + 1] - s->start[b] != n || memcmp(s->column + s->start[b], s->column + s->start[a], (size_t)n * sizeof *local) != 0)
        break;
      const double *g = w->G + 9 * b;
      if (g[0] == 0.0 && g[4] == 0.0 && g[8] == 0.0) continue; /* no stiffness: an inactive term */
      if (is_empty) memset(sum, 0, (size_t)(n * n) * sizeof *sum);
      is_empty = false;
      multifrontal_dense_term(n, s->value + 3 * s->start[b], g, sum);
    }
    at = end;
    if (is_empty) continue;
    for (int64_t j = 0; j < n; ++j)
      for (int64_t i = j; i < n; ++i) { /* the columns of a term may have another order in the front */
        const int64_t low = local[i] < local[j] ? local[i] : local[j], high = local[i] < local[j] ? local[j] : local[i];
        if (low < k) columns[low * m + high] += sum[j * n + i];
        else update[(low - k) * r + high - k] += sum[j * n + i];
      }
  }
}

static void add_child(const multifrontal_tree *t, const frontal_matrix *p, const frontal_matrix *c, const double *from, double *columns,
                      double *update)
{
  const int64_t        k = p->n_columns, r = p->n_rows, m = k + r, n = c->n_rows;
  const int32_t *const into = t->into + c->row;
  for (int64_t j = 0; j < n; ++j) {
    double *const       to  = into[j] < k ? columns + into[j] * m : update + (into[j] - k) * r - k;
    const double *const own = from + j * n;
    for (int64_t i = j; i < n; ++i) to[into[i]] += own[i];
  }
}

static void factor_front(const factoring *w, int64_t q)
{
  multifrontal_factor     *f = w->f;
  const multifrontal_tree *t = f->t;
  const frontal_matrix    *p = &t->front[q];
  const int64_t            k = p->n_columns, r = p->n_rows;
  int32_t *const           map = f->map[omp_get_thread_num()];
  double *const columns = w->columns[q], *const update = w->update[q];
  for (int64_t j = 0; j < k; ++j) memset(columns + j * (k + r) + j, 0, (size_t)(k + r - j) * sizeof *columns);
  for (int64_t j = 0; j < r; ++j) memset(update + j * r + j, 0, (size_t)(r - j) * sizeof *update);
  for (int64_t i = 0; i < r; ++i) map[t->row[p->row + i]] = (int32_t)(k + i);
  add_matrix(w, p, columns, map);
  if (w->terms) add_terms(w, q, columns, update, f->dense + omp_get_thread_num() * f->room);
  for (int64_t e = t->child_start[q]; e < t->child_start[q + 1]; ++e) {
    const int32_t c = t->child[e];
    if (w->is_bad[c]) {
      w->is_bad[q] = true;
      return;
    }
    add_child(t, p, &t->front[c], w->columns == f->H && t->front[c].is_late ? f->update_H[c] : f->update[c], columns, update);
  }
  w->is_bad[q] = !multifrontal_dense_factor(k, r, columns, update);
}

static void factor_subtree(const factoring *w, int64_t q)
{
  const multifrontal_tree *t = w->f->t;
  for (int64_t e = t->child_start[q]; e < t->child_start[q + 1]; ++e) {
    const int32_t c = t->child[e];
    if (w->terms && !t->front[c].is_late) continue;
#pragma omp task firstprivate(c) if (t->front[c].n_rows > 64)
    factor_subtree(w, c);
  }
#pragma omp      taskwait
  factor_front(w, q);
}

static PetscErrorCode factor_all(factoring *w, bool *is_definite)
{
  const multifrontal_tree *t = w->f->t;
  PetscFunctionBegin;
  PetscCall(memory_alloc("fronts", t->n_fronts, sizeof *w->is_bad, &w->is_bad));
#pragma omp parallel num_threads(w->f->n_threads)
#pragma omp          single
  for (int64_t q = 0; q < t->n_fronts; ++q) {
             if (t->front[q].parent >= 0 || (w->terms && !t->front[q].is_late)) continue;
#pragma omp task firstprivate(q)
    factor_subtree(w, q);
  }
  *is_definite = true;
  for (int64_t q = 0; q < t->n_fronts; ++q) *is_definite &= !w->is_bad[q];
  memory_free(&w->is_bad);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Free the update matrices that no later factorisation needs. */
static void drop_updates(multifrontal_factor *f)
{
  for (int64_t q = 0; q < f->t->n_fronts; ++q) {
    const frontal_matrix *p = &f->t->front[q];
    if (p->is_late || p->parent < 0 || !f->t->front[p->parent].is_late) memory_free(&f->update[q]);
  }
}

PetscErrorCode multifrontal_factor_set(multifrontal_factor *f, const sparse_rows *A, bool *is_definite)
{
  factoring w = {.f = f, .A = A, .columns = f->A, .update = f->update};
  PetscFunctionBegin;
  PetscCall(reserve(f->t, false, f->A, f->update));
  PetscCall(factor_all(&w, is_definite));
  drop_updates(f);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode multifrontal_factor_add(multifrontal_factor *f, const sparse_rows *A, const multifrontal_terms *terms, const double *G,
                                       bool *is_definite)
{
  factoring w = {.f = f, .A = A, .terms = terms, .G = G, .columns = f->H, .update = f->update_H};
  PetscFunctionBegin;
  PetscCall(reserve(f->t, true, f->H, f->update_H));
  if (!f->dense) {
    int64_t most = 0;
    for (int64_t a = 0; a < terms->n; ++a)
      if (terms->start[a + 1] - terms->start[a] > most) most = terms->start[a + 1] - terms->start[a];
    f->room = (most * most + 7) / 8 * 8;
    PetscCall(memory_alloc("sums of terms", f->n_threads * f->room, sizeof *f->dense, &f->dense));
  }
  PetscCall(factor_all(&w, is_definite));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void           multifrontal_factor_late(const multifrontal_factor *f, bool *is_late) { multifrontal_tree_late(f->t, is_late); }
int64_t        multifrontal_factor_size(const multifrontal_factor *f) { return f->t->n; }
const int32_t *multifrontal_factor_place(const multifrontal_factor *f) { return f->t->place; }
double         multifrontal_factor_entries_late(const multifrontal_factor *f) { return f->t->entries_late; }
double         multifrontal_factor_work_late(const multifrontal_factor *f) { return f->t->work_again; }

/* ---- solves ---- */

/* x of a front's own places and rows below, side by side. */
static void gather(const multifrontal_tree *t, const frontal_matrix *p, const double *x, double *own)
{
  memcpy(own, x + p->first, (size_t)p->n_columns * sizeof *own);
  for (int64_t i = 0; i < p->n_rows; ++i) own[p->n_columns + i] = x[t->row[p->row + i]];
}

static void scatter(const multifrontal_tree *t, const frontal_matrix *p, const double *own, double *x)
{
  memcpy(x + p->first, own, (size_t)p->n_columns * sizeof *own);
  for (int64_t i = 0; i < p->n_rows; ++i) x[t->row[p->row + i]] = own[p->n_columns + i];
}

/* In places, with the factors in `columns`, of late fronts or all. */
static void solve_places(const multifrontal_factor *f, double *const *columns, bool late_alone, double *x, double *own)
{
  const multifrontal_tree *t = f->t;
  for (int64_t q = 0; q < t->n_fronts; ++q) {
    const frontal_matrix *p = &t->front[q];
    if (late_alone && !p->is_late) continue;
    gather(t, p, x, own);
    multifrontal_dense_forward(p->n_columns, p->n_rows, columns[q], own);
    scatter(t, p, own, x);
  }
  for (int64_t q = t->n_fronts; q-- > 0;) {
    const frontal_matrix *p = &t->front[q];
    if (late_alone && !p->is_late) continue;
    gather(t, p, x, own);
    multifrontal_dense_backward(p->n_columns, p->n_rows, columns[q], own);
    memcpy(x + p->first, own, (size_t)p->n_columns * sizeof *own);
  }
}

static void solve_with(const multifrontal_factor *f, double *const *columns, bool late_alone, double *x)
{
  const multifrontal_tree *t   = f->t;
  double                  *own = NULL;
  PetscCallAbort(PETSC_COMM_SELF, memory_alloc("front", t->n, sizeof *own, &own));
  for (int64_t at = 0; at < t->n; ++at) f->x[at] = x[t->unknown[at]];
  solve_places(f, columns, late_alone, f->x, own);
  for (int64_t at = 0; at < t->n; ++at) x[t->unknown[at]] = f->x[at];
  memory_free(&own);
}

void multifrontal_solve(const multifrontal_factor *f, double *x) { solve_with(f, f->A, false, x); }
void multifrontal_solve_late(const multifrontal_factor *f, double *x) { solve_with(f, f->H, true, x); }
void multifrontal_solve_plain_late(const multifrontal_factor *f, double *x) { solve_with(f, f->A, true, x); }

PetscErrorCode multifrontal_forward_late(const multifrontal_factor *f, int64_t n_vectors, double *X)
{
  const multifrontal_tree *t    = f->t;
  int64_t                  most = 0;
  double                  *own;
  PetscFunctionBegin;
  for (int64_t q = 0; q < t->n_fronts; ++q)
    if (t->front[q].is_late && t->front[q].n_columns + t->front[q].n_rows > most) most = t->front[q].n_columns + t->front[q].n_rows;
  PetscCall(memory_alloc("front", most * n_vectors, sizeof *own, &own));
  for (int64_t q = 0; q < t->n_fronts; ++q) {
    const frontal_matrix *p = &t->front[q];
    const int64_t         m = p->n_columns + p->n_rows;
    int64_t               n = 0; /* vectors that are not 0 here: most are, in the leaves */
    if (!p->is_late) continue;
    for (int64_t v = 0; v < n_vectors; ++v) {
      const double *const x       = X + v * t->n + p->first;
      bool                is_zero = true;
      for (int64_t i = 0; i < p->n_columns && is_zero; ++i) is_zero = x[i] == 0.0;
      if (!is_zero) gather(t, p, X + v * t->n, own + m * n++);
    }
    if (n == 0) continue;
    multifrontal_dense_forward_many(p->n_columns, p->n_rows, f->A[q], n, own);
    n = 0;
    for (int64_t v = 0; v < n_vectors; ++v) {
      const double *const x       = X + v * t->n + p->first;
      bool                is_zero = true;
      for (int64_t i = 0; i < p->n_columns && is_zero; ++i) is_zero = x[i] == 0.0;
      if (!is_zero) scatter(t, p, own + m * n++, X + v * t->n);
    }
  }
  memory_free(&own);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void multifrontal_product_late(const multifrontal_factor *f, const double *x, double *y)
{
  const multifrontal_tree *t   = f->t;
  double                  *own = NULL, *sum = NULL, *to = NULL;
  PetscCallAbort(PETSC_COMM_SELF, memory_alloc("front", t->n, sizeof *own, &own));
  PetscCallAbort(PETSC_COMM_SELF, memory_alloc("front", t->n, sizeof *sum, &sum));
  PetscCallAbort(PETSC_COMM_SELF, memory_alloc("front", t->n, sizeof *to, &to));
  for (int64_t at = 0; at < t->n; ++at) f->x[at] = x[t->unknown[at]];
  for (int64_t q = 0; q < t->n_fronts; ++q) {
    const frontal_matrix *p = &t->front[q];
    if (!p->is_late) continue;
    gather(t, p, f->x, own);
    gather(t, p, to, sum);
    multifrontal_dense_product(p->n_columns, p->n_rows, f->A[q], own, sum);
    scatter(t, p, sum, to);
  }
  for (int64_t q = 0; q < t->n_fronts; ++q)
    for (int64_t k = t->front[q].first; t->front[q].is_late && k < t->front[q].first + t->front[q].n_columns; ++k) y[t->unknown[k]] = to[k];
  MEMORY_FREE(&own, &sum, &to);
}

void multifrontal_diagonal_late(const multifrontal_factor *f, double *d)
{
  const multifrontal_tree *t = f->t;
  for (int64_t q = 0; q < t->n_fronts; ++q)
    for (int64_t k = 0; t->front[q].is_late && k < t->front[q].n_columns; ++k) d[t->unknown[t->front[q].first + k]] = 0.0;
  for (int64_t q = 0; q < t->n_fronts; ++q) {
    const frontal_matrix *p = &t->front[q];
    const int64_t         m = p->n_columns + p->n_rows;
    if (!p->is_late) continue;
    for (int64_t j = 0; j < p->n_columns; ++j)
      for (int64_t i = j; i < m; ++i) {
        const double l = f->A[q][j * m + i];
        d[t->unknown[i < p->n_columns ? p->first + i : t->row[p->row + i - p->n_columns]]] += l * l;
      }
  }
}
