/* Penalty contact of points with level sets, see penalty.h: residual, tangent products, assembly, acceptance, report. */
#include "contact/penalty/penalty.h"
#include "contact/penalty/penalty_mesh.h"
#include "contact/penalty/penalty_pairs.h"
#include "core/math3.h"
#include "core/memory.h"
#include "contact/detection/contact_detectors.h"
#include "contact/detection/contact_stages.h"
#include "core/team.h"
#include "core/timer.h"
#include <string.h>

/* ---- contact law of a pair ---- */

/* The force of one pair in the frame of the object, where it depends only on the position Z of the point:
 *
 *   implicit          f = k (Y - Z)                                   Y = P(X, Z), the relaxed attachment
 *   lagged friction   f = k (W - Z) + k (Y0 - W0)                     W: closest point; Y0, W0: those of the start of the step
 *   lagged contact    f = k (Y0 - Z0)
 *
 * With a coefficient of restitution, the implicit spring depends on its rate w = (phi0 - phi)/dt, phi0 at the start of the step:
 * f = gain(w) k (Y - Z). */

static const relax_cone frictionless = {.mu = 0.0};

/* f += k (Y - Z), K += k (dY/dZ - I) */
static void add_spring(double k, const double *Y, const double *Z, const double *Y_Z, double *f, double *K)
{
  for (int j = 0; j < 3; ++j) f[j] += k * (Y[j] - Z[j]);
  if (!K) return;
  for (int j = 0; j < 9; ++j) K[j] += k * (Y_Z[j] - (j % 4 == 0));
}

/* The level set of the object of pair i. While bodies that overlapped at the start of the run separate, its inset. */
static const level_set *level_set_of(const penalty_contact *c, int64_t i)
{
  return c->inset[i].depth > 0.0 ? &c->inset[i].base : c->objects[c->candidate[i].i_object].phi;
}

/* f *= gain, with the derivative K. */
static void scale_force_by_rate(const penalty_contact *c, int64_t i, const level_set *phi, const double *Z, double *f, double *K)
{
  double slope, g[3], outer[9];
  c->bounce[i].rate = (c->phi0[i] - level_set_eval(phi, Z, g, NULL)) / c->dt;
  c->gain[i]        = restitution_gain(&c->bounce[i], c->acceleration * c->dt, &slope);
  if (K) {
    m3_outer(outer, f, g);
    for (int j = 0; j < 9; ++j) K[j] = c->gain[i] * K[j] - slope / c->dt * outer[j];
  }
  v3_scale(f, c->gain[i], f);
}

/* Force f_b of pair i on its point at Z_b, in the frame of the object, with its derivative by Z_b [9] (may be NULL). Y_b: the relaxed
 * attachment at Z_b; returns its state. A lagged force can act although the contact has ended during the step. */
static relax_state evaluate_law(penalty_contact *c, int64_t i, const double Z_b[3], double Y_b[3], double f_b[3], double *K_b)
{
  const level_set *phi = level_set_of(c, i);
  double           A[9], W[3];
  relax_state      state;
  if (c->start[i] == START_ATTACHED) state = relax_level_set(phi, &c->cone[i], c->X + 3 * i, Z_b, Y_b, K_b ? A : NULL);
  else state = relax_level_set_entering(phi, &c->cone[i], c->Z0 + 3 * i, c->phi0[i], Z_b, c->X + 3 * i, Y_b, K_b ? A : NULL);
  if (c->scheme == CONTACT_IMPLICIT) v3_set(f_b, 0.0, 0.0, 0.0);
  else v3_copy(f_b, c->lagged + 3 * i);
  if (K_b) m3_zero(K_b);
  if (state == RELAX_INACTIVE || c->scheme == CONTACT_LAGGED_CONTACT) return state;
  if (c->scheme == CONTACT_IMPLICIT) {
    add_spring(c->k[i], Y_b, Z_b, A, f_b, K_b);
    if (c->bounce[i].damping > 0.0) scale_force_by_rate(c, i, phi, Z_b, f_b, K_b);
  } else if (relax_level_set(phi, &frictionless, NULL, Z_b, W, K_b ? A : NULL) != RELAX_INACTIVE) add_spring(c->k[i], W, Z_b, A, f_b, K_b);
  return state;
}

/* Store the lagged force of pair i, and the reference of its spring rate, at the start of the step. */
static void start_lagged_force(penalty_contact *c, int64_t i, const double Z_b[3])
{
  const level_set *phi = level_set_of(c, i);
  double          *f   = c->lagged + 3 * i, Y[3], W[3];
  v3_set(f, 0.0, 0.0, 0.0);
  c->gain[i] = 1.0;
  if (c->scheme == CONTACT_IMPLICIT || c->start[i] == START_OUTSIDE) return;
  if (relax_level_set(phi, &c->cone[i], c->X + 3 * i, Z_b, Y, NULL) == RELAX_INACTIVE) return;
  if (c->scheme == CONTACT_LAGGED_CONTACT) add_spring(c->k[i], Y, Z_b, NULL, f, NULL);
  else if (relax_level_set(phi, &frictionless, NULL, Z_b, W, NULL) != RELAX_INACTIVE) add_spring(c->k[i], Y, W, NULL, f, NULL);
}

/* ---- forces, and their tangent in the global vector and matrix ---- */

/* Forces of the pairs and their exact linearisation, assembled in the global vector. Blocks of rigid bodies: rigid_sides.h.
 *
 * Energy. With W = f.(motion of the point relative to the object), the energy of springs and bodies changes in a backward Euler step by
 *
 *   E1 - E0 = sum k (Y - Z).(Y - X) - k/2 |change of Y - Z|^2 - m/2 |dv|^2 - dw.I0 dw/2 - sum |dt w|^2 f.a_perp/2 + O(dt^3)
 *
 * for flat surfaces. The first term is dissipation by friction, as (Y - Z).(Y - X) <= 0; the next three terms are always losses. The last
 * term is due to the lever arm: the arm changes by a1 - a0 = dt w x (Jl a0), not dt w x a1. It adds energy if f points towards the centre
 * of rotation, as contact forces do. Lever arms Jl a0 would remove it, but then the energy that springs lose as points enter and leave
 * contact, f w dt r/2, brakes a rolling ball. With the arm at the end of the step both effects cancel, and the ball continues to roll. The
 * validation case E12-spin (rotation without friction) shows the remaining energy gain. */

/* ---- forces ---------------------------------------------------------------------------------------------------------- */

/* Evaluate pair i. On entry, Z of a weighted point contains its displacement. */
static void evaluate_pair(penalty_contact *c, int64_t i, const rigid_frame *frames, bool with_tangent)
{
  const rigid_frame *o = &frames[c->sides.object[i]];
  double            *Z = c->Z + 3 * i, Z_b[3], f_b[3], K_b[9], RK[9];
  if (c->sides.source[i] < 0) v3_axpy(Z, 1.0, c->origin + 3 * i);
  else {
    const rigid_frame *s = &frames[c->sides.source[i]];
    rigid_frame_to_world(s, c->origin + 3 * i, Z);
  }
  rigid_frame_to_local(o, Z, Z_b);
  const relax_state state = evaluate_law(c, i, Z_b, c->Y_b + 3 * i, f_b, with_tangent ? K_b : NULL);
  c->state[i]             = (uint8_t)state;
  m3_mulv(c->f + 3 * i, o->R, f_b);
  if (!with_tangent) return;
  c->sides.is_active[i] = state != RELAX_INACTIVE || v3_dot(f_b, f_b) > 0.0;
  v3_copy(c->sides.Z + 3 * i, Z);
  v3_copy(c->sides.f + 3 * i, c->f + 3 * i);
  m3_mul(RK, o->R, K_b);
  m3_mul_nt(c->sides.K + 9 * i, RK, o->R);
}

/* Positions, relaxed attachments and forces at v and frames; derivatives with `with_tangent`. */
static void evaluate_pairs(penalty_contact *c, const double *v, const rigid_frame *frames, bool with_tangent)
{
  const int64_t n = c->n;
  contact_rows_gather(c->rows, c->dt, v, NULL, c->Z);
#pragma omp parallel for schedule(dynamic, 64) if (n > CONTACT_SERIAL)
  for (int64_t i = 0; i < n; ++i) evaluate_pair(c, i, frames, with_tangent);
  if (with_tangent && c->n_frames > 0) memcpy(c->sides.frames, frames, (size_t)c->n_frames * sizeof *frames);
}

static bool is_pair_finite(const penalty_contact *c, int64_t i)
{
  /* A level set can hide a NaN (fmax ignores it), so the position is checked as well. */
  double sum = 0.0;
  for (int j = 0; j < 3; ++j) sum += 0.0 * c->Z[3 * i + j] + 0.0 * c->f[3 * i + j];
  return sum == 0.0;
}

/* The pair with the first value that is not finite (smallest source, then smallest point), or -1. */
static int64_t first_not_finite(const penalty_contact *c)
{
  const int64_t n     = c->n;
  int64_t       first = n;
#pragma omp parallel for schedule(static) if (n > CONTACT_SERIAL) reduction(min : first)
  for (int64_t i = 0; i < n; ++i)
    if (!is_pair_finite(c, i) && i < first) first = i;
  if (first == n) return -1;
  /* Pairs are sorted by identity; the message names the smallest index of the same source. */
  int64_t best = first;
  for (int64_t i = first; i < n && c->candidate[i].i_source == c->candidate[first].i_source; ++i)
    if (c->candidate[i].i_point < c->candidate[best].i_point && !is_pair_finite(c, i)) best = i;
  return best;
}

/* ---- to the global vector -------------------------------------------------------------------------------------------- */

static PetscErrorCode add_mesh_forces(penalty_contact *c, const double *v, const rigid_frame *frames, double *g, bool with_tangent,
                                      step_status *status)
{
  int     source;
  int64_t point;
  PetscFunctionBeginUser;
  if (!c->mesh) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(mesh_contact_residual(c->mesh, v, frames, g, with_tangent, &source, &point));
  if (source == MESH_TOO_FAR) *status = (step_status){STEP_CFL_VIOLATED, NULL, -1};
  if (source >= 0) *status = (step_status){STEP_NOT_FINITE, c->sources[source].b->name, point};
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode add_row_forces(penalty_contact *c, const double *v, double *g, bool with_tangent, step_status *status)
{
  const char *bad;
  PetscFunctionBeginUser;
  if (!c->springs) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(penalty_rows_residual(c->springs, v, g, with_tangent, &bad));
  if (bad) *status = (step_status){STEP_NOT_FINITE, bad, -1};
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode penalty_contact_residual(penalty_contact *c, const double *v, const rigid_frame *frames, double *g, bool with_tangent,
                                        step_status *status)
{
  PetscFunctionBeginUser;
  SS_ASSERT(c->is_open);
  timer_begin(TIMER_CONTACT_FORCE);
  evaluate_pairs(c, v, frames, with_tangent);
  const int64_t bad = first_not_finite(c);
  if (bad >= 0) {
    const contact_candidate *q = &c->candidate[bad];
    *status                    = (step_status){STEP_NOT_FINITE, c->sources[q->i_source].b->name, q->i_point};
  } else {
    const int64_t n = c->n;
#pragma omp parallel for schedule(static) if (n > CONTACT_SERIAL)
    for (int64_t i = 0; i < n; ++i) rigid_sides_apply(&c->sides, i, frames, c->Z + 3 * i, c->f + 3 * i);
    rigid_sides_scatter(&c->sides, c->rows, false, g);
    PetscCall(add_mesh_forces(c, v, frames, g, with_tangent, status));
    PetscCall(add_row_forces(c, v, g, with_tangent, status));
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
  if (c->springs) penalty_rows_tangent(c->springs, x, y, is_transposed);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode penalty_contact_block_diagonal(const penalty_contact *c, double *d)
{
  PetscFunctionBeginUser;
  rigid_sides_block_diagonal(&c->sides, c->rows, d);
  if (c->mesh) PetscCall(mesh_contact_block_diagonal(c->mesh, d));
  if (c->springs) penalty_rows_block_diagonal(c->springs, d);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode penalty_contact_couplings(const penalty_contact *c, int64_t *n, int32_t **row, int32_t **col)
{
  PetscFunctionBeginUser;
  *n   = 0;
  *row = *col = NULL;
  PetscCall(rigid_sides_couplings(&c->sides, c->rows, c->n_blocks, n, row, col));
  if (c->mesh) PetscCall(mesh_contact_couplings(c->mesh, n, row, col));
  if (c->springs) PetscCall(penalty_rows_couplings(c->springs, n, row, col));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode penalty_contact_assemble(const penalty_contact *c, const block_rows *H)
{
  PetscFunctionBeginUser;
  PetscCall(rigid_sides_assemble(&c->sides, c->rows, c->n_blocks, H));
  if (c->mesh) PetscCall(mesh_contact_assemble(c->mesh, H));
  if (c->springs) penalty_rows_assemble(c->springs, H);
  PetscFunctionReturn(PETSC_SUCCESS);
}

const penalty_rows *penalty_contact_springs_alone(const penalty_contact *c)
{
  const bool has_others = c->n > 0 || (c->mesh && mesh_contact_n_pairs(c->mesh) > 0) || c->scheme != CONTACT_IMPLICIT;
  return has_others || !c->springs || penalty_rows_size(c->springs) == 0 ? NULL : c->springs;
}

/* ---- report of an accepted step ---- */

/* Results of end_step for the history table and for frames. */

void penalty_contact_record(const penalty_contact *c, const contact_points **points, const contact_forces **forces)
{
  *points = &c->points, *forces = &c->forces;
}

/* Angle between a and -b, accurate near zero; 0 if |a| < a_min or |b| is below its limit. */
static double angle_to_opposite(const double *a, double a_min, const double *b, double b_min)
{
  double t[3];
  if (v3_norm(a) <= a_min || v3_norm(b) <= b_min) return 0.0;
  v3_cross(t, a, b);
  return atan2(v3_norm(t), -v3_dot(a, b));
}

static void tangential(const double *n, double *x) { v3_axpy(x, -v3_dot(n, x), n); }

/* Velocity of a point that is fixed to a frame and now at x. */
static void frame_velocity(const rigid_frame *frame, const double *x, double *v)
{
  double arm[3];
  v3_sub(arm, x, frame->c);
  v3_cross(v, frame->w, arm);
  v3_axpy(v, 1.0, frame->v);
}

/* Difference of the force f_b of a pair on its point, in the axes of the object, from the contact law with the attachment X at the start:
 *
 *   f = -k phi n + P( k (X - W) ),   W = Z - phi n,   P: projection onto the disc (ellipse) of radius mu k |phi|, 0 without X; k: with gain
 *
 * n, phi at the final Z. As X - W = slip + (Y - W) with f_t = k (Y - W) and slip = X - Y, this is the natural map f_t = P(f_t + k slip)
 * of Coulomb's law with parameter k [AlartCurnier1991]. It is written with W, because X - W is tangential on a plane, and on other
 * surfaces is the straight line along which the attachment moves. *is_curved: the surface is curved at Z; the projection of Y from this
 * line to the surface then adds up to k curvature |X - W|^2 / 8. */
static double natural_map(const penalty_contact *c, int64_t i, const double Z_b[3], const double f_b[3], bool *is_curved)
{
  const double k = c->gain[i] * c->k[i];
  double       n[3], hessian[9], W[3], t[3] = {0.0, 0.0, 0.0}, miss[3];
  const double phi = level_set_eval(level_set_of(c, i), Z_b, n, hessian), length = v3_norm(n);
  double       bend = 0.0;
  for (int j = 0; j < 9; ++j) bend = fmax(bend, fabs(hessian[j]));
  *is_curved = bend > 0.0;
  if (length > 0.0) v3_scale(n, 1.0 / length, n);
  v3_copy(W, Z_b);
  v3_axpy(W, -phi, n);
  if (c->state[i] != RELAX_FIRST) v3_sub(t, c->X + 3 * i, W);
  const double r = relax_cone_length(&c->cone[i], n, t), limit = c->cone[i].mu * fabs(phi);
  if (r > limit) v3_scale(t, limit / r, t);
  for (int j = 0; j < 3; ++j) miss[j] = f_b[j] - k * (W[j] - Z_b[j] + t[j]);
  return v3_norm(miss);
}

typedef struct {
  double penetration, f_n, f_t /* f_t: in the metric of the cone */, slip_angle, velocity_angle, energy, friction_work, natural_map;
  bool   is_curved;
} pair_report;

/* Set contact point p from pair i and return its values for the summary. c->sides.force contains the velocity of weighted points. */
static pair_report report_pair(penalty_contact *c, int64_t i, int64_t p, const rigid_frame *frames)
{
  const contact_candidate *q   = &c->candidate[i];
  const contact_object    *obj = &c->objects[q->i_object];
  const rigid_frame       *o   = &frames[c->sides.object[i]];
  contact_points          *out = &c->points;
  const double            *f = c->f + 3 * i, *Y_b = c->Y_b + 3 * i;
  double *Y = out->position + 3 * p, *n = out->normal + 3 * p, Z_b[3], f_b[3], n_b[3], spring[3], g[3], f_t[3], slip_b[3], slip[3], v[3],
         v_o[3];

  rigid_frame_to_world(o, Y_b, Y);
  level_set_eval(obj->phi, Y_b, g, NULL);
  m3_mulv(n, o->R, g);
  const double length = v3_norm(n);
  if (length > 0.0) v3_scale(n, 1.0 / length, n);
  rigid_frame_to_local(o, c->Z + 3 * i, Z_b);
  v3_copy(out->force + 3 * p, f);
  out->gap[p]         = level_set_value(obj->phi, Z_b);
  out->source_body[p] = q->key.source;
  out->object_body[p] = obj->body_id;
  out->is_sliding[p]  = c->state[i] == RELAX_SLIDE;

  v3_sub(spring, Y_b, Z_b);
  m3_mulv_t(f_b, o->R, f);
  pair_report r = {-out->gap[p], v3_dot(f, n), 0.0, 0.0, 0.0, 0.5 * c->k[i] * v3_dot(spring, spring), 0.0, 0.0, false};
  if (out->gap[p] < 0.0) r.natural_map = natural_map(c, i, Z_b, f_b, &r.is_curved);
  v3_copy(f_t, f);
  tangential(n, f_t);
  m3_mulv_t(n_b, o->R, n);
  m3_mulv_t(f_b, o->R, f_t);
  r.f_t = relax_cone_length(&c->cone[i], n_b, f_b);
  if (c->state[i] != RELAX_SLIDE) return r;

  v3_sub(slip_b, Y_b, c->X + 3 * i);
  m3_mulv(slip, o->R, slip_b);
  tangential(n, slip);
  r.friction_work = -v3_dot(f_t, slip);
  if (c->sides.source[i] < 0) v3_copy(v, c->sides.force + 3 * i);
  else frame_velocity(&frames[c->sides.source[i]], c->Z + 3 * i, v);
  frame_velocity(o, Y, v_o);
  v3_sub(v, v, v_o);
  tangential(n, v);
  const double least_force = 1e-12 * v3_norm(f), least_motion = 1e-9;
  r.slip_angle     = angle_to_opposite(f_t, least_force, slip, least_motion);
  r.velocity_angle = angle_to_opposite(f_t, least_force, v, least_motion / c->dt);
  return r;
}

/* Forces per (source, object): pairs are sorted, so each group is one run. Serial, in order. */
static PetscErrorCode sum_groups(penalty_contact *c)
{
  contact_group_force *g = NULL;
  PetscFunctionBeginUser;
  c->forces.n = 0;
  for (int64_t i = 0; i < c->n; ++i) {
    const contact_candidate *q = &c->candidate[i];
    if (i == 0 || q->key.source != q[-1].key.source || q->key.object != q[-1].key.object)
      PetscCall(contact_forces_open(&c->forces, q->key.source, c->objects[q->i_object].body_id, &g));
    contact_group_add(g, c->Z + 3 * i, c->f + 3 * i);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* As natural_map above, in the plane of the last triangle of the attachment. *is_curved: the attachment entered that plane over
 * an edge of the surface; the law then starts at the edge. */
static double natural_map_mesh(const mesh_pair_view *q, bool *is_curved)
{
  double pull[3], t[3], W[3], miss[3];
  v3_sub(pull, q->Z, q->Y);
  const double phi = v3_dot(pull, q->plane);
  v3_copy(W, q->Z);
  v3_axpy(W, -phi, q->plane);
  v3_sub(t, q->X, W);
  const double above = v3_dot(t, q->plane);
  *is_curved         = fabs(above) > 1e-9 * (v3_norm(t) + fabs(phi));
  v3_axpy(t, -above, q->plane);
  const double r = relax_cone_length(&q->cone, q->plane, t), limit = q->cone.mu * fabs(phi);
  if (r > limit) v3_scale(t, limit / r, t);
  for (int j = 0; j < 3; ++j) miss[j] = q->f[j] - q->gain * q->stiffness * (W[j] - q->Z[j] + t[j]);
  return v3_norm(miss);
}

/* Friction law check of a pair on a triangle. Contacts at edges and corners transmit the whole spring force in any direction and
 * are not checked. */
static void check_mesh_pair(const mesh_pair_view *q, const double f_t[3], double f_n, contact_summary *sum, double *max_excess)
{
  bool   is_curved;
  double slip[3];
  if (!q->is_on_triangle) return;
  *max_excess         = fmax(*max_excess, relax_cone_length(&q->cone, q->plane, f_t) - q->cone.mu * f_n);
  const double  miss  = natural_map_mesh(q, &is_curved);
  double *const worst = is_curved ? &sum->contact_law_error_curved : &sum->contact_law_error;
  *worst              = fmax(*worst, miss);
  if (!q->is_sliding || is_curved) return;
  v3_sub(slip, q->Y, q->X);
  tangential(q->normal, slip);
  sum->slip_angle_error = fmax(sum->slip_angle_error, angle_to_opposite(f_t, 1e-12 * v3_norm(q->f), slip, 1e-9));
}

/* Report the pairs with triangle surfaces after the others: contact points from *p on, force groups, and values of the summary. */
static PetscErrorCode report_meshes(penalty_contact *c, int64_t *p, contact_summary *sum, double *max_f_n, double *max_excess)
{
  PetscFunctionBeginUser;
  for (int64_t i = 0; i < mesh_contact_n_pairs(c->mesh); ++i) {
    mesh_pair_view q;
    double         f_t[3], gap[3], slip[3];
    mesh_contact_pair(c->mesh, i, &q);
    if (!q.is_active) continue;
    contact_points *out = &c->points;
    v3_sub(gap, q.Z, q.Y);
    v3_copy(out->position + 3 * *p, q.Y);
    v3_copy(out->force + 3 * *p, q.f);
    v3_copy(out->normal + 3 * *p, q.normal);
    out->gap[*p]         = v3_dot(gap, q.normal);
    out->source_body[*p] = q.source_body;
    out->object_body[*p] = q.object_body;
    out->is_sliding[*p]  = q.is_sliding;
    const double f_n     = v3_dot(q.f, q.normal);
    v3_copy(f_t, q.f);
    tangential(q.normal, f_t);
    sum->sliding += q.is_sliding;
    v3_sub(slip, q.Y, q.X);
    if (q.is_sliding)
      sum->friction_work_done -= v3_dot(f_t, slip); /* f_t is in the plane: the normal part of the displacement
                                                                     * does no work */
    sum->contact_energy += 0.5 * q.stiffness * v3_dot(gap, gap);
    sum->contact_depth = fmax(sum->contact_depth, -out->gap[*p]);
    *max_f_n           = fmax(*max_f_n, f_n);
    check_mesh_pair(&q, f_t, f_n, sum, max_excess);
    contact_group_force *group;
    PetscCall(contact_forces_find(&c->forces, q.source_body, q.object_body, &group));
    contact_group_add(group, q.Z, q.f);
    ++*p;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Summary, sums per body pair and contact points of the last evaluation. */
static PetscErrorCode report_pairs(penalty_contact *c, const double *v, const rigid_frame *frames, contact_summary *out)
{
  PetscFunctionBeginUser;
  contact_summary sum     = {0};
  double          max_f_n = 0.0, max_excess = 0.0;
  PetscCall(contact_points_reserve(&c->points, c->n + (c->mesh ? mesh_contact_n_pairs(c->mesh) : 0) +
                                                   (c->springs ? penalty_rows_size(c->springs) : 0)));
  contact_rows_gather(c->rows, 1.0, v, NULL, c->sides.force);
  int64_t p = 0;
  for (int64_t i = 0; i < c->n; ++i) {
    const double shorter = contact_rest_reduction(c->rests, c->candidate[i].key.source, c->objects[c->candidate[i].i_object].body_id);
    if (c->candidate[i].attachment < 0) sum.start_energy += contact_spring_energy(c->k[i], c->phi0[i]);
    sum.correction_work += contact_spring_energy(c->k[i], c->phi0[i]) - contact_spring_energy(c->k[i], c->phi0[i] + shorter);
    if (c->state[i] == RELAX_INACTIVE && v3_dot(c->f + 3 * i, c->f + 3 * i) == 0.0)
      continue; /* an inactive pair can still have a lagged force */
    const pair_report r = report_pair(c, i, p++, frames);
    sum.sliding += c->state[i] == RELAX_SLIDE;
    sum.contact_energy += r.energy;
    sum.friction_work_done += r.friction_work;
    sum.contact_depth        = fmax(sum.contact_depth, r.penetration);
    sum.slip_angle_error     = fmax(sum.slip_angle_error, r.slip_angle);
    sum.friction_angle_error = fmax(sum.friction_angle_error, r.velocity_angle);
    max_f_n                  = fmax(max_f_n, r.f_n);
    max_excess               = fmax(max_excess, r.f_t - c->cone[i].mu * r.f_n);
    double *const miss       = r.is_curved ? &sum.contact_law_error_curved : &sum.contact_law_error;
    *miss                    = fmax(*miss, r.natural_map);
  }
  PetscCall(sum_groups(c));
  if (c->springs) PetscCall(penalty_rows_report(c->springs, frames, &c->points, &c->forces, &p, &sum, &max_f_n, &max_excess));
  if (c->mesh) {
    PetscCall(report_meshes(c, &p, &sum, &max_f_n, &max_excess));
    sum.start_energy += mesh_contact_start_energy(c->mesh);
  }
  if (c->mesh) {
    const relax_statistics *s   = mesh_contact_statistics(c->mesh);
    sum.relaxation_chains       = *s;
    sum.relaxations             = s->n;
    sum.relaxations_moved       = s->n - s->n_at_start;
    sum.relaxation_max_features = s->longest;
  }
  sum.contacts       = p;
  sum.cone_violation = max_f_n > 0.0 ? max_excess / max_f_n : 0.0;
  if (max_f_n > 0.0) sum.contact_law_error /= max_f_n, sum.contact_law_error_curved /= max_f_n;
  c->points.n = p;
  if (out) *out = sum;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- creation and steps ---- */

PetscErrorCode penalty_contact_create(int n_bodies, const pair_classes *pairs, const contact_law *law, penalty_contact **out)
{
  PetscFunctionBeginUser;
  PetscCall(memory_alloc("penalty contact", 1, sizeof **out, out));
  penalty_contact *c = *out;
  c->n_bodies        = n_bodies;
  c->acceleration    = 9.81;
  c->pairs           = pairs;
  const int64_t n    = pair_n_slots(pairs, n_bodies);
  PetscCall(memory_copy("contact laws", n, sizeof *c->law, law, &c->law));
  PetscCall(memory_alloc("contact laws", n, sizeof *c->may_touch, &c->may_touch));
  for (int64_t i = 0; i < n; ++i) c->may_touch[i] = law[i].stiffness > 0.0;
  PetscCall(pair_table_create(&c->known));
  PetscCall(contact_search_create(&c->search));
  PetscCall(contact_rows_create(&c->rows));
  PetscCall(rigid_sides_create(&c->sides));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void penalty_contact_destroy(penalty_contact **out)
{
  if (!out || !*out) return;
  penalty_contact *c = *out;
  mesh_contact_destroy(&c->mesh);
  penalty_rows_destroy(&c->springs);
  pair_table_destroy(&c->known);
  contact_search_destroy(&c->search);
  contact_rows_destroy(&c->rows);
  rigid_sides_destroy(&c->sides);
  contact_points_destroy(&c->points);
  contact_forces_destroy(&c->forces);
  MEMORY_FREE(&c->law, &c->may_touch, &c->object_key, &c->origin, &c->X, &c->k, &c->cone, &c->bounce, &c->phi0, &c->gain, &c->inset,
              &c->lagged, &c->state, &c->Z, &c->Y_b, &c->f, &c->start, &c->Z0, out);
}

PetscErrorCode penalty_contact_add_rigid_pairs(penalty_contact *c, body *const *bodies, const int32_t *frame, bool uses_solids,
                                               const triangle_mesh *const *surface)
{
  PetscFunctionBeginUser;
  PetscCall(penalty_rows_create(c->n_bodies, bodies, frame, c->pairs, c->law, uses_solids, surface, &c->springs));
  for (int64_t s = 0; s < pair_n_slots(c->pairs, c->n_bodies); ++s) {
    int32_t of[2];
    if (!pair_example(c->pairs, c->n_bodies, s, of)) continue;
    if (!(contact_spring_detectors_of(bodies[of[0]], bodies[of[1]], uses_solids) & 1u << DETECTOR_CONVEX)) continue;
    c->may_touch[s]     = false;
    c->law[s].stiffness = 0.0; /* for level sets and triangle surfaces */
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode penalty_contact_begin_rigid_pairs(penalty_contact *c, const rows_step *step)
{
  PetscFunctionBeginUser;
  SS_ASSERT(c->is_open && c->springs);
  timer_begin(TIMER_CONTACT_SEARCH);
  PetscCall(penalty_rows_begin(c->springs, step));
  timer_end(TIMER_CONTACT_SEARCH);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode penalty_contact_add_meshes(penalty_contact *c, int n, const contact_mesh *meshes)
{
  PetscFunctionBeginUser;
  if (n > 0) PetscCall(mesh_contact_create(c->n_bodies, c->pairs, c->law, n, meshes, &c->mesh));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode penalty_contact_add_edges(penalty_contact *c)
{
  PetscFunctionBeginUser;
  if (c->mesh) PetscCall(mesh_contact_add_edges(c->mesh));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void penalty_contact_set_scheme(penalty_contact *c, contact_scheme scheme)
{
  c->scheme = scheme;
  if (c->mesh) mesh_contact_set_scheme(c->mesh, scheme);
  if (c->springs) penalty_rows_set_scheme(c->springs, scheme);
}

void penalty_contact_set_acceleration(penalty_contact *c, double g0)
{
  c->acceleration = g0;
  if (c->mesh) mesh_contact_set_acceleration(c->mesh, g0);
  if (c->springs) penalty_rows_set_acceleration(c->springs, g0);
}

static PetscErrorCode reserve_objects(penalty_contact *c)
{
  PetscFunctionBeginUser;
  PetscCall(memory_reserve("contact objects", c->n_objects, sizeof *c->object_key, &c->object_capacity, &c->object_key));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode reserve_pairs(penalty_contact *c, int64_t n)
{
  PetscFunctionBeginUser;
  PetscCall(MEMORY_RESERVE("contact pairs", n, &c->capacity, ARRAY(c->origin, 3), ARRAY(c->X, 3), ARRAY(c->k, 1), ARRAY(c->cone, 1),
                           ARRAY(c->bounce, 1), ARRAY(c->phi0, 1), ARRAY(c->gain, 1), ARRAY(c->inset, 1), ARRAY(c->lagged, 3),
                           ARRAY(c->state, 1), ARRAY(c->Z, 3), ARRAY(c->Y_b, 3), ARRAY(c->f, 3), ARRAY(c->start, 1), ARRAY(c->Z0, 3)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void prepare_pair(penalty_contact *c, int64_t i, const rigid_frame *frames0)
{
  const contact_candidate *q      = &c->candidate[i];
  const contact_source    *source = &c->sources[q->i_source];
  const contact_object    *object = &c->objects[q->i_object];
  const contact_law       *law    = &c->law[pair_slot(c->pairs, c->n_bodies, source->body_id, object->body_id)];
  c->k[i]                         = law->stiffness;
  level_set_inset_set(&c->inset[i], object->phi, contact_rest_depth(c->rests, source->body_id, object->body_id));
  c->cone[i]   = (relax_cone){law->friction, law->friction_across, {law->direction[0], law->direction[1], law->direction[2]}};
  c->bounce[i] = (restitution){.damping = law->damping};
  rigid_sides_add(&c->sides, i, source->b->ops->points == POINT_RIGID ? source->frame : -1, object->frame);
  if (c->sides.source[i] < 0) v3_copy(c->origin + 3 * i, q->x);
  else {
    rigid_frame_to_local(&frames0[source->frame], q->x, c->origin + 3 * i);
  }
  const rigid_frame *o = &frames0[object->frame];
  double             x_b[3];
  rigid_frame_to_local(o, q->x, x_b);
  v3_copy(c->Z0 + 3 * i, x_b);
  v3_copy(c->X + 3 * i, x_b);
  c->phi0[i]  = level_set_value(level_set_of(c, i), x_b);
  c->start[i] = START_OUTSIDE;
  if (q->attachment >= 0) {
    c->start[i] = START_ATTACHED;
    v3_copy(c->X + 3 * i, pair_table_attachment(c->known, q->attachment));
    c->bounce[i].speed = pair_table_speed(c->known, q->attachment);
  }
  /* A point inside at the start of the step (for example bodies placed in contact by the job) has its attachment from the start, and
   * therefore friction in its first step. */
  else if (relax_level_set(level_set_of(c, i), &c->cone[i], NULL, x_b, c->X + 3 * i, NULL) != RELAX_INACTIVE)
    c->start[i] = START_ATTACHED;
  start_lagged_force(c, i, x_b);
}

void penalty_contact_set_rests(penalty_contact *c, const contact_rests *rests)
{
  c->rests = rests;
  if (c->mesh) mesh_contact_set_rests(c->mesh, rests);
  if (c->springs) penalty_rows_set_rests(c->springs, rests);
}

PetscErrorCode penalty_contact_begin_step(penalty_contact *c, int n_sources, const contact_source *sources, int n_objects,
                                          const contact_object *objects, int n_frames, const rigid_frame *frames0, double dt, double margin,
                                          int64_t n_blocks)
{
  contact_candidate *found;
  PetscFunctionBeginUser;
  timer_begin(TIMER_CONTACT_SEARCH);
  c->n_sources = n_sources;
  c->sources   = sources;
  c->n_objects = n_objects;
  c->objects   = objects;
  c->n_frames  = n_frames;
  c->dt        = dt;
  c->n_blocks  = n_blocks;
  PetscCall(reserve_objects(c));
  PetscCall(contact_search_number(c->n_bodies, c->n_objects, c->objects, c->object_key));
  const search_problem problem = {n_sources, n_objects,    n_frames, c->n_bodies, sources, objects, c->object_key,
                                  frames0,   c->may_touch, margin,   NULL,        NULL,    c->pairs};
  PetscCall(contact_search_run(c->search, &problem, c->known, &c->n, &found));
  PetscCheck(c->n < INT32_MAX, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "%lld contact pairs; at most %d are supported: choose a coarser spacing of particles or surface points", (long long)c->n,
             INT32_MAX - 1);
  c->candidate = found;
  PetscCall(reserve_pairs(c, c->n));
  PetscCall(rigid_sides_begin(&c->sides, dt, n_frames, frames0));
  PetscCall(rigid_sides_reserve(&c->sides, c->n));
  const int64_t n = c->n;
#pragma omp parallel for schedule(static) if (n > CONTACT_SERIAL)
  for (int64_t i = 0; i < n; ++i) prepare_pair(c, i, frames0);
  PetscCall(contact_rows_build(c->rows, n, c->candidate, sources, n_blocks));
  PetscCall(rigid_sides_list(&c->sides, n));
  if (c->mesh) PetscCall(mesh_contact_begin_step(c->mesh, n_sources, sources, n_frames, frames0, dt, margin, n_blocks));
  c->is_open = true;
  timer_end(TIMER_CONTACT_SEARCH);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Store the active pairs with X <- Y; inactive pairs are deleted. */
static PetscErrorCode remember(penalty_contact *c)
{
  pair_key *key;
  double   *X, *speed;
  int64_t   m = 0;
  PetscFunctionBeginUser;
  PetscCall(MEMORY_ALLOC("penalty", ARRAY(key, c->n), ARRAY(X, 3 * c->n), ARRAY(speed, c->n)));
  for (int64_t i = 0; i < c->n; ++i) {
    if (c->state[i] == RELAX_INACTIVE) continue;
    key[m]   = c->candidate[i].key;
    speed[m] = restitution_speed(&c->bounce[i]);
    v3_copy(X + 3 * m++, c->Y_b + 3 * i);
  }
  PetscCall(pair_table_replace(c->known, m, key, X, speed));
  MEMORY_FREE(&speed, &key, &X);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode penalty_contact_settle(penalty_contact *c, const double *v, const rigid_frame *frames)
{
  PetscFunctionBeginUser;
  SS_ASSERT(c->is_open);
  timer_begin(TIMER_CONTACT_FORCE);
  evaluate_pairs(c, v, frames, false);
  PetscCheck(first_not_finite(c) < 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "the accepted state contains a value that is not finite");
  if (c->mesh) PetscCall(mesh_contact_settle(c->mesh, v, frames));
  if (c->springs) penalty_rows_evaluate(c->springs, v);
  timer_end(TIMER_CONTACT_FORCE);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode penalty_contact_end_step(penalty_contact *c, const double *v, const rigid_frame *frames, contact_summary *out)
{
  PetscFunctionBeginUser;
  SS_ASSERT(c->is_open);
  timer_begin(TIMER_CONTACT_FORCE);
  if (c->mesh) PetscCall(mesh_contact_end_step(c->mesh));
  PetscCall(report_pairs(c, v, frames, out));
  PetscCall(remember(c));
  if (c->springs) PetscCall(penalty_rows_end(c->springs, frames));
  c->is_open = false;
  timer_end(TIMER_CONTACT_FORCE);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode penalty_contact_fields(penalty_contact *c, field_table *table)
{
  PetscFunctionBeginUser;
  PetscCall(pair_table_fields(c->known, c->n_bodies, table));
  if (c->mesh) PetscCall(mesh_contact_fields(c->mesh, table));
  if (c->springs) PetscCall(penalty_rows_fields(c->springs, table));
  PetscCall(contact_points_fields(&c->points, table));
  PetscFunctionReturn(PETSC_SUCCESS);
}
