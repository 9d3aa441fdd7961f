#include "contact/rows/rigid_sides.h"
#include "core/memory.h"
#include <string.h>

PetscErrorCode rigid_sides_create(rigid_sides *s)
{
  PetscFunctionBeginUser;
  PetscCall(contact_wrenches_create(&s->wrenches));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void rigid_sides_destroy(rigid_sides *s)
{
  void *arrays[] = {&s->source, &s->object, &s->is_active, &s->Z, &s->f, &s->K, &s->frames, &s->force, &s->torque_source, &s->torque_object,
                    &s->linear, &s->angular};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; ++i) memory_free(arrays[i]);
  contact_wrenches_destroy(&s->wrenches);
}

PetscErrorCode rigid_sides_begin(rigid_sides *s, double dt, int n_frames, const rigid_frame *frames0)
{
  PetscFunctionBeginUser;
  s->n        = 0;
  s->dt       = dt;
  s->n_frames = n_frames;
  if (n_frames > s->frame_capacity) {
    s->frame_capacity = n_frames;
    PetscCall(memory_resize("contact frames", n_frames, sizeof *s->frames, &s->frames));
    PetscCall(memory_resize("contact frame motion", 3 * (int64_t)n_frames, sizeof(double), &s->linear));
    PetscCall(memory_resize("contact frame turning", 3 * (int64_t)n_frames, sizeof(double), &s->angular));
  }
  if (n_frames > 0) memcpy(s->frames, frames0, (size_t)n_frames * sizeof *frames0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode rigid_sides_reserve(rigid_sides *s, int64_t n)
{
  PetscFunctionBeginUser;
  if (n <= s->capacity) PetscFunctionReturn(PETSC_SUCCESS);
  const int64_t m = n + n / 2 + 16;
  PetscCall(memory_resize("pair source frame", m, sizeof *s->source, &s->source));
  PetscCall(memory_resize("pair object frame", m, sizeof *s->object, &s->object));
  PetscCall(memory_resize("pair linear state", m, sizeof *s->is_active, &s->is_active));
  PetscCall(memory_resize("pair linear Z", 3 * m, sizeof(double), &s->Z));
  PetscCall(memory_resize("pair linear f", 3 * m, sizeof(double), &s->f));
  PetscCall(memory_resize("pair K", 9 * m, sizeof(double), &s->K));
  PetscCall(memory_resize("pair force", 3 * m, sizeof(double), &s->force));
  PetscCall(memory_resize("pair torque on source", 3 * m, sizeof(double), &s->torque_source));
  PetscCall(memory_resize("pair torque on object", 3 * m, sizeof(double), &s->torque_object));
  s->capacity = m;
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

/* The angular part goes through J_l where increments of the pose are wanted. */
void rigid_sides_gather(const rigid_sides *s, const contact_rows *rows, const double *x, bool is_transposed)
{
  for (int j = 0; j < s->n_frames; ++j) {
    const rigid_frame *frame = &s->frames[j];
    double *const      linear = s->linear + 3 * j, *const angular = s->angular + 3 * j;
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
