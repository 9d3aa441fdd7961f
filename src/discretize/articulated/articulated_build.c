/* An articulated body from what a job, or a URDF, says of it. */
#include "core/math3.h"
#include "core/memory.h"
#include "discretize/articulated/articulated_build.h"
#include "discretize/body_kinds.h"
#include <string.h>

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

static PetscErrorCode make_room(articulated_body *a)
{
  const int     n = a->tree.n, n_v = a->tree.n_v;
  const int64_t square = (int64_t)n_v * n_v;
  PetscFunctionBegin;
  const struct {
    double **array;
    int64_t  n;
  } room[] = {{&a->q, a->tree.n_q},
              {&a->q1, a->tree.n_q},
              {&a->v, n_v},
              {&a->torque, n_v},
              {&a->tau, n_v},
              {&a->bias, n_v},
              {&a->u, 3 * n},
              {&a->w, 3 * n},
              {&a->L, 3 * n},
              {&a->push, 3 * n},
              {&a->R0, 9 * n},
              {&a->R1, 9 * n},
              {&a->p0, 3 * n},
              {&a->p1, 3 * n},
              {&a->c0, 3 * n},
              {&a->F, 6 * n},
              {&a->S, 6 * a->tree.n_rates},
              {&a->M, square},
              {&a->H, square},
              {&a->J, 3 * n_v},
              {&a->Jp, 3 * n_v},
              {&a->prescribed_velocity, n_v}};
  for (size_t k = 0; k < sizeof room / sizeof *room; ++k)
    PetscCall(memory_alloc("articulated body", room[k].n, sizeof(double), room[k].array));
  PetscCall(memory_alloc("articulated body", n_v, sizeof(int64_t), &a->prescribed));
  PetscCall(memory_alloc("articulated body", n_v, sizeof *a->axis, &a->axis));
  PetscCall(memory_alloc("articulated body", n_v, sizeof(int), &a->q_of));
  for (int k = 0; k < n_v; ++k)
    a->q_of[k] = -1,
    a->axis[k] = (articulated_axis){.lower = -INFINITY, .upper = INFINITY, .effort = INFINITY, .max_rate = INFINITY};
  a->n_links = n, a->n_q = a->tree.n_q, a->n_v = n_v;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode build_tree(articulated_builder *b, articulated_body *a)
{
  const int n = b->links.n;
  int      *type;
  PetscFunctionBegin;
  PetscCall(memory_alloc("links", n, sizeof(int), &type));
  for (int i = 0; i < n; ++i) type[i] = articulated_build_joint_at(b, i)->s.type;
  const PetscErrorCode code = articulated_tree_create(n, type, &a->tree);
  memory_free(&type);
  PetscCall(code);
  PetscCall(memory_alloc("links", n, sizeof *a->link, &a->link));
  PetscCall(memory_alloc("links", n, sizeof *a->names, &a->names));
  PetscCall(memory_alloc("links", n, sizeof *a->joints, &a->joints));
  PetscCall(memory_alloc("links", n, sizeof *a->part, &a->part));
  for (int i = 0; i < n; ++i) a->tree.parent[i] = articulated_build_in_tree(b, articulated_build_joint_at(b, i)->parent);
  for (int i = 0; i < n; ++i) PetscCall(articulated_build_make_link(b, a, i));
  for (int i = 0; i < n; ++i) {
    articulated_build_place_joint(b, a, i);
    articulated_build_check_course(b, articulated_build_joint_at(b, i));
    articulated_build_check_joint(b, articulated_build_joint_at(b, i));
    if (articulated_build_joint_at(b, i)->s.mimic && joint_type_rates((joint_type)a->tree.type[i]) == 1)
      articulated_build_follow(b, a, i);
  }
  articulated_tree_number(&a->tree);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode build(articulated_builder *b, articulated_body *a)
{
  PetscFunctionBegin;
  PetscCall(articulated_build_take_model(b, &a->urdf));
  if (articulated_build_is_wrong(b)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(articulated_build_take_trajectory(b));
  PetscCall(articulated_build_order_links(b));
  if (articulated_build_is_wrong(b)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(build_tree(b, a));
  if (articulated_build_is_wrong(b)) PetscFunctionReturn(PETSC_SUCCESS);
  if (a->tree.n_v == 0)
    diagnostics_add_under(b->d, b->r->node, b->r->path, NULL, "has no joint that moves: draw it as a body of kind static");
  if (a->tree.n_rates > ARTICULATED_MAX_RATES || a->tree.n_q > ARTICULATED_MAX_POSITIONS)
    diagnostics_add_under(b->d, b->r->node, b->r->path, NULL, "has %d degrees of freedom: at most %d", a->tree.n_rates,
                          ARTICULATED_MAX_RATES);
  if (articulated_build_is_wrong(b)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(make_room(a));
  for (int i = 0; i < a->tree.n; ++i)
    if (joint_type_rates((joint_type)a->tree.type[i]) == 1) PetscCall(articulated_build_set_axis(b, a, i));
  for (int i = 0; i < a->tree.n; ++i)
    if (a->tree.type[i] == JOINT_BALL && isfinite(articulated_build_joint_at(b, i)->s.damping))
      for (int k = a->tree.rate_start[i]; k < a->tree.rate_start[i + 1]; ++k)
        a->axis[a->tree.dof[k]].damping = articulated_build_joint_at(b, i)->s.damping;
  a->size = reach(a);
  PetscCall(articulated_build_take_loops(b, a));
  PetscCall(articulated_constraints_create(a));
  PetscCall(articulated_build_take_wrenches(b, a));
  if (articulated_build_is_wrong(b)) PetscFunctionReturn(PETSC_SUCCESS);
  articulated_build_set_state(b, a);
  articulated_body_place(a);
  articulated_build_check_mass(b, a);
  articulated_build_check_loops(b, a);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode articulated_body_create(const body_request *r, const body_world *w, diagnostics *d, articulated_body **out)
{
  articulated_body *a;
  articulated_builder           b = {.r = r, .w = w, .d = d, .spec = r->spec, .before = diagnostics_count(d)};
  PetscFunctionBegin;
  *out = NULL;
  PetscCall(memory_alloc("articulated body", 1, sizeof *a, &a));
  a->base       = (body){.ops = &articulated_body_ops, .name = r->name};
  a->integrator = b.spec->integrator;
  v3_copy(a->gravity, w->gravity);
  const PetscErrorCode code = build(&b, a);
  for (int k = 0; k < b.n_joints; ++k) expression_destroy(&b.joints[k].course);
  memory_free(&b.joints);
  memory_free(&b.order);
  memory_free(&b.joint_of);
  if (code || articulated_build_is_wrong(&b)) articulated_body_destroy(a);
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
    if (a->joints) memory_free(&a->joints[i]);
  }
  for (int k = 0; k < a->tree.n_v && a->axis; ++k) {
    expression **const all[] = {&a->axis[k].target, &a->axis[k].rate, &a->axis[k].force, &a->axis[k].motion};
    for (int e = 0; e < 4; ++e) expression_destroy(all[e]);
  }
  void *arrays[] = {&a->link,
                    &a->names,
                    &a->joints,
                    &a->part,
                    &a->axis,
                    &a->pin,
                    &a->q_of,
                    &a->q,
                    &a->q1,
                    &a->v,
                    &a->torque,
                    &a->tau,
                    &a->bias,
                    &a->feed,
                    &a->motor,
                    &a->pin_at,
                    &a->law,
                    &a->row_start,
                    &a->row_dof,
                    &a->row_value,
                    &a->u,
                    &a->w,
                    &a->L,
                    &a->push,
                    &a->R0,
                    &a->R1,
                    &a->p0,
                    &a->p1,
                    &a->c0,
                    &a->F,
                    &a->S,
                    &a->M,
                    &a->H,
                    &a->J,
                    &a->Jp,
                    &a->prescribed,
                    &a->prescribed_velocity};
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

const body_kind articulated_body_kind  = {.name     = "articulated",
                                          .keys     = &articulated_body_table,
                                          .ops      = &articulated_body_ops,
                                          .material = BODY_MATERIAL_OPTIONAL,
                                          .create   = create};
const body_kind articulated_link_kind  = {.name = "link", .ops = &articulated_link_ops, .material = BODY_MATERIAL_OPTIONAL};
const body_kind articulated_frame_kind = {.name = "link", .ops = &articulated_frame_ops, .material = BODY_MATERIAL_OPTIONAL};
