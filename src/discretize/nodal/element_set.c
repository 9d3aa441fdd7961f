/* Implementation of element_set.h: colouring of elements, parallel assembly of forces and tangents. */
#include "discretize/nodal/element_set.h"
#include "core/memory.h"
#include <string.h>

enum { SERIAL_ELEMENTS = 64 }; /* sets no larger than this stay on one thread */

/* Groups are as large as leaves this many, for colours to be shared by threads, but of no more elements than stay in a core's cache. */
enum { GROUPS = 512, MOST_BATCHES = 16 };

static int64_t group_size(int64_t n)
{
  const int64_t batches = n / (GROUPS * ELEMENT_BATCH);
  return ELEMENT_BATCH * (batches < 1 ? 1 : batches > MOST_BATCHES ? MOST_BATCHES : batches);
}

/* The caller's elements [first, end) of group k. */
typedef struct {
  int64_t first, end;
} range;

static range group_range(int64_t k, int64_t size, int64_t n) { return (range){k * size, (k + 1) * size < n ? (k + 1) * size : n}; }

/* Greedy colouring: the first colour that none of the group's nodes has yet. used [n_all]: one bit per colour. */
static PetscErrorCode color_greedily(int64_t n, int64_t size, int n_nodes, const int32_t *node, int64_t n_all, int32_t *color,
                                     int *n_colors)
{
  const int64_t n_groups = (n + size - 1) / size;
  uint64_t     *used;
  int64_t       n_left = n_groups;
  PetscFunctionBegin;
  PetscCall(memory_alloc("element colours", n_all, sizeof *used, &used));
  *n_colors = 0;
  /* 64 colours at a time: a node with more groups than that sends the rest into the next round. */
  for (int64_t k = 0; k < n_groups; ++k) color[k] = -1;
  for (int base = 0; n_left > 0; base += 64) {
    memset(used, 0, (size_t)n_all * sizeof *used);
    for (int64_t k = 0; k < n_groups; ++k) {
      const range e     = group_range(k, size, n);
      uint64_t    taken = 0;
      if (color[k] >= 0) continue;
      for (int64_t a = n_nodes * e.first; a < n_nodes * e.end; ++a) taken |= used[node[a]];
      if (taken == UINT64_MAX) continue;
      const int bit = __builtin_ctzll(~taken);
      color[k]      = base + bit;
      --n_left;
      if (base + bit >= *n_colors) *n_colors = base + bit + 1;
      for (int64_t a = n_nodes * e.first; a < n_nodes * e.end; ++a) used[node[a]] |= (uint64_t)1 << bit;
    }
  }
  memory_free(&used);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode element_set_create(const element_ops *ops, int64_t n, const int32_t *node, int64_t n_all, element_set *set)
{
  const int64_t size = group_size(n), n_groups = (n + size - 1) / size;
  int32_t      *color, *group;
  PetscFunctionBegin;
  PetscCheck(n <= INT32_MAX, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "%lld %s; at most %d are supported", (long long)n, ops->name,
             INT32_MAX);
  *set = (element_set){.ops = ops, .n = n};
  PetscCall(MEMORY_ALLOC("element set", ARRAY(set->node, n * ops->n_nodes), ARRAY(set->original, n), ARRAY(set->group_start, n_groups + 1),
                         ARRAY(set->energy, n_groups), ARRAY(color, n_groups), ARRAY(group, n_groups)));
  PetscCall(color_greedily(n, size, ops->n_nodes, node, n_all, color, &set->n_colors));
  PetscCall(memory_alloc("colour starts", set->n_colors + 2, sizeof *set->color_start, &set->color_start));
  for (int64_t k = 0; k < n_groups; ++k) ++set->color_start[color[k] + 2];
  for (int c = 0; c < set->n_colors; ++c) set->color_start[c + 2] += set->color_start[c + 1];
  for (int64_t k = 0; k < n_groups; ++k) group[set->color_start[color[k] + 1]++] = (int32_t)k;
  for (int64_t q = 0, at = 0; q < n_groups; ++q) {
    const range e = group_range(group[q], size, n);
    for (int64_t i = e.first; i < e.end; ++i) set->original[at + i - e.first] = (int32_t)i;
    memcpy(set->node + ops->n_nodes * at, node + ops->n_nodes * e.first, (size_t)(ops->n_nodes * (e.end - e.first)) * sizeof *node);
    set->group_start[q + 1] = at += e.end - e.first;
  }
  MEMORY_FREE(&color, &group);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void element_set_destroy(element_set *set)
{
  if (!set->ops) return;
  if (set->context) set->ops->destroy(&set->context);
  MEMORY_FREE(&set->node, &set->original, &set->color_start, &set->group_start, &set->energy, &set->slot);
  *set = (element_set){0};
}

static int64_t find_block(const int64_t *row_start, const int32_t *col, int32_t row, int32_t wanted)
{
  int64_t lo = row_start[row], hi = row_start[row + 1];
  while (hi - lo > 1) {
    const int64_t mid = lo + (hi - lo) / 2;
    if (col[mid] <= wanted) lo = mid;
    else hi = mid;
  }
  SS_ASSERT(hi > lo && col[lo] == wanted);
  return lo;
}

PetscErrorCode element_set_locate(element_set *set, const int64_t *row_start, const int32_t *col)
{
  const int n_nodes = set->ops->n_nodes;
  PetscFunctionBegin;
  memory_free(&set->slot);
  PetscCall(memory_alloc("element slots", set->n * n_nodes * n_nodes, sizeof *set->slot, &set->slot));
  for (int64_t e = 0; e < set->n; ++e)
    for (int a = 0; a < n_nodes; ++a)
      for (int b = 0; b < n_nodes; ++b) {
        const int32_t *node                        = set->node + n_nodes * e;
        set->slot[(e * n_nodes + a) * n_nodes + b] = (int32_t)find_block(row_start, col, node[a], node[b]);
      }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void element_set_gather(const element_set *set, int64_t first, int64_t n, const double *from, element_row *to)
{
  const int      n_nodes = set->ops->n_nodes;
  const int32_t *node    = set->node + n_nodes * first;
  for (int64_t e = 0; e < n; ++e)
    for (int a = 0; a < n_nodes; ++a)
      for (int k = 0; k < 3; ++k) to[3 * a + k][e] = from[3 * (int64_t)node[n_nodes * e + a] + k];
}

/* One batch; the caller's number of the first bad element, or INT64_MAX. */
static int64_t add_batch(const element_set *set, int64_t first, int64_t n, double dt, const double *x, const double *v, double *g,
                         double *value)
{
  element_row X[3 * ELEMENT_MAX_NODES], V[3 * ELEMENT_MAX_NODES], F[3 * ELEMENT_MAX_NODES], S[9 * ELEMENT_MAX_NODES * ELEMENT_MAX_NODES];
  const int   n_nodes = set->ops->n_nodes;
  element_set_gather(set, first, n, x, X);
  element_set_gather(set, first, n, v, V);
  const int64_t bad = set->ops->evaluate(set->context, first, n, dt, (const element_row *)X, (const element_row *)V, F, value ? S : NULL);
  if (bad < n) return set->original[first + bad]; /* the smallest of the batch: a group keeps the caller's order */
  const int32_t *node = set->node + n_nodes * first;
  for (int64_t e = 0; e < n; ++e)
    for (int a = 0; a < n_nodes; ++a)
      for (int k = 0; k < 3; ++k) g[3 * (int64_t)node[n_nodes * e + a] + k] -= dt * F[3 * a + k][e];
  if (!value) return INT64_MAX;
  const int32_t *slot = set->slot + n_nodes * n_nodes * first;
  for (int64_t e = 0; e < n; ++e)
    for (int ab = 0; ab < n_nodes * n_nodes; ++ab) {
      double *to = value + 9 * (int64_t)slot[n_nodes * n_nodes * e + ab];
      for (int k = 0; k < 9; ++k) to[k] += S[9 * ab + k][e];
    }
  return INT64_MAX;
}

int64_t element_set_add(const element_set *set, double dt, const double *x, const double *v, double *g, double *value)
{
  int64_t bad = INT64_MAX;
#pragma omp parallel reduction(min : bad) if (set->n > SERIAL_ELEMENTS)
  for (int c = 0; c < set->n_colors; ++c) {
#pragma omp for schedule(static)
    for (int64_t k = set->color_start[c]; k < set->color_start[c + 1]; ++k)
      for (int64_t first = set->group_start[k]; first < set->group_start[k + 1]; first += ELEMENT_BATCH) {
        const int64_t left  = set->group_start[k + 1] - first;
        const int64_t worst = add_batch(set, first, left < ELEMENT_BATCH ? left : ELEMENT_BATCH, dt, x, v, g, value);
        if (worst < bad) bad = worst;
      }
  }
  return bad == INT64_MAX ? -1 : bad;
}

void element_balance(int n_nodes, int64_t n, element_row *f, element_row *S)
{
  for (int i = 0; i < 3; ++i)
    for (int64_t e = 0; e < n; ++e) {
      double sum = 0.0;
      for (int a = 1; a < n_nodes; ++a) sum += f[3 * a + i][e];
      f[i][e] = -sum;
    }
  for (int k = 0; k < 9 && S; ++k)
    for (int64_t e = 0; e < n; ++e) {
      double total = 0.0;
      for (int a = 1; a < n_nodes; ++a) {
        double row = 0.0, col = 0.0;
        for (int b = 1; b < n_nodes; ++b) {
          row += S[9 * (n_nodes * a + b) + k][e];
          col += S[9 * (n_nodes * b + a) + k][e];
        }
        S[9 * (n_nodes * a) + k][e] = -row;
        S[9 * a + k][e]             = -col;
        total += row;
      }
      S[k][e] = total;
    }
}

static double group_energy(const element_set *set, int64_t k, const double *x)
{
  double sum = 0.0;
  for (int64_t first = set->group_start[k]; first < set->group_start[k + 1]; first += ELEMENT_BATCH) {
    element_row   X[3 * ELEMENT_MAX_NODES];
    double        energy[ELEMENT_BATCH];
    const int64_t left = set->group_start[k + 1] - first, n = left < ELEMENT_BATCH ? left : ELEMENT_BATCH;
    element_set_gather(set, first, n, x, X);
    set->ops->energy(set->context, first, n, (const element_row *)X, energy);
    for (int64_t e = 0; e < n; ++e) sum += energy[e];
  }
  return sum;
}

double element_set_energy(const element_set *set, const double *x)
{
  const int64_t n_groups = set->color_start[set->n_colors];
  double        sum      = 0.0;
  if (!set->ops->energy) return 0.0;
#pragma omp parallel for schedule(static) if (set->n > SERIAL_ELEMENTS)
  for (int64_t k = 0; k < n_groups; ++k) set->energy[k] = group_energy(set, k, x);
  for (int64_t k = 0; k < n_groups; ++k) sum += set->energy[k];
  return sum;
}
