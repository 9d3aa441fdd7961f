#include "optim/bounds/bounds_levels.h"
#include "core/memory.h"
#include "core/team.h"
#include "optim/bounds/grid_matrix.h"
#include <math.h>
#include <string.h>

void grid_cells_free(grid_cells *c) { memory_free(&c->ijk), memory_free(&c->neighbor); }

static inline uint64_t mix(const int32_t *ijk)
{
  uint64_t h = (uint64_t)(uint32_t)ijk[0] * 0x9e3779b97f4a7c15u ^ (uint64_t)(uint32_t)ijk[1] * 0xc2b2ae3d27d4eb4fu ^
               (uint64_t)(uint32_t)ijk[2] * 0x165667b19e3779f9u;
  h ^= h >> 32;
  h *= 0xd6e8feb86659fd93u;
  return h ^ h >> 32;
}

/* A lower neighbour in the same aggregate, which has its number already. Most cells have one and need no look-up in the table. */
static inline int32_t find_sibling(const grid_cells *c, int32_t i)
{
  for (int a = 0; a < 3; ++a) {
    const int32_t j = c->neighbor[i][2 * a];
    if (c->ijk[i][a] & 1 && j >= 0 && j < i) return j;
  }
  return -1;
}

PetscErrorCode grid_aggregate(const grid_cells *fine, int32_t *of, grid_cells *coarse)
{
  int32_t *table = NULL;
  int64_t  size  = 64;
  PetscFunctionBegin;
  while (2 * size < 3 * (int64_t)fine->n) size *= 2;
  PetscCall(memory_alloc("coarse cells", fine->n, sizeof *coarse->ijk, &coarse->ijk));
  PetscCall(memory_alloc("table of coarse cells", size, sizeof *table, &table)); /* number + 1; 0: empty */
  for (int32_t i = 0; i < fine->n; ++i) {
    const int32_t j = find_sibling(fine, i);
    if (j >= 0) {
      of[i] = of[j];
      continue;
    }
    const int32_t at[3] = {fine->ijk[i][0] >> 1, fine->ijk[i][1] >> 1, fine->ijk[i][2] >> 1};
    int64_t       slot  = (int64_t)(mix(at) & (uint64_t)(size - 1));
    while (table[slot] > 0 && memcmp(coarse->ijk[table[slot] - 1], at, sizeof at) != 0) slot = (slot + 1) & (size - 1);
    if (table[slot] == 0) {
      memcpy(coarse->ijk[coarse->n], at, sizeof at);
      table[slot] = ++coarse->n;
    }
    of[i] = table[slot] - 1;
  }
  memory_free(&table);
  PetscErrorCode code = memory_alloc("neighbours of coarse cells", coarse->n, sizeof *coarse->neighbor, &coarse->neighbor);
  PetscCall(code);
  memset(coarse->neighbor, 0xff, (size_t)coarse->n * sizeof *coarse->neighbor);
  for (int32_t i = 0; i < fine->n; ++i)
    for (int k = 0; k < 6; ++k) {
      const int32_t j = fine->neighbor[i][k];
      if (j >= 0 && of[j] != of[i]) coarse->neighbor[of[i]][k] = of[j];
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

enum { MAX_LEVELS = 16 };

static void level_free(grid_level *l)
{
  MEMORY_FREE(&l->neighbor, &l->off, &l->diagonal, &l->inverse, &l->aggregate, &l->child, &l->x, &l->b, &l->r, &l->is_stale);
}

void bounds_levels_destroy(grid_levels **l)
{
  if (!*l) return;
  for (int k = 0; k < (*l)->n_levels; ++k) level_free(&(*l)->level[k]);
  MEMORY_FREE(&(*l)->cell, &(*l)->level, l);
}

static PetscErrorCode level_allocate(int64_t n, grid_level *l)
{
  PetscFunctionBegin;
  l->n = (int32_t)n;
  PetscCall(MEMORY_ALLOC("bounds levels", ARRAY(l->neighbor, n), ARRAY(l->off, n), ARRAY(l->diagonal, n), ARRAY(l->inverse, n),
                         ARRAY(l->aggregate, n), ARRAY(l->x, n + 1), ARRAY(l->b, n + 1), ARRAY(l->r, n + 1), ARRAY(l->is_stale, n)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Number the cells by colour: order[new] = old, number[old] = new. Cells of one colour keep their order. */
static PetscErrorCode number_by_color(const grid_cells *c, int32_t *order, int32_t *number, grid_level *out)
{
  uint8_t *color                   = NULL;
  int32_t  count[LEVEL_COLORS + 1] = {0};
  PetscFunctionBegin;
  PetscCall(memory_alloc("colours", c->n, 1, &color));
  for (int32_t i = 0; i < c->n; ++i) {
    unsigned taken = 0;
    for (int k = 0; k < 6; ++k)
      if (c->neighbor[i][k] >= 0 && c->neighbor[i][k] < i) taken |= 1u << color[c->neighbor[i][k]];
    int mine = (c->ijk[i][0] + c->ijk[i][1] + c->ijk[i][2]) & 1;
    if (taken & 1u << mine) /* across a periodic border of odd length; six neighbours leave at least one of eight colours free */
      for (mine = 2; taken & 1u << mine;) ++mine;
    color[i] = (uint8_t)mine;
    ++count[mine + 1];
  }
  for (int k = 0; k < LEVEL_COLORS; ++k) {
    count[k + 1] += count[k];
    out->color[k + 1] = count[k + 1];
    if (count[k + 1] > count[k]) out->n_colors = k + 1;
  }
  for (int32_t i = 0; i < c->n; ++i) number[i] = count[color[i]]++;
  for (int32_t i = 0; i < c->n; ++i) order[number[i]] = i;
  memory_free(&color);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Allocate a level, number its cells by colour and translate the neighbours to these numbers. */
static PetscErrorCode level_create(const grid_cells *c, int32_t *order, int32_t *number, grid_level *l)
{
  PetscFunctionBegin;
  PetscCall(level_allocate(c->n, l));
  PetscCall(number_by_color(c, order, number, l));
  for (int32_t i = 0; i < c->n; ++i)
    for (int k = 0; k < 6; ++k) {
      const int32_t j   = c->neighbor[order[i]][k];
      l->neighbor[i][k] = j < 0 ? i : number[j];
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Renumber fine->aggregate, which contains aggregates in the order of their creation, and list the children of each. */
static PetscErrorCode renumber_aggregates(grid_level *fine, const int32_t *number, int32_t n_coarse)
{
  PetscFunctionBegin;
  PetscCall(memory_alloc("children of coarse cells", n_coarse, sizeof *fine->child, &fine->child));
  for (int32_t c = 0; c < n_coarse; ++c)
    for (int k = 0; k < LEVEL_CHILDREN; ++k) fine->child[c][k] = fine->n;
  for (int32_t i = 0; i < fine->n; ++i) {
    const int32_t c = fine->aggregate[i] = number[fine->aggregate[i]];
    int           k                      = 0;
    while (k < LEVEL_CHILDREN && fine->child[c][k] != fine->n) ++k;
    PetscCheck(k < LEVEL_CHILDREN, PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP, "two cells of a grid matrix have the same position");
    fine->child[c][k] = i;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

void bounds_levels_fill(grid_levels *l, const grid_matrix *a)
{
  if (l->n_levels == 0) return;
  grid_level *top = &l->level[0];
  l->is_summed    = false;
  l->unit         = 0.0;
  for (int64_t i = 0; i < a->n; ++i) l->unit = a->diagonal[i] > l->unit ? a->diagonal[i] : l->unit;
#pragma omp parallel for schedule(static)
  for (int32_t i = 0; i < top->n; ++i) {
    const int32_t from = l->cell[i];
    top->diagonal[i]   = (float)(a->diagonal[from] / l->unit);
    for (int k = 0; k < 6; ++k) top->off[i][k] = (float)(a->off[from][k] / l->unit);
  }
}

static PetscErrorCode fill_finest(const grid_matrix *a, const int32_t *number, grid_levels *l)
{
  PetscFunctionBegin;
  PetscCall(memory_alloc("finest cells", a->n, sizeof *l->cell, &l->cell));
  for (int64_t i = 0; i < a->n; ++i) l->cell[number[i]] = (int32_t)i;
  bounds_levels_fill(l, a);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Append the level of the cells c. On return c contains the cells of the next level, if there is one. */
static PetscErrorCode add_level(const grid_matrix *a, grid_cells *c, grid_levels *l, bool *is_last)
{
  const int32_t n     = c->n;
  grid_level   *mine  = &l->level[l->n_levels++];
  int32_t      *order = NULL, *number = NULL, *of = NULL;
  grid_cells    coarse = {0};
  PetscFunctionBegin;
  PetscErrorCode code = MEMORY_ALLOC("bounds levels", ARRAY(order, n), ARRAY(number, n), ARRAY(of, n));
  if (!code) code = level_create(c, order, number, mine);
  if (!code && l->n_levels == 1) code = fill_finest(a, number, l);
  if (!code && l->n_levels > 1) code = renumber_aggregates(mine - 1, number, n);
  *is_last = n <= LEVEL_COARSEST || l->n_levels == MAX_LEVELS;
  if (!code && !*is_last) code = grid_aggregate(c, of, &coarse);
  if (!code && !*is_last && coarse.n > n - n / 8) *is_last = true; /* scattered cells: coarsening does not reduce their number */
  if (!code && !*is_last)
    for (int32_t i = 0; i < n; ++i) mine->aggregate[i] = of[order[i]];
  MEMORY_FREE(&order, &number, &of);
  if (l->n_levels > 1) grid_cells_free(c); /* the finest cells belong to the matrix */
  *c = coarse;
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode bounds_levels_create(const grid_matrix *a, grid_levels **out)
{
  grid_levels *l       = NULL;
  bool         is_last = a->n == 0;
  grid_cells   c       = {.n = (int32_t)a->n, .ijk = a->ijk, .neighbor = a->neighbor};
  PetscFunctionBegin;
  PetscCall(memory_alloc("coarse levels", 1, sizeof *l, &l));
  *out                = l;
  PetscErrorCode code = memory_alloc("coarse levels", MAX_LEVELS, sizeof *l->level, &l->level);
  while (!code && !is_last) code = add_level(a, &c, l, &is_last);
  if (c.ijk != a->ijk) grid_cells_free(&c);
  if (code) bounds_levels_destroy(out);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode bounds_levels_require(grid_matrix *a)
{
  PetscFunctionBegin;
  if (a->levels) PetscFunctionReturn(PETSC_SUCCESS);
  a->destroy_levels = bounds_levels_destroy;
  PetscCall(bounds_levels_create(a, &a->levels));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The V-cycle. A sweep moves 56 bytes per cell. */
/* Shorter loops run serially and outside of a parallel region: a region calls the operating system even for one thread, which on
 * coarse levels takes longer than the sweeps. */
enum { PARALLEL_CELLS = 1024, COARSEST_SWEEPS = 8 };
#define LEVEL_PRAGMA(text) _Pragma(#text)
#define LEVEL_FOR(i, first, end, statement)                                                                                                \
  if ((end) - (first) < PARALLEL_CELLS) {                                                                                                  \
    for (int32_t i = (first); i < (end); ++i) statement;                                                                                   \
  } else {                                                                                                                                 \
    LEVEL_PRAGMA(omp parallel for schedule(static))                                                                                        \
    for (int32_t i = (first); i < (end); ++i) statement;                                                                                   \
  }
/* Piecewise constant aggregates overestimate the stiffness; the coarse correction is enlarged by this factor. Chosen by
 * measurement: see bench_box. */
static const float OVER_CORRECTION = 1.8f;

static inline float subtract_neighbors(const grid_level *l, int32_t i, float start)
{
  const int32_t *neighbor = l->neighbor[i];
  const float   *off = l->off[i], *x = l->x;
  for (int k = 0; k < 6; ++k) start -= off[k] * x[neighbor[k]];
  return start;
}

/* Gauss-Seidel update of the cells of one colour. */
static void sweep_one_color(const grid_level *l, int c)
{
  const int32_t first = l->color[c], last = l->color[c + 1];
  float        *x = l->x;
  LEVEL_FOR(i, first, last, x[i] = subtract_neighbors(l, i, l->b[i]) * l->inverse[i])
}

/* The first sweep from zero; for the first colour only the diagonal matters. */
static void sweep_from_zero(const grid_level *l)
{
  const int32_t first = l->color[1], n = l->n;
  LEVEL_FOR(i, 0, n, l->x[i] = i < first ? l->b[i] * l->inverse[i] : 0.0f)
  for (int c = 1; c < l->n_colors; ++c) sweep_one_color(l, c);
}

static inline float sum_of_children(const grid_level *l, int32_t c)
{
  float sum = 0.0f;
  for (int k = 0; k < LEVEL_CHILDREN; ++k) sum += l->r[l->child[c][k]];
  return sum;
}

/* b of the next level = restricted residual. The residual of the last colour is zero, because it was swept last. */
static void restrict_residual(const grid_level *l, const grid_level *coarse)
{
  const int32_t n = l->color[l->n_colors - 1], n_coarse = coarse->n;
  LEVEL_FOR(i, 0, n, l->r[i] = l->inverse[i] > 0.0f ? subtract_neighbors(l, i, l->b[i] - l->diagonal[i] * l->x[i]) : 0.0f)
  LEVEL_FOR(c, 0, n_coarse, coarse->b[c] = sum_of_children(l, c))
}

/* The last colour needs no correction: it is swept next, from the other colours alone. */
static void add_coarse_correction(const grid_level *l, const grid_level *coarse)
{
  const int32_t n = l->color[l->n_colors - 1];
  LEVEL_FOR(i, 0, n, if (l->inverse[i] > 0.0f) l->x[i] += coarse->x[l->aggregate[i]])
}

static void run_v_cycle(const grid_level *l, int n_levels)
{
  sweep_from_zero(l);
  if (n_levels == 1) {
    for (int k = 1; k < COARSEST_SWEEPS; ++k)
      for (int c = 0; c < l->n_colors; ++c) sweep_one_color(l, c);
    for (int k = 0; k < COARSEST_SWEEPS; ++k)
      for (int c = l->n_colors - 1; c >= 0; --c) sweep_one_color(l, c);
    return;
  }
  for (int c = 0; c < l->n_colors; ++c) sweep_one_color(l, c);
  restrict_residual(l, l + 1);
  run_v_cycle(l + 1, n_levels - 1);
  add_coarse_correction(l, l + 1);
  for (int k = 0; k < 2; ++k)
    for (int c = l->n_colors - 1; c >= 0; --c) sweep_one_color(l, c);
}

void bounds_levels_cycle(grid_levels *l, int64_t n, const double *restrict r, double *restrict z)
{
  const double largest = team_max_abs(n, r); /* scaled to 1: single precision covers 38 decades */
  if (l->n_levels == 0) return;
  const grid_level *top  = &l->level[0];
  const double      unit = largest > 0.0 ? 1.0 / largest : 0.0, back = largest / l->unit;
  const int32_t *restrict cell = l->cell;
  LEVEL_FOR(i, 0, (int32_t)n, top->b[i] = (float)(r[cell[i]] * unit))
  run_v_cycle(top, l->n_levels);
  LEVEL_FOR(i, 0, (int32_t)n, z[cell[i]] = (double)top->x[i] * back)
}

/* Update the inverse diagonal of a cell of the finest level from is_free, and mark the cell if it changed. */
static inline void update_inverse(const grid_levels *l, const grid_level *top, int32_t i, const uint8_t *is_free)
{
  const float inverse = is_free[l->cell[i]] ? 1.0f / top->diagonal[i] : 0.0f;
  top->is_stale[i]    = inverse != top->inverse[i];
  top->inverse[i]     = inverse;
}

/* Coefficients of one coarse cell: the sum over its free children, and the couplings between them and other aggregates. */
static void sum_children(const grid_level *l, const grid_level *coarse, int32_t c)
{
  double diagonal = 0.0, own = 0.0, off[6] = {0.0};
  for (int k = 0; k < LEVEL_CHILDREN; ++k) {
    const int32_t i = l->child[c][k];
    if (i == l->n || !(l->inverse[i] > 0.0f)) continue;
    own += (double)l->diagonal[i];
    for (int s = 0; s < 6; ++s) {
      const int32_t j = l->neighbor[i][s];
      if (!(l->inverse[j] > 0.0f)) continue;
      if (l->aggregate[j] == c) diagonal += (double)l->off[i][s];
      else off[s] += (double)l->off[i][s];
    }
  }
  diagonal += own;
  const double scale = 1.0 / (double)OVER_CORRECTION;
  for (int s = 0; s < 6; ++s) coarse->off[c][s] = (float)(scale * off[s]);
  coarse->diagonal[c] = (float)(scale * diagonal);
  coarse->inverse[c] =
      diagonal > 1e-5 * own ? 1.0f / coarse->diagonal[c] : 0.0f; /* not coupled to anything: the constant is the null space of
                                                                  * the matrix */
}

/* Mark the aggregates whose sums change, because coefficients or is_free of a child or of its neighbour changed. Serial: few change. */
static void mark_stale_aggregates(const grid_level *l, const grid_level *coarse)
{
  memset(coarse->is_stale, 0, (size_t)coarse->n);
  for (int32_t i = 0; i < l->n; ++i) {
    if (!l->is_stale[i]) continue;
    coarse->is_stale[l->aggregate[i]] = 1;
    for (int k = 0; k < 6; ++k) coarse->is_stale[l->aggregate[l->neighbor[i][k]]] = 1;
  }
}

void bounds_levels_restrict(grid_levels *l, const uint8_t *is_free)
{
  if (l->n_levels == 0) return;
  const grid_level *top           = &l->level[0];
  const bool        is_recomputed = !l->is_summed;
  LEVEL_FOR(i, 0, top->n, update_inverse(l, top, i, is_free))
  for (int k = 1; k < l->n_levels; ++k) {
    const grid_level *coarse = &l->level[k];
    if (!is_recomputed) mark_stale_aggregates(&l->level[k - 1], coarse);
#pragma omp parallel for schedule(static) if (coarse->n >= PARALLEL_CELLS / 8)
    for (int32_t c = 0; c < coarse->n; ++c)
      if (is_recomputed || coarse->is_stale[c]) sum_children(&l->level[k - 1], coarse, c);
  }
  l->is_summed = true;
}

/* Like `sweep_one_color`, on all cells, with projection onto the bounds. */
static void sweep_projected(const grid_level *l, int c, const float *restrict lo, const float *restrict hi)
{
  const int32_t first = l->color[c], last = l->color[c + 1];
  float        *x = l->x;
#pragma omp parallel for schedule(static) if (last - first >= PARALLEL_CELLS)
  for (int32_t i = first; i < last; ++i) {
    float sum = l->b[i];
    for (int k = 0; k < 6; ++k) sum -= l->off[i][k] * x[l->neighbor[i][k]];
    const float to = sum / l->diagonal[i];
    x[i]           = to < lo[i] ? lo[i] : to > hi[i] ? hi[i] : to;
  }
}

PetscErrorCode bounds_levels_project(grid_levels *l, int64_t n, const double *b, const double *lo, const double *hi, int n_sweeps,
                                     double *x)
{
  float *low = NULL, *high = NULL;
  PetscFunctionBegin;
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  const grid_level *top     = &l->level[0];
  const double      largest = fmax(team_max_abs(n, x), team_max_abs(n, b) / l->unit), scale = largest > 0.0 ? 1.0 / largest : 1.0;
  PetscErrorCode    code = MEMORY_ALLOC("bounds levels", ARRAY(low, n), ARRAY(high, n));
  if (!code) {
#pragma omp parallel for schedule(static) if (n >= PARALLEL_CELLS)
    for (int64_t i = 0; i < n; ++i) {
      const int32_t from = l->cell[i];
      low[i]             = lo ? (float)(lo[from] * scale) : -INFINITY;
      high[i]            = hi ? (float)(hi[from] * scale) : INFINITY;
      top->b[i]          = (float)(b[from] / l->unit * scale);
      top->x[i]          = (float)(x[from] * scale);
    }
    for (int k = 0; k < n_sweeps; ++k)
      for (int c = 0; c < top->n_colors; ++c) sweep_projected(top, c, low, high);
#pragma omp parallel for schedule(static) if (n >= PARALLEL_CELLS)
    for (int64_t i = 0; i < n; ++i) {
      const int32_t to = l->cell[i];
      if (lo && top->x[i] == low[i]) x[to] = lo[to]; /* the bound itself, not its rounded value */
      else if (hi && top->x[i] == high[i]) x[to] = hi[to];
      else x[to] = (double)top->x[i] / scale;
    }
  }
  MEMORY_FREE(&low, &high);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
