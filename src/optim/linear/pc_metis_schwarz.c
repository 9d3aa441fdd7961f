#include "optim/linear/pc_metis_schwarz.h"
#include "core/memory.h"
#include "core/team.h"
#include "optim/linear/block3_ilu.h"
#include "optim/linear/block3_parts.h"
#include "optim/linear/petsc_private.h"

typedef struct {
  PetscInt n_parts_wanted, part_size, overlap;
  /* by the pattern */
  PetscObjectState pattern_state;
  PetscObjectId    pattern_of;
  block3_parts     parts;
  int64_t         *part_slot;         /* [n_parts+1] first slot of each part in the arrays below */
  int64_t         *source;            /* [slots] where the block stands in the matrix */
  int64_t         *row_start;         /* [members + n_parts] local rows of all parts, each part counting from 0 */
  int32_t         *col;               /* [slots] local columns */
  int64_t         *diagonal;          /* [members] */
  int64_t         *copy_start, *copy; /* [n+1], [members]: places of each block among the members, by part */
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
  memory_free(&s->part_slot), memory_free(&s->source), memory_free(&s->row_start), memory_free(&s->col);
  memory_free(&s->diagonal), memory_free(&s->copy_start), memory_free(&s->copy), memory_free(&s->value), memory_free(&s->local);
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
  PetscCall(memory_alloc("Schwarz local numbers", a->n, sizeof *local_of, &local_of));
  PetscCall(memory_alloc("Schwarz part slots", parts->n_parts + 1, sizeof *s->part_slot, &s->part_slot));
  PetscCall(memory_alloc("Schwarz local rows", n_members + parts->n_parts, sizeof *s->row_start, &s->row_start));
  PetscCall(memory_alloc("Schwarz local diagonals", n_members, sizeof *s->diagonal, &s->diagonal));
  for (int is_filling = 0; is_filling <= 1; ++is_filling) { /* count, then fill */
    if (is_filling) {
      PetscCall(memory_alloc("Schwarz sources", n_slots, sizeof *s->source, &s->source));
      PetscCall(memory_alloc("Schwarz local columns", n_slots, sizeof *s->col, &s->col));
    }
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

/* For the transposed application: all copies of a block, in the order of the parts. */
static PetscErrorCode list_copies(PC_MetisSchwarz *s)
{
  const int64_t n_members = s->parts.start[s->parts.n_parts];
  PetscFunctionBegin;
  PetscCall(memory_alloc("Schwarz copy starts", s->n + 2, sizeof *s->copy_start, &s->copy_start));
  PetscCall(memory_alloc("Schwarz copies", n_members, sizeof *s->copy, &s->copy));
  for (int64_t k = 0; k < n_members; ++k) ++s->copy_start[s->parts.member[k] + 2];
  for (int64_t i = 0; i < s->n; ++i) s->copy_start[i + 2] += s->copy_start[i + 1];
  for (int64_t k = 0; k < n_members; ++k) s->copy[s->copy_start[s->parts.member[k] + 1]++] = k;
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
  PetscCall(block3_parts_create(a, s->n_parts_wanted ? s->n_parts_wanted : (a->n + s->part_size - 1) / s->part_size,
                                (int)s->overlap, &s->parts));
  PetscCall(extract_patterns(s, a));
  PetscCall(list_copies(s));
  PetscCall(memory_alloc("Schwarz factors", 9 * s->part_slot[s->parts.n_parts], sizeof *s->value, &s->value));
  PetscCall(memory_alloc("Schwarz local vectors", 3 * s->parts.start[s->parts.n_parts], sizeof *s->local, &s->local));
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
    if (status >= 0)
      n_regularised += status;
    else if (p < bad)
      bad = p;
  }
  s->n_regularised = n_regularised;
  if (bad < n_parts) PetscCall(PetscInfo(pc, "part %lld has values that are not finite\n", (long long)bad));
  pc->failedreasonrank = pc->failedreason = bad < n_parts ? PC_SUBPC_ERROR : PC_NOERROR;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the overlaps of the parts add up to in each block, in the order of the parts. */
static void sum_copies(const PC_MetisSchwarz *s, double *out)
{
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < s->n; ++i) {
    double sum[3] = {0.0, 0.0, 0.0};
    for (int64_t k = s->copy_start[i]; k < s->copy_start[i + 1]; ++k)
      for (int e = 0; e < 3; ++e) sum[e] += s->local[3 * s->copy[k] + e];
    for (int e = 0; e < 3; ++e) out[3 * i + e] = sum[e];
  }
}

/* y = sum over parts of (own restriction)^T A_p^-1 (overlapping restriction) x: each entry of y is written by its owner.
 * Transposed, the same read backwards: parts take what they own and add into their overlap. */
static PetscErrorCode apply(PC pc, Vec x, Vec y, bool is_transposed)
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
      for (int e = 0; e < 3; ++e)
        v[3 * k + e] = is_transposed && !s->parts.is_owned[first + k] ? 0.0 : in[3 * (int64_t)member[k] + e];
    if (is_transposed) {
      block3_ilu_solve_transposed(&f, v);
      continue;
    }
    block3_ilu_solve(&f, v);
    for (int64_t k = 0; k < f.n; ++k)
      if (s->parts.is_owned[first + k])
        for (int e = 0; e < 3; ++e) out[3 * (int64_t)member[k] + e] = v[3 * k + e];
  }
  if (is_transposed) sum_copies(s, out);
  PetscCall(VecRestoreArrayWrite(y, &out));
  PetscCall(VecRestoreArrayRead(x, &in));
  PetscCall(PetscLogFlops(18.0 * (double)s->part_slot[s->parts.n_parts]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCApply_MetisSchwarz(PC pc, Vec x, Vec y) { return apply(pc, x, y, false); }
static PetscErrorCode PCApplyTranspose_MetisSchwarz(PC pc, Vec x, Vec y) { return apply(pc, x, y, true); }

static PetscErrorCode PCSetFromOptions_MetisSchwarz(PC pc, PetscOptionItems *PetscOptionsObject)
{
  PC_MetisSchwarz *s      = pc->data;
  const PetscInt   old[3] = {s->n_parts_wanted, s->part_size, s->overlap};
  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "Schwarz over METIS parts");
  PetscCall(PetscOptionsRangeInt("-pc_metisschwarz_parts", "Number of parts, 0: by the part size", "", s->n_parts_wanted,
                                 &s->n_parts_wanted, NULL, 0, PETSC_MAX_INT));
  PetscCall(PetscOptionsRangeInt("-pc_metisschwarz_part_size", "3x3 blocks per part", "", s->part_size, &s->part_size, NULL, 1,
                                 PETSC_MAX_INT));
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
    PetscCall(PetscViewerASCIIPrintf(viewer,
                                     "  parts: %lld, overlap: %d, blocks with overlap: %lld of %lld, regularised pivots: %lld\n",
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
  pc->ops->applytranspose = PCApplyTranspose_MetisSchwarz;
  pc->ops->setfromoptions = PCSetFromOptions_MetisSchwarz;
  pc->ops->view           = PCView_MetisSchwarz;
  pc->ops->reset          = PCReset_MetisSchwarz;
  pc->ops->destroy        = PCDestroy_MetisSchwarz;
  PetscFunctionReturn(PETSC_SUCCESS);
}
