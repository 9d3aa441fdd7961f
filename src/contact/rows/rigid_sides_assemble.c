/* The tangent of the pairs as blocks of a matrix. A pair couples up to four blocks, or rows of them: the point (blocks of a weighted
 * point, or the linear block of its rigid body), the turning of the point's body, the object's linear block and its turning. With
 * the increments p, t', c, t of these, and a, b, K, f as in rigid_sides.h:
 *
 *   df = K p - K [a] t' - K c + (K [b] - [f]) t
 *
 *   rows:  point -df,   point's body -[a] df - [f][a] t',   object df,   object's turning [b] df - [f] (p - [a] t' - c)
 *
 * all times dt^2, turnings through J_l. Rows of weighted blocks are summed block by block, in parallel, over the pairs at each in
 * ascending order; rows of rigid blocks pair by pair, serially.                                                              */
#include "contact/rows/rigid_sides.h"
#include "core/memory.h"
#include "core/team.h"
#include <omp.h>

enum { POINT, POINT_TURN, OBJECT, OBJECT_TURN, N_SIDES };

/* B [row][col]; the blocks of a side that has no unknowns mean nothing. */
static void pair_blocks(const rigid_sides *s, int64_t i, double B[N_SIDES][N_SIDES][9])
{
  const rigid_frame *o = s->object[i] >= 0 ? &s->frames[s->object[i]] : NULL, *p = s->source[i] >= 0 ? &s->frames[s->source[i]] : NULL;
  const double      *K = s->K + 9 * i;
  double             arm[3], A[9], Bm[9], f[9], D[N_SIDES][9], fA[9];
  m3_zero(A);
  m3_zero(Bm);
  if (p) {
    v3_sub(arm, s->Z + 3 * i, p->c);
    m3_skew(A, arm);
  }
  if (o) {
    v3_sub(arm, s->Z + 3 * i, o->c);
    m3_skew(Bm, arm);
  }
  m3_skew(f, s->f + 3 * i);
  m3_mul(fA, f, A);
  /* df by column */
  m3_copy(D[POINT], K);
  m3_mul(D[POINT_TURN], K, A);
  m3_mul(D[OBJECT_TURN], K, Bm);
  for (int e = 0; e < 9; ++e) {
    D[POINT_TURN][e] = -D[POINT_TURN][e];
    D[OBJECT][e]     = -K[e];
    D[OBJECT_TURN][e] -= f[e];
  }
  for (int col = 0; col < N_SIDES; ++col) {
    double AD[9];
    m3_mul(AD, A, D[col]);
    m3_mul(B[OBJECT_TURN][col], Bm, D[col]);
    for (int e = 0; e < 9; ++e) {
      B[POINT][col][e]      = -D[col][e];
      B[POINT_TURN][col][e] = -AD[e] - (col == POINT_TURN ? fA[e] : 0.0);
      B[OBJECT][col][e]     = D[col][e];
    }
  }
  m3_axpy(B[OBJECT_TURN][POINT], -1.0, f);
  m3_axpy(B[OBJECT_TURN][POINT_TURN], 1.0, fA);
  m3_axpy(B[OBJECT_TURN][OBJECT], 1.0, f);
  for (int row = 0; row < N_SIDES; ++row) {
    double M[9];
    if (p) {
      m3_mul(M, B[row][POINT_TURN], p->Jl);
      m3_copy(B[row][POINT_TURN], M);
    }
    if (o) {
      m3_mul(M, B[row][OBJECT_TURN], o->Jl);
      m3_copy(B[row][OBJECT_TURN], M);
    }
    for (int col = 0; col < N_SIDES; ++col)
      for (int e = 0; e < 9; ++e) B[row][col][e] *= s->dt * s->dt;
  }
}

/* First rigid block of a pair's point and object, or -1. */
static int64_t source_block(const rigid_sides *s, int64_t i)
{
  return s->source[i] >= 0 ? s->frames[s->source[i]].block : -1;
}
static int64_t object_block(const rigid_sides *s, int64_t i) { return s->object[i] >= 0 ? s->frames[s->object[i]].block : -1; }

static void add_coupling(int64_t *n, int32_t *row, int32_t *col, int64_t i, int64_t j)
{
  if (row) row[*n] = (int32_t)i, col[*n] = (int32_t)j;
  ++*n;
}

/* Both ways between a block and a rigid body's two. `row` NULL: count. */
static void couple(int64_t *n, int32_t *row, int32_t *col, int64_t block, int64_t rigid)
{
  for (int k = 0; k < 2; ++k) {
    add_coupling(n, row, col, block, rigid + k);
    add_coupling(n, row, col, rigid + k, block);
  }
}

PetscErrorCode rigid_sides_couplings(const rigid_sides *s, const contact_rows *all_rows, int64_t n_blocks, int64_t *n, int32_t **row, int32_t **col)
{
  const contact_rows_view rows = contact_rows_get(all_rows);
  const int64_t           before = *n;
  int64_t                *last; /* the object that a block was coupled with last: most repetitions follow each other */

  PetscFunctionBeginUser;
  PetscCall(memory_alloc("contact couplings", n_blocks, sizeof *last, &last));
  for (int pass = 0; pass < 2; ++pass) {
    for (int64_t b = 0; b < n_blocks; ++b) last[b] = -1;
    *n = before;
    for (int64_t i = 0; i < s->n; ++i) {
      const int64_t object = object_block(s, i), source = source_block(s, i);
      if (object < 0) continue;
      if (source >= 0 && last[source] != object) {
        couple(n, pass ? *row : NULL, *col, source, object);
        couple(n, pass ? *row : NULL, *col, source + 1, object);
        last[source] = object;
      }
      for (int64_t e = rows.start[i]; e < rows.start[i + 1]; ++e)
        if (last[rows.block[e]] != object) {
          couple(n, pass ? *row : NULL, *col, rows.block[e], object);
          last[rows.block[e]] = object;
        }
    }
    if (pass == 1) break;
    PetscCall(memory_resize("contact couplings", *n, sizeof **row, row));
    PetscCall(memory_resize("contact couplings", *n, sizeof **col, col));
  }
  memory_free(&last);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void add_scaled(double *restrict to, double scale, const double *restrict B)
{
  for (int e = 0; e < 9; ++e) to[e] += scale * B[e];
}

/* Pairs that were found during the step are not in the pattern. */
static void add_if_there(const block_rows *H, int64_t row, int64_t col, double scale, const double *B)
{
  double *const to = block_rows_find(H, row, col);
  if (to) add_scaled(to, scale, B);
}

/* One row of a weighted block; place [n_blocks]: slot of each column of this row. */
static void assemble_touched(const rigid_sides *s, const contact_rows_view *rows, int64_t t, const block_rows *H, int64_t *place)
{
  const int64_t row = rows->touched[t];
  bool          is_active = false;
  for (int64_t q = rows->touched_start[t]; q < rows->touched_start[t + 1]; ++q) is_active |= s->is_active[rows->touched_pair[q]];
  if (!is_active) return;
  for (int64_t k = H->row_start[row]; k < H->row_start[row + 1]; ++k) place[H->col[k]] = k;
  for (int64_t q = rows->touched_start[t]; q < rows->touched_start[t + 1]; ++q) {
    const int64_t i = rows->touched_pair[q], object = object_block(s, i);
    const double  w = rows->touched_weight[q], minus = -s->dt * s->dt * w;
    if (!s->is_active[i]) continue;
    for (int64_t e = rows->start[i]; e < rows->start[i + 1]; ++e)
      add_scaled(H->value + 9 * place[rows->block[e]], minus * rows->weight[e], s->K + 9 * i);
    if (object < 0) continue;
    double B[N_SIDES][N_SIDES][9];
    pair_blocks(s, i, B);
    add_if_there(H, row, object, w, B[POINT][OBJECT]);
    add_if_there(H, row, object + 1, w, B[POINT][OBJECT_TURN]);
  }
}

/* The rows of a pair's rigid blocks. */
static void assemble_rigid(const rigid_sides *s, const contact_rows_view *rows, int64_t i, const block_rows *H)
{
  const int64_t source = source_block(s, i), object = object_block(s, i), at[N_SIDES] = {source, source + (source >= 0), object, object + (object >= 0)};
  if (!s->is_active[i] || (source < 0 && object < 0)) return;
  double B[N_SIDES][N_SIDES][9];
  pair_blocks(s, i, B);
  for (int row = 0; row < N_SIDES; ++row) {
    if (at[row] < 0) continue;
    for (int col = 0; col < N_SIDES; ++col)
      if (at[col] >= 0) add_if_there(H, at[row], at[col], 1.0, B[row][col]);
    for (int64_t e = rows->start[i]; e < rows->start[i + 1]; ++e) add_if_there(H, at[row], rows->block[e], rows->weight[e], B[row][POINT]);
  }
}

PetscErrorCode rigid_sides_assemble(const rigid_sides *s, const contact_rows *all_rows, int64_t n_blocks, const block_rows *H)
{
  const contact_rows_view rows = contact_rows_get(all_rows);
  const int               n_threads = team_threads();
  int64_t                *place;

  PetscFunctionBeginUser;
  PetscCall(memory_alloc("contact places", (int64_t)n_threads * n_blocks, sizeof *place, &place));
#pragma omp parallel for schedule(dynamic, 16) num_threads(n_threads) if (rows.n_touched > CONTACT_SERIAL)
  for (int64_t t = 0; t < rows.n_touched; ++t) assemble_touched(s, &rows, t, H, place + omp_get_thread_num() * n_blocks);
  for (int64_t i = 0; i < s->n; ++i) assemble_rigid(s, &rows, i, H);
  memory_free(&place);
  PetscFunctionReturn(PETSC_SUCCESS);
}
