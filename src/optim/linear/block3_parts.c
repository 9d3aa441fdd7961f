#include "optim/linear/block3_parts.h"
#include "core/memory.h"
#include <metis.h>
#include <string.h>

#define METIS_CALL(call)                                                                                      \
  do {                                                                                                        \
    const int metis_ = (call);                                                                                \
    PetscCheck(metis_ == METIS_OK, PETSC_COMM_SELF, metis_ == METIS_ERROR_MEMORY ? PETSC_ERR_MEM : PETSC_ERR_LIB, \
               "METIS failed with code %d", metis_);                                                          \
  } while (0)

/* Neighbours of each block in A + A^T without the diagonal, sorted and unique. */
typedef struct {
  int64_t *start;     /* [n+1] */
  int32_t *neighbour; /* [start[n]] */
} graph;

static PetscErrorCode graph_create(const block3_view *a, graph *g)
{
  const int64_t nnz = a->row_start[a->n];
  int32_t      *row, *col, *all_col;
  int64_t      *all_start, k = 0;
  PetscFunctionBegin;
  PetscCall(memory_alloc("Schwarz graph rows", 2 * nnz, sizeof *row, &row));
  PetscCall(memory_alloc("Schwarz graph columns", 2 * nnz, sizeof *col, &col));
  for (int64_t i = 0; i < a->n; ++i)
    for (int64_t s = a->row_start[i]; s < a->row_start[i + 1]; ++s, k += 2) {
      row[k] = col[k + 1] = (int32_t)i;
      col[k] = row[k + 1] = a->col[s];
    }
  PetscCall(mat_block3_pattern(a->n, 2 * nnz, row, col, &all_start, &all_col, NULL));
  memory_free(&row);
  memory_free(&col);
  k = 0; /* drop the diagonal in place */
  for (int64_t i = 0, s = 0; i < a->n; ++i) {
    const int64_t end = all_start[i + 1];
    for (; s < end; ++s)
      if (all_col[s] != i) all_col[k++] = all_col[s];
    all_start[i + 1] = k;
  }
  g->start     = all_start;
  g->neighbour = all_col;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode cut(int64_t n, const graph *g, int64_t n_parts, idx_t *part)
{
  idx_t nv, n_constraints = 1, np = (idx_t)n_parts, edge_cut, options[METIS_NOPTIONS], *start, *neighbour;
  PetscFunctionBegin;
  if (n_parts == 1) {
    memset(part, 0, (size_t)n * sizeof *part);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCheck(g->start[n] < INT32_MAX, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "%lld edges are too many for METIS",
             (long long)g->start[n]);
  nv = (idx_t)n;
  PetscCall(memory_alloc("METIS starts", n + 1, sizeof *start, &start));
  PetscCall(memory_alloc("METIS neighbours", g->start[n], sizeof *neighbour, &neighbour));
  for (int64_t i = 0; i <= n; ++i) start[i] = (idx_t)g->start[i];
  for (int64_t k = 0; k < g->start[n]; ++k) neighbour[k] = g->neighbour[k];
  METIS_CALL(METIS_SetDefaultOptions(options));
  options[METIS_OPTION_NUMBERING] = 0;
  options[METIS_OPTION_SEED]      = 1;
  METIS_CALL(METIS_PartGraphKway(&nv, &n_constraints, start, neighbour, NULL, NULL, NULL, &np, NULL, NULL, options, &edge_cut, part));
  memory_free(&start);
  memory_free(&neighbour);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Members of part p: its own blocks, then n_layers of neighbours. mark[] == p + 1 for members; returns their number. */
static int64_t collect(const graph *g, int64_t p, const int64_t *own_start, const int32_t *own, int n_layers, int32_t *mark,
                       int32_t *list)
{
  int64_t n = 0, layer_begin = 0;
  for (int64_t k = own_start[p]; k < own_start[p + 1]; ++k) {
    list[n++]    = own[k];
    mark[own[k]] = (int32_t)p + 1;
  }
  for (int layer = 0; layer < n_layers; ++layer) {
    const int64_t layer_end = n;
    for (int64_t k = layer_begin; k < layer_end; ++k)
      for (int64_t e = g->start[list[k]]; e < g->start[list[k] + 1]; ++e)
        if (mark[g->neighbour[e]] != p + 1) {
          mark[g->neighbour[e]] = (int32_t)p + 1;
          list[n++]             = g->neighbour[e];
        }
    layer_begin = layer_end;
  }
  return n;
}

static int compare_int32(const void *a, const void *b)
{
  const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return (x > y) - (x < y);
}

static PetscErrorCode grow(int64_t n, const graph *g, const idx_t *part, int n_layers, block3_parts *out)
{
  int64_t *own_start, capacity = n, end = 0;
  int32_t *own, *mark, *list;
  PetscFunctionBegin;
  PetscCall(memory_alloc("Schwarz own starts", out->n_parts + 2, sizeof *own_start, &own_start));
  PetscCall(memory_alloc("Schwarz own blocks", n, sizeof *own, &own));
  PetscCall(memory_alloc("Schwarz marks", n, sizeof *mark, &mark));
  PetscCall(memory_alloc("Schwarz list", n, sizeof *list, &list));
  PetscCall(memory_alloc("Schwarz starts", out->n_parts + 1, sizeof *out->start, &out->start));
  PetscCall(memory_alloc("Schwarz members", capacity, sizeof *out->member, &out->member));
  for (int64_t i = 0; i < n; ++i) ++own_start[part[i] + 2];
  for (int64_t p = 0; p < out->n_parts; ++p) own_start[p + 2] += own_start[p + 1];
  for (int64_t i = 0; i < n; ++i) own[own_start[part[i] + 1]++] = (int32_t)i;
  for (int64_t p = 0; p < out->n_parts; ++p) {
    const int64_t count = collect(g, p, own_start, own, n_layers, mark, list);
    if (end + count > capacity) {
      capacity = 2 * (end + count);
      PetscCall(memory_resize("Schwarz members", capacity, sizeof *out->member, &out->member));
    }
    qsort(list, (size_t)count, sizeof *list, compare_int32);
    memcpy(out->member + end, list, (size_t)count * sizeof *list);
    end += count;
    out->start[p + 1] = end;
  }
  PetscCall(memory_alloc("Schwarz owners", end, sizeof *out->is_owned, &out->is_owned));
  for (int64_t p = 0; p < out->n_parts; ++p)
    for (int64_t k = out->start[p]; k < out->start[p + 1]; ++k) out->is_owned[k] = part[out->member[k]] == p;
  memory_free(&own_start);
  memory_free(&own);
  memory_free(&mark);
  memory_free(&list);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode block3_parts_create(const block3_view *a, int64_t n_parts, int n_layers, block3_parts *out)
{
  graph  g;
  idx_t *part;
  PetscFunctionBegin;
  memset(out, 0, sizeof *out);
  out->n_parts = n_parts < 1 || a->n == 0 ? 1 : (n_parts > a->n ? a->n : n_parts);
  PetscCall(graph_create(a, &g));
  PetscCall(memory_alloc("Schwarz parts", a->n, sizeof *part, &part));
  PetscCall(cut(a->n, &g, out->n_parts, part));
  PetscCall(grow(a->n, &g, part, n_layers, out));
  memory_free(&part);
  memory_free(&g.start);
  memory_free(&g.neighbour);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void block3_parts_destroy(block3_parts *p)
{
  memory_free(&p->start);
  memory_free(&p->member);
  memory_free(&p->is_owned);
  p->n_parts = 0;
}
