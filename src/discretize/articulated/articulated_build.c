/* An articulated body from what a job, or a URDF, says of it. */
#include "core/eigen3.h"
#include "core/math3.h"
#include "core/memory.h"
#include "core/quaternion.h"
#include "discretize/articulated/articulated_body.h"
#include "discretize/articulated/articulated_urdf.h"
#include "discretize/body_kinds.h"
#include <string.h>

/* A joint, with what the job adds to a URDF's. */
typedef struct {
  articulated_joint_spec s;
  const char            *name;
  const document_node   *node, *added; /* where it stands; NULL: nothing was added */
  int                    parent, child; /* links as they are listed; -1: the world, -2: unknown */
} joint;

typedef struct {
  const body_request     *r;
  const body_world       *w;
  diagnostics            *d;
  const articulated_spec *spec;
  int                     before;   /* complaints that are not about this body */
  key_list                links;
  int                     n_joints;
  joint                  *joints;
  int                    *order;   /* [n] link as listed, of each of the tree's */
  int                    *joint_of; /* [n] of links as listed; -1: none */
} builder;

typedef struct {
  char text[300];
} place;
static place place_of(const builder *b, const char *list, const char *name)
{
  place p;
  (void)snprintf(p.text, sizeof p.text, "%.120s.%s.%.120s", b->r->path, list, name);
  return p;
}
#define COMPLAIN_JOINT(b, j, key, ...) diagnostics_add_under((b)->d, has_key((j)->added, key) ? (j)->added : (j)->node, place_of(b, "joints", (j)->name).text, key, __VA_ARGS__)
#define COMPLAIN_LINK(b, item, key, ...) diagnostics_add_under((b)->d, (item)->node, place_of(b, "links", (item)->name).text, key, __VA_ARGS__)

static bool has_key(const document_node *node, const char *key)
{
  return node && (!key || document_find(node, key));
}
static bool is_wrong(const builder *b) { return diagnostics_count(b->d) > b->before; }
static bool is_given(const joint *j, const char *key) { return has_key(j->node, key) || has_key(j->added, key); }

/* ---- what is there --------------------------------------------------------------------------------------------------- */

static int find_link(const builder *b, const char *name)
{
  for (int i = 0; i < b->links.n; ++i)
    if (strcmp(b->links.item[i].name, name) == 0) return i;
  return -2;
}

static const char *nearest_link(const builder *b, const char *name)
{
  const char *names[256];
  int         n = 0;
  for (; n < b->links.n && n < 256; ++n) names[n] = b->links.item[n].name;
  return diagnostics_nearest(name, n, names);
}

static int resolve(const builder *b, const joint *j, const char *key, const char *name)
{
  if (!name || strcmp(name, "world") == 0) return -1;
  const int i = find_link(b, name);
  if (i >= 0) return i;
  const char *nearest = nearest_link(b, name);
  COMPLAIN_JOINT(b, j, key, "no link is called \"%s\"%s%s%s", name, nearest ? "; did you mean \"" : "", nearest ? nearest : "",
                 nearest ? "\"?" : "; define it under links:");
  return i;
}

/* What the job says of a joint of its URDF. */
static void add_to(const builder *b, joint *j, const key_item *item)
{
  static const char *const fixed[] = {"type", "parent", "child", "at", "axis"};
  const articulated_joint_spec *x  = item->value;
  j->added                         = item->node;
  for (size_t k = 0; k < sizeof fixed / sizeof *fixed; ++k)
    if (document_find(item->node, fixed[k])) COMPLAIN_JOINT(b, j, fixed[k], "joint \"%s\" is of the urdf, which says so: leave it out", j->name);
  double *const       to[]   = {&j->s.position, &j->s.rate, &j->s.lower, &j->s.upper, &j->s.damping, &j->s.friction, &j->s.effort, &j->s.max_rate};
  const double *const from[] = {&x->position, &x->rate, &x->lower, &x->upper, &x->damping, &x->friction, &x->effort, &x->max_rate};
  for (size_t k = 0; k < sizeof to / sizeof *to; ++k)
    if (isfinite(*from[k])) *to[k] = *from[k];
  if (isfinite(x->velocity[0])) v3_copy(j->s.velocity, x->velocity);
  if (isfinite(x->angular_velocity[0])) v3_copy(j->s.angular_velocity, x->angular_velocity);
  if (x->motion) j->s.motion = x->motion;
  if (x->drive) j->s.drive = x->drive;
  if (x->mimic) j->s.mimic = x->mimic;
}

static PetscErrorCode take_joints(builder *b, const key_list *list, const key_list *added)
{
  PetscFunctionBegin;
  PetscCall(memory_alloc("joints", list->n, sizeof *b->joints, &b->joints));
  for (int k = 0; k < list->n; ++k) {
    joint *j = &b->joints[b->n_joints++];
    *j       = (joint){.s = *(const articulated_joint_spec *)list->item[k].value, .name = list->item[k].name, .node = list->item[k].node};
  }
  for (int k = 0; added && k < added->n; ++k) {
    const char *names[256], *nearest;
    int         at = 0, n = 0;
    while (at < b->n_joints && strcmp(b->joints[at].name, added->item[k].name) != 0) ++at;
    if (at < b->n_joints) {
      add_to(b, &b->joints[at], &added->item[k]);
      continue;
    }
    for (; n < b->n_joints && n < 256; ++n) names[n] = b->joints[n].name;
    nearest = diagnostics_nearest(added->item[k].name, n, names);
    diagnostics_add_under(b->d, added->item[k].node, place_of(b, "joints", added->item[k].name).text, NULL, "the urdf has no such joint%s%s%s",
                          nearest ? "; did you mean \"" : "", nearest ? nearest : "", nearest ? "\"?" : "");
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode read_urdf(builder *b, document **doc)
{
  const articulated_spec       *s = b->spec;
  const articulated_model_spec *model;
  document_node                *node;
  double                        R[9], theta[3], axis[3] = {0, 0, 1}, c[3] = {0, 0, 0};
  PetscFunctionBegin;
  if (isfinite(s->axis[0])) v3_copy(axis, s->axis);
  if (!(v3_norm(axis) > 0.0)) {
    diagnostics_add_under(b->d, b->r->node, b->r->path, "axis", "must not be the zero vector");
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  v3_scale(theta, isfinite(s->rotate_deg) ? s->rotate_deg * M_PI / 180.0 / v3_norm(axis) : 0.0, axis);
  rotation_exp(R, theta);
  if (isfinite(s->translate[0])) v3_copy(c, s->translate);
  PetscCall(articulated_urdf_read(s->urdf, c, R, s->base == URDF_BASE_FREE ? "free" : "fixed", b->r->node, b->r->path, b->d, doc, &node));
  if (!node) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(key_table_read(&articulated_model_table, *doc, node, b->r->path, b->d, (const void **)&model));
  b->links = model->links;
  PetscCall(take_joints(b, &model->joints, &s->joints));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode take_model(builder *b, document **doc)
{
  static const char *const of_urdf[] = {"base", "translate", "rotate_deg", "axis"};
  const document_node     *node = b->r->node;
  PetscFunctionBegin;
  if (b->spec->urdf) {
    if (b->spec->links.n > 0) diagnostics_add_under(b->d, node, b->r->path, "links", "cannot stand beside urdf, which has them: leave out one of them");
    else PetscCall(read_urdf(b, doc));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (size_t k = 0; k < sizeof of_urdf / sizeof *of_urdf; ++k)
    if (document_find(node, of_urdf[k]))
      diagnostics_add_under(b->d, node, b->r->path, of_urdf[k], "is of a urdf, and there is none: links are drawn where they are; leave it out");
  if (b->spec->links.n == 0) diagnostics_add_under(b->d, node, b->r->path, NULL, "has no links: give `links` and `joints`, or `urdf`");
  b->links = b->spec->links;
  PetscCall(take_joints(b, &b->spec->joints, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the tree -------------------------------------------------------------------------------------------------------- */

/* Who hangs on whom: one joint for each link, no loops; links in an order in which parents come first. */
static PetscErrorCode order_links(builder *b)
{
  int n = 0;
  PetscFunctionBegin;
  PetscCall(memory_alloc("links", b->links.n, sizeof(int), &b->order));
  PetscCall(memory_alloc("links", b->links.n, sizeof(int), &b->joint_of));
  for (int i = 0; i < b->links.n; ++i) b->joint_of[i] = -1;
  for (int k = 0; k < b->n_joints; ++k) {
    joint *j = &b->joints[k];
    if (j->s.type < 0) COMPLAIN_JOINT(b, j, NULL, "missing required key \"type\"");
    if (!j->s.child) COMPLAIN_JOINT(b, j, NULL, "missing required key \"child\": the link that it carries");
    j->parent = resolve(b, j, "parent", j->s.parent);
    j->child  = j->s.child ? resolve(b, j, "child", j->s.child) : -2;
    if (j->s.child && j->child == -1) COMPLAIN_JOINT(b, j, "child", "the world hangs on nothing: name a link");
    if (j->child < 0) continue;
    if (b->joint_of[j->child] >= 0)
      COMPLAIN_JOINT(b, j, "child", "link \"%s\" hangs on joint \"%s\" already: a tree has one for each; close loops under `loops`", j->s.child,
                     b->joints[b->joint_of[j->child]].name);
    else b->joint_of[j->child] = k;
  }
  if (is_wrong(b)) PetscFunctionReturn(PETSC_SUCCESS);
  for (int i = 0; i < b->links.n; ++i)
    if (b->joint_of[i] < 0)
      COMPLAIN_LINK(b, &b->links.item[i], NULL, "no joint carries it: give one with child: %s, of type free if nothing holds it", b->links.item[i].name);
  if (is_wrong(b)) PetscFunctionReturn(PETSC_SUCCESS);
  for (bool is_more = true; is_more;) {
    is_more = false;
    for (int i = 0; i < b->links.n; ++i) {
      const int up = b->joints[b->joint_of[i]].parent;
      bool      is_placed = false, has_parent = up < 0;
      for (int k = 0; k < n; ++k) is_placed |= b->order[k] == i, has_parent |= b->order[k] == up;
      if (!is_placed && has_parent) b->order[n++] = i, is_more = true;
    }
  }
  for (int i = 0; i < b->links.n && n < b->links.n; ++i) {
    bool is_placed = false;
    for (int k = 0; k < n; ++k) is_placed |= b->order[k] == i;
    if (is_placed) continue;
    const joint *j = &b->joints[b->joint_of[i]];
    COMPLAIN_JOINT(b, j, "parent", "link \"%s\" hangs on itself by way of \"%s\": joints must make a tree; close loops under `loops`", j->s.child, j->s.parent);
    break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Number of a listed link in the tree. */
static int in_tree(const builder *b, int listed)
{
  for (int i = 0; i < b->links.n && listed >= 0; ++i)
    if (b->order[i] == listed) return i;
  return -1;
}

static const joint    *joint_at(const builder *b, int i) { return &b->joints[b->joint_of[b->order[i]]]; }
static const key_item *link_at(const builder *b, int i) { return &b->links.item[b->order[i]]; }

/* Second moments that mass can have: none negative, none above the sum of the others. */
static void check_inertia(const builder *b, const key_item *item, double m, const double I6[9])
{
  double moment[3], Q[9];
  eigen3_symmetric(I6, moment, Q);
  const double slack = 1e-9 * fabs(moment[0]);
  if (moment[2] < -slack || moment[0] > moment[1] + moment[2] + slack)
    COMPLAIN_LINK(b, item, "inertia", "no body has these principal moments (%g, %g, %g): none may be negative, nor above the sum of the others", moment[0], moment[1], moment[2]);
  if (m == 0.0 && moment[0] > 0.0) COMPLAIN_LINK(b, item, "inertia", "a link without mass has none: leave it out, or give a mass");
}

/* Shape, mass and centre of link i. */
static PetscErrorCode build_link(const builder *b, articulated_body *a, int i)
{
  const key_item              *item = link_at(b, i);
  const articulated_link_spec *s    = item->value;
  articulated_link            *link = a->link[i];
  double *const                c = a->tree.center + 3 * i, *const moments = a->tree.inertia + 9 * i, *const m = &a->tree.mass[i];
  PetscFunctionBegin;
  const double density = b->r->material ? b->r->material->density : NAN;
  if (s->shape) {
    rigid_body_spec spec = {.material = "", .shape = s->shape, .surface_spacing = s->surface_spacing, .contact_surface = s->contact_surface, .mass = s->mass};
    rigid_body     *r    = NULL;
    if (!isfinite(s->mass) && !isfinite(density)) {
      COMPLAIN_LINK(b, item, NULL, "has no mass: give `mass`, or a `material` of the body");
      PetscFunctionReturn(PETSC_SUCCESS);
    }
    for (int k = 0; k < 3; ++k) spec.inertia[k] = spec.center_of_mass[k] = NAN;
    PetscCall(rigid_body_create(a->names[i], RIGID_DYNAMIC, &spec, density, item->node, place_of(b, "links", item->name).text, b->d, &r));
    if (!r) PetscFunctionReturn(PETSC_SUCCESS);
    link->rigid = *r, link->has_shape = true;
    memory_free(&r); /* its arrays are the link's now */
    *m = link->rigid.mass;
    v3_copy(c, link->rigid.origin);
    m3_copy(moments, link->rigid.inertia);
  } else {
    if (!isfinite(s->mass)) COMPLAIN_LINK(b, item, NULL, "has neither a shape nor a mass: give one of them, mass: 0 if it only carries others");
    else if (s->mass > 0.0 && !isfinite(s->center_of_mass[0])) COMPLAIN_LINK(b, item, NULL, "has a mass but no shape: where is its center_of_mass?");
    *m = s->mass;
  }
  if (isfinite(s->center_of_mass[0])) {
    if (s->shape && !isfinite(s->inertia[0]))
      COMPLAIN_LINK(b, item, "center_of_mass", "says where the mass is, not how it is spread: give `inertia`, about this point, too");
    v3_copy(c, s->center_of_mass);
  }
  if (isfinite(s->inertia[0])) {
    const double *x = s->inertia, full[9] = {x[0], x[3], x[4], x[3], x[1], x[5], x[4], x[5], x[2]};
    check_inertia(b, item, *m, full);
    m3_copy(moments, full);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A name that is this link's as a body; its arrays, where it has no shape. */
static PetscErrorCode make_link(const builder *b, articulated_body *a, int i)
{
  articulated_link *link;
  const size_t      size = strlen(b->r->name) + strlen(link_at(b, i)->name) + 2;
  PetscFunctionBegin;
  PetscCall(memory_alloc("links", 1, sizeof *link, &a->link[i]));
  PetscCall(memory_alloc("links", (int64_t)size, 1, &a->names[i]));
  (void)snprintf(a->names[i], size, "%s.%s", b->r->name, link_at(b, i)->name);
  PetscCall(build_link(b, a, i));
  link        = a->link[i];
  link->tree  = a;
  link->index = i;
  double **arrays[] = {&link->rigid.c, &link->rigid.q, &link->rigid.v, &link->rigid.w};
  for (int k = 0; k < 4 && !link->has_shape; ++k) PetscCall(memory_alloc("links", k == 1 ? 4 : 3, sizeof(double), arrays[k]));
  link->rigid.base = (body){.ops = link->has_shape ? &articulated_link_ops : &articulated_frame_ops, .name = a->names[i]};
  link->rigid.kind = RIGID_KINEMATIC; /* its pose is the tree's state, not its own */
  if (!link->has_shape) v3_copy(link->rigid.origin, a->tree.center + 3 * i);
  link->rigid.mass = a->tree.mass[i];
  a->part[i]       = &link->rigid.base;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void place_joint(const builder *b, articulated_body *a, int i)
{
  const joint     *j = joint_at(b, i);
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

/* ---- what joints do -------------------------------------------------------------------------------------------------- */

/* Keys that only some types know. */
static void check_joint(const builder *b, const joint *j)
{
  static const struct {
    const char *key;
    unsigned    types;
  } known[] = {
#define OF(type) 1u << JOINT_##type
#define ONE OF(REVOLUTE) | OF(PRISMATIC)
    {"position", ONE}, {"rate", ONE}, {"lower", ONE}, {"upper", ONE}, {"friction", ONE}, {"effort", ONE}, {"max_rate", ONE}, {"motion", ONE}, {"drive", ONE}, {"mimic", ONE},
    {"damping", ONE | OF(BALL)}, {"velocity", OF(FREE) | OF(PLANAR)}, {"angular_velocity", OF(FREE) | OF(BALL) | OF(PLANAR)}};
  for (size_t k = 0; k < sizeof known / sizeof *known; ++k)
    if (is_given(j, known[k].key) && !(known[k].types & 1u << j->s.type))
      COMPLAIN_JOINT(b, j, known[k].key, "a joint of this type cannot use it: leave it out, or make the joint a chain of revolute and prismatic ones");
  if (j->s.motion) {
    static const char *const free_ones[] = {"position", "rate", "lower", "upper", "friction", "damping", "drive", "mimic", "max_rate"};
    for (size_t k = 0; k < sizeof free_ones / sizeof *free_ones; ++k)
      if (has_key(j->added ? j->added : j->node, free_ones[k])) COMPLAIN_JOINT(b, j, free_ones[k], "the joint's motion is prescribed, nothing else moves it: leave out one of them");
  }
  if (j->s.mimic) {
    static const char *const own[] = {"position", "rate", "drive", "motion"};
    for (size_t k = 0; k < sizeof own / sizeof *own; ++k)
      if (is_given(j, own[k])) COMPLAIN_JOINT(b, j, own[k], "it follows joint \"%s\": say it of that one", j->s.mimic->joint);
  }
  if (j->s.lower > j->s.upper) COMPLAIN_JOINT(b, j, "lower", "%g is above upper = %g: exchange them", j->s.lower, j->s.upper);
  if (has_key(j->added ? j->added : b->spec->urdf ? NULL : j->node, "effort") && !j->s.drive) COMPLAIN_JOINT(b, j, "effort", "there is no motor to give it: add `drive`, or leave it out");
}

static PetscErrorCode compile(const builder *b, const document_node *node, place where, const char *key, const char *text, expression **out)
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
static void follow(const builder *b, articulated_body *a, int i)
{
  articulated_tree             *t = &a->tree;
  const joint                  *j = joint_at(b, i);
  const articulated_mimic_spec *m = j->s.mimic;
  const int                     own = t->rate_start[i];
  int                           k = 0;
  while (k < t->n && strcmp(joint_at(b, k)->name, m->joint) != 0) ++k;
  if (k == t->n) COMPLAIN_JOINT(b, j, "mimic", "no joint is called \"%s\"", m->joint);
  else if (joint_type_rates((joint_type)t->type[k]) != 1) COMPLAIN_JOINT(b, j, "mimic", "joint \"%s\" is neither revolute nor prismatic", m->joint);
  else if (joint_at(b, k)->s.mimic || k == i) COMPLAIN_JOINT(b, j, "mimic", "joint \"%s\" follows another itself: follow that one", m->joint);
  else if (m->factor == 0.0) COMPLAIN_JOINT(b, j, "mimic", "factor is 0: the joint would not move; make it fixed");
  else t->leader[own] = t->rate_start[k], t->factor[own] = m->factor, t->offset[own] = m->offset;
}

static void tighten(articulated_axis *a, double lower, double upper)
{
  a->lower = fmax(a->lower, fmin(lower, upper));
  a->upper = fmin(a->upper, fmax(lower, upper));
}

/* What joint i, of one rate, does to its independent velocity. */
static PetscErrorCode set_axis(const builder *b, articulated_body *a, int i)
{
  const joint                  *j = joint_at(b, i);
  const articulated_joint_spec *s = &j->s;
  const int                     k = a->tree.rate_start[i], dof = a->tree.dof[k];
  const double                  f = a->tree.factor[k], o = a->tree.offset[k];
  articulated_axis             *x = &a->axis[dof];
  const place                   p = place_of(b, "joints", j->name);
  PetscFunctionBegin;
  if (a->tree.leader[k] == k) a->q_of[dof] = a->tree.q_start[i];
  tighten(x, isfinite(s->lower) ? (s->lower - o) / f : copysign(INFINITY, -f), isfinite(s->upper) ? (s->upper - o) / f : copysign(INFINITY, f));
  if (isfinite(s->damping)) x->damping += f * f * s->damping;
  if (isfinite(s->friction)) x->friction += fabs(f) * s->friction;
  if (isfinite(s->max_rate)) x->max_rate = fmin(x->max_rate, s->max_rate / fabs(f));
  if (s->motion) PetscCall(compile(b, has_key(j->added, "motion") ? j->added : j->node, p, "motion", s->motion, &x->motion));
  if (!s->drive) PetscFunctionReturn(PETSC_SUCCESS);
  const document_node *drive = document_find(has_key(j->added, "drive") ? j->added : j->node, "drive");
  x->stiffness = s->drive->stiffness, x->rate_damping = s->drive->damping;
  if (isfinite(s->effort)) x->effort = s->effort;
  PetscCall(compile(b, drive, p, "drive.target", s->drive->target, &x->target));
  PetscCall(compile(b, drive, p, "drive.force", s->drive->force, &x->force));
  if (s->drive->rate) PetscCall(compile(b, drive, p, "drive.rate", s->drive->rate, &x->rate));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Positions and rates at the start. */
static void set_state(const builder *b, articulated_body *a)
{
  articulated_tree *t = &a->tree;
  double           *v = a->v;
  const double      begin = 0.0;
  articulated_tree_rest(t, a->q);
  for (int i = 0; i < t->n; ++i) {
    const joint                  *j = joint_at(b, i);
    const articulated_joint_spec *s = &j->s;
    const int                     k = t->rate_start[i];
    if (s->mimic) continue;
    switch ((joint_type)t->type[i]) {
    case JOINT_REVOLUTE:
    case JOINT_PRISMATIC: {
      const articulated_axis *x = &a->axis[t->dof[k]];
      double                 *q = &a->q[t->q_start[i]];
      *q           = isfinite(s->position) ? s->position : 0.0;
      v[t->dof[k]] = isfinite(s->rate) ? s->rate : 0.0;
      if (x->motion) v[t->dof[k]] = expression_derivative(x->motion, &begin, 0, q);
      if (*q < x->lower || *q > x->upper)
        COMPLAIN_JOINT(b, j, is_given(j, "position") ? "position" : NULL, "begins at %g, outside its limits %g and %g: give another position", *q, x->lower, x->upper);
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
    for (int k = 0; k < t->n && joint_at(b, i)->s.mimic; ++k)
      if (t->rate_start[k] == t->leader[t->rate_start[i]] && joint_type_rates((joint_type)t->type[k]) == 1)
        a->q[t->q_start[i]] = t->factor[t->rate_start[i]] * a->q[t->q_start[k]] + t->offset[t->rate_start[i]];
}

/* ---- loops, outside, and whether it can move ------------------------------------------------------------------------- */

static PetscErrorCode take_loops(const builder *b, articulated_body *a)
{
  const key_list *list = &b->spec->loops;
  PetscFunctionBegin;
  PetscCall(memory_alloc("loops", 3 * list->n, sizeof *a->pin, &a->pin));
  for (int i = 0; i < list->n; ++i) {
    const articulated_loop_spec *s = list->item[i].value;
    const document_node         *node = list->item[i].node;
    char                         path[300];
    int                          side[2];
    const char *const            name[2] = {s->one, s->other}, *const key[2] = {"one", "other"};
    (void)snprintf(path, sizeof path, "%.200s.loops[%d]", b->r->path, i);
    for (int k = 0; k < 2; ++k) {
      const bool is_world = !name[k] || strcmp(name[k], "world") == 0;
      const int  listed   = is_world ? -1 : find_link(b, name[k]);
      side[k]             = in_tree(b, listed);
      if (listed == -2) diagnostics_add_under(b->d, node, path, key[k], "no link is called \"%s\"", name[k]);
    }
    if (side[0] == side[1]) diagnostics_add_under(b->d, node, path, "other", "holds a link to itself: name two");
    const bool has_axis = isfinite(s->axis[0]);
    if (s->type == LOOP_REVOLUTE && !has_axis) diagnostics_add_under(b->d, node, path, NULL, "missing required key \"axis\"");
    if (s->type != LOOP_REVOLUTE && has_axis) diagnostics_add_under(b->d, node, path, "axis", "is of type: revolute alone; leave it out");
    if (has_axis && !(v3_norm(s->axis) > 0.0)) diagnostics_add_under(b->d, node, path, "axis", "must not be the zero vector");
    else {
      static const double up[3] = {0, 0, 1};
      double              axes[9];
      articulated_axes(has_axis ? s->axis : up, axes);
      const int n = s->type == LOOP_BALL ? 1 : s->type == LOOP_REVOLUTE ? 2 : 3;
      for (int k = 0; k < n; ++k) { /* about the place, as far apart as the whole is wide */
        articulated_pin *pin = &a->pin[a->n_pins++];
        *pin                 = (articulated_pin){.one = side[0], .other = side[1]};
        v3_copy(pin->X, s->at);
        if (n == 2) v3_axpy(pin->X, k == 0 ? 0.5 * a->size : -0.5 * a->size, axes);
        if (n == 3) v3_axpy(pin->X, 0.5 * a->size, axes + 3 * k);
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode take_wrenches(const builder *b, articulated_body *a)
{
  PetscFunctionBegin;
  for (int i = 0; i < a->tree.n; ++i) {
    const key_item              *item = link_at(b, i);
    const articulated_link_spec *s    = item->value;
    const key_list *const        list[2] = {&s->force, &s->torque};
    expression **const           to[2]   = {a->link[i]->force, a->link[i]->torque};
    static const char *const     key[2]  = {"force", "torque"};
    for (int e = 0; e < 2; ++e) {
      if (list[e]->n != 0 && list[e]->n != 3) COMPLAIN_LINK(b, item, key[e], "expected three expressions, got %d", list[e]->n);
      for (int k = 0; k < 3 && list[e]->n == 3; ++k)
        PetscCall(compile(b, item->node, place_of(b, "links", item->name), key[e], list[e]->item[k].value, &to[e][k]));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static double reach(const articulated_body *a)
{
  const articulated_tree *t = &a->tree;
  double                  most = 0.0, d[3];
  for (int i = 0; i < t->n; ++i) {
    v3_sub(d, t->center + 3 * i, t->anchor);
    most = fmax(most, v3_norm(d) + (a->link[i]->has_shape ? a->link[i]->rigid.radius : 0.0));
    v3_sub(d, t->anchor + 3 * i, t->anchor);
    most = fmax(most, v3_norm(d));
  }
  return most > 0.0 ? most : 1.0;
}

/* The joint of which no mass is moved by its rates, those before it given. */
static void check_mass(const builder *b, articulated_body *a)
{
  articulated_tree *t = &a->tree;
  const int         n = t->n_v;
  double           *A = a->H;
  articulated_tree_mass_matrix(t, a->R0, a->p0, a->S, a->M);
  memcpy(A, a->M, (size_t)(n * n) * sizeof *A);
  for (int k = n - 1; k >= 0; --k) { /* from the tips, so that what is blamed is at the tip */
    if (!(A[(n + 1) * k] > 1e-12 * a->M[(n + 1) * k]) || !isfinite(a->M[(n + 1) * k])) {
      int i = 0;
      while (t->rate_start[i] == t->rate_start[i + 1] || t->dof[t->rate_start[i + 1] - 1] < k) ++i;
      COMPLAIN_JOINT(b, joint_at(b, i), NULL, "moves no mass: link \"%s\" and what hangs on it have no mass or moment of inertia that its motion could meet", joint_at(b, i)->s.child);
      return;
    }
    for (int r = 0; r < k; ++r)
      for (int c = 0; c < k; ++c) A[n * r + c] -= A[n * r + k] * A[n * k + c] / A[(n + 1) * k];
  }
}

/* Loops are closed where the joints begin. */
static void check_loops(const builder *b, const articulated_body *a)
{
  for (int i = 0; i < a->n_pins; ++i) {
    const articulated_pin *p = &a->pin[i];
    double                 x[2][3], gap[3];
    const int              side[2] = {p->one, p->other};
    for (int k = 0; k < 2; ++k) {
      v3_copy(x[k], p->X);
      if (side[k] < 0) continue;
      m3_mulv(x[k], a->R0 + 9 * side[k], p->X);
      v3_axpy(x[k], 1.0, a->p0 + 3 * side[k]);
    }
    v3_sub(gap, x[0], x[1]);
    if (v3_norm(gap) <= 1e-6 * a->size) continue;
    diagnostics_add_under(b->d, b->r->node, b->r->path, "loops", "are drawn closed, but the positions that joints begin with tear them by %g m: give positions that fit", v3_norm(gap));
    return;
  }
}

/* ---- all of it ------------------------------------------------------------------------------------------------------- */

static PetscErrorCode make_room(articulated_body *a)
{
  const int     n = a->tree.n, n_v = a->tree.n_v;
  const int64_t square = (int64_t)n_v * n_v;
  PetscFunctionBegin;
  const struct {
    double **array;
    int64_t  n;
  } room[] = {{&a->q, a->tree.n_q}, {&a->q1, a->tree.n_q}, {&a->v, n_v}, {&a->torque, n_v}, {&a->tau, n_v}, {&a->bias, n_v}, {&a->u, 3 * n}, {&a->w, 3 * n}, {&a->L, 3 * n}, {&a->push, 3 * n},
              {&a->R0, 9 * n}, {&a->R1, 9 * n}, {&a->p0, 3 * n}, {&a->p1, 3 * n}, {&a->c0, 3 * n}, {&a->F, 6 * n}, {&a->S, 6 * a->tree.n_rates}, {&a->M, square}, {&a->H, square},
              {&a->J, 3 * n_v}, {&a->Jp, 3 * n_v}, {&a->prescribed_velocity, n_v}};
  for (size_t k = 0; k < sizeof room / sizeof *room; ++k) PetscCall(memory_alloc("articulated body", room[k].n, sizeof(double), room[k].array));
  PetscCall(memory_alloc("articulated body", n_v, sizeof(int64_t), &a->prescribed));
  PetscCall(memory_alloc("articulated body", n_v, sizeof *a->axis, &a->axis));
  PetscCall(memory_alloc("articulated body", n_v, sizeof(int), &a->q_of));
  for (int k = 0; k < n_v; ++k)
    a->q_of[k] = -1, a->axis[k] = (articulated_axis){.lower = -INFINITY, .upper = INFINITY, .effort = INFINITY, .max_rate = INFINITY};
  a->n_links = n, a->n_q = a->tree.n_q, a->n_v = n_v;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode build_tree(builder *b, articulated_body *a)
{
  const int n = b->links.n;
  int      *type;
  PetscFunctionBegin;
  PetscCall(memory_alloc("links", n, sizeof(int), &type));
  for (int i = 0; i < n; ++i) type[i] = joint_at(b, i)->s.type;
  const PetscErrorCode code = articulated_tree_create(n, type, &a->tree);
  memory_free(&type);
  PetscCall(code);
  PetscCall(memory_alloc("links", n, sizeof *a->link, &a->link));
  PetscCall(memory_alloc("links", n, sizeof *a->names, &a->names));
  PetscCall(memory_alloc("links", n, sizeof *a->part, &a->part));
  for (int i = 0; i < n; ++i) a->tree.parent[i] = in_tree(b, joint_at(b, i)->parent);
  for (int i = 0; i < n; ++i) PetscCall(make_link(b, a, i));
  for (int i = 0; i < n; ++i) {
    place_joint(b, a, i);
    check_joint(b, joint_at(b, i));
    if (joint_at(b, i)->s.mimic && joint_type_rates((joint_type)a->tree.type[i]) == 1) follow(b, a, i);
  }
  articulated_tree_number(&a->tree);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode build(builder *b, articulated_body *a)
{
  PetscFunctionBegin;
  PetscCall(take_model(b, &a->urdf));
  if (is_wrong(b)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(order_links(b));
  if (is_wrong(b)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(build_tree(b, a));
  if (is_wrong(b)) PetscFunctionReturn(PETSC_SUCCESS);
  if (a->tree.n_v == 0) diagnostics_add_under(b->d, b->r->node, b->r->path, NULL, "has no joint that moves: draw it as a body of kind static");
  if (a->tree.n_rates > ARTICULATED_MAX_RATES || a->tree.n_q > ARTICULATED_MAX_POSITIONS)
    diagnostics_add_under(b->d, b->r->node, b->r->path, NULL, "has %d degrees of freedom: at most %d", a->tree.n_rates, ARTICULATED_MAX_RATES);
  if (is_wrong(b)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(make_room(a));
  for (int i = 0; i < a->tree.n; ++i)
    if (joint_type_rates((joint_type)a->tree.type[i]) == 1) PetscCall(set_axis(b, a, i));
  for (int i = 0; i < a->tree.n; ++i)
    if (a->tree.type[i] == JOINT_BALL && isfinite(joint_at(b, i)->s.damping))
      for (int k = a->tree.rate_start[i]; k < a->tree.rate_start[i + 1]; ++k) a->axis[a->tree.dof[k]].damping = joint_at(b, i)->s.damping;
  a->size = reach(a);
  PetscCall(take_loops(b, a));
  PetscCall(take_wrenches(b, a));
  if (is_wrong(b)) PetscFunctionReturn(PETSC_SUCCESS);
  set_state(b, a);
  articulated_body_place(a);
  check_mass(b, a);
  check_loops(b, a);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode articulated_body_create(const body_request *r, const body_world *w, diagnostics *d, articulated_body **out)
{
  articulated_body *a;
  builder           b = {.r = r, .w = w, .d = d, .spec = r->spec, .before = diagnostics_count(d)};
  PetscFunctionBegin;
  *out = NULL;
  PetscCall(memory_alloc("articulated body", 1, sizeof *a, &a));
  a->base       = (body){.ops = &articulated_body_ops, .name = r->name};
  a->integrator = b.spec->integrator;
  v3_copy(a->gravity, w->gravity);
  const PetscErrorCode code = build(&b, a);
  memory_free(&b.joints);
  memory_free(&b.order);
  memory_free(&b.joint_of);
  if (code || is_wrong(&b)) articulated_body_destroy(a);
  else *out = a;
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void destroy_link(articulated_link *l)
{
  body *b = &l->rigid.base;
  for (int k = 0; k < 3; ++k) expression_destroy(&l->force[k]), expression_destroy(&l->torque[k]);
  rigid_body_destroy_base(&b); /* frees the whole: the rigid body is its beginning */
}

void articulated_body_destroy(articulated_body *a)
{
  for (int i = 0; i < a->tree.n && a->link; ++i) {
    if (a->link[i]) destroy_link(a->link[i]);
    memory_free(&a->names[i]);
  }
  for (int k = 0; k < a->tree.n_v && a->axis; ++k) {
    expression **const all[] = {&a->axis[k].target, &a->axis[k].rate, &a->axis[k].force, &a->axis[k].motion};
    for (int e = 0; e < 4; ++e) expression_destroy(all[e]);
  }
  void *arrays[] = {&a->link, &a->names, &a->part, &a->axis, &a->pin, &a->q_of, &a->q, &a->q1, &a->v, &a->torque, &a->tau, &a->bias, &a->u, &a->w, &a->L, &a->push, &a->R0, &a->R1,
                    &a->p0, &a->p1, &a->c0, &a->F, &a->S, &a->M, &a->H, &a->J, &a->Jp, &a->prescribed, &a->prescribed_velocity};
  for (size_t k = 0; k < sizeof arrays / sizeof *arrays; ++k) memory_free(arrays[k]);
  articulated_tree_destroy(&a->tree);
  document_destroy(&a->urdf);
  memory_free(&a);
}

/* ---- the kind -------------------------------------------------------------------------------------------------------- */

static PetscErrorCode create(const body_request *r, body_world *w, diagnostics *d, body **out)
{
  articulated_body *a;
  PetscFunctionBegin;
  *out = NULL;
  PetscCall(articulated_body_create(r, w, d, &a));
  if (a) *out = &a->base;
  PetscFunctionReturn(PETSC_SUCCESS);
}

const body_kind        articulated_body_kind = {
           .name = "articulated", .keys = &articulated_body_table, .ops = &articulated_body_ops, .material = BODY_MATERIAL_OPTIONAL, .create = create};
const body_kind articulated_link_kind  = {.name = "link", .ops = &articulated_link_ops, .material = BODY_MATERIAL_OPTIONAL};
const body_kind articulated_frame_kind = {.name = "link", .ops = &articulated_frame_ops, .material = BODY_MATERIAL_OPTIONAL};
