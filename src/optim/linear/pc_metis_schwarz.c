/* Subdomains of a 3x3-block matrix: METIS parts of its graph, extended by `overlap` layers of neighbours. */
#include "optim/linear/pc_metis_schwarz.h"
#include "core/memory.h"
#include "core/sort.h"
#include "core/team.h"
#include "optim/linear/block3_ilu.h"
#include "optim/linear/mat_block3.h"
#include "optim/linear/petsc_private.h"
#include <metis.h>
#include <string.h>

/* Part p holds the blocks member[start[p] .. start[p+1]), sorted; is_owned marks those that METIS assigned to p (every
 * block is owned once); the others are overlap. */
typedef struct {
  int64_t  n_parts;
  int64_t *start;    /* [n_parts+1] */
  int32_t *member;   /* [start[n_parts]] */
  uint8_t *is_owned; /* [start[n_parts]] */
} block3_parts;

#define METIS_CALL(call)                                                                                                                   \
  do {                                                                                                                                     \
    const int metis_ = (call);                                                                                                             \
    PetscCheck(metis_ == METIS_OK, PETSC_COMM_SELF, metis_ == METIS_ERROR_MEMORY ? PETSC_ERR_MEM : PETSC_ERR_LIB,                          \
               "METIS failed with code %d", metis_);                                                                                       \
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
  PetscCall(MEMORY_ALLOC("pc metis schwarz", ARRAY(row, 2 * nnz), ARRAY(col, 2 * nnz)));
  for (int64_t i = 0; i < a->n; ++i)
    for (int64_t s = a->row_start[i]; s < a->row_start[i + 1]; ++s, k += 2) {
      row[k] = col[k + 1] = (int32_t)i;
      col[k] = row[k + 1] = a->col[s];
    }
  PetscCall(mat_block3_pattern(a->n, 2 * nnz, row, col, &all_start, &all_col, NULL));
  MEMORY_FREE(&row, &col);
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
  PetscCheck(g->start[n] < INT32_MAX, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "%lld edges exceed the range of METIS",
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
  MEMORY_FREE(&start, &neighbour);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Members of part p: its own blocks, then n_layers of neighbours. mark[] == p + 1 for members; returns their number. */
static int64_t collect(const graph *g, int64_t p, const int64_t *own_start, const int32_t *own, int n_layers, int32_t *mark, int32_t *list)
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

static PetscErrorCode grow(int64_t n, const graph *g, const idx_t *part, int n_layers, block3_parts *out)
{
  int64_t *own_start, capacity = n, end = 0;
  int32_t *own, *mark, *list;
  PetscFunctionBegin;
  PetscCall(MEMORY_ALLOC("pc metis schwarz", ARRAY(own_start, out->n_parts + 2), ARRAY(own, n), ARRAY(mark, n), ARRAY(list, n),
                         ARRAY(out->start, out->n_parts + 1), ARRAY(out->member, capacity)));
  for (int64_t i = 0; i < n; ++i) ++own_start[part[i] + 2];
  for (int64_t p = 0; p < out->n_parts; ++p) own_start[p + 2] += own_start[p + 1];
  for (int64_t i = 0; i < n; ++i) own[own_start[part[i] + 1]++] = (int32_t)i;
  for (int64_t p = 0; p < out->n_parts; ++p) {
    const int64_t count = collect(g, p, own_start, own, n_layers, mark, list);
    if (end + count > capacity) {
      capacity = 2 * (end + count);
      PetscCall(memory_resize("Schwarz members", capacity, sizeof *out->member, &out->member));
    }
    qsort(list, (size_t)count, sizeof *list, sort_compare_int32);
    memcpy(out->member + end, list, (size_t)count * sizeof *list);
    end += count;
    out->start[p + 1] = end;
  }
  PetscCall(memory_alloc("Schwarz owners", end, sizeof *out->is_owned, &out->is_owned));
  for (int64_t p = 0; p < out->n_parts; ++p)
    for (int64_t k = out->start[p]; k < out->start[p + 1]; ++k) out->is_owned[k] = part[out->member[k]] == p;
  MEMORY_FREE(&own_start, &own, &mark, &list);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Cut the graph of A + A^T into n_parts (clamped to 1 ... n) with METIS' fixed seed, so that the parts depend on the
 * pattern alone, and add n_layers of neighbours. Fails when memory or METIS does. */
static PetscErrorCode block3_parts_create(const block3_view *a, int64_t n_parts, int n_layers, block3_parts *out)
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
  MEMORY_FREE(&part, &g.start, &g.neighbour);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void block3_parts_destroy(block3_parts *p)
{
  MEMORY_FREE(&p->start, &p->member, &p->is_owned);
  p->n_parts = 0;
}

typedef struct {
  PetscInt n_parts_wanted, part_size, overlap;
  /* by the pattern */
  PetscObjectState pattern_state;
  PetscObjectId    pattern_of;
  block3_parts     parts;
  int64_t         *part_slot; /* [n_parts+1] first slot of each part in the arrays below */
  int64_t         *source;    /* [slots] where the block stands in the matrix */
  int64_t         *row_start; /* [members + n_parts] local rows of all parts, each part counting from 0 */
  int32_t         *col;       /* [slots] local columns */
  int64_t         *diagonal;  /* [members] */
  int64_t          n;
  /* by the values */
  double *value; /* [slots][9] factors */
  double *local; /* [members][3] */
  int64_t n_regularised;
} PC_MetisSchwarz;

static block3_ilu factor_of(const PC_MetisSchwarz *s, int64_t p)
{
  const int64_t first = s->parts.start[p], slot = s->part_slot[p];
  return (block3_ilu){.n         = s->parts.start[p + 1] - first,
                      .row_start = s->row_start + first + p,
                      .col       = s->col + slot,
                      .diagonal  = s->diagonal + first,
                      .value     = s->value + 9 * slot};
}

static void forget(PC_MetisSchwarz *s)
{
  block3_parts_destroy(&s->parts);
  MEMORY_FREE(&s->part_slot, &s->source, &s->row_start, &s->col, &s->diagonal, &s->value, &s->local);
  s->pattern_of = 0;
}

/* Local rows, columns and sources of every part: the square submatrices on its members. */
static PetscErrorCode extract_patterns(PC_MetisSchwarz *s, const block3_view *a)
{
  const block3_parts *parts     = &s->parts;
  const int64_t       n_members = parts->start[parts->n_parts];
  int32_t            *local_of; /* 1 + place within the current part, 0 elsewhere */
  int64_t             n_slots = 0;
  PetscFunctionBegin;
  PetscCall(MEMORY_ALLOC("pc metis schwarz", ARRAY(local_of, a->n), ARRAY(s->part_slot, parts->n_parts + 1),
                         ARRAY(s->row_start, n_members + parts->n_parts), ARRAY(s->diagonal, n_members)));
  for (int is_filling = 0; is_filling <= 1; ++is_filling) { /* count, then fill */
    if (is_filling) { PetscCall(MEMORY_ALLOC("pc metis schwarz", ARRAY(s->source, n_slots), ARRAY(s->col, n_slots))); }
    n_slots = 0;
    for (int64_t p = 0; p < parts->n_parts; ++p) {
      const int64_t first = parts->start[p], count = parts->start[p + 1] - first;
      int64_t      *row_start = s->row_start + first + p;
      s->part_slot[p]         = n_slots;
      for (int64_t k = 0; k < count; ++k) local_of[parts->member[first + k]] = (int32_t)k + 1;
      for (int64_t k = 0; k < count; ++k) {
        const int64_t i = parts->member[first + k];
        for (int64_t e = a->row_start[i]; e < a->row_start[i + 1]; ++e) {
          const int32_t j = local_of[a->col[e]] - 1;
          if (j < 0) continue;
          if (is_filling) {
            if (j == k) s->diagonal[first + k] = n_slots - s->part_slot[p];
            s->source[n_slots] = e;
            s->col[n_slots]    = j;
          }
          ++n_slots;
        }
        row_start[k + 1] = n_slots - s->part_slot[p];
      }
      for (int64_t k = 0; k < count; ++k) local_of[parts->member[first + k]] = 0;
    }
    s->part_slot[parts->n_parts] = n_slots;
  }
  memory_free(&local_of);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode set_up_pattern(PC pc, const block3_view *a)
{
  PC_MetisSchwarz *s = pc->data;
  PetscObjectState state;
  PetscObjectId    id;
  PetscFunctionBegin;
  PetscCall(MatGetNonzeroState(pc->pmat, &state));
  PetscCall(PetscObjectGetId((PetscObject)pc->pmat, &id));
  if (s->pattern_of == id && s->pattern_state == state) PetscFunctionReturn(PETSC_SUCCESS);
  forget(s);
  for (int64_t i = 0; i < a->n; ++i)
    PetscCheck(a->diagonal[i] >= 0, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_WRONGSTATE,
               "PC metisschwarz: block row %lld has no diagonal block", (long long)i);
  s->n = a->n;
  PetscCall(
      block3_parts_create(a, s->n_parts_wanted ? s->n_parts_wanted : (a->n + s->part_size - 1) / s->part_size, (int)s->overlap, &s->parts));
  PetscCall(extract_patterns(s, a));
  PetscCall(MEMORY_ALLOC("pc metis schwarz", ARRAY(s->value, 9 * s->part_slot[s->parts.n_parts]),
                         ARRAY(s->local, 3 * s->parts.start[s->parts.n_parts])));
  s->pattern_of    = id;
  s->pattern_state = state;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSetUp_MetisSchwarz(PC pc)
{
  PC_MetisSchwarz *s = pc->data;
  block3_view      a;
  PetscBool        is_block3;
  int64_t          n_regularised = 0, bad;
  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)pc->pmat, MATBLOCK3, &is_block3));
  PetscCheck(is_block3, PetscObjectComm((PetscObject)pc), PETSC_ERR_SUP,
             "PC metisschwarz needs an assembled matrix of type block3, not %s; use -pc_type blockdiagonal for operators without "
             "a matrix, -pc_type asm for PETSc's own formats",
             ((PetscObject)pc->pmat)->type_name);
  PetscCall(mat_block3_get(pc->pmat, &a));
  PetscCall(set_up_pattern(pc, &a));
  const int64_t n_parts = bad = s->parts.n_parts;
  const double  largest = team_max_abs(9 * a.row_start[a.n], a.value), scale = largest > 0.0 ? largest : 1.0;
#pragma omp parallel for schedule(dynamic) reduction(+ : n_regularised) reduction(min : bad)
  for (int64_t p = 0; p < n_parts; ++p) {
    block3_ilu f = factor_of(s, p);
    for (int64_t k = 0; k < f.row_start[f.n]; ++k)
      for (int e = 0; e < 9; ++e) f.value[9 * k + e] = a.value[9 * s->source[s->part_slot[p] + k] + e];
    const int64_t status = block3_ilu_factor(&f, scale);
    if (status >= 0) n_regularised += status;
    else if (p < bad) bad = p;
  }
  s->n_regularised = n_regularised;
  if (bad < n_parts) PetscCall(PetscInfo(pc, "part %lld has values that are not finite\n", (long long)bad));
  pc->failedreasonrank = pc->failedreason = bad < n_parts ? PC_SUBPC_ERROR : PC_NOERROR;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = sum over parts of (own restriction)^T A_p^-1 (overlapping restriction) x: each entry of y is written by its owner. */
static PetscErrorCode PCApply_MetisSchwarz(PC pc, Vec x, Vec y)
{
  PC_MetisSchwarz   *s = pc->data;
  const PetscScalar *in;
  PetscScalar       *out;
  PetscFunctionBegin;
  PetscCall(VecGetArrayRead(x, &in));
  PetscCall(VecGetArrayWrite(y, &out));
#pragma omp parallel for schedule(dynamic)
  for (int64_t p = 0; p < s->parts.n_parts; ++p) {
    const block3_ilu f      = factor_of(s, p);
    const int64_t    first  = s->parts.start[p];
    const int32_t   *member = s->parts.member + first;
    double          *v      = s->local + 3 * first;
    for (int64_t k = 0; k < f.n; ++k)
      for (int e = 0; e < 3; ++e) v[3 * k + e] = in[3 * (int64_t)member[k] + e];
    block3_ilu_solve(&f, v);
    for (int64_t k = 0; k < f.n; ++k)
      if (s->parts.is_owned[first + k])
        for (int e = 0; e < 3; ++e) out[3 * (int64_t)member[k] + e] = v[3 * k + e];
  }
  PetscCall(VecRestoreArrayWrite(y, &out));
  PetscCall(VecRestoreArrayRead(x, &in));
  PetscCall(PetscLogFlops(18.0 * (double)s->part_slot[s->parts.n_parts]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSetFromOptions_MetisSchwarz(PC pc, PetscOptionItems *PetscOptionsObject)
{
  PC_MetisSchwarz *s      = pc->data;
  const PetscInt   old[3] = {s->n_parts_wanted, s->part_size, s->overlap};
  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "Schwarz over METIS parts");
  PetscCall(PetscOptionsRangeInt("-pc_metisschwarz_parts", "Number of parts, 0: by the part size", "", s->n_parts_wanted,
                                 &s->n_parts_wanted, NULL, 0, PETSC_MAX_INT));
  PetscCall(
      PetscOptionsRangeInt("-pc_metisschwarz_part_size", "3x3 blocks per part", "", s->part_size, &s->part_size, NULL, 1, PETSC_MAX_INT));
  PetscCall(PetscOptionsRangeInt("-pc_metisschwarz_overlap", "Layers of overlap", "", s->overlap, &s->overlap, NULL, 0, 100));
  PetscOptionsHeadEnd();
  if (old[0] != s->n_parts_wanted || old[1] != s->part_size || old[2] != s->overlap) {
    forget(s);
    pc->setupcalled = 0;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCView_MetisSchwarz(PC pc, PetscViewer viewer)
{
  PC_MetisSchwarz *s = pc->data;
  PetscBool        is_ascii;
  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &is_ascii));
  if (is_ascii && s->parts.n_parts)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  parts: %lld, overlap: %d, blocks with overlap: %lld of %lld, regularised pivots: %lld\n",
                                     (long long)s->parts.n_parts, (int)s->overlap, (long long)s->parts.start[s->parts.n_parts],
                                     (long long)s->n, (long long)s->n_regularised));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCReset_MetisSchwarz(PC pc)
{
  forget(pc->data);
  return PETSC_SUCCESS;
}

static PetscErrorCode PCDestroy_MetisSchwarz(PC pc)
{
  PetscFunctionBegin;
  forget(pc->data);
  PetscCall(PetscFree(pc->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCCreate_MetisSchwarz(PC pc)
{
  PC_MetisSchwarz *s;
  PetscFunctionBegin;
  PetscCall(PetscNew(&s));
  s->part_size            = 2048;
  s->overlap              = 0;
  pc->data                = s;
  pc->ops->setup          = PCSetUp_MetisSchwarz;
  pc->ops->apply          = PCApply_MetisSchwarz;
  pc->ops->setfromoptions = PCSetFromOptions_MetisSchwarz;
  pc->ops->view           = PCView_MetisSchwarz;
  pc->ops->reset          = PCReset_MetisSchwarz;
  pc->ops->destroy        = PCDestroy_MetisSchwarz;
  PetscFunctionReturn(PETSC_SUCCESS);
}
