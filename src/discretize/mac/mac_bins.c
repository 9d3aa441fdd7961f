/* Implementation of mac_bins.h: counting sort of particles by grid cell. */
#include "discretize/mac/mac_bins.h"
#include "core/memory.h"
#include "core/sort.h"

void mac_bins_destroy(mac_bins *b)
{
  MEMORY_FREE(&b->start, &b->key, &b->key_scratch, &b->order, &b->order_scratch);
  for (int a = 0; a < 3; ++a) memory_free(&b->x[a]);
  *b = (mac_bins){0};
}

static PetscErrorCode mac_bins_reserve(mac_bins *b, int64_t n_slots)
{
  const int64_t n = b->n;
  PetscFunctionBegin;
  PetscCall(memory_reserve("particles of cells", n_slots + 1, sizeof *b->start, &b->slots_capacity, &b->start));
  PetscCall(MEMORY_RESERVE("particles by cell", n, &b->capacity, ARRAY(b->x[0], 1), ARRAY(b->x[1], 1), ARRAY(b->x[2], 1), ARRAY(b->key, 1),
                           ARRAY(b->key_scratch, 1), ARRAY(b->order, 1), ARRAY(b->order_scratch, 1)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static double wrapped(const mac_grid *g, int axis, double x)
{
  if (!mac_grid_is_periodic(g, axis)) return x;
  const double period = g->n[axis] * g->h;
  return x - period * floor((x - g->min[axis]) / period);
}

/* Keys are in the order of sets and indices. */
static void find_cells(mac_bins *b, const mac_grid *g, int n_sets, const int64_t *n, const double *const (*x)[3])
{
  int64_t first = 0;
  for (int s = 0; s < n_sets; ++s) {
#pragma omp parallel for schedule(static)
    for (int64_t p = 0; p < n[s]; ++p) {
      const int64_t slot =
          mac_grid_slot(g, mac_grid_index(g, 0, x[s][0][p]), mac_grid_index(g, 1, x[s][1][p]), mac_grid_index(g, 2, x[s][2][p]));
      b->key[first + p] = (uint64_t)slot;
    }
    first += n[s];
  }
}

static bool is_sorted(const mac_bins *b)
{
  bool is = true;
#pragma omp parallel for schedule(static) reduction(&& : is)
  for (int64_t i = 1; i < b->n; ++i) is = is && b->key[i - 1] <= b->key[i];
  return is;
}

/* start[slot] = position of the first particle at this or a later slot. */
static void find_starts(mac_bins *b, int64_t n_slots)
{
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i <= b->n; ++i) {
    const int64_t from = i ? (int64_t)b->key[i - 1] + 1 : 0, to = i < b->n ? (int64_t)b->key[i] : n_slots;
    for (int64_t slot = from; slot <= to; ++slot) b->start[slot] = (int32_t)i;
  }
}

PetscErrorCode mac_bins_fill(mac_bins *b, const mac_grid *g, int n_sets, const int64_t *n, const double *const (*x)[3])
{
  int n_bits = 0;
  PetscFunctionBegin;
  b->n = 0;
  for (int s = 0; s < n_sets; ++s) b->n += n[s];
  PetscCheck(b->n < INT32_MAX, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%" PRId64 " particles on one grid; expected less than 2^31", b->n);
  PetscCall(mac_bins_reserve(b, g->n_slots));
  find_cells(b, g, n_sets, n, x);
  while (g->n_slots >> n_bits) ++n_bits;
  if (is_sorted(b)) {
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < b->n; ++i) b->order[i] = (int32_t)i;
  } else sort_keys_with(b->n, n_bits, b->key, b->order, b->key_scratch, b->order_scratch);
  find_starts(b, g->n_slots);
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < b->n; ++i) {
    int32_t p = b->order[i];
    int     s = 0;
    while (p >= n[s]) p -= (int32_t)n[s++];
    for (int a = 0; a < 3; ++a) b->x[a][i] = wrapped(g, a, x[s][a][p]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
