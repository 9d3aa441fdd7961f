#include "discretize/rigid/motion.h"
#include <string.h>
#include "core/expression.h"
#include "core/math3.h"
#include "core/memory.h"
#include "core/quaternion.h"

static const double DEGREE = 0.017453292519943295;

typedef struct {
  double t, d[3], q[4];
} pose_key;
struct motion {
  double      pivot[3], velocity[3], angular_velocity[3];
  int         n_keys;
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

static PetscErrorCode read_keyframes(motion *m, const motion_spec *spec, const char *path, diagnostics *d)
{
  PetscFunctionBegin;
  m->n_keys = spec->keyframes.n;
  PetscCall(memory_alloc("keyframes", m->n_keys, sizeof(pose_key), &m->keys));
  for (int i = 0; i < m->n_keys; ++i) {
    const key_item        *item = &spec->keyframes.item[i];
    const motion_key_spec *k    = item->value;
    double                 axis[3] = {0, 0, 1}, theta[3];
    if (i > 0 && !(k->time > m->keys[i - 1].t)) diagnostics_add(d, item->node->mark, path, "keyframes: times must ascend");
    if (!unit_axis(k->axis, axis)) diagnostics_add(d, item->node->mark, path, "keyframes: axis must not be zero");
    v3_scale(theta, k->rotate_deg * DEGREE, axis);
    m->keys[i].t = k->time;
    v3_copy(m->keys[i].d, k->translate);
    quaternion_exp(m->keys[i].q, theta);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode read_expression(const char *text, const document_node *node, const char *path, diagnostics *d, expression **out)
{
  PetscFunctionBegin;
  static const char *const names[] = {"t"};
  int                      place;
  char                     message[256] = "";
  PetscCall(expression_compile(text, 1, names, out, &place, message, sizeof message));
  if (!*out) diagnostics_add(d, node ? node->mark : (document_mark){NULL, 0, 0}, path, "\"%s\": %s at character %d", text, message, place + 1);
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
    diagnostics_add(d, mark, path, "give constant velocities, keyframes or expressions, not several of them");
  PetscCall(read_keyframes(m, spec, path, d));
  if (spec->expressions) {
    const motion_expression_spec *e = spec->expressions;
    if (e->translate.n != 0 && e->translate.n != 3) diagnostics_add(d, mark, path, "expressions.translate: expected three expressions, got %d", e->translate.n);
    for (int k = 0; k < 3 && e->translate.n == 3; ++k) PetscCall(read_expression(e->translate.item[k].value, node, path, d, &m->translate[k]));
    PetscCall(read_expression(e->rotate_deg, node, path, d, &m->rotate));
    if (!unit_axis(e->axis, m->axis)) diagnostics_add(d, mark, path, "expressions.axis must not be zero");
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

/* Displacement, rotation and their rates. */
static void keyframe_pose(const motion *m, double t, double d[3], double q[4], double d_rate[3], double w[3])
{
  int i = 0;
  while (i + 1 < m->n_keys && m->keys[i + 1].t <= t) ++i;
  const pose_key *a = &m->keys[i], *b = &m->keys[i + 1 < m->n_keys ? i + 1 : i];
  v3_copy(d, a->d);
  memcpy(q, a->q, 4 * sizeof *q);
  if (t < a->t || a == b) return;
  const double s = (t - a->t) / (b->t - a->t), rate = 1.0 / (b->t - a->t);
  double       inverse[4], turn[4], theta[3];
  for (int k = 0; k < 3; ++k) d_rate[k] = (b->d[k] - a->d[k]) * rate, d[k] = a->d[k] + s * (b->d[k] - a->d[k]);
  quaternion_conjugate(inverse, a->q);
  quaternion_multiply(turn, b->q, inverse);
  quaternion_log(theta, turn);
  v3_scale(w, rate, theta);
  v3_scale(theta, s, theta);
  quaternion_exp(turn, theta);
  quaternion_multiply(q, turn, a->q);
}

void motion_frame(const motion *m, double t, rigid_frame *f)
{
  double d[3] = {0}, q[4], d_rate[3] = {0}, w[3] = {0}, theta[3] = {0};
  quaternion_identity(q);
  if (m->n_keys) {
    keyframe_pose(m, t, d, q, d_rate, w);
  } else if (m->rotate) {
    for (int k = 0; k < 3; ++k) {
      if (!m->translate[k]) continue;
      d_rate[k] = expression_derivative(m->translate[k], &t, 0, &d[k]);
    }
    double angle;
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
