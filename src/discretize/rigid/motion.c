/* Implementation of motion.h: job keys, keyframes, expressions and rotations of prescribed motions. */
#include "discretize/rigid/motion.h"
#include <string.h>
#include "core/expression.h"
#include "core/math3.h"
#include "core/memory.h"
#include "core/quaternion.h"

static const double DEGREE = 0.017453292519943295;

typedef struct {
  double t, d[3], q[4];
  double angle, axis[3]; /* rotation angle of q as given in the job; may exceed one turn */
  double turn[3];        /* rotation vector from q to the rotation of the next keyframe */
  double slope[3], spin; /* smooth interpolation: dd/dt at this keyframe, and the rotation rate [rad/s] */
} pose_key;
struct motion {
  double      pivot[3], velocity[3], angular_velocity[3];
  int         n_keys;
  bool        is_smooth;
  pose_key   *keys;
  expression *translate[3], *rotate;
  double      axis[3];
};

static bool unit_axis(const double axis[3], double out[3])
{
  const double n = v3_norm(axis);
  if (!(n > 0)) return false;
  v3_scale(out, 1.0 / n, axis);
  return true;
}

/* Slope of a monotone cubic at a point interpolate intervals of lengths h0, h1 with secants s0, s1. It is a harmonic mean, hence at
 * most three times the smaller secant, and 0 where the sign changes [FritschButland1984]. */
static double monotone_slope(double h0, double s0, double h1, double s1)
{
  if (!(s0 * s1 > 0)) return 0.0;
  const double w0 = 2 * h1 + h0, w1 = h1 + 2 * h0;
  return (w0 + w1) / (w0 / s0 + w1 / s1);
}

/* Rates at the inner keyframes. The rates at the first and last keyframe stay 0, because the body is at rest before and after them. */
static void smooth_keyframes(motion *m)
{
  for (int i = 1; i + 1 < m->n_keys; ++i) {
    pose_key       *k = &m->keys[i];
    const pose_key *a = k - 1, *b = k + 1;
    const double    h0 = k->t - a->t, h1 = b->t - k->t, angle0 = v3_norm(a->turn), angle1 = v3_norm(k->turn);
    double          bend[3];
    for (int c = 0; c < 3; ++c) k->slope[c] = monotone_slope(h0, (k->d[c] - a->d[c]) / h0, h1, (b->d[c] - k->d[c]) / h1);
    v3_cross(bend, a->turn, k->turn);
    const bool is_same_axis = v3_dot(a->turn, k->turn) > 0 && v3_norm(bend) <= 1e-8 * angle0 * angle1;
    k->spin                 = is_same_axis ? monotone_slope(h0, angle0 / h0, h1, angle1 / h1) : 0.0;
  }
}

static void report_keyframe_error(const key_item *item, int i, const char *path, const char *key, const char *text, diagnostics *d)
{
  char at[400];
  (void)snprintf(at, sizeof at, "%.300s.keyframes[%d]", path, i);
  diagnostics_add_under(d, item->node, at, key, "%s", text);
}

/* Rotation vector from keyframe a to keyframe b. If they share an axis, the angle is the difference of the given angles, full
 * turns included; otherwise the rotation takes the shortest arc. */
static void turn_between(const pose_key *a, const pose_key *b, double turn[3])
{
  double       bend[3], inverse[4], q[4];
  const double along = v3_dot(a->axis, b->axis);
  v3_cross(bend, a->axis, b->axis);
  if (a->angle == 0.0 || b->angle == 0.0 || v3_norm(bend) <= 1e-12) {
    const double sign = along < 0.0 ? -1.0 : 1.0;
    if (b->angle == 0.0) v3_scale(turn, -a->angle, a->axis);
    else v3_scale(turn, b->angle - sign * a->angle, b->axis);
    return;
  }
  quaternion_conjugate(inverse, a->q);
  quaternion_multiply(q, b->q, inverse);
  quaternion_log(turn, q);
}

static PetscErrorCode read_keyframes(motion *m, const motion_spec *spec, document_mark mark, const char *path, diagnostics *d)
{
  PetscFunctionBegin;
  m->n_keys = spec->keyframes.n;
  PetscCall(memory_alloc("keyframes", m->n_keys, sizeof(pose_key), &m->keys));
  for (int i = 0; i < m->n_keys; ++i) {
    const key_item        *item = &spec->keyframes.item[i];
    const motion_key_spec *k    = item->value;
    double                *axis = m->keys[i].axis, theta[3];
    v3_set(axis, 0.0, 0.0, 1.0);
    if (i > 0 && !(k->time > m->keys[i - 1].t))
      report_keyframe_error(item, i, path, "time", "times must ascend: expected a time later than that of the previous keyframe", d);
    if (!unit_axis(k->axis, axis)) report_keyframe_error(item, i, path, "axis", "must not be the zero vector", d);
    m->keys[i].angle = k->rotate_deg * DEGREE;
    v3_scale(theta, m->keys[i].angle, axis);
    m->keys[i].t = k->time;
    v3_copy(m->keys[i].d, k->translate);
    quaternion_exp(m->keys[i].q, theta);
  }
  for (int i = 0; i + 1 < m->n_keys; ++i) turn_between(&m->keys[i], &m->keys[i + 1], m->keys[i].turn);
  m->is_smooth = spec->interpolation == MOTION_SMOOTH;
  if (m->is_smooth && m->n_keys == 0)
    diagnostics_add(d, mark, path, "interpolation: smooth needs keyframes, but none are given; remove it or give keyframes");
  else if (m->is_smooth) smooth_keyframes(m);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode read_expression(const char *text, const document_node *node, const char *path, diagnostics *d, expression **out)
{
  PetscFunctionBegin;
  static const char *const names[] = {"t"};
  int                      place;
  char                     message[256] = "";
  PetscCall(expression_compile(text, 1, names, out, &place, message, sizeof message));
  if (!*out)
    diagnostics_add(d, node ? node->mark : (document_mark){NULL, 0, 0}, path, "\"%s\": %s at character %d", text, message, place + 1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode motion_create(const motion_spec *spec, const document_node *node, const char *path, diagnostics *d, motion **out)
{
  PetscFunctionBegin;
  motion   *m;
  const int before = diagnostics_count(d);
  PetscCall(memory_alloc("motion", 1, sizeof *m, &m));
  *out = m;
  if (!spec) PetscFunctionReturn(PETSC_SUCCESS);
  v3_copy(m->pivot, spec->pivot);
  v3_copy(m->velocity, spec->velocity);
  v3_copy(m->angular_velocity, spec->angular_velocity);
  const bool          is_constant = v3_norm(m->velocity) > 0 || v3_norm(m->angular_velocity) > 0;
  const document_mark mark        = node ? node->mark : (document_mark){NULL, 0, 0};
  if (is_constant + (spec->keyframes.n > 0) + (spec->expressions != NULL) > 1)
    diagnostics_add(d, mark, path, "give only one of constant velocities, keyframes and expressions");
  PetscCall(read_keyframes(m, spec, mark, path, d));
  if (spec->expressions) {
    const motion_expression_spec *e = spec->expressions;
    if (e->translate.n != 0 && e->translate.n != 3)
      diagnostics_add(d, mark, path, "expressions.translate: expected three expressions, got %d", e->translate.n);
    for (int k = 0; k < 3 && e->translate.n == 3; ++k)
      PetscCall(read_expression(e->translate.item[k].value, node, path, d, &m->translate[k]));
    PetscCall(read_expression(e->rotate_deg, node, path, d, &m->rotate));
    if (!unit_axis(e->axis, m->axis)) diagnostics_add(d, mark, path, "expressions.axis must not be the zero vector");
  }
  if (diagnostics_count(d) > before) motion_destroy(out);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void motion_destroy(motion **m)
{
  if (!*m) return;
  memory_free(&(*m)->keys);
  for (int k = 0; k < 3; ++k) expression_destroy(&(*m)->translate[k]);
  expression_destroy(&(*m)->rotate);
  memory_free(m);
}

/* Value at share s of an interval of h seconds, interpolate y0 and y1. Smooth interpolation uses the rates r0 and r1 at its ends.
 * *rate: time derivative. */
static double motion_interpolate(bool is_smooth, double s, double h, double y0, double y1, double r0, double r1, double *rate)
{
  if (!is_smooth) {
    *rate = (y1 - y0) * (1.0 / h);
    return y0 + s * (y1 - y0);
  }
  const double z = 1 - s;
  *rate          = 6 * s * z * (y1 - y0) / h + z * (1 - 3 * s) * r0 + s * (3 * s - 2) * r1;
  return y0 + s * s * (3 - 2 * s) * (y1 - y0) + h * s * z * (z * r0 - s * r1);
}

/* Displacement d, rotation q, and their rates d_rate, w at time t. */
static void keyframe_pose(const motion *m, double t, double d[3], double q[4], double d_rate[3], double w[3])
{
  int i = 0;
  while (i + 1 < m->n_keys && m->keys[i + 1].t <= t) ++i;
  const pose_key *a = &m->keys[i], *b = &m->keys[i + 1 < m->n_keys ? i + 1 : i];
  v3_copy(d, a->d);
  memcpy(q, a->q, 4 * sizeof *q);
  if (t < a->t || a == b) return;
  const double h = b->t - a->t, s = (t - a->t) / h, angle = v3_norm(a->turn), per_angle = angle > 0 ? 1 / angle : 0.0;
  double       turn[4], theta[3], rate;
  for (int k = 0; k < 3; ++k) d[k] = motion_interpolate(m->is_smooth, s, h, a->d[k], b->d[k], a->slope[k], b->slope[k], &d_rate[k]);
  v3_scale(theta, motion_interpolate(m->is_smooth, s, h, 0.0, 1.0, a->spin * per_angle, b->spin * per_angle, &rate), a->turn);
  v3_scale(w, rate, a->turn);
  quaternion_exp(turn, theta);
  quaternion_multiply(q, turn, a->q);
}

void motion_frame(const motion *m, double t, rigid_frame *f)
{
  double     d[3] = {0}, q[4], d_rate[3] = {0}, w[3] = {0}, theta[3] = {0};
  const bool is_before = t < 0.0;
  if (is_before) t = 0.0;
  quaternion_identity(q);
  if (m->n_keys) {
    keyframe_pose(m, t, d, q, d_rate, w);
  } else if (m->rotate) {
    for (int k = 0; k < 3; ++k) {
      if (!m->translate[k]) continue;
      d_rate[k] = expression_derivative(m->translate[k], &t, 0, &d[k]);
    }
    double       angle;
    const double rate = expression_derivative(m->rotate, &t, 0, &angle);
    v3_scale(theta, angle * DEGREE, m->axis);
    v3_scale(w, rate * DEGREE, m->axis);
    quaternion_exp(q, theta);
  } else {
    v3_copy(d_rate, m->velocity);
    v3_copy(w, m->angular_velocity);
    v3_scale(d, t, m->velocity);
    v3_scale(theta, t, m->angular_velocity);
    quaternion_exp(q, theta);
  }
  if (is_before) memset(d_rate, 0, sizeof d_rate), memset(w, 0, sizeof w);
  memset(f, 0, sizeof *f);
  quaternion_to_matrix(f->R, q);
  double turned[3], spin[3];
  m3_mulv(turned, f->R, m->pivot);
  v3_cross(spin, w, turned);
  for (int k = 0; k < 3; ++k) {
    f->c[k] = m->pivot[k] + d[k] - turned[k];
    f->v[k] = d_rate[k] - spin[k];
    f->w[k] = w[k];
  }
  m3_identity(f->Jl);
  f->block = -1;
}

/* --- job keys -------------------------------------------------------------------------------------------------------- */

static const char *const interpolations[] = {"linear", "smooth", NULL};
/* clang-format off */
static const key_spec key_keys[] = {
  {.name = "time", .type = KEY_REAL, .offset = offsetof(motion_key_spec, time), .unit = "s", .help = "time of the keyframe; times must ascend"},
  {.name = "translate", .type = KEY_REALS, .count = 3, .offset = offsetof(motion_key_spec, translate), .unit = "m", .fallback = "[0, 0, 0]",
   .help = "displacement from the rest position"},
  {.name = "rotate_deg", .type = KEY_REAL, .offset = offsetof(motion_key_spec, rotate_deg), .unit = "deg", .fallback = "0",
   .help = "rotation from the rest pose; from 0 to 540 about the same axis is one and a half turns; between different axes the rotation takes "
           "the shortest arc"},
  {.name = "axis", .type = KEY_REALS, .count = 3, .offset = offsetof(motion_key_spec, axis), .fallback = "[0, 0, 1]", .only_if = {"rotate_deg", "*"}, .help = "axis of the rotation"},
  {.name = NULL}};
static const key_table key_table_ = {.name = "motion.keyframes",
                                     .help = "The pose at a given time. Between keyframes: see interpolation. Before the first and after the last: at rest.",
                                     .size = sizeof(motion_key_spec), .keys = key_keys};
static const key_spec expression_keys[] = {
  {.name = "translate", .type = KEY_STRINGS, .offset = offsetof(motion_expression_spec, translate), .is_optional = true,
   .help = "three expressions in t [s]: displacement in m"},
  {.name = "rotate_deg", .type = KEY_STRING, .offset = offsetof(motion_expression_spec, rotate_deg), .fallback = "0", .help = "expression in t [s]: rotation in degrees"},
  {.name = "axis", .type = KEY_REALS, .count = 3, .offset = offsetof(motion_expression_spec, axis), .fallback = "[0, 0, 1]", .only_if = {"rotate_deg", "*"}, .help = "axis of the rotation"},
  {.name = NULL}};
static const key_table expression_table = {.name = "motion.expressions", .help = "Pose as formulas of the time t.", .size = sizeof(motion_expression_spec),
                                           .keys = expression_keys};
static const key_spec motion_keys[] = {
  {.name = "pivot", .type = KEY_REALS, .count = 3, .offset = offsetof(motion_spec, pivot), .unit = "m", .fallback = "[0, 0, 0]", .help = "fixed point of the rotation"},
  {.name = "velocity", .type = KEY_REALS, .count = 3, .offset = offsetof(motion_spec, velocity), .unit = "m/s", .fallback = "[0, 0, 0]", .help = "constant velocity of the pivot"},
  {.name = "angular_velocity", .type = KEY_REALS, .count = 3, .offset = offsetof(motion_spec, angular_velocity), .unit = "rad/s", .fallback = "[0, 0, 0]",
   .help = "constant angular velocity"},
  {.name = "keyframes", .type = KEY_LIST, .offset = offsetof(motion_spec, keyframes), .table = &key_table_, .is_optional = true, .help = "poses at times"},
  {.name = "interpolation", .type = KEY_ENUM, .offset = offsetof(motion_spec, interpolation), .choices = interpolations, .fallback = "linear",
   .only_if = {"keyframes", "!none"}, .help = "interpolation between keyframes; linear: constant rates, the velocity jumps at each keyframe; smooth: continuous velocity without "
           "overshoot, at rest at the first and last keyframe"},
  {.name = "expressions", .type = KEY_TABLE, .offset = offsetof(motion_spec, expressions), .table = &expression_table, .is_optional = true, .help = "pose as formulas"},
  {.name = NULL}};
/* clang-format on */
const key_table motion_table = {.name = "motion",
                                .help = "Motion of a kinematic body: constant velocities, keyframes or expressions; only one of the three.",
                                .size = sizeof(motion_spec),
                                .keys = motion_keys};
