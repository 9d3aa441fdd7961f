#include "core/memory.h"
#include "optim/multifrontal/multifrontal_impl.h"
#include <metis.h>

/* A group with more than this many times the mean number of neighbours is a hub: in nested dissection it would be in every
 * separator. */
static const double HUB = 4.0;
enum { FEW = 8 }; /* groups not worth a dissection */

/* Nested dissection of the m groups in `part`, to order[]. number [n]: of a group in the part, -1 elsewhere, left so. */
static PetscErrorCode dissect(const front_graph *g, int64_t m, const int32_t *part, int32_t *number, int32_t *order)
{
  idx_t   *start = NULL, *neighbour = NULL, *perm = NULL, *inverse = NULL, options[METIS_NOPTIONS], n = (idx_t)m;
  int64_t  n_edges = 0;
  PetscFunctionBegin;
  if (m <= FEW) {
    for (int64_t i = 0; i < m; ++i) order[i] = part[i];
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (int64_t i = 0; i < m; ++i) number[part[i]] = (int32_t)i, n_edges += g->start[part[i] + 1] - g->start[part[i]];
  PetscErrorCode code = memory_alloc("METIS starts", m + 1, sizeof *start, &start);
  if (!code) code = memory_alloc("METIS neighbours", n_edges + 1, sizeof *neighbour, &neighbour);
  if (!code) code = memory_alloc("METIS order", m, sizeof *perm, &perm);
  if (!code) code = memory_alloc("METIS order", m, sizeof *inverse, &inverse);
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
  memory_free(&start), memory_free(&neighbour), memory_free(&perm), memory_free(&inverse);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode front_order(const front_graph *g, front_ordering how, int32_t *order)
{
  const double limit  = 16.0 + HUB * (double)g->start[g->n] / (double)(g->n > 0 ? g->n : 1);
  int32_t     *number = NULL, *part = NULL;
  int64_t      done = 0;
  PetscFunctionBegin;
  PetscErrorCode code = memory_alloc("parts of an order", g->n, sizeof *number, &number);
  if (!code) code = memory_alloc("parts of an order", g->n, sizeof *part, &part);
  for (int64_t i = 0; i < g->n && !code; ++i) number[i] = -1;
  for (int stage = how == FRONT_ORDER_WHOLE ? 1 : 0; stage < 2 && !code; ++stage) { /* early ones, late ones or all */
    int64_t m = 0;
    for (int64_t i = 0; i < g->n; ++i) {
      const bool is_hub = (double)(g->start[i + 1] - g->start[i]) > limit;
      if (!is_hub && (how == FRONT_ORDER_WHOLE || g->is_late[i] == stage)) part[m++] = (int32_t)i;
    }
    code = dissect(g, m, part, number, order + done);
    done += m;
  }
  for (int64_t i = 0; i < g->n && !code; ++i)
    if ((double)(g->start[i + 1] - g->start[i]) > limit) order[done++] = (int32_t)i;
  memory_free(&number), memory_free(&part);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
