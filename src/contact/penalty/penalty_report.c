/* What end_step leaves behind for the history table and for frames. */
#include "contact/penalty/penalty_pairs.h"
#include "core/math3.h"
#include "core/memory.h"

void penalty_contact_record(const penalty_contact *c, const contact_points **points, const contact_forces **forces)
{
  *points = &c->points, *forces = &c->forces;
}

/* Angle between a and -b, accurate near zero; 0 where one of them is shorter than it must be to have a direction. */
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

/* How far the force of a pair on its point, f_b in the object's axes, is from the law, with the force of the attachment before the step as trial:
 *
 *   f = -k phi n + P( k (X - W) ),   W = Z - phi n,   P: onto the disc (ellipse) of radius mu k |phi|, nothing without an X; k: with its gain
 *
 * n, phi at the final Z. As X - W = slip + (Y - W) with f_t = k (Y - W), this is the natural map f_t = P(f_t + k slip) of Coulomb's law
 * with the spring as its multiplier [AlartCurnier1991], slip = X - Y. Written with W because X - W is tangential on a plane
 * and the chord the attachment moves along elsewhere (penalty-relaxation.md, section 3). *is_curved: the surface bends at Z, and
 * bringing Y back to it from the chord adds up to k curvature |X - W|^2 / 8. */
static double natural_map(const penalty_contact *c, int64_t i, const double Z_b[3], const double f_b[3], bool *is_curved)
{
  const double k = c->gain[i] * c->k[i];
  double        n[3], hessian[9], W[3], t[3] = {0.0, 0.0, 0.0}, miss[3];
  const double  phi = level_set_eval(c->objects[c->candidate[i].i_object].phi, Z_b, n, hessian), length = v3_norm(n);
  double        bend = 0.0;
  for (int j = 0; j < 9; ++j) bend = fmax(bend, fabs(hessian[j]));
  *is_curved = bend > 0.0;
  if (length > 0.0) v3_scale(n, 1.0 / length, n);
  v3_copy(W, Z_b);
  v3_axpy(W, -phi, n);
  if (c->has_X[i]) v3_sub(t, c->X + 3 * i, W);
  const double r = relax_cone_length(&c->cone[i], n, t), limit = c->cone[i].mu * fabs(phi);
  if (r > limit) v3_scale(t, limit / r, t);
  for (int j = 0; j < 3; ++j) miss[j] = f_b[j] - k * (W[j] - Z_b[j] + t[j]);
  return v3_norm(miss);
}

typedef struct {
  double penetration, f_n, f_t /* in the metric of the cone */, slip_angle, velocity_angle, energy, friction_work, natural_map;
  bool   is_curved;
} pair_report;

/* c->sides.force: the velocity of a weighted point. Fills point p and returns the numbers of the summary. */
static pair_report report_pair(penalty_contact *c, int64_t i, int64_t p, const rigid_frame *frames)
{
  const contact_candidate *q   = &c->candidate[i];
  const contact_object    *obj = &c->objects[q->i_object];
  const rigid_frame       *o   = &frames[c->sides.object[i]];
  contact_points          *out = &c->points;
  const double            *f   = c->f + 3 * i, *Y_b = c->Y_b + 3 * i;
  double *Y = out->position + 3 * p, *n = out->normal + 3 * p, b[3], Z_b[3], f_b[3], n_b[3], spring[3], g[3], f_t[3], slip_b[3], slip[3], v[3], v_o[3];

  m3_mulv(Y, o->R, Y_b);
  v3_axpy(Y, 1.0, o->c);
  level_set_eval(obj->phi, Y_b, g, NULL);
  m3_mulv(n, o->R, g);
  const double length = v3_norm(n);
  if (length > 0.0) v3_scale(n, 1.0 / length, n);
  v3_sub(b, c->Z + 3 * i, o->c);
  m3_mulv_t(Z_b, o->R, b);
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

/* As natural_map above, in the plane of the triangle that the attachment ended on. *is_curved: it came from outside that plane, over an
 * edge where the surface bends; the law then starts anew from the edge. */
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

/* What a pair on a triangle says of the law. Edges and corners press with the whole pull, whatever its direction: they are not asked. */
static void judge_mesh_pair(const mesh_pair_view *q, const double f_t[3], double f_n, contact_summary *sum, double *max_excess)
{
  bool   is_curved;
  double slip[3];
  if (!q->is_on_triangle) return;
  *max_excess         = fmax(*max_excess, relax_cone_length(&q->cone, q->plane, f_t) - q->cone.mu * f_n);
  const double miss   = natural_map_mesh(q, &is_curved);
  double *const worst = is_curved ? &sum->natural_map_curved : &sum->natural_map;
  *worst              = fmax(*worst, miss);
  if (!q->is_sliding || is_curved) return;
  v3_sub(slip, q->Y, q->X);
  tangential(q->normal, slip);
  sum->slip_angle = fmax(sum->slip_angle, angle_to_opposite(f_t, 1e-12 * v3_norm(q->f), slip, 1e-9));
}

/* Pairs with surfaces of triangles, after the others: points from *p on, groups, and their share of the summary. */
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
    sum->n_sliding += q.is_sliding;
    v3_sub(slip, q.Y, q.X);
    if (q.is_sliding) sum->friction_work -= v3_dot(f_t, slip); /* f_t lies in the plane: what of the way is across it does not count */
    sum->stored_energy += 0.5 * q.stiffness * v3_dot(gap, gap);
    sum->max_penetration = fmax(sum->max_penetration, -out->gap[*p]);
    *max_f_n             = fmax(*max_f_n, f_n);
    judge_mesh_pair(&q, f_t, f_n, sum, max_excess);
    contact_group_force *group;
    PetscCall(contact_forces_find(&c->forces, q.source_body, q.object_body, &group));
    contact_group_add(group, q.Z, q.f);
    ++*p;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode penalty_report(penalty_contact *c, const double *v, const rigid_frame *frames, contact_summary *out)
{
  PetscFunctionBeginUser;
  contact_summary sum     = {0};
  double          max_f_n = 0.0, max_excess = 0.0;
  PetscCall(contact_points_reserve(&c->points, c->n + (c->mesh ? mesh_contact_n_pairs(c->mesh) : 0)));
  contact_rows_gather(c->rows, 1.0, v, NULL, c->sides.force);
  int64_t p = 0;
  for (int64_t i = 0; i < c->n; ++i) {
    if (c->state[i] == RELAX_INACTIVE && v3_dot(c->f + 3 * i, c->f + 3 * i) == 0.0) continue; /* what lags may have left */
    const pair_report r      = report_pair(c, i, p++, frames);
    sum.n_sliding += c->state[i] == RELAX_SLIDE;
    sum.stored_energy += r.energy;
    sum.friction_work += r.friction_work;
    sum.max_penetration  = fmax(sum.max_penetration, r.penetration);
    sum.slip_angle       = fmax(sum.slip_angle, r.slip_angle);
    sum.power_loss_angle = fmax(sum.power_loss_angle, r.velocity_angle);
    max_f_n              = fmax(max_f_n, r.f_n);
    max_excess           = fmax(max_excess, r.f_t - c->cone[i].mu * r.f_n);
    double *const miss   = r.is_curved ? &sum.natural_map_curved : &sum.natural_map;
    *miss                = fmax(*miss, r.natural_map);
  }
  PetscCall(sum_groups(c));
  if (c->mesh) PetscCall(report_meshes(c, &p, &sum, &max_f_n, &max_excess));
  if (c->mesh) sum.relaxations = *mesh_contact_statistics(c->mesh);
  sum.n_active           = p;
  sum.max_cone_violation = max_f_n > 0.0 ? max_excess / max_f_n : 0.0;
  if (max_f_n > 0.0) sum.natural_map /= max_f_n, sum.natural_map_curved /= max_f_n;
  c->points.n            = p;
  if (out) *out = sum;
  PetscFunctionReturn(PETSC_SUCCESS);
}
