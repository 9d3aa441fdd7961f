/* Symbolic analysis. It works on groups: consecutive unknowns with the same neighbours and the same terms. */
#include "optim/multifrontal/multifrontal_tree.h"
#include "core/memory.h"
#include "core/sort.h"
#include <metis.h>
#include <stdlib.h>
#include <string.h>

/* Groups and which of them are neighbours, by the matrix or a term; symmetric, without the diagonal, ascending. */
typedef struct {
  int64_t  n;
  int64_t *first; /* [n + 1] unknowns of a group: first[g] ... first[g + 1] - 1 */
  int64_t *start; /* [n + 1] */
  int32_t *neighbour;
  bool    *is_late; /* [n] a term touches it */
} multifrontal_graph;

/* Orders of elimination, [n] groups: nested dissection of all; or first of what no term touches, then of the rest. Groups with far
 * more neighbours than others come last. */
typedef enum { MULTIFRONTAL_ORDER_WHOLE, MULTIFRONTAL_ORDER_LATE_LAST } multifrontal_ordering;

static void multifrontal_graph_destroy(multifrontal_graph *g)
{
  MEMORY_FREE(&g->first, &g->start, &g->neighbour, &g->is_late);
  g->n = 0;
}

/* Terms of each unknown, ascending. */
typedef struct {
  int64_t *start;
  int32_t *term;
} touches;

static PetscErrorCode touches_create(int64_t n, const multifrontal_terms *t, touches *out)
{
  PetscFunctionBegin;
  const int64_t n_entries = t ? t->start[t->n] : 0;
  PetscCall(MEMORY_ALLOC("terms of unknowns", ARRAY(out->start, n + 2), ARRAY(out->term, n_entries)));
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

/* Merge neighbouring unknowns with equal neighbours and terms into groups. */
static PetscErrorCode make_groups(const sparse_rows *A, const touches *of, multifrontal_graph *g, int32_t *group)
{
  PetscFunctionBegin;
  PetscCall(memory_alloc("groups of unknowns", A->n_rows + 1, sizeof *g->first, &g->first));
  for (int64_t i = 0; i < A->n_rows; ++i) {
    const bool joins =
        i > 0 && is_same(A->start[i + 1] - A->start[i], A->col + A->start[i], A->start[i] - A->start[i - 1], A->col + A->start[i - 1]) &&
        is_same(of->start[i + 1] - of->start[i], of->term + of->start[i], of->start[i] - of->start[i - 1], of->term + of->start[i - 1]);
    if (!joins) g->first[g->n++] = i;
    group[i] = (int32_t)(g->n - 1);
  }
  g->first[g->n] = A->n_rows;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Do terms a and b have the same columns? */
static bool is_alike(const multifrontal_terms *t, int64_t a, int64_t b)
{
  return is_same(t->start[a + 1] - t->start[a], t->column + t->start[a], t->start[b + 1] - t->start[b], t->column + t->start[b]);
}

/* Neighbours of group i, in no order, to `to` unless NULL; mark [n] is i + 1 for those already found. */
static int64_t list_row(const sparse_rows *A, const multifrontal_terms *t, const touches *of, const multifrontal_graph *g,
                        const int32_t *group, int64_t i, int32_t *mark, int32_t *to)
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

static PetscErrorCode make_rows(const sparse_rows *A, const multifrontal_terms *t, const touches *of, const int32_t *group, int32_t *mark,
                                multifrontal_graph *g)
{
  PetscFunctionBegin;
  PetscCall(MEMORY_ALLOC("multifrontal tree", ARRAY(g->start, g->n + 1), ARRAY(g->is_late, g->n)));
  for (int64_t i = 0; i < g->n; ++i) {
    g->start[i + 1] = g->start[i] + list_row(A, t, of, g, group, i, mark, NULL);
    g->is_late[i]   = of->start[g->first[i] + 1] > of->start[g->first[i]];
  }
  memset(mark, 0, (size_t)g->n * sizeof *mark);
  PetscCall(memory_alloc("neighbours of groups", g->start[g->n], sizeof *g->neighbour, &g->neighbour));
  for (int64_t i = 0; i < g->n; ++i) list_row(A, t, of, g, group, i, mark, g->neighbour + g->start[i]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode multifrontal_graph_create(const sparse_rows *A, const multifrontal_terms *t, multifrontal_graph *g)
{
  touches  of    = {NULL, NULL};
  int32_t *group = NULL, *mark = NULL;
  PetscFunctionBegin;
  *g                  = (multifrontal_graph){0};
  PetscErrorCode code = touches_create(A->n_rows, t, &of);
  if (!code) code = MEMORY_ALLOC("groups of unknowns", ARRAY(group, A->n_rows), ARRAY(mark, A->n_rows));
  if (!code) code = make_groups(A, &of, g, group);
  if (!code) code = make_rows(A, t, &of, group, mark, g);
  MEMORY_FREE(&of.start, &of.term, &group, &mark);
  if (code) multifrontal_graph_destroy(g);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A group with more than this many times the mean number of neighbours is a hub: in nested dissection it would be in every separator. */
static const double HUB = 4.0;
enum { FEW = 8 }; /* parts with fewer groups are not dissected */

/* Nested dissection of the m groups in `part`, to order[]. number [n]: work, -1 before and after. */
static PetscErrorCode dissect(const multifrontal_graph *g, int64_t m, const int32_t *part, int32_t *number, int32_t *order)
{
  idx_t  *start = NULL, *neighbour = NULL, *perm = NULL, *inverse = NULL, options[METIS_NOPTIONS], n = (idx_t)m;
  int64_t n_edges = 0;
  PetscFunctionBegin;
  if (m <= FEW) {
    for (int64_t i = 0; i < m; ++i) order[i] = part[i];
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (int64_t i = 0; i < m; ++i) number[part[i]] = (int32_t)i, n_edges += g->start[part[i] + 1] - g->start[part[i]];
  PetscErrorCode code =
      MEMORY_ALLOC("multifrontal tree", ARRAY(start, m + 1), ARRAY(neighbour, n_edges + 1), ARRAY(perm, m), ARRAY(inverse, m));
  for (int64_t i = 0; i < m && !code; ++i) {
    start[i + 1] = start[i];
    for (int64_t k = g->start[part[i]]; k < g->start[part[i] + 1]; ++k)
      if (number[g->neighbour[k]] >= 0) neighbour[start[i + 1]++] = number[g->neighbour[k]];
  }
  if (!code) {
    METIS_SetDefaultOptions(options);
    options[METIS_OPTION_NUMBERING] = 0, options[METIS_OPTION_SEED] = 1;
    options[METIS_OPTION_NITER] = 2;
    if (METIS_NodeND(&n, start, neighbour, NULL, options, perm, inverse) != METIS_OK) code = PETSC_ERR_LIB;
  }
  for (int64_t i = 0; i < m && !code; ++i) order[i] = part[perm[i]];
  for (int64_t i = 0; i < m; ++i) number[part[i]] = -1;
  MEMORY_FREE(&start, &neighbour, &perm, &inverse);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode multifrontal_order(const multifrontal_graph *g, multifrontal_ordering how, int32_t *order)
{
  const double limit  = 16.0 + HUB * (double)g->start[g->n] / (double)(g->n > 0 ? g->n : 1);
  int32_t     *number = NULL, *part = NULL;
  int64_t      done = 0;
  PetscFunctionBegin;
  PetscErrorCode code = MEMORY_ALLOC("parts of an order", ARRAY(number, g->n), ARRAY(part, g->n));
  for (int64_t i = 0; i < g->n && !code; ++i) number[i] = -1;
  for (int stage = how == MULTIFRONTAL_ORDER_WHOLE ? 1 : 0; stage < 2 && !code; ++stage) { /* early ones, late ones or all */
    int64_t m = 0;
    for (int64_t i = 0; i < g->n; ++i) {
      const bool is_hub = (double)(g->start[i + 1] - g->start[i]) > limit;
      if (!is_hub && (how == MULTIFRONTAL_ORDER_WHOLE || g->is_late[i] == stage)) part[m++] = (int32_t)i;
    }
    code = dissect(g, m, part, number, order + done);
    done += m;
  }
  for (int64_t i = 0; i < g->n && !code; ++i)
    if ((double)(g->start[i + 1] - g->start[i]) > limit) order[done++] = (int32_t)i;
  MEMORY_FREE(&number, &part);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A child joins its parent's front if zeros become no more than this part of it, or a few columns. */
static const double ZEROS_SMALL = 0.5, ZEROS = 0.12;
enum { SMALL = 24 };

void multifrontal_tree_destroy(multifrontal_tree **t)
{
  if (!*t) return;
  multifrontal_tree *p = *t;
  MEMORY_FREE(&p->unknown, &p->place, &p->front, &p->row, &p->into, &p->child_start, &p->child, &p->term_start, &p->term, &p->local, t);
}

double multifrontal_tree_work(const multifrontal_tree *t) { return t->work_once; }

/* Work data of the analysis, by groups in elimination order. A node is first one group (a column), finally a front. */
typedef struct {
  const multifrontal_graph *g;
  const int32_t            *order;
  int32_t                  *at;   /* [n] place of a group in the order */
  int32_t                  *list; /* rows below of each node, as places, ascending */
  int64_t                  *list_start, *list_size, n_list, list_capacity;
  int32_t                  *parent;        /* -1: none */
  int32_t                  *child, *next;  /* first child; next child of the same parent */
  int32_t                  *tail, *before; /* columns of a node: from tail[node] back by before[] */
  int64_t                  *width, *depth; /* [n] unknowns in the columns of a node, and in its rows below */
  double                   *zeros;
  bool                     *is_late, *is_gone;
} symbolic;

static void symbolic_destroy(symbolic *s)
{
  MEMORY_FREE(&s->at, &s->list, &s->list_start, &s->list_size, &s->parent, &s->child, &s->next, &s->tail, &s->before, &s->width, &s->depth,
              &s->zeros, &s->is_late, &s->is_gone);
}

static PetscErrorCode symbolic_create(const multifrontal_graph *g, const int32_t *order, symbolic *s)
{
  int32_t **small[] = {&s->at, &s->parent, &s->child, &s->next, &s->tail, &s->before};
  int64_t **large[] = {&s->list_start, &s->list_size, &s->width, &s->depth};
  PetscFunctionBegin;
  *s = (symbolic){.g = g, .order = order};
  for (int k = 0; k < 6; ++k) PetscCall(memory_alloc("elimination tree", g->n, sizeof(int32_t), small[k]));
  for (int k = 0; k < 4; ++k) PetscCall(memory_alloc("elimination tree", g->n, sizeof(int64_t), large[k]));
  PetscCall(MEMORY_ALLOC("elimination tree", ARRAY(s->zeros, g->n), ARRAY(s->is_late, g->n), ARRAY(s->is_gone, g->n)));
  for (int64_t i = 0; i < g->n; ++i) {
    s->at[order[i]] = (int32_t)i;
    s->parent[i] = s->child[i] = s->next[i] = s->before[i] = -1;
    s->tail[i]                                             = (int32_t)i;
    s->width[i]                                            = g->first[order[i] + 1] - g->first[order[i]];
    s->is_late[i]                                          = g->is_late[order[i]];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Node `from` becomes part of `to`, its parent. */
static void merge_into_parent(symbolic *s, int32_t from, int32_t to)
{
  int32_t last; /* columns of `to` are a chain that starts at tail and ends with the first one */
  for (last = s->tail[to]; s->before[last] >= 0; last = s->before[last]) {}
  s->before[last] = s->tail[from];
  s->width[to] += s->width[from];
  s->is_gone[from] = true;
}

/* Compute the rows below node j, and merge children into it whose rows are the same except for j. */
static PetscErrorCode eliminate(symbolic *s, int32_t j, int32_t *mark)
{
  const multifrontal_graph *g = s->g;
  int64_t                   n = 0, most = g->start[s->order[j] + 1] - g->start[s->order[j]];
  PetscFunctionBegin;
  for (int32_t c = s->child[j]; c >= 0; c = s->next[c]) most += s->list_size[c];
  PetscCall(memory_reserve("rows of fronts", s->n_list + most, sizeof *s->list, &s->list_capacity, &s->list));
  int32_t *to = s->list + s->n_list;
  mark[j]     = j + 1;
  for (int64_t k = g->start[s->order[j]]; k < g->start[s->order[j] + 1]; ++k) {
    const int32_t i = s->at[g->neighbour[k]];
    if (i > j && mark[i] != j + 1) mark[i] = j + 1, to[n++] = i;
  }
  for (int32_t c = s->child[j]; c >= 0; c = s->next[c])
    for (int64_t k = 0; k < s->list_size[c]; ++k) {
      const int32_t i = s->list[s->list_start[c] + k];
      if (mark[i] != j + 1) mark[i] = j + 1, to[n++] = i;
    }
  if (n > 0) qsort(to, (size_t)n, sizeof *to, sort_compare_int32);
  s->list_start[j] = s->n_list, s->list_size[j] = n, s->n_list += n;
  for (int64_t k = 0; k < n; ++k) s->depth[j] += g->first[s->order[to[k]] + 1] - g->first[s->order[to[k]]];
  if (n > 0) s->parent[j] = to[0], s->next[j] = s->child[to[0]], s->child[to[0]] = j;
  for (int32_t c = s->child[j]; c >= 0; c = s->next[c]) s->is_late[j] |= s->is_late[c];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static double entries_of(double width, double depth) { return width * (width + 1.0) / 2.0 + width * depth; }

/* True if merging child c into the front of j adds few enough zeros. */
static bool is_joinable(const symbolic *s, int32_t j, int32_t c, bool is_relaxed, double *zeros)
{
  const double width = (double)(s->width[j] + s->width[c]), below = (double)(s->width[j] + s->depth[j]);
  if (s->is_late[c] != s->is_late[j]) return false;
  *zeros = s->zeros[j] + s->zeros[c] + (double)s->width[c] * (below - (double)s->depth[c]);
  if (*zeros <= s->zeros[j] + s->zeros[c]) return true;
  return is_relaxed && *zeros <= (width <= SMALL ? ZEROS_SMALL : ZEROS) * entries_of(width, (double)s->depth[j]);
}

/* Merge children into fronts. The remaining nodes are the fronts; a merged node passes its children to its parent. */
static void amalgamate(symbolic *s, bool is_relaxed)
{
  for (int32_t j = 0; j < s->g->n; ++j) {
    if (s->is_gone[j]) continue;
    int32_t *link = &s->child[j];
    while (*link >= 0) {
      const int32_t c = *link;
      double        zeros;
      if (!is_joinable(s, j, c, is_relaxed, &zeros)) {
        link = &s->next[c];
        continue;
      }
      *link = s->next[c];
      merge_into_parent(s, c, j);
      s->zeros[j] = zeros;
      for (int32_t g = s->child[c], next; g >= 0; g = next) { /* already examined: to the head of the list */
        next         = s->next[g];
        s->parent[g] = j;
        s->next[g]   = s->child[j];
        if (link == &s->child[j]) link = &s->next[g];
        s->child[j] = g;
      }
    }
  }
}

/* ---- the tree as it is used ---- */

static PetscErrorCode number_fronts(const symbolic *s, multifrontal_tree *t, int32_t *front_of)
{
  int32_t *stack, n_stack = 0, *column;
  int64_t  place = 0;
  PetscFunctionBegin;
  const multifrontal_graph *g = s->g;
  PetscCall(MEMORY_ALLOC("tree of fronts", ARRAY(stack, 2 * g->n + 1), ARRAY(column, g->n)));
  for (int64_t i = 0; i < g->n; ++i) t->n_fronts += !s->is_gone[i];
  PetscCall(memory_alloc("fronts", t->n_fronts, sizeof *t->front, &t->front));
  for (int64_t root = g->n; root-- > 0;)
    if (!s->is_gone[root] && s->parent[root] < 0) stack[n_stack++] = (int32_t)root;
  int64_t n_done = 0;
  while (n_stack > 0) { /* twice on the stack: before its children, and, as ~node, behind them */
    int32_t node = stack[--n_stack];
    if (node >= 0) {
      stack[n_stack++] = ~node;
      for (int32_t c = s->child[node]; c >= 0; c = s->next[c]) stack[n_stack++] = c;
      continue;
    }
    node                     = ~node;
    frontal_matrix *f        = &t->front[n_done];
    int64_t         n_column = 0;
    for (int32_t k = s->tail[node]; k >= 0; k = s->before[k]) column[n_column++] = k;
    qsort(column, (size_t)n_column, sizeof *column, sort_compare_int32); /* in elimination order */
    f->first = place, f->is_late = s->is_late[node], f->parent = node;   /* for now, its node */
    front_of[node] = (int32_t)n_done++;
    for (int64_t k = 0; k < n_column; ++k)
      for (int64_t i = g->first[s->order[column[k]]]; i < g->first[s->order[column[k]] + 1]; ++i)
        t->unknown[place] = (int32_t)i, t->place[i] = (int32_t)place++;
    f->n_columns = place - f->first;
  }
  MEMORY_FREE(&stack, &column);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows as places; parents as fronts. */
static PetscErrorCode fill_rows(const symbolic *s, multifrontal_tree *t, const int32_t *front_of)
{
  int64_t n_rows = 0;
  PetscFunctionBegin;
  const multifrontal_graph *g = s->g;
  for (int64_t f = 0; f < t->n_fronts; ++f) n_rows += s->depth[t->front[f].parent];
  PetscCall(MEMORY_ALLOC("rows of fronts", ARRAY(t->row, n_rows), ARRAY(t->into, n_rows)));
  n_rows = 0;
  for (int64_t q = 0; q < t->n_fronts; ++q) {
    frontal_matrix *f    = &t->front[q];
    const int32_t   node = f->parent;
    f->row               = n_rows;
    for (int64_t k = 0; k < s->list_size[node]; ++k) {
      const int32_t group = s->order[s->list[s->list_start[node] + k]];
      for (int64_t i = g->first[group]; i < g->first[group + 1]; ++i) t->row[n_rows++] = t->place[i];
    }
    f->n_rows = n_rows - f->row;
    if (f->n_rows > 0) qsort(t->row + f->row, (size_t)f->n_rows, sizeof *t->row, sort_compare_int32);
    f->parent = s->parent[node] < 0 ? -1 : front_of[s->parent[node]];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Index of `place` in front f. */
static int32_t local_of(const multifrontal_tree *t, const frontal_matrix *f, int32_t place)
{
  if (place < f->first + f->n_columns) return place - (int32_t)f->first;
  int64_t low = 0, high = f->n_rows;
  while (high - low > 1) {
    const int64_t mid = (low + high) / 2;
    if (t->row[f->row + mid] <= place) low = mid;
    else high = mid;
  }
  return (int32_t)(f->n_columns + low);
}

static PetscErrorCode link_fronts(multifrontal_tree *t)
{
  PetscFunctionBegin;
  PetscCall(MEMORY_ALLOC("tree of fronts", ARRAY(t->child_start, t->n_fronts + 2), ARRAY(t->child, t->n_fronts)));
  for (int64_t q = 0; q < t->n_fronts; ++q) {
    const frontal_matrix *f = &t->front[q], *up = f->parent < 0 ? NULL : &t->front[f->parent];
    const double          k = (double)f->n_columns, r = (double)f->n_rows, work = k * k * k / 6.0 + 0.5 * k * k * r + 0.5 * k * r * r;
    for (int64_t i = 0; up && i < f->n_rows; ++i) t->into[f->row + i] = local_of(t, up, t->row[f->row + i]);
    if (up) ++t->child_start[f->parent + 2];
    t->work_once += work, t->entries += entries_of(k, r);
    if (f->is_late) t->work_again += work, t->entries_late += entries_of(k, r);
  }
  for (int64_t q = 0; q < t->n_fronts; ++q) t->child_start[q + 2] += t->child_start[q + 1];
  for (int64_t q = 0; q < t->n_fronts; ++q)
    if (t->front[q].parent >= 0) t->child[t->child_start[t->front[q].parent + 1]++] = (int32_t)q;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Each term goes into the front in which the first of its columns is eliminated: the others are rows of that. */
static PetscErrorCode place_terms(multifrontal_tree *t, const multifrontal_terms *terms)
{
  int32_t *of, *front_at;
  PetscFunctionBegin;
  PetscCall(memory_alloc("terms of fronts", t->n_fronts + 2, sizeof *t->term_start, &t->term_start));
  if (!terms) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MEMORY_ALLOC("terms of fronts", ARRAY(t->term, terms->n), ARRAY(t->local, terms->start[terms->n]), ARRAY(of, terms->n),
                         ARRAY(front_at, t->n)));
  for (int64_t q = 0; q < t->n_fronts; ++q)
    for (int64_t k = 0; k < t->front[q].n_columns; ++k) front_at[t->front[q].first + k] = (int32_t)q;
  for (int64_t a = 0; a < terms->n; ++a) {
    int32_t least = INT32_MAX;
    for (int64_t e = terms->start[a]; e < terms->start[a + 1]; ++e)
      if (t->place[terms->column[e]] < least) least = t->place[terms->column[e]];
    of[a] = least == INT32_MAX ? -1 : front_at[least];
    if (of[a] < 0) continue;
    for (int64_t e = terms->start[a]; e < terms->start[a + 1]; ++e) t->local[e] = local_of(t, &t->front[of[a]], t->place[terms->column[e]]);
    ++t->term_start[of[a] + 2];
  }
  for (int64_t q = 0; q < t->n_fronts; ++q) t->term_start[q + 2] += t->term_start[q + 1];
  for (int64_t a = 0; a < terms->n; ++a)
    if (of[a] >= 0) t->term[t->term_start[of[a] + 1]++] = (int32_t)a;
  MEMORY_FREE(&of, &front_at);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode build(const multifrontal_graph *g, const multifrontal_terms *terms, const int32_t *order, multifrontal_tree *t)
{
  symbolic s;
  int32_t *mark = NULL, *front_of = NULL;
  PetscFunctionBegin;
  PetscErrorCode code = symbolic_create(g, order, &s);
  if (!code) code = MEMORY_ALLOC("elimination tree", ARRAY(mark, g->n), ARRAY(front_of, g->n));
  for (int32_t j = 0; j < g->n && !code; ++j) code = eliminate(&s, j, mark);
  for (int k = 0; k < 2 && !code; ++k) amalgamate(&s, k == 1);
  if (!code) code = MEMORY_ALLOC("tree of fronts", ARRAY(t->unknown, t->n), ARRAY(t->place, t->n));
  if (!code) code = number_fronts(&s, t, front_of);
  if (!code) code = fill_rows(&s, t, front_of);
  if (!code) code = link_fronts(t);
  if (!code) code = place_terms(t, terms);
  MEMORY_FREE(&mark, &front_of);
  symbolic_destroy(&s);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode create_ordered(const multifrontal_graph *g, const multifrontal_terms *terms, multifrontal_ordering how,
                                     multifrontal_tree **out)
{
  int32_t *order = NULL;
  PetscFunctionBegin;
  PetscErrorCode code = memory_alloc("tree of fronts", 1, sizeof **out, out);
  if (!code) code = memory_alloc("order of elimination", g->n, sizeof *order, &order);
  if (!code) (*out)->n = g->first[g->n];
  if (!code) code = multifrontal_order(g, how, order);
  if (!code) code = build(g, terms, order, *out);
  memory_free(&order);
  if (code) multifrontal_tree_destroy(out);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static double cost(const multifrontal_tree *t, double n_again) { return t->work_once + n_again * t->work_again; }

PetscErrorCode multifrontal_tree_create(const sparse_rows *A, const multifrontal_terms *t, double n_again, multifrontal_tree **out)
{
  multifrontal_graph g;
  multifrontal_tree *other  = NULL;
  int64_t            n_late = 0;
  PetscFunctionBegin;
  *out = NULL;
  PetscCall(multifrontal_graph_create(A, t, &g));
  PetscErrorCode code = create_ordered(&g, t, MULTIFRONTAL_ORDER_WHOLE, out);
  for (int64_t i = 0; i < g.n; ++i) n_late += g.is_late[i];
  if (!code && n_late > 0 && n_late < g.n) code = create_ordered(&g, t, MULTIFRONTAL_ORDER_LATE_LAST, &other);
  if (!code && other && cost(other, n_again) < cost(*out, n_again)) {
    multifrontal_tree *const swap = *out;
    *out = other, other = swap;
  }
  multifrontal_tree_destroy(&other);
  multifrontal_graph_destroy(&g);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void multifrontal_tree_late(const multifrontal_tree *t, bool *is_late)
{
  for (int64_t q = 0; q < t->n_fronts; ++q)
    for (int64_t k = 0; k < t->front[q].n_columns; ++k) is_late[t->unknown[t->front[q].first + k]] = t->front[q].is_late;
}
