/* Quantities of the joints of articulated bodies, each meant by the link that it carries. */
#include "discretize/articulated/articulated_body.h"
#include "sim/measure/measure_quantity.h"
#include "sim/scene/scene.h"

static articulated_body *tree_of(const measure_moment *now, const measure *k, int *link)
{
  const articulated_link *l = (const articulated_link *)measure_body_of(now, k);
  *link                     = l->index;
  return l->tree;
}

PetscErrorCode measure_joint_position(const measure_moment *now, measure *k, double *value)
{
  int                     i;
  const articulated_body *b = tree_of(now, k, &i);
  if (joint_type_rates((joint_type)b->tree.type[i]) == 1) *value = b->q[b->tree.q_start[i]];
  return PETSC_SUCCESS;
}

PetscErrorCode measure_joint_velocity(const measure_moment *now, measure *k, double *value)
{
  int                     i;
  const articulated_body *b = tree_of(now, k, &i);
  const int               at = b->tree.rate_start[i];
  if (joint_type_rates((joint_type)b->tree.type[i]) == 1) *value = b->tree.factor[at] * b->v[b->tree.dof[at]];
  return PETSC_SUCCESS;
}

PetscErrorCode measure_joint_torque(const measure_moment *now, measure *k, double *value)
{
  int                     i;
  const articulated_body *b = tree_of(now, k, &i);
  if (joint_type_rates((joint_type)b->tree.type[i]) == 1) *value = b->torque[b->tree.dof[b->tree.rate_start[i]]];
  return PETSC_SUCCESS;
}

/* All that is beyond the joint is pushed through it alone, but for contacts. */
PetscErrorCode measure_joint_force(const measure_moment *now, measure *k, double *value)
{
  int                     link;
  const articulated_body *b        = tree_of(now, k, &link);
  double                  force[3] = {0.0, 0.0, 0.0}, contact[3], moment[3];
  for (int i = link; i < b->tree.n; ++i) {
    int up = i;
    while (up > link) up = b->tree.parent[up];
    if (up != link) continue;
    v3_axpy(force, 1.0, b->push + 3 * i);
    for (int j = 0; now->formulation->forces && j < now->scene->n_bodies; ++j) {
      if (now->scene->bodies[j].body != b->part[i]) continue;
      contact_forces_between(now->formulation->forces, j, -1, contact, moment);
      v3_axpy(force, -1.0, contact);
    }
  }
  *value = measure_along(k, force);
  return PETSC_SUCCESS;
}
