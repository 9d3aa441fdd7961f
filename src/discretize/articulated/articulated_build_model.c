/* Links and joints of an articulated body, as a job or a URDF lists them, and the tree they make. */
#include "core/math3.h"
#include "core/memory.h"
#include "core/quaternion.h"
#include "discretize/articulated/articulated_build.h"
#include "discretize/articulated/articulated_urdf.h"
#include <string.h>

int articulated_build_find_link(const articulated_builder *b, const char *name)
{
  for (int i = 0; i < b->links.n; ++i)
    if (strcmp(b->links.item[i].name, name) == 0) return i;
  return -2;
}

static const char *nearest_link(const articulated_builder *b, const char *name)
{
  const char *names[256];
  int         n = 0;
  for (; n < b->links.n && n < 256; ++n) names[n] = b->links.item[n].name;
  return diagnostics_nearest(name, n, names);
}

static int resolve(const articulated_builder *b, const built_joint *j, const char *key, const char *name)
{
  if (!name || strcmp(name, "world") == 0) return -1;
  const int i = articulated_build_find_link(b, name);
  if (i >= 0) return i;
  const char *nearest = nearest_link(b, name);
  COMPLAIN_JOINT(b, j, key, "no link is called \"%s\"%s%s%s", name, nearest ? "; did you mean \"" : "", nearest ? nearest : "",
                 nearest ? "\"?" : "; define it under links:");
  return i;
}

/* What the job says of a joint of its URDF. */
static void add_to(const articulated_builder *b, built_joint *j, const key_item *item)
{
  static const char *const fixed[] = {"type", "parent", "child", "at", "axis"};
  const articulated_joint_spec *x  = item->value;
  j->added                         = item->node;
  for (size_t k = 0; k < sizeof fixed / sizeof *fixed; ++k)
    if (document_find(item->node, fixed[k]))
      COMPLAIN_JOINT(b, j, fixed[k], "joint \"%s\" is of the urdf, which says so: leave it out", j->name);
  double *const       to[]   = {&j->s.position, &j->s.rate,     &j->s.lower,  &j->s.upper,
                                &j->s.damping,  &j->s.friction, &j->s.effort, &j->s.max_rate};
  const double *const from[] = {&x->position, &x->rate, &x->lower, &x->upper, &x->damping, &x->friction, &x->effort, &x->max_rate};
  for (size_t k = 0; k < sizeof to / sizeof *to; ++k)
    if (isfinite(*from[k])) *to[k] = *from[k];
  if (isfinite(x->velocity[0])) v3_copy(j->s.velocity, x->velocity);
  if (isfinite(x->angular_velocity[0])) v3_copy(j->s.angular_velocity, x->angular_velocity);
  if (x->motion) j->s.motion = x->motion;
  if (x->drive) j->s.drive = x->drive;
  if (x->mimic) j->s.mimic = x->mimic;
}

static PetscErrorCode take_joints(articulated_builder *b, const key_list *list, const key_list *added)
{
  PetscFunctionBegin;
  PetscCall(memory_alloc("joints", list->n, sizeof *b->joints, &b->joints));
  for (int k = 0; k < list->n; ++k) {
    built_joint *j = &b->joints[b->n_joints++];
    *j             = (built_joint){
                    .s    = *(const articulated_joint_spec *)list->item[k].value,
                     .name = list->item[k].name,
                     .node = list->item[k].node};
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
    diagnostics_add_under(b->d, added->item[k].node, articulated_build_place_of(b, "joints", added->item[k].name).text, NULL,
                          "the urdf has no such joint%s%s%s", nearest ? "; did you mean \"" : "", nearest ? nearest : "",
                          nearest ? "\"?" : "");
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode read_urdf(articulated_builder *b, document **doc)
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
  PetscCall(
      articulated_urdf_read(s->urdf, c, R, s->base == URDF_BASE_FREE ? "free" : "fixed", b->r->node, b->r->path, b->d, doc, &node));
  if (!node) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(key_table_read(&articulated_model_table, *doc, node, b->r->path, b->d, (const void **)&model));
  b->links = model->links;
  PetscCall(take_joints(b, &model->joints, &s->joints));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode articulated_build_take_model(articulated_builder *b, document **doc)
{
  static const char *const of_urdf[] = {"base", "translate", "rotate_deg", "axis"};
  const document_node     *node = b->r->node;
  PetscFunctionBegin;
  if (b->spec->urdf) {
    if (b->spec->links.n > 0)
      diagnostics_add_under(b->d, node, b->r->path, "links", "cannot stand beside urdf, which has them: leave out one of them");
    else PetscCall(read_urdf(b, doc));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (size_t k = 0; k < sizeof of_urdf / sizeof *of_urdf; ++k)
    if (document_find(node, of_urdf[k]))
      diagnostics_add_under(b->d, node, b->r->path, of_urdf[k],
                            "is of a urdf, and there is none: links are drawn where they are; leave it out");
  if (b->spec->links.n == 0)
    diagnostics_add_under(b->d, node, b->r->path, NULL, "has no links: give `links` and `joints`, or `urdf`");
  b->links = b->spec->links;
  PetscCall(take_joints(b, &b->spec->joints, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the tree -------------------------------------------------------------------------------------------------------- */

/* Who hangs on whom: one joint for each link, no loops; links in an order in which parents come first. */
PetscErrorCode articulated_build_order_links(articulated_builder *b)
{
  int n = 0;
  PetscFunctionBegin;
  PetscCall(memory_alloc("links", b->links.n, sizeof(int), &b->order));
  PetscCall(memory_alloc("links", b->links.n, sizeof(int), &b->joint_of));
  for (int i = 0; i < b->links.n; ++i) b->joint_of[i] = -1;
  for (int k = 0; k < b->n_joints; ++k) {
    built_joint *j = &b->joints[k];
    if (j->s.type < 0) COMPLAIN_JOINT(b, j, NULL, "missing required key \"type\"");
    if (!j->s.child) COMPLAIN_JOINT(b, j, NULL, "missing required key \"child\": the link that it carries");
    j->parent = resolve(b, j, "parent", j->s.parent);
    j->child  = j->s.child ? resolve(b, j, "child", j->s.child) : -2;
    if (j->s.child && j->child == -1) COMPLAIN_JOINT(b, j, "child", "the world hangs on nothing: name a link");
    if (j->child < 0) continue;
    if (b->joint_of[j->child] >= 0)
      COMPLAIN_JOINT(b, j, "child", "link \"%s\" hangs on joint \"%s\" already: a tree has one for each; close loops under `loops`",
                     j->s.child, b->joints[b->joint_of[j->child]].name);
    else b->joint_of[j->child] = k;
  }
  if (articulated_build_is_wrong(b)) PetscFunctionReturn(PETSC_SUCCESS);
  for (int i = 0; i < b->links.n; ++i)
    if (b->joint_of[i] < 0)
      COMPLAIN_LINK(b, &b->links.item[i], NULL, "no joint carries it: give one with child: %s, of type free if nothing holds it",
                    b->links.item[i].name);
  if (articulated_build_is_wrong(b)) PetscFunctionReturn(PETSC_SUCCESS);
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
    const built_joint *j = &b->joints[b->joint_of[i]];
    COMPLAIN_JOINT(b, j, "parent",
                   "link \"%s\" hangs on itself by way of \"%s\": joints must make a tree; close loops under `loops`", j->s.child,
                   j->s.parent);
    break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Number of a listed link in the tree. */
int articulated_build_in_tree(const articulated_builder *b, int listed)
{
  for (int i = 0; i < b->links.n && listed >= 0; ++i)
    if (b->order[i] == listed) return i;
  return -1;
}

const built_joint *articulated_build_joint_at(const articulated_builder *b, int i) { return &b->joints[b->joint_of[b->order[i]]]; }
const key_item *articulated_build_link_at(const articulated_builder *b, int i) { return &b->links.item[b->order[i]]; }
