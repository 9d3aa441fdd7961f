/* Joints of an articulated body: where they are, what they do, where they begin. */
#include "core/math3.h"
#include "discretize/articulated/articulated_build.h"
#include <string.h>

void articulated_build_place_joint(const articulated_builder *b, articulated_body *a, int i)
{
  const built_joint     *j = articulated_build_joint_at(b, i);
  const joint_type type = (joint_type)j->s.type;
  const bool       has_axis = type == JOINT_REVOLUTE || type == JOINT_PRISMATIC || type == JOINT_PLANAR;
  const bool       wants_place = type == JOINT_REVOLUTE || type == JOINT_BALL;
  static const double up[3] = {0, 0, 1};
  if (has_axis && !isfinite(j->s.axis[0])) COMPLAIN_JOINT(b, j, NULL, "missing required key \"axis\"");
  if (!has_axis && isfinite(j->s.axis[0])) COMPLAIN_JOINT(b, j, "axis", "a joint of this type has none: leave it out");
  if (isfinite(j->s.axis[0]) && !(v3_norm(j->s.axis) > 0.0)) COMPLAIN_JOINT(b, j, "axis", "must not be the zero vector");
  else articulated_axes(has_axis && isfinite(j->s.axis[0]) ? j->s.axis : up, a->tree.axes + 9 * i);
  if (wants_place && !isfinite(j->s.at[0])) COMPLAIN_JOINT(b, j, NULL, "missing required key \"at\": where it is");
  v3_copy(a->tree.anchor + 3 * i, isfinite(j->s.at[0]) ? j->s.at : a->tree.center + 3 * i);
}

/* Keys that only some types know. */
void articulated_build_check_joint(const articulated_builder *b, const built_joint *j)
{
  static const struct {
    const char *key;
    unsigned    types;
  } known[] = {
#define OF(type) 1u << JOINT_##type
#define ONE OF(REVOLUTE) | OF(PRISMATIC)
      {"position", ONE},
      {"rate", ONE},
      {"lower", ONE},
      {"upper", ONE},
      {"friction", ONE},
      {"effort", ONE},
      {"max_rate", ONE},
      {"motion", ONE},
      {"drive", ONE},
      {"mimic", ONE},
      {"damping", ONE | OF(BALL)},
      {"velocity", OF(FREE) | OF(PLANAR)},
      {"angular_velocity", OF(FREE) | OF(BALL) | OF(PLANAR)}};
  for (size_t k = 0; k < sizeof known / sizeof *known; ++k)
    if (articulated_build_is_given(j, known[k].key) && !(known[k].types & 1u << j->s.type))
      COMPLAIN_JOINT(b, j, known[k].key,
                     "a joint of this type cannot use it: leave it out, or make the joint a chain of revolute and prismatic ones");
  if (j->s.motion || (j->course && !j->s.drive)) {
    static const char *const free_ones[] = {"position", "rate",  "lower", "upper",   "friction",
                                            "damping",  "drive", "mimic", "max_rate"};
    for (size_t k = 0; k < sizeof free_ones / sizeof *free_ones; ++k)
      if (articulated_build_has_key(j->added ? j->added : j->node, free_ones[k]))
        COMPLAIN_JOINT(b, j, free_ones[k], "the joint's motion is prescribed, nothing else moves it: leave out one of them");
  }
  if (j->s.mimic) {
    static const char *const own[] = {"position", "rate", "drive", "motion"};
    for (size_t k = 0; k < sizeof own / sizeof *own; ++k)
      if (articulated_build_is_given(j, own[k]))
        COMPLAIN_JOINT(b, j, own[k], "it follows joint \"%s\": say it of that one", j->s.mimic->joint);
  }
  if (j->s.lower > j->s.upper) COMPLAIN_JOINT(b, j, "lower", "%g is above upper = %g: exchange them", j->s.lower, j->s.upper);
  if (articulated_build_has_key(j->added ? j->added : b->spec->urdf ? NULL : j->node, "effort") && !j->s.drive)
    COMPLAIN_JOINT(b, j, "effort", "there is no motor to give it: add `drive`, or leave it out");
}

PetscErrorCode articulated_build_compile(const articulated_builder *b, const document_node *node, built_place where,
                                         const char *key, const char *text, expression **out)
{
  static const char *const names[] = {"t"};
  char                     message[256] = "";
  int                      at = 0;
  PetscFunctionBegin;
  PetscCall(expression_compile(text, 1, names, out, &at, message, sizeof message));
  if (!*out) diagnostics_add_under(b->d, node, where.text, key, "\"%s\": %s at character %d", text, message, at + 1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A joint that mimics: limits, damping and friction are of what both are. */
void articulated_build_follow(const articulated_builder *b, articulated_body *a, int i)
{
  articulated_tree             *t = &a->tree;
  const built_joint                  *j = articulated_build_joint_at(b, i);
  const articulated_mimic_spec *m = j->s.mimic;
  const int                     own = t->rate_start[i];
  int                           k = 0;
  while (k < t->n && strcmp(articulated_build_joint_at(b, k)->name, m->joint) != 0) ++k;
  if (k == t->n) COMPLAIN_JOINT(b, j, "mimic", "no joint is called \"%s\"", m->joint);
  else if (joint_type_rates((joint_type)t->type[k]) != 1)
    COMPLAIN_JOINT(b, j, "mimic", "joint \"%s\" is neither revolute nor prismatic", m->joint);
  else if (articulated_build_joint_at(b, k)->s.mimic || k == i)
    COMPLAIN_JOINT(b, j, "mimic", "joint \"%s\" follows another itself: follow that one", m->joint);
  else if (m->factor == 0.0) COMPLAIN_JOINT(b, j, "mimic", "factor is 0: the joint would not move; make it fixed");
  else t->leader[own] = t->rate_start[k], t->factor[own] = m->factor, t->offset[own] = m->offset;
}

static void tighten(articulated_axis *a, double lower, double upper)
{
  a->lower = fmax(a->lower, fmin(lower, upper));
  a->upper = fmin(a->upper, fmax(lower, upper));
}

/* What joint i, of one rate, does to its independent velocity. */
PetscErrorCode articulated_build_set_axis(articulated_builder *b, articulated_body *a, int i)
{
  built_joint                  *j = &b->joints[b->joint_of[b->order[i]]];
  const articulated_joint_spec *s = &j->s;
  const int                     k = a->tree.rate_start[i], dof = a->tree.dof[k];
  const double                  f = a->tree.factor[k], o = a->tree.offset[k];
  articulated_axis             *x = &a->axis[dof];
  const built_place                   p = articulated_build_place_of(b, "joints", j->name);
  PetscFunctionBegin;
  if (a->tree.leader[k] == k) a->q_of[dof] = a->tree.q_start[i];
  tighten(x, isfinite(s->lower) ? (s->lower - o) / f : copysign(INFINITY, -f),
          isfinite(s->upper) ? (s->upper - o) / f : copysign(INFINITY, f));
  if (isfinite(s->damping)) x->damping += f * f * s->damping;
  if (isfinite(s->friction)) x->friction += fabs(f) * s->friction;
  if (isfinite(s->max_rate)) x->max_rate = fmin(x->max_rate, s->max_rate / fabs(f));
  if (s->motion)
    PetscCall(articulated_build_compile(b, articulated_build_has_key(j->added, "motion") ? j->added : j->node, p, "motion",
                                        s->motion, &x->motion));
  if (j->course && !s->drive) x->motion = j->course, j->course = NULL;
  if (!s->drive) PetscFunctionReturn(PETSC_SUCCESS);
  const document_node *drive = document_find(articulated_build_has_key(j->added, "drive") ? j->added : j->node, "drive");
  x->stiffness = s->drive->stiffness, x->rate_damping = s->drive->damping;
  if (isfinite(s->effort)) x->effort = s->effort;
  if (j->course) x->target = j->course, j->course = NULL;
  else PetscCall(articulated_build_compile(b, drive, p, "drive.target", s->drive->target ? s->drive->target : "0", &x->target));
  PetscCall(articulated_build_compile(b, drive, p, "drive.force", s->drive->force, &x->force));
  if (s->drive->rate) PetscCall(articulated_build_compile(b, drive, p, "drive.rate", s->drive->rate, &x->rate));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Positions and rates at the start. */
void articulated_build_set_state(const articulated_builder *b, articulated_body *a)
{
  articulated_tree *t = &a->tree;
  double           *v = a->v;
  const double      begin = 0.0;
  articulated_tree_rest(t, a->q);
  for (int i = 0; i < t->n; ++i) {
    const built_joint                  *j = articulated_build_joint_at(b, i);
    const articulated_joint_spec *s = &j->s;
    const int                     k = t->rate_start[i];
    if (s->mimic) continue;
    switch ((joint_type)t->type[i]) {
    case JOINT_REVOLUTE:
    case JOINT_PRISMATIC: {
      const articulated_axis *x = &a->axis[t->dof[k]];
      double                 *q = &a->q[t->q_start[i]];
      *q           = isfinite(s->position) ? s->position : j->has_course && x->target ? expression_value(x->target, &begin) : 0.0;
      v[t->dof[k]] = isfinite(s->rate) ? s->rate : 0.0;
      if (x->motion) v[t->dof[k]] = expression_derivative(x->motion, &begin, 0, q);
      if (*q < x->lower || *q > x->upper)
        COMPLAIN_JOINT(b, j, articulated_build_is_given(j, "position") ? "position" : NULL,
                       "begins at %g, outside its limits %g and %g: give another position", *q, x->lower, x->upper);
      break;
    }
    case JOINT_BALL:
      if (isfinite(s->angular_velocity[0])) v3_copy(v + t->dof[k], s->angular_velocity);
      break;
    case JOINT_FREE:
      if (isfinite(s->velocity[0])) v3_copy(v + t->dof[k], s->velocity);
      if (isfinite(s->angular_velocity[0])) v3_copy(v + t->dof[k] + 3, s->angular_velocity);
      break;
    case JOINT_PLANAR:
      for (int e = 0; e < 2 && isfinite(s->velocity[0]); ++e) v[t->dof[k] + e] = v3_dot(s->velocity, t->axes + 9 * i + 3 * (e + 1));
      if (isfinite(s->angular_velocity[0])) v[t->dof[k] + 2] = v3_dot(s->angular_velocity, t->axes + 9 * i);
      break;
    case JOINT_FIXED: break;
    }
  }
  for (int i = 0; i < t->n; ++i) /* what follows */
    for (int k = 0; k < t->n && articulated_build_joint_at(b, i)->s.mimic; ++k)
      if (t->rate_start[k] == t->leader[t->rate_start[i]] && joint_type_rates((joint_type)t->type[k]) == 1)
        a->q[t->q_start[i]] = t->factor[t->rate_start[i]] * a->q[t->q_start[k]] + t->offset[t->rate_start[i]];
}
