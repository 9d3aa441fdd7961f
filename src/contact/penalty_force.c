/* Forces of the pairs, their exact linearisation, and both on the global vector. penalty-relaxation.md, sections 5 and 6.
 *
 * With a = Z - c' (rigid point), b = Z - c (object), increments dZ of the point, dc, dt (turning) of the object and dt' of
 * the point's body, and K = df/dZ of penalty_law.c in world axes:
 *
 *   df          = K (dZ - dc - dt x b) + dt x f                the force turns with the object
 *   d(a x f)    = a x df + (dt' x a) x f
 *   d(b x f)    = b x df + (dZ - dc) x f                       b x f = (Y - c) x f, because f is along Y - Z
 *
 * The arm of both torques is taken to Z: the moments of a pair then cancel to round-off whatever k is.
 *
 * Energy. With W = f.(motion of the point against the object) what springs, bodies and backward Euler share out in a step is
 *
 *   E1 - E0 = sum k (Y - Z).(Y - X) - k/2 |change of Y - Z|^2 - m/2 |dv|^2 - dw.I0 dw/2 - sum |dt w|^2 f.a_perp/2 + O(dt^3)
 *
 * where surfaces are flat: (Y - Z).(Y - X) <= 0 is friction, the next three are lost in any case, and the last one is the arm's: a body
 * turns by a1 - a0 = dt w x (Jl a0), not dt w x a1. It feeds in where f points towards the centre of what turns, as contact does. Arms Jl a0
 * make it vanish, but then a ball that rolls is braked by f w dt r/2, which is the energy its springs lose as points come and go; with
 * the arm at the end the two are equal, and it rolls on. Rolling matters more; a spin without friction shows the rest (case E12-spin). */
#include "contact/penalty_pairs.h"
#include "core/math3.h"
#include "core/team.h"
#include "core/timer.h"
#include <string.h>

/* ---- forces ---------------------------------------------------------------------------------------------------------- */

/* Z of a weighted point holds its displacement when this is called. */
static void evaluate_pair(penalty_contact *c, int64_t i, const rigid_frame *frames, bool with_tangent)
{
  const rigid_frame *o = &frames[c->object_frame[i]];
  double            *Z = c->Z + 3 * i, b[3], Z_b[3], f_b[3], K_b[9], RK[9];
  if (c->source_frame[i] < 0) v3_axpy(Z, 1.0, c->origin + 3 * i);
  else {
    const rigid_frame *s = &frames[c->source_frame[i]];
    m3_mulv(Z, s->R, c->origin + 3 * i);
    v3_axpy(Z, 1.0, s->c);
  }
  v3_sub(b, Z, o->c);
  m3_mulv_t(Z_b, o->R, b);
  const relax_state state = penalty_law(c, i, Z_b, c->Y_b + 3 * i, f_b, with_tangent ? K_b : NULL);
  c->state[i]             = (uint8_t)state;
  m3_mulv(c->f + 3 * i, o->R, f_b);
  if (!with_tangent) return;
  c->linear_active[i] = state != RELAX_INACTIVE || v3_dot(f_b, f_b) > 0.0;
  v3_copy(c->linear_Z + 3 * i, Z);
  v3_copy(c->linear_f + 3 * i, c->f + 3 * i);
  m3_mul(RK, o->R, K_b);
  m3_mul_nt(c->K + 9 * i, RK, o->R);
}

void penalty_evaluate(penalty_contact *c, const double *v, const rigid_frame *frames, bool with_tangent)
{
  const int64_t n = c->n;
  contact_rows_gather(c->rows, c->dt, v, NULL, c->Z);
#pragma omp parallel for schedule(dynamic, 64) if (n > CONTACT_SERIAL)
  for (int64_t i = 0; i < n; ++i) evaluate_pair(c, i, frames, with_tangent);
  if (with_tangent && c->n_frames > 0) memcpy(c->linear_frames, frames, (size_t)c->n_frames * sizeof *frames);
}

static bool is_pair_finite(const penalty_contact *c, int64_t i)
{
  /* A level set may swallow a NaN (fmax does), so the position is looked at as well. */
  double sum = 0.0;
  for (int j = 0; j < 3; ++j) sum += 0.0 * c->Z[3 * i + j] + 0.0 * c->f[3 * i + j];
  return sum == 0.0;
}

int64_t penalty_first_not_finite(const penalty_contact *c)
{
  const int64_t n     = c->n;
  int64_t       first = n;
#pragma omp parallel for schedule(static) if (n > CONTACT_SERIAL) reduction(min : first)
  for (int64_t i = 0; i < n; ++i)
    if (!is_pair_finite(c, i) && i < first) first = i;
  if (first == n) return -1;
  /* Pairs are sorted by identity; the report names the smallest index of the same source. */
  int64_t best = first;
  for (int64_t i = first; i < n && c->candidate[i].i_source == c->candidate[first].i_source; ++i)
    if (c->candidate[i].i_point < c->candidate[best].i_point && !is_pair_finite(c, i)) best = i;
  return best;
}

/* ---- from pairs to the global vector ----------------------------------------------------------------------------------- */

static void sum_wrenches(const void *context, const wrench_side *restrict side, int64_t n, double *restrict sum)
{
  const penalty_contact *c = context;
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
  const penalty_contact *c = context;
  double *const          o = y + 3 * c->linear_frames[frame].block;
  for (int j = 0; j < 6; ++j) o[j] += c->dt * sum[j];
}

/* The row of a rotation in H^T carries J_l^T, because its column in H carries J_l. */
static void add_wrench_transposed(const void *context, int frame, const double *sum, double *y)
{
  const penalty_contact *c = context;
  double *const          o = y + 3 * c->linear_frames[frame].block;
  double                 turned[3];
  m3_mulv_t(turned, c->linear_frames[frame].Jl, sum + 3);
  for (int j = 0; j < 3; ++j) {
    o[j] += c->dt * sum[j];
    o[3 + j] += c->dt * turned[j];
  }
}

static void scatter(const penalty_contact *c, bool is_transposed, double *y)
{
  contact_rows_scatter(c->rows, c->dt, c->force, y);
  contact_wrenches_sum(c->wrenches, 6, c, sum_wrenches, is_transposed ? add_wrench_transposed : add_wrench, y);
}

static PetscErrorCode add_mesh_forces(penalty_contact *c, const double *v, const rigid_frame *frames, double *g, bool with_tangent,
                                      step_verdict *verdict)
{
  int     source;
  int64_t point;
  PetscFunctionBeginUser;
  if (!c->mesh) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(mesh_contact_residual(c->mesh, v, frames, g, with_tangent, &source, &point));
  if (source == MESH_TOO_FAR) *verdict = (step_verdict){STEP_CFL, NULL, -1};
  if (source >= 0) *verdict = (step_verdict){STEP_NOT_FINITE, c->sources[source].b->name, point};
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode penalty_contact_residual(penalty_contact *c, const double *v, const rigid_frame *frames, double *g,
                                        bool with_tangent, step_verdict *verdict)
{
  PetscFunctionBeginUser;
  SS_ASSERT(c->is_open);
  timer_begin(TIMER_CONTACT_FORCE);
  penalty_evaluate(c, v, frames, with_tangent);
  const int64_t bad = penalty_first_not_finite(c);
  if (bad >= 0) {
    const contact_candidate *q = &c->candidate[bad];
    *verdict                   = (step_verdict){STEP_NOT_FINITE, c->sources[q->i_source].b->name, q->i_point};
  } else {
    const int64_t n = c->n;
#pragma omp parallel for schedule(static) if (n > CONTACT_SERIAL)
    for (int64_t i = 0; i < n; ++i) {
      double a[3] = {0.0, 0.0, 0.0}, b[3], *ts = c->torque_source + 3 * i;
      if (c->source_frame[i] >= 0) v3_sub(a, c->Z + 3 * i, frames[c->source_frame[i]].c);
      v3_sub(b, c->Z + 3 * i, frames[c->object_frame[i]].c);
      v3_scale(c->force + 3 * i, -1.0, c->f + 3 * i);
      v3_cross(ts, a, c->f + 3 * i);
      v3_scale(ts, -1.0, ts);
      v3_cross(c->torque_object + 3 * i, b, c->f + 3 * i);
    }
    scatter(c, false, g);
    PetscCall(add_mesh_forces(c, v, frames, g, with_tangent, verdict));
  }
  const double entries = (double)contact_rows_n_entries(c->rows);
  timer_work(TIMER_CONTACT_FORCE, 12.0 * entries + 300.0 * (double)c->n, 72.0 * entries + 600.0 * (double)c->n);
  timer_end(TIMER_CONTACT_FORCE);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- products with the derivative ------------------------------------------------------------------------------------ */

/* dt x, the angular part through J_l where increments of the pose are wanted. */
static void frame_increments(const penalty_contact *c, const double *x, bool with_turning)
{
  for (int j = 0; j < c->n_frames; ++j) {
    const rigid_frame *frame = &c->linear_frames[j];
    double *const      linear = c->frame_linear + 3 * j, *const angular = c->frame_angular + 3 * j;
    v3_set(linear, 0.0, 0.0, 0.0);
    v3_set(angular, 0.0, 0.0, 0.0);
    if (frame->block < 0) continue;
    v3_scale(linear, c->dt, x + 3 * frame->block);
    if (with_turning) m3_mulv(angular, frame->Jl, x + 3 * frame->block + 3);
    else v3_copy(angular, x + 3 * frame->block + 3);
    v3_scale(angular, c->dt, angular);
  }
}

/* Arms of a pair, and the increments of the bodies on both sides (zero for a weighted point). */
typedef struct {
  double        a[3], b[3];
  const double *source_linear, *source_angular, *object_linear, *object_angular;
} pair_motion;

static pair_motion motion_of(const penalty_contact *c, int64_t i)
{
  static const double zero[3] = {0.0, 0.0, 0.0};
  const int           s = c->source_frame[i], o = c->object_frame[i];
  pair_motion         m = {{0.0}, {0.0}, zero, zero, c->frame_linear + 3 * o, c->frame_angular + 3 * o};
  v3_sub(m.b, c->linear_Z + 3 * i, c->linear_frames[o].c);
  if (s >= 0) {
    v3_sub(m.a, c->linear_Z + 3 * i, c->linear_frames[s].c);
    m.source_linear  = c->frame_linear + 3 * s;
    m.source_angular = c->frame_angular + 3 * s;
  }
  return m;
}

/* In: force = displacement of a weighted point. Out: the pair's share of H x. */
static void product(const penalty_contact *c, int64_t i)
{
  const pair_motion m = motion_of(c, i);
  const double     *f = c->linear_f + 3 * i;
  double           *force = c->force + 3 * i, *ts = c->torque_source + 3 * i, *to = c->torque_object + 3 * i;
  double            dZ[3], da[3], rel[3], turn[3], df[3], t[3];
  v3_cross(da, m.source_angular, m.a);
  if (c->source_frame[i] >= 0) v3_add(dZ, m.source_linear, da);
  else v3_copy(dZ, force);
  v3_sub(dZ, dZ, m.object_linear); /* only dZ - dc matters from here on */
  v3_cross(turn, m.object_angular, m.b);
  v3_sub(rel, dZ, turn);
  m3_mulv(df, c->K + 9 * i, rel);
  v3_cross(turn, m.object_angular, f);
  v3_axpy(df, 1.0, turn);
  v3_scale(force, -1.0, df);
  v3_cross(ts, m.a, df);
  v3_cross(t, da, f);
  for (int j = 0; j < 3; ++j) ts[j] = -(ts[j] + t[j]);
  v3_cross(to, m.b, df);
  v3_cross(t, dZ, f);
  v3_axpy(to, 1.0, t);
}

/* The adjoint of product(): u, q below are the rows that x weighs.
 *   p = u' + q' x a - u - q x b,   m = K^T p,   F = f x q - m
 *   F to the point, -F to dc,   b x m - f x p to the object's turning,   a x (F - f x q') to the source's. */
static void product_transposed(const penalty_contact *c, int64_t i)
{
  const pair_motion r = motion_of(c, i);
  const double     *f = c->linear_f + 3 * i;
  double           *force = c->force + 3 * i, *ts = c->torque_source + 3 * i, *to = c->torque_object + 3 * i;
  double            p[3], t[3], m[3], F[3];
  if (c->source_frame[i] >= 0) v3_copy(p, r.source_linear);
  else v3_copy(p, force);
  v3_cross(t, r.source_angular, r.a);
  v3_axpy(p, 1.0, t);
  v3_sub(p, p, r.object_linear);
  v3_cross(t, r.object_angular, r.b);
  v3_sub(p, p, t);
  m3_mulv_t(m, c->K + 9 * i, p);
  v3_cross(F, f, r.object_angular);
  v3_sub(F, F, m);
  v3_cross(to, r.b, m);
  v3_cross(t, f, p);
  v3_sub(to, to, t);
  v3_cross(t, f, r.source_angular);
  v3_sub(t, F, t);
  v3_cross(ts, r.a, t);
  v3_copy(force, F);
}

PetscErrorCode penalty_contact_tangent(const penalty_contact *c, const double *x, double *y, bool is_transposed)
{
  PetscFunctionBeginUser;
  const int64_t        n      = c->n;
  const uint8_t *const active = c->linear_active;
  frame_increments(c, x, !is_transposed);
  contact_rows_gather(c->rows, c->dt, x, active, c->force);
#pragma omp parallel for schedule(static) if (n > CONTACT_SERIAL)
  for (int64_t i = 0; i < n; ++i) {
    if (!active[i]) {
      v3_set(c->force + 3 * i, 0.0, 0.0, 0.0);
      v3_set(c->torque_source + 3 * i, 0.0, 0.0, 0.0);
      v3_set(c->torque_object + 3 * i, 0.0, 0.0, 0.0);
    } else if (is_transposed) product_transposed(c, i);
    else product(c, i);
  }
  scatter(c, is_transposed, y);
  if (c->mesh) PetscCall(mesh_contact_tangent(c->mesh, x, y, is_transposed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- diagonal blocks ------------------------------------------------------------------------------------------------- */

/* -K for the linear block; for the angular one, before J_l: [a] K [a] - [f] [a] (point) or [b] K [b] - [b] [f] (object). */
static void sum_diagonals(const void *context, const wrench_side *side, int64_t n, double *sum)
{
  const penalty_contact *c = context;
  for (int64_t s = 0; s < n; ++s) {
    const int64_t i     = side[s].pair;
    const int     frame = side[s].is_object ? c->object_frame[i] : c->source_frame[i];
    double        arm[3], A[9], f[9], AK[9], m[9];
    if (!c->linear_active[i]) continue;
    v3_sub(arm, c->linear_Z + 3 * i, c->linear_frames[frame].c);
    m3_skew(A, arm);
    m3_skew(f, c->linear_f + 3 * i);
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
  const penalty_contact *c = context;
  double *const          o = d + 9 * c->linear_frames[frame].block;
  double                 m[9];
  m3_mul(m, sum + 9, c->linear_frames[frame].Jl);
  m3_axpy(o, c->dt * c->dt, sum);
  m3_axpy(o + 9, c->dt * c->dt, m);
}

PetscErrorCode penalty_contact_block_diagonal(const penalty_contact *c, double *d)
{
  PetscFunctionBeginUser;
  contact_rows_scatter_squares(c->rows, -c->dt * c->dt, c->K, d);
  contact_wrenches_sum(c->wrenches, 18, c, sum_diagonals, add_diagonal, d);
  if (c->mesh) PetscCall(mesh_contact_block_diagonal(c->mesh, d));
  PetscFunctionReturn(PETSC_SUCCESS);
}
