/* Contributions of contact pairs to rigid bodies, see rigid_sides.h. */
#include "contact/rows/rigid_sides.h"
#include "core/memory.h"
#include "core/team.h"
#include <omp.h>
#include <string.h>

/* ---- sums and products ---- */

PetscErrorCode rigid_sides_create(rigid_sides *s)
{
  PetscFunctionBeginUser;
  PetscCall(contact_wrenches_create(&s->wrenches));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void rigid_sides_destroy(rigid_sides *s)
{
  MEMORY_FREE(&s->source, &s->object, &s->is_active, &s->Z, &s->f, &s->K, &s->frames, &s->force, &s->torque_source, &s->torque_object,
              &s->linear, &s->angular);
  contact_wrenches_destroy(&s->wrenches);
}

PetscErrorCode rigid_sides_begin(rigid_sides *s, double dt, int n_frames, const rigid_frame *frames0)
{
  PetscFunctionBeginUser;
  s->n        = 0;
  s->dt       = dt;
  s->n_frames = n_frames;
  PetscCall(MEMORY_RESERVE("rigid sides", n_frames, &s->frame_capacity, ARRAY(s->frames, 1), ARRAY(s->linear, 3), ARRAY(s->angular, 3)));
  if (n_frames > 0) memcpy(s->frames, frames0, (size_t)n_frames * sizeof *frames0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode rigid_sides_reserve(rigid_sides *s, int64_t n)
{
  PetscFunctionBeginUser;
  PetscCall(MEMORY_RESERVE("rigid sides", n, &s->capacity, ARRAY(s->source, 1), ARRAY(s->object, 1), ARRAY(s->is_active, 1), ARRAY(s->Z, 3),
                           ARRAY(s->f, 3), ARRAY(s->K, 9), ARRAY(s->force, 3), ARRAY(s->torque_source, 3), ARRAY(s->torque_object, 3)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void rigid_sides_add(rigid_sides *s, int64_t i, int32_t source, int32_t object)
{
  s->source[i]    = source;
  s->object[i]    = object;
  s->is_active[i] = 0;
  v3_set(s->Z + 3 * i, 0.0, 0.0, 0.0);
  v3_set(s->f + 3 * i, 0.0, 0.0, 0.0);
  m3_zero(s->K + 9 * i);
}

PetscErrorCode rigid_sides_list(rigid_sides *s, int64_t n)
{
  PetscFunctionBeginUser;
  s->n = n;
  PetscCall(contact_wrenches_build(s->wrenches, n, s->source, s->object, s->n_frames, s->frames));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- from pairs to the global vector ----------------------------------------------------------------------------------- */

void rigid_sides_apply(const rigid_sides *s, int64_t i, const rigid_frame *frames, const double Z[3], const double f[3])
{
  double a[3] = {0.0, 0.0, 0.0}, b[3] = {0.0, 0.0, 0.0}, *ts = s->torque_source + 3 * i;
  if (s->source[i] >= 0) v3_sub(a, Z, frames[s->source[i]].c);
  if (s->object[i] >= 0) v3_sub(b, Z, frames[s->object[i]].c);
  v3_scale(s->force + 3 * i, -1.0, f);
  v3_cross(ts, a, f);
  v3_scale(ts, -1.0, ts);
  v3_cross(s->torque_object + 3 * i, b, f);
}

static void sum_wrenches(const void *context, const wrench_side *restrict side, int64_t n, double *restrict sum)
{
  const rigid_sides *c = context;
  for (int64_t s = 0; s < n; ++s) {
    const double  sign = side[s].is_object ? -1.0 : 1.0;
    const double *f    = c->force + 3 * (int64_t)side[s].pair;
    const double *t    = (side[s].is_object ? c->torque_object : c->torque_source) + 3 * (int64_t)side[s].pair;
    for (int j = 0; j < 3; ++j) {
      sum[j] += sign * f[j];
      sum[3 + j] += t[j];
    }
  }
}

static void add_wrench(const void *context, int frame, const double *sum, double *y)
{
  const rigid_sides *s = context;
  double *const      o = y + 3 * s->frames[frame].block;
  for (int j = 0; j < 6; ++j) o[j] += s->dt * sum[j];
}

/* The row of a rotation in H^T carries J_l^T, because its column in H carries J_l. */
static void add_wrench_transposed(const void *context, int frame, const double *sum, double *y)
{
  const rigid_sides *s = context;
  double *const      o = y + 3 * s->frames[frame].block;
  double             turned[3];
  m3_mulv_t(turned, s->frames[frame].Jl, sum + 3);
  for (int j = 0; j < 3; ++j) {
    o[j] += s->dt * sum[j];
    o[3 + j] += s->dt * turned[j];
  }
}

void rigid_sides_scatter(const rigid_sides *s, const contact_rows *rows, bool is_transposed, double *y)
{
  contact_rows_scatter(rows, s->dt, s->force, y);
  contact_wrenches_sum(s->wrenches, 6, s, sum_wrenches, is_transposed ? add_wrench_transposed : add_wrench, y);
}

/* ---- products with the derivative ------------------------------------------------------------------------------------ */

/* For increments of the pose, the angular part is multiplied by J_l. */
void rigid_sides_gather(const rigid_sides *s, const contact_rows *rows, const double *x, bool is_transposed)
{
  for (int j = 0; j < s->n_frames; ++j) {
    const rigid_frame *frame = &s->frames[j];
    double *const linear = s->linear + 3 * j, *const angular = s->angular + 3 * j;
    v3_set(linear, 0.0, 0.0, 0.0);
    v3_set(angular, 0.0, 0.0, 0.0);
    if (frame->block < 0) continue;
    v3_scale(linear, s->dt, x + 3 * frame->block);
    if (is_transposed) v3_copy(angular, x + 3 * frame->block + 3);
    else m3_mulv(angular, frame->Jl, x + 3 * frame->block + 3);
    v3_scale(angular, s->dt, angular);
  }
  contact_rows_gather(rows, s->dt, x, s->is_active, s->force);
}

void rigid_sides_product(const rigid_sides *s, int64_t i)
{
  const rigid_motion m = rigid_sides_motion(s, i);
  double             d[3], rel[3], turn[3], df[3];
  rigid_sides_approach(s, i, &m, d);
  v3_cross(turn, m.object_angular, m.b);
  v3_sub(rel, d, turn);
  m3_mulv(df, s->K + 9 * i, rel);
  v3_cross(turn, m.object_angular, s->f + 3 * i);
  v3_axpy(df, 1.0, turn);
  rigid_sides_react(s, i, &m, d, df);
}

void rigid_sides_product_transposed(const rigid_sides *s, int64_t i)
{
  const rigid_motion m = rigid_sides_motion(s, i);
  double             p[3], t[3], h[3], F[3];
  rigid_sides_approach(s, i, &m, p);
  v3_cross(t, m.object_angular, m.b);
  v3_sub(p, p, t);
  m3_mulv_t(h, s->K + 9 * i, p);
  v3_cross(F, s->f + 3 * i, m.object_angular);
  v3_sub(F, F, h);
  rigid_sides_react_transposed(s, i, &m, p, h, F);
}

/* ---- diagonal blocks ------------------------------------------------------------------------------------------------- */

/* -K for the linear block; for the angular one, before J_l: [a] K [a] - [f] [a] (point) or [b] K [b] - [b] [f] (object). */
static void sum_diagonals(const void *context, const wrench_side *side, int64_t n, double *sum)
{
  const rigid_sides *c = context;
  for (int64_t s = 0; s < n; ++s) {
    const int64_t i     = side[s].pair;
    const int     frame = side[s].is_object ? c->object[i] : c->source[i];
    double        arm[3], A[9], f[9], AK[9], m[9];
    if (!c->is_active[i]) continue;
    v3_sub(arm, c->Z + 3 * i, c->frames[frame].c);
    m3_skew(A, arm);
    m3_skew(f, c->f + 3 * i);
    m3_axpy(sum, -1.0, c->K + 9 * i);
    m3_mul(AK, A, c->K + 9 * i);
    m3_mul(m, AK, A);
    m3_axpy(sum + 9, 1.0, m);
    if (side[s].is_object) m3_mul(m, A, f);
    else m3_mul(m, f, A);
    m3_axpy(sum + 9, -1.0, m);
  }
}

static void add_diagonal(const void *context, int frame, const double *sum, double *d)
{
  const rigid_sides *s = context;
  double *const      o = d + 9 * s->frames[frame].block;
  double             m[9];
  m3_mul(m, sum + 9, s->frames[frame].Jl);
  m3_axpy(o, s->dt * s->dt, sum);
  m3_axpy(o + 9, s->dt * s->dt, m);
}

void rigid_sides_block_diagonal(const rigid_sides *s, const contact_rows *rows, double *d)
{
  contact_rows_scatter_squares(rows, -s->dt * s->dt, s->K, d);
  contact_wrenches_sum(s->wrenches, 18, s, sum_diagonals, add_diagonal, d);
}

/* ---- assembly of the tangent ---- */

/* The tangent of the pairs as blocks of a matrix. A pair couples up to four sets of blocks: the point (blocks of a weighted point, or the
 * linear block of its rigid body), the angular block of the body of the point, the linear and the angular block of the object. With
 * their increments p, t', c, t, and a, b, K, f as in rigid_sides.h:
 *
 *   df = K p - K [a] t' - K c + (K [b] - [f]) t
 *
 *   rows:  point -df,   angular of the point's body -[a] df - [f][a] t',   object df,   angular of the object [b] df - [f] (p - [a] t' - c)
 *
 * all multiplied by dt^2, angular columns also by J_l. Rows of weighted blocks are summed in parallel, each over its pairs in ascending
 * order; rows of rigid blocks are summed serially, pair by pair. */

enum { POINT, POINT_TURN, OBJECT, OBJECT_TURN, N_SIDES };

/* B [row][col]; blocks of a side without unknowns are not used. */
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
  /* columns of df */
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
static int64_t source_block(const rigid_sides *s, int64_t i) { return s->source[i] >= 0 ? s->frames[s->source[i]].block : -1; }
static int64_t object_block(const rigid_sides *s, int64_t i) { return s->object[i] >= 0 ? s->frames[s->object[i]].block : -1; }

static void add_coupling(int64_t *n, int32_t *row, int32_t *col, int64_t i, int64_t j)
{
  if (row) row[*n] = (int32_t)i, col[*n] = (int32_t)j;
  ++*n;
}

/* Add the couplings between a block and the two blocks of a rigid body, in both directions. `row` NULL: only count. */
static void rigid_sides_couple(int64_t *n, int32_t *row, int32_t *col, int64_t block, int64_t rigid)
{
  for (int k = 0; k < 2; ++k) {
    add_coupling(n, row, col, block, rigid + k);
    add_coupling(n, row, col, rigid + k, block);
  }
}

PetscErrorCode rigid_sides_couplings(const rigid_sides *s, const contact_rows *all_rows, int64_t n_blocks, int64_t *n, int32_t **row,
                                     int32_t **col)
{
  const contact_rows_view rows   = contact_rows_get(all_rows);
  const int64_t           before = *n;
  int64_t                *last; /* last object coupled with each block; this removes most repetitions, which are consecutive */

  PetscFunctionBeginUser;
  PetscCall(memory_alloc("contact couplings", n_blocks, sizeof *last, &last));
  for (int pass = 0; pass < 2; ++pass) {
    for (int64_t b = 0; b < n_blocks; ++b) last[b] = -1;
    *n = before;
    for (int64_t i = 0; i < s->n; ++i) {
      const int64_t object = object_block(s, i), source = source_block(s, i);
      if (object < 0) continue;
      if (source >= 0 && last[source] != object) {
        rigid_sides_couple(n, pass ? *row : NULL, *col, source, object);
        rigid_sides_couple(n, pass ? *row : NULL, *col, source + 1, object);
        last[source] = object;
      }
      for (int64_t e = rows.start[i]; e < rows.start[i + 1]; ++e)
        if (last[rows.block[e]] != object) {
          rigid_sides_couple(n, pass ? *row : NULL, *col, rows.block[e], object);
          last[rows.block[e]] = object;
        }
    }
    if (pass == 1) break;
    PetscCall(MEMORY_RESIZE("contact couplings", ARRAY(*row, *n), ARRAY(*col, *n)));
  }
  memory_free(&last);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void add_scaled(double *restrict to, double scale, const double *restrict B)
{
  for (int e = 0; e < 9; ++e) to[e] += scale * B[e];
}

/* Blocks outside the pattern, of pairs created during the step, are omitted. */
static void add_if_in_pattern(const block_rows *H, int64_t row, int64_t col, double scale, const double *B)
{
  double *const to = block_rows_find(H, row, col);
  if (to) add_scaled(to, scale, B);
}

/* One row of a weighted block; place [n_blocks]: slot of each column of this row. */
static void assemble_touched(const rigid_sides *s, const contact_rows_view *rows, int64_t t, const block_rows *H, int64_t *place)
{
  const int64_t row       = rows->touched[t];
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
    add_if_in_pattern(H, row, object, w, B[POINT][OBJECT]);
    add_if_in_pattern(H, row, object + 1, w, B[POINT][OBJECT_TURN]);
  }
}

/* The rows of a pair's rigid blocks. */
static void assemble_rigid(const rigid_sides *s, const contact_rows_view *rows, int64_t i, const block_rows *H)
{
  const int64_t source = source_block(s, i), object = object_block(s, i),
                at[N_SIDES] = {source, source + (source >= 0), object, object + (object >= 0)};
  if (!s->is_active[i] || (source < 0 && object < 0)) return;
  double B[N_SIDES][N_SIDES][9];
  pair_blocks(s, i, B);
  for (int row = 0; row < N_SIDES; ++row) {
    if (at[row] < 0) continue;
    for (int col = 0; col < N_SIDES; ++col)
      if (at[col] >= 0) add_if_in_pattern(H, at[row], at[col], 1.0, B[row][col]);
    for (int64_t e = rows->start[i]; e < rows->start[i + 1]; ++e)
      add_if_in_pattern(H, at[row], rows->block[e], rows->weight[e], B[row][POINT]);
  }
}

PetscErrorCode rigid_sides_assemble(const rigid_sides *s, const contact_rows *all_rows, int64_t n_blocks, const block_rows *H)
{
  const contact_rows_view rows      = contact_rows_get(all_rows);
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
