#include "core/memory.h"
#include "optim/multifrontal/multifrontal_impl.h"
#include <string.h>

void front_graph_destroy(front_graph *g)
{
  memory_free(&g->first), memory_free(&g->start), memory_free(&g->neighbour), memory_free(&g->is_late);
  g->n = 0;
}

/* Terms of each unknown, ascending. */
typedef struct {
  int64_t *start;
  int32_t *term;
} touches;

static PetscErrorCode touches_create(int64_t n, const front_terms *t, touches *out)
{
  PetscFunctionBegin;
  const int64_t n_entries = t ? t->start[t->n] : 0;
  PetscCall(memory_alloc("terms of unknowns", n + 2, sizeof *out->start, &out->start));
  PetscCall(memory_alloc("terms of unknowns", n_entries, sizeof *out->term, &out->term));
  for (int64_t e = 0; e < n_entries; ++e) ++out->start[t->column[e] + 2];
  for (int64_t i = 0; i < n; ++i) out->start[i + 2] += out->start[i + 1];
  for (int64_t a = 0; t && a < t->n; ++a)
    for (int64_t e = t->start[a]; e < t->start[a + 1]; ++e) out->term[out->start[t->column[e] + 1]++] = (int32_t)a;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static bool is_same(int64_t n, const int32_t *a, int64_t m, const int32_t *b)
{
  return n == m && (n == 0 || memcmp(a, b, (size_t)n * sizeof *a) == 0); /* of none there may be no array */
}

/* Neighbouring unknowns that nothing tells apart. */
static PetscErrorCode make_groups(const sparse_rows *A, const touches *of, front_graph *g, int32_t *group)
{
  PetscFunctionBegin;
  PetscCall(memory_alloc("groups of unknowns", A->n_rows + 1, sizeof *g->first, &g->first));
  for (int64_t i = 0; i < A->n_rows; ++i) {
    const bool joins = i > 0 &&
                       is_same(A->start[i + 1] - A->start[i], A->col + A->start[i], A->start[i] - A->start[i - 1], A->col + A->start[i - 1]) &&
                       is_same(of->start[i + 1] - of->start[i], of->term + of->start[i], of->start[i] - of->start[i - 1],
                               of->term + of->start[i - 1]);
    if (!joins) g->first[g->n++] = i;
    group[i] = (int32_t)(g->n - 1);
  }
  g->first[g->n] = A->n_rows;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Do terms a and b have the same columns? */
static bool is_alike(const front_terms *t, int64_t a, int64_t b)
{
  return is_same(t->start[a + 1] - t->start[a], t->column + t->start[a], t->start[b + 1] - t->start[b], t->column + t->start[b]);
}

/* Neighbours of group i, in no order, to `to` unless NULL; mark [n] holds i + 1 for those seen. */
static int64_t list_row(const sparse_rows *A, const front_terms *t, const touches *of, const front_graph *g, const int32_t *group,
                        int64_t i, int32_t *mark, int32_t *to)
{
  const int64_t at = g->first[i];
  int64_t       n  = 0;
  mark[i]          = (int32_t)i + 1;
  for (int64_t k = A->start[at]; k < A->start[at + 1]; ++k) {
    const int32_t j = group[A->col[k]];
    if (mark[j] == i + 1) continue;
    mark[j] = (int32_t)i + 1;
    if (to) to[n] = j;
    ++n;
  }
  for (int64_t k = of->start[at]; k < of->start[at + 1]; ++k) {
    const int64_t a = of->term[k];
    if (k > of->start[at] && is_alike(t, a, of->term[k - 1])) continue;
    for (int64_t e = t->start[a]; e < t->start[a + 1]; ++e) {
      const int32_t j = group[t->column[e]];
      if (mark[j] == i + 1) continue;
      mark[j] = (int32_t)i + 1;
      if (to) to[n] = j;
      ++n;
    }
  }
  return n;
}

static PetscErrorCode make_rows(const sparse_rows *A, const front_terms *t, const touches *of, const int32_t *group, int32_t *mark,
                                front_graph *g)
{
  PetscFunctionBegin;
  PetscCall(memory_alloc("neighbours of groups", g->n + 1, sizeof *g->start, &g->start));
  PetscCall(memory_alloc("late groups", g->n, sizeof *g->is_late, &g->is_late));
  for (int64_t i = 0; i < g->n; ++i) {
    g->start[i + 1] = g->start[i] + list_row(A, t, of, g, group, i, mark, NULL);
    g->is_late[i]   = of->start[g->first[i] + 1] > of->start[g->first[i]];
  }
  memset(mark, 0, (size_t)g->n * sizeof *mark);
  PetscCall(memory_alloc("neighbours of groups", g->start[g->n], sizeof *g->neighbour, &g->neighbour));
  for (int64_t i = 0; i < g->n; ++i) list_row(A, t, of, g, group, i, mark, g->neighbour + g->start[i]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode front_graph_create(const sparse_rows *A, const front_terms *t, front_graph *g)
{
  touches  of    = {NULL, NULL};
  int32_t *group = NULL, *mark = NULL;
  PetscFunctionBegin;
  *g                  = (front_graph){0};
  PetscErrorCode code = touches_create(A->n_rows, t, &of);
  if (!code) code = memory_alloc("groups of unknowns", A->n_rows, sizeof *group, &group);
  if (!code) code = memory_alloc("groups of unknowns", A->n_rows, sizeof *mark, &mark);
  if (!code) code = make_groups(A, &of, g, group);
  if (!code) code = make_rows(A, t, &of, group, mark, g);
  memory_free(&of.start), memory_free(&of.term), memory_free(&group), memory_free(&mark);
  if (code) front_graph_destroy(g);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
