#include "optim/bounds/bounds_levels.h"
#include "core/memory.h"
#include "optim/bounds/grid_aggregate.h"
#include "optim/bounds/grid_matrix.h"
#include <string.h>

enum { MAX_LEVELS = 16 };

static void level_free(grid_level *l)
{
  memory_free(&l->neighbor), memory_free(&l->off), memory_free(&l->diagonal), memory_free(&l->inverse), memory_free(&l->aggregate);
  memory_free(&l->child), memory_free(&l->x), memory_free(&l->b), memory_free(&l->r), memory_free(&l->is_stale);
}

void box_levels_destroy(grid_levels **l)
{
  if (!*l) return;
  for (int k = 0; k < (*l)->n_levels; ++k) level_free(&(*l)->level[k]);
  memory_free(&(*l)->cell), memory_free(&(*l)->level);
  memory_free(l);
}

static PetscErrorCode level_allocate(int64_t n, grid_level *l)
{
  PetscFunctionBegin;
  l->n = (int32_t)n;
  PetscCall(memory_alloc("coarse neighbours", n, sizeof *l->neighbor, &l->neighbor));
  PetscCall(memory_alloc("coarse coefficients", n, sizeof *l->off, &l->off));
  PetscCall(memory_alloc("coarse diagonal", n, sizeof *l->diagonal, &l->diagonal));
  PetscCall(memory_alloc("coarse inverse diagonal", n, sizeof *l->inverse, &l->inverse));
  PetscCall(memory_alloc("aggregates", n, sizeof *l->aggregate, &l->aggregate));
  PetscCall(memory_alloc("coarse unknowns", n + 1, sizeof *l->x, &l->x));
  PetscCall(memory_alloc("coarse right-hand side", n + 1, sizeof *l->b, &l->b));
  PetscCall(memory_alloc("coarse residual", n + 1, sizeof *l->r, &l->r));
  PetscCall(memory_alloc("stale coarse cells", n, 1, &l->is_stale));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* order[new] = old, number[old] = new, by colour; cells of a colour keep their order. */
static PetscErrorCode by_color(const grid_cells *c, int32_t *order, int32_t *number, grid_level *out)
{
  uint8_t *color = NULL;
  int32_t  count[LEVEL_COLORS + 1] = {0};
  PetscFunctionBegin;
  PetscCall(memory_alloc("colours", c->n, 1, &color));
  for (int32_t i = 0; i < c->n; ++i) {
    unsigned taken = 0;
    for (int k = 0; k < 6; ++k)
      if (c->neighbor[i][k] >= 0 && c->neighbor[i][k] < i) taken |= 1u << color[c->neighbor[i][k]];
    int mine = (c->ijk[i][0] + c->ijk[i][1] + c->ijk[i][2]) & 1;
    if (taken & 1u << mine) /* across a periodic border of odd length; six neighbours leave one of eight free */
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

/* Numbering of a level; `children` of the level before are told their aggregates' numbers. */
static PetscErrorCode level_create(const grid_cells *c, int32_t *order, int32_t *number, grid_level *l)
{
  PetscFunctionBegin;
  PetscCall(level_allocate(c->n, l));
  PetscCall(by_color(c, order, number, l));
  for (int32_t i = 0; i < c->n; ++i)
    for (int k = 0; k < 6; ++k) {
      const int32_t j = c->neighbor[order[i]][k];
      l->neighbor[i][k] = j < 0 ? i : number[j];
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* fine->aggregate holds, in the new numbers of fine cells, aggregates in the order found: rename them, and list their children. */
static PetscErrorCode adopt(grid_level *fine, const int32_t *number, int32_t n_coarse)
{
  PetscFunctionBegin;
  PetscCall(memory_alloc("children of coarse cells", n_coarse, sizeof *fine->child, &fine->child));
  for (int32_t c = 0; c < n_coarse; ++c)
    for (int k = 0; k < LEVEL_CHILDREN; ++k) fine->child[c][k] = fine->n;
  for (int32_t i = 0; i < fine->n; ++i) {
    const int32_t c = fine->aggregate[i] = number[fine->aggregate[i]];
    int           k = 0;
    while (k < LEVEL_CHILDREN && fine->child[c][k] != fine->n) ++k;
    PetscCheck(k < LEVEL_CHILDREN, PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP, "two cells of a grid matrix stand at the same place");
    fine->child[c][k] = i;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

void box_levels_fill(grid_levels *l, const grid_matrix *a)
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
  box_levels_fill(l, a);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One level from `c`, which becomes the cells of the next if there is one. */
static PetscErrorCode add_level(const grid_matrix *a, grid_cells *c, grid_levels *l, bool *is_last)
{
  const int32_t n = c->n;
  grid_level   *mine = &l->level[l->n_levels++];
  int32_t      *order = NULL, *number = NULL, *of = NULL;
  grid_cells    coarse = {0};
  PetscFunctionBegin;
  PetscErrorCode code = memory_alloc("order of cells", n, sizeof *order, &order);
  if (!code) code = memory_alloc("numbers of cells", n, sizeof *number, &number);
  if (!code) code = memory_alloc("aggregates of cells", n, sizeof *of, &of);
  if (!code) code = level_create(c, order, number, mine);
  if (!code && l->n_levels == 1) code = fill_finest(a, number, l);
  if (!code && l->n_levels > 1) code = adopt(mine - 1, number, n);
  *is_last = n <= LEVEL_COARSEST || l->n_levels == MAX_LEVELS;
  if (!code && !*is_last) code = grid_aggregate(c, of, &coarse);
  if (!code && !*is_last && coarse.n > n - n / 8) *is_last = true; /* scattered cells: nothing to be gained */
  if (!code && !*is_last)
    for (int32_t i = 0; i < n; ++i) mine->aggregate[i] = of[order[i]];
  memory_free(&order), memory_free(&number), memory_free(&of);
  if (l->n_levels > 1) grid_cells_free(c); /* the finest are the matrix' own */
  *c = coarse;
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode box_levels_create(const grid_matrix *a, grid_levels **out)
{
  grid_levels *l      = NULL;
  bool         is_last = a->n == 0;
  grid_cells   c      = {.n = (int32_t)a->n, .ijk = a->ijk, .neighbor = a->neighbor};
  PetscFunctionBegin;
  PetscCall(memory_alloc("coarse levels", 1, sizeof *l, &l));
  *out                = l;
  PetscErrorCode code = memory_alloc("coarse levels", MAX_LEVELS, sizeof *l->level, &l->level);
  while (!code && !is_last) code = add_level(a, &c, l, &is_last);
  if (c.ijk != a->ijk) grid_cells_free(&c);
  if (code) box_levels_destroy(out);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
