/* Implementation: groups from stored blocks (cliques of the graph of W), then groups from M and H (components of M). */
#include "optim/friction/contact_groups.h"
#include "core/memory.h"
#include "core/sort.h"
#include "core/team.h"
#include <omp.h>
#include <stdlib.h>
#include <string.h>

static inline int32_t group_padded(int64_t n) { return (int32_t)((n + 3) / 4 * 4); }

/* Contact groups of stored blocks: a cover of the graph of W by cliques. Contacts on one body form such a clique. */
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

static void cover_free(cover *s) { MEMORY_FREE(&s->near_start, &s->near, &s->is_covered, &s->order, &s->clique_start, &s->member); }

static inline bool is_zero(const double *block)
{
  for (int e = 0; e < 9; ++e)
    if (block[e] != 0.0) return false;
  return true;
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
    if (last > first) qsort(s->near + first, (size_t)(last - first), sizeof *s->near, sort_compare_int32);
    for (int64_t k = first; k < last; ++k)
      if (k == first || s->near[k] != s->near[k - 1]) s->near[slot++] = s->near[k];
    first                = last;
    s->near_start[a + 1] = slot;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Position of b among the neighbours of a, or -1. */
static inline int64_t find_neighbor(const cover *s, int32_t a, int32_t b)
{
  int64_t low = s->near_start[a], high = s->near_start[a + 1];
  while (low < high) {
    const int64_t middle = (low + high) / 2;
    if (s->near[middle] < b) low = middle + 1;
    else high = middle;
  }
  return low < s->near_start[a + 1] && s->near[low] == b ? low : -1;
}

/* Grow a clique from the edge a-b: first by contacts whose edges to both are not covered yet, then by any other that is adjacent to all. */
static int64_t grow_clique(cover *s, int32_t a, int32_t b, int32_t *member)
{
  int64_t n = 0, n_candidates = 0;
  member[n++] = a, member[n++] = b;
  for (int is_second = 0; is_second < 2; ++is_second)
    for (int64_t k = s->near_start[a]; k < s->near_start[a + 1]; ++k) {
      const int64_t other = find_neighbor(s, b, s->near[k]);
      if (other >= 0 && (s->is_covered[k] || s->is_covered[other]) == is_second) s->order[n_candidates++] = s->near[k];
    }
  for (int64_t k = 0; k < n_candidates; ++k) {
    bool fits = true;
    for (int64_t l = 2; fits && l < n; ++l) fits = find_neighbor(s, s->order[k], member[l]) >= 0;
    if (fits) member[n++] = s->order[k];
  }
  qsort(member, (size_t)n, sizeof *member, sort_compare_int32);
  return n;
}

static PetscErrorCode add_clique(cover *s, int64_t n)
{
  PetscFunctionBegin;
  PetscCall(memory_reserve("cliques of contacts", s->n_cliques + 2, sizeof *s->clique_start, &s->clique_room, &s->clique_start));
  const int32_t *member = s->member + s->n_members;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j)
      if (i != j) s->is_covered[find_neighbor(s, member[i], member[j])] = true;
  s->n_members += n;
  s->clique_start[++s->n_cliques] = s->n_members;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* *is_worth false: the cliques would store too many numbers. */
static PetscErrorCode cover_by_cliques(cover *s, bool *is_worth)
{
  const double limit = WASTE_MAX * (double)(s->near_start[s->n] + s->n);
  double       size  = 0.0;
  PetscFunctionBegin;
  *is_worth = false;
  PetscCall(MEMORY_ALLOC("contact groups", ARRAY(s->is_covered, s->near_start[s->n]), ARRAY(s->order, s->n)));
  PetscCall(memory_reserve("cliques of contacts", 2, sizeof *s->clique_start, &s->clique_room, &s->clique_start));
  for (int64_t a = 0; a < s->n; ++a) {
    for (int64_t k = s->near_start[a]; k < s->near_start[a + 1]; ++k) {
      if (s->near[k] < a || s->is_covered[k]) continue;
      PetscCall(memory_reserve("contacts in cliques", s->n_members + s->n, sizeof *s->member, &s->member_room, &s->member));
      const int64_t n = grow_clique(s, (int32_t)a, s->near[k], s->member + s->n_members);
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

static PetscErrorCode lay_out_cliques(const cover *s, contact_groups *g)
{
  PetscFunctionBegin;
  g->n_groups = s->n_cliques;
  for (int64_t k = 0; k < s->n_members; ++k) ++g->side_start[s->member[k] + 1];
  for (int64_t a = 0; a < g->n; ++a) g->side_start[a + 1] += g->side_start[a];
  PetscCall(memory_alloc("sides of contacts", s->n_members, sizeof *g->side, &g->side));
  for (int64_t i = 0; i < s->n_cliques; ++i) {
    const int64_t m      = s->clique_start[i + 1] - s->clique_start[i];
    const int32_t length = group_padded(3 * m);
    for (int64_t k = 0; k < m; ++k) {
      g->side[g->side_start[s->member[s->clique_start[i] + k]]++] =
          (group_side){.state = g->n_state, .column = g->n_value, .length = length, .position = (int32_t)(3 * k), .group = (int32_t)i};
      g->n_value += 3 * length;
    }
    g->n_state += length;
  }
  for (int64_t a = g->n; a > 0; --a) g->side_start[a] = g->side_start[a - 1];
  g->side_start[0] = 0;
  PetscCall(memory_alloc("columns of contact groups", g->n_value, sizeof *g->value, &g->value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Store every block of W in the first clique that contains both contacts. */
static void fill_cliques(const cover *s, contact_groups *g)
{
  for (int64_t a = 0; a < s->n; ++a)
    for (int64_t k = s->start[a]; k < s->start[a + 1]; ++k) {
      const int32_t     b   = s->col[k];
      const group_side *one = g->side + g->side_start[a], *two = g->side + g->side_start[b];
      if (b != a && is_zero(s->value + 9 * k)) continue;
      while (one->group != two->group) { /* both ascending */
        if (one->group < two->group) ++one;
        else ++two;
      }
      for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) g->value[two->column + (int64_t)j * two->length + one->position + i] = s->value[9 * k + 3 * i + j];
    }
}

/* One group of all contacts: columns of blocks. */
static PetscErrorCode create_sparse_group(const cover *s, contact_groups *g)
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
  PetscCall(MEMORY_ALLOC("contact groups", ARRAY(g->value, g->n_value), ARRAY(g->h_index, g->n_jacobian), ARRAY(next, s->n)));
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
    PetscCall(lay_out_cliques(s, g));
    fill_cliques(s, g);
  } else PetscCall(create_sparse_group(s, g));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode contact_groups_from_blocks(delassus *w, contact_groups *g)
{
  cover s = {.n = delassus_n_contacts(w)};
  PetscFunctionBegin;
  PetscCall(delassus_blocks(w, &s.start, &s.col, &s.value));
  const PetscErrorCode code = make(&s, g);
  cover_free(&s);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Contact groups of a system: contacts on the same components of the mass matrix. */
enum { SMALL_COMPONENT = 6 }; /* a rigid body falls into such: two or four of them, under the same contacts */

typedef struct {
  int64_t  n_components, n_groups;
  int32_t *group;      /* [n_components] -1: no contact there */
  int64_t *part_start; /* [n_groups+1] components of each group */
  int32_t *part;
  int64_t *member_start; /* [n_groups+1] contacts of each group, ascending */
  int32_t *member;
  int32_t *local;       /* [n_dof] place -> its number within the group, -1 untouched */
  int32_t *n_unknowns;  /* [n_groups] touched places */
  bool    *is_unknowns; /* [n_groups] whether the group is stored by its unknowns */
  int64_t *state;       /* [n_groups] */
} grouping;

static void grouping_free(grouping *s)
{
  MEMORY_FREE(&s->group, &s->part_start, &s->part, &s->member_start, &s->member, &s->local, &s->n_unknowns, &s->is_unknowns, &s->state);
}

static PetscErrorCode allocate(const delassus_incidence *w, grouping *s)
{
  const int64_t m = s->n_components = mass_factor_n_components(w->factor);
  PetscFunctionBegin;
  PetscCall(MEMORY_ALLOC("contact groups", ARRAY(s->group, m), ARRAY(s->part_start, m + 1), ARRAY(s->part, m),
                         ARRAY(s->member_start, m + 1), ARRAY(s->member, w->member_start[m]), ARRAY(s->local, w->n_dof),
                         ARRAY(s->n_unknowns, m), ARRAY(s->is_unknowns, m), ARRAY(s->state, m)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  int64_t n_members;
  int32_t component;
} sized;
static int compare_sized(const void *a, const void *b)
{
  const sized *x = a, *y = b;
  if (x->n_members != y->n_members) return x->n_members > y->n_members ? -1 : 1;
  return (x->component > y->component) - (x->component < y->component);
}

static inline int64_t component_size(const delassus_incidence *w, int32_t c)
{
  return mass_factor_start(w->factor)[c + 1] - mass_factor_start(w->factor)[c];
}

static inline bool touches(const delassus_incidence *w, int32_t a, int32_t c)
{
  for (int64_t k = w->touch_start[a]; k < w->touch_start[a + 1]; ++k)
    if (w->touch[k] == c) return true;
  return false;
}

/* An earlier small component whose contacts include all contacts of c: they belong to one body. -1: none. */
static int32_t find_host_component(const delassus_incidence *w, const grouping *s, int32_t c)
{
  const int32_t first = w->member[w->member_start[c]];
  if (component_size(w, c) > SMALL_COMPONENT) return -1;
  for (int64_t k = w->touch_start[first]; k < w->touch_start[first + 1]; ++k) {
    const int32_t host = w->touch[k];
    if (host == c || s->group[host] != host || component_size(w, host) > SMALL_COMPONENT) continue;
    bool is_host = true;
    for (int64_t l = w->member_start[c]; is_host && l < w->member_start[c + 1]; ++l) is_host = touches(w, w->member[l], host);
    if (is_host) return host;
  }
  return -1;
}

/* Merge components into groups, starting with the component with most contacts. s->group[c]: first component of c's group. */
static PetscErrorCode merge_components(const delassus_incidence *w, grouping *s)
{
  sized  *order = NULL;
  int64_t n     = 0;
  PetscFunctionBegin;
  PetscCall(memory_alloc("components by contacts", s->n_components, sizeof *order, &order));
  for (int64_t c = 0; c < s->n_components; ++c) {
    s->group[c] = -1;
    if (w->member_start[c + 1] > w->member_start[c]) order[n++] = (sized){w->member_start[c + 1] - w->member_start[c], (int32_t)c};
  }
  if (n > 0) qsort(order, (size_t)n, sizeof *order, compare_sized);
  for (int64_t k = 0; k < n; ++k) {
    const int32_t c = order[k].component, host = find_host_component(w, s, c);
    s->group[c] = host >= 0 ? host : c;
  }
  memory_free(&order);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Number the groups in the order of their first components; list their components and contacts. */
static PetscErrorCode number_groups(const delassus_incidence *w, grouping *s)
{
  int32_t *number = NULL;
  PetscFunctionBegin;
  PetscCall(memory_alloc("numbers of groups", s->n_components, sizeof *number, &number));
  for (int64_t c = 0; c < s->n_components; ++c) {
    if (s->group[c] != c) continue;
    const int64_t g = s->n_groups++, count = w->member_start[c + 1] - w->member_start[c];
    number[c] = (int32_t)g;
    memcpy(s->member + s->member_start[g], w->member + w->member_start[c], (size_t)count * sizeof *s->member);
    s->member_start[g + 1] = s->member_start[g] + count;
  }
  for (int64_t c = 0; c < s->n_components; ++c) {
    if (s->group[c] < 0) continue;
    s->group[c] = number[s->group[c]];
    ++s->part_start[s->group[c] + 1];
  }
  for (int64_t g = 0; g < s->n_groups; ++g) s->part_start[g + 1] += s->part_start[g];
  for (int64_t c = 0; c < s->n_components; ++c)
    if (s->group[c] >= 0) s->part[s->part_start[s->group[c]]++] = (int32_t)c;
  for (int64_t g = s->n_groups; g > 0; --g) s->part_start[g] = s->part_start[g - 1];
  s->part_start[0] = 0;
  memory_free(&number);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Number the unknowns with contacts within their group, and choose the representation with the cheaper visit. */
static void count_unknowns(const delassus_incidence *w, grouping *s)
{
  const int64_t *start = mass_factor_start(w->factor);
  for (int64_t g = 0; g < s->n_groups; ++g) {
    const int64_t n_members = s->member_start[g + 1] - s->member_start[g];
    int64_t       n_entries = 0;
    for (int64_t k = s->part_start[g]; k < s->part_start[g + 1]; ++k)
      for (int64_t at = start[s->part[k]]; at < start[s->part[k] + 1]; ++at) {
        const int64_t count = w->HpT.start[at + 1] - w->HpT.start[at];
        s->local[at]        = count > 0 ? s->n_unknowns[g]++ : -1;
        n_entries += count;
      }
    /* multiplications of a visit: H_a and three columns of unknowns, against three columns of velocities */
    s->is_unknowns[g] = 2 * n_entries / n_members + 3 * s->n_unknowns[g] < 9 * n_members;
  }
}

/* Number of different unknowns in the three rows of contact a in group g. If `index` is not NULL, they are stored there with their columns of H. */
static int32_t jacobian_of(const delassus_incidence *w, const grouping *s, int64_t a, int64_t g, int32_t *index, double *value)
{
  const int64_t *start = mass_factor_start(w->factor);
  int32_t        n     = 0;
  for (int64_t k = s->part_start[g]; k < s->part_start[g + 1]; ++k) {
    int64_t at[3];
    for (int i = 0; i < 3; ++i) at[i] = delassus_row_from(&w->Hp, 3 * a + i, start[s->part[k]]);
    for (;;) {
      int32_t low = INT32_MAX;
      for (int i = 0; i < 3; ++i)
        if (at[i] < w->Hp.start[3 * a + i + 1] && w->Hp.col[at[i]] < low) low = w->Hp.col[at[i]];
      if (low >= start[s->part[k] + 1]) break;
      if (index) index[n] = s->local[low];
      for (int i = 0; i < 3; ++i) {
        const bool is_here = at[i] < w->Hp.start[3 * a + i + 1] && w->Hp.col[at[i]] == low;
        if (index) value[3 * n + i] = is_here ? w->Hp.value[at[i]] : 0.0;
        at[i] += is_here;
      }
      ++n;
    }
  }
  return n;
}

/* Offsets of all arrays. */
static PetscErrorCode lay_out_components(const delassus_incidence *w, grouping *s, contact_groups *g)
{
  PetscFunctionBegin;
  g->n_groups = s->n_groups;
  PetscCall(memory_alloc("sides of contacts", g->n + 1, sizeof *g->side_start, &g->side_start));
  for (int64_t k = 0; k < s->member_start[s->n_groups]; ++k) ++g->side_start[s->member[k] + 1];
  for (int64_t a = 0; a < g->n; ++a) g->side_start[a + 1] += g->side_start[a];
  PetscCall(memory_alloc("sides of contacts", g->side_start[g->n], sizeof *g->side, &g->side));
  for (int64_t i = 0; i < s->n_groups; ++i) {
    const int64_t m      = s->member_start[i + 1] - s->member_start[i];
    const int32_t length = group_padded(s->is_unknowns[i] ? s->n_unknowns[i] : 3 * m);
    s->state[i]          = g->n_state;
    g->n_state += length;
    for (int64_t k = 0; k < m; ++k) {
      const int32_t a    = s->member[s->member_start[i] + k];
      group_side   *side = g->side + g->side_start[a]++;
      *side = (group_side){.state = s->state[i], .column = g->n_value, .length = length, .position = (int32_t)(3 * k), .group = (int32_t)i};
      g->n_value += 3 * length;
      if (!s->is_unknowns[i]) continue;
      side->jacobian   = g->n_jacobian;
      side->n_jacobian = jacobian_of(w, s, a, i, NULL, NULL);
      g->n_jacobian += side->n_jacobian;
    }
  }
  for (int64_t a = g->n; a > 0; --a) g->side_start[a] = g->side_start[a - 1];
  g->side_start[0] = 0;
  PetscCall(
      MEMORY_ALLOC("contact groups", ARRAY(g->value, g->n_value), ARRAY(g->h_value, 3 * g->n_jacobian), ARRAY(g->h_index, g->n_jacobian)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Three columns of one side of contact a: y = M_c^-1 H_a^T on each component of the group, or the velocities that this causes at
 * the contacts of the group. */
static void fill_side(const delassus_incidence *w, const grouping *s, const contact_groups *g, int64_t a, const group_side *side,
                      int64_t component, double *y)
{
  const int64_t *start = mass_factor_start(w->factor), first = start[component], end = start[component + 1], i = side->group;
  double *const  column = g->value + side->column;
  delassus_response_of(w->w, component, a, y);
  if (s->is_unknowns[i]) {
    for (int64_t at = first; at < end; ++at)
      if (s->local[at] >= 0)
        for (int j = 0; j < 3; ++j) column[(int64_t)j * side->length + s->local[at]] = y[3 * (at - first) + j];
    return;
  }
  for (int64_t k = 0; k < s->member_start[i + 1] - s->member_start[i]; ++k) {
    const int64_t b = s->member[s->member_start[i] + k];
    for (int row = 0; row < 3; ++row)
      for (int64_t e = delassus_row_from(&w->Hp, 3 * b + row, first); e < w->Hp.start[3 * b + row + 1] && w->Hp.col[e] < end; ++e)
        for (int j = 0; j < 3; ++j) column[(int64_t)j * side->length + 3 * k + row] += w->Hp.value[e] * y[3 * (w->Hp.col[e] - first) + j];
  }
}

static PetscErrorCode fill_components(const delassus_incidence *w, const grouping *s, contact_groups *g)
{
  const int64_t *start     = mass_factor_start(w->factor);
  const int      n_threads = team_threads();
  int64_t        largest   = 0;
  double        *scratch   = NULL;
  PetscFunctionBegin;
  for (int64_t k = 0; k < s->part_start[s->n_groups]; ++k)
    if (start[s->part[k] + 1] - start[s->part[k]] > largest) largest = start[s->part[k] + 1] - start[s->part[k]];
  PetscCall(memory_alloc("responses of bodies", 3 * largest * n_threads, sizeof *scratch, &scratch));
#pragma omp parallel num_threads(n_threads) if (g->n >= 64)
  {
    double *y = scratch + 3 * largest * omp_get_thread_num();
#pragma omp for schedule(dynamic, 8)
    for (int64_t a = 0; a < g->n; ++a)
      for (const group_side *side = g->side + g->side_start[a]; side < g->side + g->side_start[a + 1]; ++side) {
        if (side->n_jacobian > 0) jacobian_of(w, s, a, side->group, g->h_index + side->jacobian, g->h_value + 3 * side->jacobian);
        for (int64_t k = s->part_start[side->group]; k < s->part_start[side->group + 1]; ++k) fill_side(w, s, g, a, side, s->part[k], y);
      }
  }
  memory_free(&scratch);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode contact_groups_from_system(const delassus_incidence *w, contact_groups *g)
{
  grouping s = {0};
  PetscFunctionBegin;
  PetscErrorCode code = allocate(w, &s);
  if (!code) code = merge_components(w, &s);
  if (!code) code = number_groups(w, &s);
  if (!code) {
    count_unknowns(w, &s);
    code = lay_out_components(w, &s, g);
  }
  if (!code) code = fill_components(w, &s, g);
  grouping_free(&s);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void contact_groups_destroy(contact_groups *g)
{
  MEMORY_FREE(&g->side_start, &g->side, &g->value, &g->h_value, &g->h_index);
  *g = (contact_groups){0};
}

PetscErrorCode contact_groups_create(delassus *w, contact_groups *out)
{
  PetscFunctionBegin;
  *out                               = (contact_groups){.n = delassus_n_contacts(w)};
  const delassus_incidence incidence = delassus_incidence_of(w);
  const PetscErrorCode     code = delassus_factor(w) ? contact_groups_from_system(&incidence, out) : contact_groups_from_blocks(w, out);
  if (code) contact_groups_destroy(out);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void destroy_attached(void *object)
{
  contact_groups *g = object;
  contact_groups_destroy(g);
  memory_free(&g);
}

PetscErrorCode contact_groups_of(delassus *w, const contact_groups **out)
{
  PetscFunctionBegin;
  if (!delassus_attached(w)) {
    contact_groups *g;
    PetscCall(memory_alloc("contact groups", 1, sizeof *g, &g));
    const PetscErrorCode code = contact_groups_create(w, g);
    if (code) memory_free(&g);
    PetscCall(code);
    delassus_attach(w, g, destroy_attached);
  }
  *out = delassus_attached(w);
  PetscFunctionReturn(PETSC_SUCCESS);
}
