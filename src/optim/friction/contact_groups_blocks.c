/* Contact groups of stored blocks: cliques of the graph of W that cover it, as those of contacts on one body would. */
#include "core/memory.h"
#include "optim/friction/contact_groups_impl.h"
#include <stdlib.h>

static const double WASTE_MAX = 1.6; /* numbers in cliques for each number of W, before one sparse group is better */

typedef struct {
  int64_t        n;
  const int64_t *start; /* rows of W */
  const int32_t *col;
  const double  *value;
  int64_t       *near_start; /* [n+1] neighbours in W + W^T, without the contact itself, */
  int32_t       *near;       /* ascending */
  bool          *is_covered; /* [near_start[n]] */
  int32_t       *order;      /* [n] candidates */
  int64_t        n_cliques, n_members, member_room, clique_room;
  int64_t       *clique_start;
  int32_t       *member;
} cover;

static void cover_free(cover *s)
{
  memory_free(&s->near_start), memory_free(&s->near), memory_free(&s->is_covered), memory_free(&s->order);
  memory_free(&s->clique_start), memory_free(&s->member);
}

static inline bool is_zero(const double *block)
{
  for (int e = 0; e < 9; ++e)
    if (block[e] != 0.0) return false;
  return true;
}

static int compare_int32(const void *a, const void *b)
{
  const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return (x > y) - (x < y);
}

static PetscErrorCode find_neighbours(cover *s)
{
  PetscFunctionBegin;
  PetscCall(memory_alloc("neighbours of contacts", s->n + 1, sizeof *s->near_start, &s->near_start));
  for (int64_t a = 0; a < s->n; ++a)
    for (int64_t k = s->start[a]; k < s->start[a + 1]; ++k)
      if (s->col[k] != a && !is_zero(s->value + 9 * k)) ++s->near_start[a + 1], ++s->near_start[s->col[k] + 1];
  for (int64_t a = 0; a < s->n; ++a) s->near_start[a + 1] += s->near_start[a];
  PetscCall(memory_alloc("neighbours of contacts", s->near_start[s->n], sizeof *s->near, &s->near));
  for (int64_t a = 0; a < s->n; ++a)
    for (int64_t k = s->start[a]; k < s->start[a + 1]; ++k)
      if (s->col[k] != a && !is_zero(s->value + 9 * k))
        s->near[s->near_start[a]++] = s->col[k], s->near[s->near_start[s->col[k]]++] = (int32_t)a;
  for (int64_t a = s->n; a > 0; --a) s->near_start[a] = s->near_start[a - 1];
  s->near_start[0] = 0;
  int64_t slot = 0, first = 0;
  for (int64_t a = 0; a < s->n; ++a) { /* each once */
    const int64_t last = s->near_start[a + 1];
    if (last > first) qsort(s->near + first, (size_t)(last - first), sizeof *s->near, compare_int32);
    for (int64_t k = first; k < last; ++k)
      if (k == first || s->near[k] != s->near[k - 1]) s->near[slot++] = s->near[k];
    first                = last;
    s->near_start[a + 1] = slot;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where b stands among a's neighbours, or -1. */
static inline int64_t edge(const cover *s, int32_t a, int32_t b)
{
  int64_t low = s->near_start[a], high = s->near_start[a + 1];
  while (low < high) {
    const int64_t middle = (low + high) / 2;
    if (s->near[middle] < b) low = middle + 1;
    else high = middle;
  }
  return low < s->near_start[a + 1] && s->near[low] == b ? low : -1;
}

/* Grow a clique from the edge a-b: first by contacts whose edges to both are not covered, then by any that fit. */
static int64_t grow(cover *s, int32_t a, int32_t b, int32_t *member)
{
  int64_t n = 0, n_candidates = 0;
  member[n++] = a, member[n++] = b;
  for (int is_second = 0; is_second < 2; ++is_second)
    for (int64_t k = s->near_start[a]; k < s->near_start[a + 1]; ++k) {
      const int64_t other = edge(s, b, s->near[k]);
      if (other >= 0 && (s->is_covered[k] || s->is_covered[other]) == is_second) s->order[n_candidates++] = s->near[k];
    }
  for (int64_t k = 0; k < n_candidates; ++k) {
    bool fits = true;
    for (int64_t l = 2; fits && l < n; ++l) fits = edge(s, s->order[k], member[l]) >= 0;
    if (fits) member[n++] = s->order[k];
  }
  qsort(member, (size_t)n, sizeof *member, compare_int32);
  return n;
}

static PetscErrorCode add_clique(cover *s, int64_t n)
{
  PetscFunctionBegin;
  PetscCall(memory_reserve("cliques of contacts", s->n_cliques + 2, sizeof *s->clique_start, &s->clique_room, &s->clique_start));
  const int32_t *member = s->member + s->n_members;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j)
      if (i != j) s->is_covered[edge(s, member[i], member[j])] = true;
  s->n_members += n;
  s->clique_start[++s->n_cliques] = s->n_members;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* *is_worth false: too many numbers would be stored. */
static PetscErrorCode cover_by_cliques(cover *s, bool *is_worth)
{
  const double limit = WASTE_MAX * (double)(s->near_start[s->n] + s->n);
  double       size  = 0.0;
  PetscFunctionBegin;
  *is_worth = false;
  PetscCall(memory_alloc("edges between contacts", s->near_start[s->n], sizeof *s->is_covered, &s->is_covered));
  PetscCall(memory_alloc("candidates", s->n, sizeof *s->order, &s->order));
  PetscCall(memory_reserve("cliques of contacts", 2, sizeof *s->clique_start, &s->clique_room, &s->clique_start));
  for (int64_t a = 0; a < s->n; ++a) {
    for (int64_t k = s->near_start[a]; k < s->near_start[a + 1]; ++k) {
      if (s->near[k] < a || s->is_covered[k]) continue;
      PetscCall(memory_reserve("contacts in cliques", s->n_members + s->n, sizeof *s->member, &s->member_room, &s->member));
      const int64_t n = grow(s, (int32_t)a, s->near[k], s->member + s->n_members);
      PetscCall(add_clique(s, n));
      size += (double)n * (double)n;
      if (size > limit) PetscFunctionReturn(PETSC_SUCCESS);
    }
    if (s->near_start[a] == s->near_start[a + 1]) { /* alone */
      PetscCall(memory_reserve("contacts in cliques", s->n_members + 1, sizeof *s->member, &s->member_room, &s->member));
      s->member[s->n_members] = (int32_t)a;
      PetscCall(add_clique(s, 1));
    }
  }
  *is_worth = true;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode lay_out(const cover *s, contact_groups *g)
{
  PetscFunctionBegin;
  g->n_groups = s->n_cliques;
  for (int64_t k = 0; k < s->n_members; ++k) ++g->side_start[s->member[k] + 1];
  for (int64_t a = 0; a < g->n; ++a) g->side_start[a + 1] += g->side_start[a];
  PetscCall(memory_alloc("sides of contacts", s->n_members, sizeof *g->side, &g->side));
  for (int64_t i = 0; i < s->n_cliques; ++i) {
    const int64_t m = s->clique_start[i + 1] - s->clique_start[i];
    const int32_t length = group_padded(3 * m);
    for (int64_t k = 0; k < m; ++k) {
      g->side[g->side_start[s->member[s->clique_start[i] + k]]++] = (group_side){
          .state = g->n_state, .column = g->n_value, .length = length, .position = (int32_t)(3 * k), .group = (int32_t)i};
      g->n_value += 3 * length;
    }
    g->n_state += length;
  }
  for (int64_t a = g->n; a > 0; --a) g->side_start[a] = g->side_start[a - 1];
  g->side_start[0] = 0;
  PetscCall(memory_alloc("columns of contact groups", g->n_value, sizeof *g->value, &g->value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every block of W goes to the first clique that holds both contacts. */
static void fill(const cover *s, contact_groups *g)
{
  for (int64_t a = 0; a < s->n; ++a)
    for (int64_t k = s->start[a]; k < s->start[a + 1]; ++k) {
      const int32_t     b = s->col[k];
      const group_side *one = g->side + g->side_start[a], *two = g->side + g->side_start[b];
      if (b != a && is_zero(s->value + 9 * k)) continue;
      while (one->group != two->group) { /* both ascending */
        if (one->group < two->group) ++one;
        else ++two;
      }
      for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j)
          g->value[two->column + (int64_t)j * two->length + one->position + i] = s->value[9 * k + 3 * i + j];
    }
}

/* One group of all contacts: columns of blocks. */
static PetscErrorCode as_sparse(const cover *s, contact_groups *g)
{
  int64_t *next = NULL;
  PetscFunctionBegin;
  g->n_groups = s->n > 0;
  PetscCall(memory_alloc("sides of contacts", s->n, sizeof *g->side, &g->side));
  for (int64_t a = 0; a < s->n; ++a) {
    g->side_start[a + 1] = a + 1;
    g->side[a]           = (group_side){.position = (int32_t)(4 * a)};
  }
  for (int64_t k = 0; k < s->start[s->n]; ++k) ++g->side[s->col[k]].n_jacobian;
  for (int64_t a = 0; a < s->n; ++a) {
    g->side[a].jacobian = g->n_jacobian, g->side[a].column = 12 * g->n_jacobian;
    g->n_jacobian += g->side[a].n_jacobian;
  }
  g->n_state = 4 * s->n, g->n_value = 12 * g->n_jacobian;
  PetscCall(memory_alloc("columns of W", g->n_value, sizeof *g->value, &g->value));
  PetscCall(memory_alloc("rows of W", g->n_jacobian, sizeof *g->h_index, &g->h_index));
  PetscCall(memory_alloc("places in columns", s->n, sizeof *next, &next));
  for (int64_t a = 0; a < s->n; ++a)
    for (int64_t k = s->start[a]; k < s->start[a + 1]; ++k) {
      const int64_t slot = g->side[s->col[k]].jacobian + next[s->col[k]]++;
      g->h_index[slot]   = (int32_t)a;
      for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) g->value[12 * slot + 4 * j + i] = s->value[9 * k + 3 * i + j];
    }
  memory_free(&next);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode make(cover *s, contact_groups *g)
{
  bool is_worth;
  PetscFunctionBegin;
  PetscCall(memory_alloc("sides of contacts", s->n + 1, sizeof *g->side_start, &g->side_start));
  PetscCall(find_neighbours(s));
  PetscCall(cover_by_cliques(s, &is_worth));
  if (is_worth) {
    PetscCall(lay_out(s, g));
    fill(s, g);
  } else PetscCall(as_sparse(s, g));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode contact_groups_from_blocks(delassus *w, contact_groups *g)
{
  cover s = {.n = delassus_n_contacts(w)};
  PetscFunctionBegin;
  PetscCall(delassus_blocks(w, &s.start, &s.col, &s.value));
  const PetscErrorCode code = make(&s, g);
  cover_free(&s);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
