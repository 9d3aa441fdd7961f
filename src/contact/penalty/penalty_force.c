/* Forces of the pairs, their exact linearisation, and both on the global vector. penalty-relaxation.md, sections 5 and 6.
 * What follows for the blocks of rigid bodies: rigid_sides.h.
 *
 * Energy. With W = f.(motion of the point against the object) what springs, bodies and backward Euler share out in a step is
 *
 *   E1 - E0 = sum k (Y - Z).(Y - X) - k/2 |change of Y - Z|^2 - m/2 |dv|^2 - dw.I0 dw/2 - sum |dt w|^2 f.a_perp/2 + O(dt^3)
 *
 * where surfaces are flat: (Y - Z).(Y - X) <= 0 is friction, the next three are lost in any case, and the last one is the arm's: a body
 * turns by a1 - a0 = dt w x (Jl a0), not dt w x a1. It feeds in where f points towards the centre of what turns, as contact does. Arms Jl a0
 * make it vanish, but then a ball that rolls is braked by f w dt r/2, which is the energy its springs lose as points come and go; with
 * the arm at the end the two are equal, and it rolls on. Rolling matters more; a spin without friction shows the rest (case E12-spin). */
#include "contact/penalty/penalty_pairs.h"
#include "core/math3.h"
#include "core/team.h"
#include "contact/detection/contact_stages.h"
#include <string.h>

/* ---- forces ---------------------------------------------------------------------------------------------------------- */

/* Z of a weighted point holds its displacement when this is called. */
static void evaluate_pair(penalty_contact *c, int64_t i, const rigid_frame *frames, bool with_tangent)
{
  const rigid_frame *o = &frames[c->sides.object[i]];
  double            *Z = c->Z + 3 * i, b[3], Z_b[3], f_b[3], K_b[9], RK[9];
  if (c->sides.source[i] < 0) v3_axpy(Z, 1.0, c->origin + 3 * i);
  else {
    const rigid_frame *s = &frames[c->sides.source[i]];
    m3_mulv(Z, s->R, c->origin + 3 * i);
    v3_axpy(Z, 1.0, s->c);
  }
  v3_sub(b, Z, o->c);
  m3_mulv_t(Z_b, o->R, b);
  const relax_state state = penalty_law(c, i, Z_b, c->Y_b + 3 * i, f_b, with_tangent ? K_b : NULL);
  c->state[i]             = (uint8_t)state;
  m3_mulv(c->f + 3 * i, o->R, f_b);
  if (!with_tangent) return;
  c->sides.is_active[i] = state != RELAX_INACTIVE || v3_dot(f_b, f_b) > 0.0;
  v3_copy(c->sides.Z + 3 * i, Z);
  v3_copy(c->sides.f + 3 * i, c->f + 3 * i);
  m3_mul(RK, o->R, K_b);
  m3_mul_nt(c->sides.K + 9 * i, RK, o->R);
}

void penalty_evaluate(penalty_contact *c, const double *v, const rigid_frame *frames, bool with_tangent)
{
  const int64_t n = c->n;
  contact_rows_gather(c->rows, c->dt, v, NULL, c->Z);
#pragma omp parallel for schedule(dynamic, 64) if (n > CONTACT_SERIAL)
  for (int64_t i = 0; i < n; ++i) evaluate_pair(c, i, frames, with_tangent);
  if (with_tangent && c->n_frames > 0) memcpy(c->sides.frames, frames, (size_t)c->n_frames * sizeof *frames);
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

/* ---- to the global vector -------------------------------------------------------------------------------------------- */

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
    for (int64_t i = 0; i < n; ++i) rigid_sides_apply(&c->sides, i, frames, c->Z + 3 * i, c->f + 3 * i);
    rigid_sides_scatter(&c->sides, c->rows, false, g);
    PetscCall(add_mesh_forces(c, v, frames, g, with_tangent, verdict));
  }
  const double entries = (double)contact_rows_n_entries(c->rows);
  timer_work(TIMER_CONTACT_FORCE, 12.0 * entries + 300.0 * (double)c->n, 72.0 * entries + 600.0 * (double)c->n);
  timer_end(TIMER_CONTACT_FORCE);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode penalty_contact_tangent(const penalty_contact *c, const double *x, double *y, bool is_transposed)
{
  PetscFunctionBeginUser;
  const int64_t      n = c->n;
  const rigid_sides *s = &c->sides;
  rigid_sides_gather(s, c->rows, x, is_transposed);
#pragma omp parallel for schedule(static) if (n > CONTACT_SERIAL)
  for (int64_t i = 0; i < n; ++i) {
    if (!s->is_active[i]) rigid_sides_rest(s, i);
    else if (is_transposed) rigid_sides_product_transposed(s, i);
    else rigid_sides_product(s, i);
  }
  rigid_sides_scatter(s, c->rows, is_transposed, y);
  if (c->mesh) PetscCall(mesh_contact_tangent(c->mesh, x, y, is_transposed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode penalty_contact_block_diagonal(const penalty_contact *c, double *d)
{
  PetscFunctionBeginUser;
  rigid_sides_block_diagonal(&c->sides, c->rows, d);
  if (c->mesh) PetscCall(mesh_contact_block_diagonal(c->mesh, d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode penalty_contact_couplings(const penalty_contact *c, int64_t *n, int32_t **row, int32_t **col)
{
  PetscFunctionBeginUser;
  *n   = 0;
  *row = *col = NULL;
  PetscCall(rigid_sides_couplings(&c->sides, c->rows, c->n_blocks, n, row, col));
  if (c->mesh) PetscCall(mesh_contact_couplings(c->mesh, n, row, col));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode penalty_contact_assemble(const penalty_contact *c, const block_rows *H)
{
  PetscFunctionBeginUser;
  PetscCall(rigid_sides_assemble(&c->sides, c->rows, c->n_blocks, H));
  if (c->mesh) PetscCall(mesh_contact_assemble(c->mesh, H));
  PetscFunctionReturn(PETSC_SUCCESS);
}
