/* Links of an articulated body: shape, mass, what is applied. */
#include "core/eigen3.h"
#include "core/math3.h"
#include "core/memory.h"
#include "discretize/articulated/articulated_build.h"
#include <string.h>

/* Second moments that mass can have: none negative, none above the sum of the others. */
static void check_inertia(const articulated_builder *b, const key_item *item, double m, const double I6[9])
{
  double moment[3], Q[9];
  eigen3_symmetric(I6, moment, Q);
  const double slack = 1e-9 * fabs(moment[0]);
  if (moment[2] < -slack || moment[0] > moment[1] + moment[2] + slack)
    COMPLAIN_LINK(b, item, "inertia",
                  "no body has these principal moments (%g, %g, %g): none may be negative, nor above the sum of the others",
                  moment[0], moment[1], moment[2]);
  if (m == 0.0 && moment[0] > 0.0) COMPLAIN_LINK(b, item, "inertia", "a link without mass has none: leave it out, or give a mass");
}

/* Shape, mass and centre of link i. */
static PetscErrorCode build_link(const articulated_builder *b, articulated_body *a, int i)
{
  const key_item              *item = articulated_build_link_at(b, i);
  const articulated_link_spec *s    = item->value;
  articulated_link            *link = a->link[i];
  double *const                c = a->tree.center + 3 * i, *const moments = a->tree.inertia + 9 * i, *const m = &a->tree.mass[i];
  PetscFunctionBegin;
  const double density = b->r->material ? b->r->material->density : NAN;
  if (s->shape) {
    rigid_body_spec spec = {.material        = "",
                            .shape           = s->shape,
                            .surface_spacing = s->surface_spacing,
                            .contact_surface = s->contact_surface,
                            .mass            = s->mass};
    rigid_body     *r    = NULL;
    if (!isfinite(s->mass) && !isfinite(density)) {
      COMPLAIN_LINK(b, item, NULL, "has no mass: give `mass`, or a `material` of the body");
      PetscFunctionReturn(PETSC_SUCCESS);
    }
    for (int k = 0; k < 3; ++k) spec.inertia[k] = spec.center_of_mass[k] = NAN;
    PetscCall(rigid_body_create(a->names[i], RIGID_DYNAMIC, &spec, density, item->node,
                                articulated_build_place_of(b, "links", item->name).text, b->d, &r));
    if (!r) PetscFunctionReturn(PETSC_SUCCESS);
    link->rigid = *r, link->has_shape = true;
    memory_free(&r); /* its arrays are the link's now */
    *m = link->rigid.mass;
    v3_copy(c, link->rigid.origin);
    m3_copy(moments, link->rigid.inertia);
  } else {
    if (!isfinite(s->mass))
      COMPLAIN_LINK(b, item, NULL, "has neither a shape nor a mass: give one of them, mass: 0 if it only carries others");
    else if (s->mass > 0.0 && !isfinite(s->center_of_mass[0]))
      COMPLAIN_LINK(b, item, NULL, "has a mass but no shape: where is its center_of_mass?");
    *m = s->mass;
  }
  if (isfinite(s->center_of_mass[0])) {
    if (s->shape && !isfinite(s->inertia[0]))
      COMPLAIN_LINK(b, item, "center_of_mass",
                    "says where the mass is, not how it is spread: give `inertia`, about this point, too");
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
PetscErrorCode articulated_build_make_link(const articulated_builder *b, articulated_body *a, int i)
{
  articulated_link *link;
  const char       *joint = articulated_build_joint_at(b, i)->name;
  const size_t      size = strlen(b->r->name) + strlen(articulated_build_link_at(b, i)->name) + 2;
  const size_t      length = strlen(b->r->name) + strlen(joint) + sizeof ", joint \"\"";
  PetscFunctionBegin;
  PetscCall(memory_alloc("links", 1, sizeof *link, &a->link[i]));
  PetscCall(memory_alloc("links", (int64_t)size, 1, &a->names[i]));
  (void)snprintf(a->names[i], size, "%s.%s", b->r->name, articulated_build_link_at(b, i)->name);
  PetscCall(memory_alloc("links", (int64_t)length, 1, &a->joints[i]));
  (void)snprintf(a->joints[i], length, "%s, joint \"%s\"", b->r->name, joint);
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

PetscErrorCode articulated_build_take_wrenches(const articulated_builder *b, articulated_body *a)
{
  PetscFunctionBegin;
  for (int i = 0; i < a->tree.n; ++i) {
    const key_item              *item = articulated_build_link_at(b, i);
    const articulated_link_spec *s    = item->value;
    const key_list *const        list[2] = {&s->force, &s->torque};
    expression **const           to[2]   = {a->link[i]->force, a->link[i]->torque};
    static const char *const     key[2]  = {"force", "torque"};
    for (int e = 0; e < 2; ++e) {
      if (list[e]->n != 0 && list[e]->n != 3) COMPLAIN_LINK(b, item, key[e], "expected three expressions, got %d", list[e]->n);
      for (int k = 0; k < 3 && list[e]->n == 3; ++k)
        PetscCall(articulated_build_compile(b, item->node, articulated_build_place_of(b, "links", item->name), key[e],
                                            list[e]->item[k].value, &to[e][k]));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The joint of which no mass is moved by its rates, those before it given. */
void articulated_build_check_mass(const articulated_builder *b, articulated_body *a)
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
      COMPLAIN_JOINT(b, articulated_build_joint_at(b, i), NULL,
                     "moves no mass: link \"%s\" and what hangs on it have no mass or moment of inertia that its motion could meet",
                     articulated_build_joint_at(b, i)->s.child);
      return;
    }
    for (int r = 0; r < k; ++r)
      for (int c = 0; c < k; ++c) A[n * r + c] -= A[n * r + k] * A[n * k + c] / A[(n + 1) * k];
  }
}
