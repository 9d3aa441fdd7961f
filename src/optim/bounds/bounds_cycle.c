/* The V-cycle on the levels of a grid matrix. A sweep moves 56 bytes a cell. */
#include "core/memory.h"
#include "core/team.h"
#include "optim/bounds/bounds_levels.h"
#include <math.h>
#include <string.h>

/* Cells of a loop: fewer are done before a team wakes up, and take no region, which calls the kernel even for one thread: on coarse
 * levels that cost more than the sweeps. */
enum { PARALLEL_CELLS = 1024, COARSEST_SWEEPS = 8 };
#define LEVEL_PRAGMA(text) _Pragma(#text)
#define LEVEL_FOR(i, first, end, statement)                                              \
  if ((end) - (first) < PARALLEL_CELLS) {                                                \
    for (int32_t i = (first); i < (end); ++i) statement;                                 \
  } else {                                                                               \
    LEVEL_PRAGMA(omp parallel for schedule(static))                                      \
    for (int32_t i = (first); i < (end); ++i) statement;                                 \
  }
/* Constants on aggregates are stiffer than what they stand for: the correction is made this much larger. Measured: see bench_box.
 * */
static const float OVER_CORRECTION = 1.8f;

static inline float rest_of(const grid_level *l, int32_t i, float start)
{
  const int32_t *neighbor = l->neighbor[i];
  const float   *off = l->off[i], *x = l->x;
  for (int k = 0; k < 6; ++k) start -= off[k] * x[neighbor[k]];
  return start;
}

/* x of one colour from the others'. */
static void sweep(const grid_level *l, int c)
{
  const int32_t first = l->color[c], last = l->color[c + 1];
  float *x = l->x;
  LEVEL_FOR(i, first, last, x[i] = rest_of(l, i, l->b[i]) * l->inverse[i])
}

/* The first sweep from zero: of the first colour only the diagonal counts. */
static void begin(const grid_level *l)
{
  const int32_t first = l->color[1], n = l->n;
  LEVEL_FOR(i, 0, n, l->x[i] = i < first ? l->b[i] * l->inverse[i] : 0.0f)
  for (int c = 1; c < l->n_colors; ++c) sweep(l, c);
}

static inline float sum_of_children(const grid_level *l, int32_t c)
{
  float sum = 0.0f;
  for (int k = 0; k < LEVEL_CHILDREN; ++k) sum += l->r[l->child[c][k]];
  return sum;
}

/* b of the next level from what is left here; the last colour swept leaves nothing. */
static void restrict_residual(const grid_level *l, const grid_level *coarse)
{
  const int32_t n = l->color[l->n_colors - 1], n_coarse = coarse->n;
  LEVEL_FOR(i, 0, n, l->r[i] = l->inverse[i] > 0.0f ? rest_of(l, i, l->b[i] - l->diagonal[i] * l->x[i]) : 0.0f)
  LEVEL_FOR(c, 0, n_coarse, coarse->b[c] = sum_of_children(l, c))
}

/* The last colour is swept next, from the others alone: it needs no correction. */
static void correct(const grid_level *l, const grid_level *coarse)
{
  const int32_t n = l->color[l->n_colors - 1];
  LEVEL_FOR(i, 0, n, if (l->inverse[i] > 0.0f) l->x[i] += coarse->x[l->aggregate[i]])
}

static void cycle(const grid_level *l, int n_levels)
{
  begin(l);
  if (n_levels == 1) {
    for (int k = 1; k < COARSEST_SWEEPS; ++k)
      for (int c = 0; c < l->n_colors; ++c) sweep(l, c);
    for (int k = 0; k < COARSEST_SWEEPS; ++k)
      for (int c = l->n_colors - 1; c >= 0; --c) sweep(l, c);
    return;
  }
  for (int c = 0; c < l->n_colors; ++c) sweep(l, c);
  restrict_residual(l, l + 1);
  cycle(l + 1, n_levels - 1);
  correct(l, l + 1);
  for (int k = 0; k < 2; ++k)
    for (int c = l->n_colors - 1; c >= 0; --c) sweep(l, c);
}

void box_levels_cycle(grid_levels *l, int64_t n, const double *restrict r, double *restrict z)
{
  const double largest = team_max_abs(n, r); /* brought to 1: single precision has 38 decades */
  if (l->n_levels == 0) return;
  const grid_level *top = &l->level[0];
  const double      unit = largest > 0.0 ? 1.0 / largest : 0.0, back = largest / l->unit;
  const int32_t *restrict cell = l->cell;
  LEVEL_FOR(i, 0, (int32_t)n, top->b[i] = (float)(r[cell[i]] * unit))
  cycle(top, l->n_levels);
  LEVEL_FOR(i, 0, (int32_t)n, z[cell[i]] = (double)top->x[i] * back)
}

/* Is a cell of the finest level now left out that was not, or the other way round? */
static inline void mark(const grid_levels *l, const grid_level *top, int32_t i, const uint8_t *is_free)
{
  const float inverse = is_free[l->cell[i]] ? 1.0f / top->diagonal[i] : 0.0f;
  top->is_stale[i]    = inverse != top->inverse[i];
  top->inverse[i]     = inverse;
}

/* One coarse cell: what its free children hold together, and what joins them to others. */
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
      diagonal > 1e-5 * own ? 1.0f / coarse->diagonal[c] : 0.0f; /* joined to nothing: its constant is the matrix' null space */
}

/* Cells whose coefficients or freedom changed make stale the aggregates that sum them, their own and their neighbours'. Serial: few
 * do. */
static void spoil(const grid_level *l, const grid_level *coarse)
{
  memset(coarse->is_stale, 0, (size_t)coarse->n);
  for (int32_t i = 0; i < l->n; ++i) {
    if (!l->is_stale[i]) continue;
    coarse->is_stale[l->aggregate[i]] = 1;
    for (int k = 0; k < 6; ++k) coarse->is_stale[l->aggregate[l->neighbor[i][k]]] = 1;
  }
}

void box_levels_restrict(grid_levels *l, const uint8_t *is_free)
{
  if (l->n_levels == 0) return;
  const grid_level *top     = &l->level[0];
  const bool        is_anew = !l->is_summed;
  LEVEL_FOR(i, 0, top->n, mark(l, top, i, is_free))
  for (int k = 1; k < l->n_levels; ++k) {
    const grid_level *coarse = &l->level[k];
    if (!is_anew) spoil(&l->level[k - 1], coarse);
    #pragma omp parallel for schedule(static) if (coarse->n >= PARALLEL_CELLS / 8)
    for (int32_t c = 0; c < coarse->n; ++c)
      if (is_anew || coarse->is_stale[c]) sum_children(&l->level[k - 1], coarse, c);
  }
  l->is_summed = true;
}

/* As `sweep`, of all cells, cut at the bounds. */
static void sweep_projected(const grid_level *l, int c, const float *restrict lo, const float *restrict hi)
{
  const int32_t first = l->color[c], last = l->color[c + 1];
  float *x = l->x;
  #pragma omp parallel for schedule(static) if (last - first >= PARALLEL_CELLS)
  for (int32_t i = first; i < last; ++i) {
    float sum = l->b[i];
    for (int k = 0; k < 6; ++k) sum -= l->off[i][k] * x[l->neighbor[i][k]];
    const float to = sum / l->diagonal[i];
    x[i] = to < lo[i] ? lo[i] : to > hi[i] ? hi[i] : to;
  }
}

PetscErrorCode box_levels_project(grid_levels *l, int64_t n, const double *b, const double *lo, const double *hi, int n_sweeps,
                                  double *x)
{
  float *low = NULL, *high = NULL;
  PetscFunctionBegin;
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  const grid_level *top     = &l->level[0];
  const double      largest = fmax(team_max_abs(n, x), team_max_abs(n, b) / l->unit), scale = largest > 0.0 ? 1.0 / largest : 1.0;
  PetscErrorCode    code    = memory_alloc("lower bounds of a level", n, sizeof *low, &low);
  if (!code) code = memory_alloc("upper bounds of a level", n, sizeof *high, &high);
  if (!code) {
    #pragma omp parallel for schedule(static) if (n >= PARALLEL_CELLS)
    for (int64_t i = 0; i < n; ++i) {
      const int32_t from = l->cell[i];
      low[i]    = lo ? (float)(lo[from] * scale) : -INFINITY;
      high[i]   = hi ? (float)(hi[from] * scale) : INFINITY;
      top->b[i] = (float)(b[from] / l->unit * scale);
      top->x[i] = (float)(x[from] * scale);
    }
    for (int k = 0; k < n_sweeps; ++k)
      for (int c = 0; c < top->n_colors; ++c) sweep_projected(top, c, low, high);
    #pragma omp parallel for schedule(static) if (n >= PARALLEL_CELLS)
    for (int64_t i = 0; i < n; ++i) {
      const int32_t to = l->cell[i];
      if (lo && top->x[i] == low[i]) x[to] = lo[to]; /* not its rounded value */
      else if (hi && top->x[i] == high[i]) x[to] = hi[to];
      else x[to] = (double)top->x[i] / scale;
    }
  }
  memory_free(&low), memory_free(&high);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
