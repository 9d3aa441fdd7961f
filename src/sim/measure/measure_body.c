/* Quantities of whole bodies and their points, of joints, of errors against given expressions, and of the continuum's pressure. */
#include "core/quaternion.h"
#include "discretize/articulated/articulated_body.h"
#include "discretize/body/body.h"
#include "discretize/body_kinds.h"
#include "discretize/fem/tetrahedra.h"
#include "discretize/fem/tetrahedra_error.h"
#include "discretize/nodal/nodal_body.h"
#include "discretize/particles/particles.h"
#include "discretize/rigid/rigid_body.h"
#include "sim/measure/measure_quantity.h"
#include "sim/scene/scene.h"

static PetscErrorCode totals(const measure_moment *now, const measure *k, body_totals *sum)
{
  PetscFunctionBegin;
  if (k->body >= 0) PetscCall(scene_bodies_totals(now->scene, k->bodies, sum));
  else PetscCall(scene_totals(now->scene, sum));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Quantities that are members of body_totals. */
#define TOTAL(name, expression)                                                                                                            \
  PetscErrorCode measure_##name(const measure_moment *now, measure *k, double *value)                                                      \
  {                                                                                                                                        \
    body_totals sum;                                                                                                                       \
    PetscFunctionBegin;                                                                                                                    \
    PetscCall(totals(now, k, &sum));                                                                                                       \
    *value = expression;                                                                                                                   \
    PetscFunctionReturn(PETSC_SUCCESS);                                                                                                    \
  }
TOTAL(position, measure_along(k, sum.center))
TOTAL(mass, sum.mass)
TOTAL(momentum, measure_along(k, sum.momentum))
TOTAL(angular_momentum, measure_along(k, sum.angular_momentum))
TOTAL(kinetic_energy, sum.kinetic)
TOTAL(elastic_energy, sum.elastic)
TOTAL(potential_energy, sum.potential)
TOTAL(mechanical_energy, sum.kinetic + sum.elastic + sum.potential + now->report->contact.contact_energy)

PetscErrorCode measure_velocity(const measure_moment *now, measure *k, double *value)
{
  body_totals sum;
  double      v[3];
  PetscFunctionBegin;
  PetscCall(totals(now, k, &sum));
  if (!(sum.mass > 0.0)) PetscFunctionReturn(PETSC_SUCCESS); /* not yet released */
  v3_scale(v, 1.0 / sum.mass, sum.momentum);
  *value = measure_along(k, v);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode measure_distance(const measure_moment *now, measure *k, double *value)
{
  body_totals one, other;
  double      d[3];
  PetscFunctionBegin;
  PetscCall(scene_bodies_totals(now->scene, k->bodies, &one));
  PetscCall(scene_bodies_totals(now->scene, k->others, &other));
  v3_sub(d, other.center, one.center);
  *value = measure_along(k, d);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- points -------------------------------------------------------------------------------------------------------- */

PetscErrorCode measure_point(const measure_moment *now, measure *k, double *value)
{
  body      *b = measure_body_of(now, k);
  body_nodes nodes;
  double     x[3];
  if (b->ops->nodes) {
    b->ops->nodes(b, &nodes);
    v3_copy(x, nodes.x + 3 * k->node);
  } else rigid_body_current_point(rigid_body_of(b), k->point, x);
  *value = measure_along(k, x);
  return PETSC_SUCCESS;
}

PetscErrorCode measure_stress(const measure_moment *now, measure *k, double *value)
{
  double sigma[9], traction[3];
  if (tetrahedra_stress(nodal_body_of(measure_body_of(now, k)), k->node, sigma)) {
    m3_mulv(traction, sigma, k->direction);
    *value = v3_dot(k->direction, traction);
  }
  return PETSC_SUCCESS;
}

/* --- rotation ------------------------------------------------------------------------------------------------------ */

PetscErrorCode measure_angular_velocity(const measure_moment *now, measure *k, double *value)
{
  *value = measure_along(k, rigid_body_of(measure_body_of(now, k))->w);
  return PETSC_SUCCESS;
}

PetscErrorCode measure_rotation(const measure_moment *now, measure *k, double *value)
{
  const rigid_body *b = rigid_body_of(measure_body_of(now, k));
  double            q[4], theta[3];
  rigid_body_rotation(b, q);
  quaternion_log(theta, q);
  *value = measure_along(k, theta);
  return PETSC_SUCCESS;
}

PetscErrorCode measure_tilt(const measure_moment *now, measure *k, double *value)
{
  const rigid_body *b = rigid_body_of(measure_body_of(now, k));
  double            q[4], R[9], w[3], c[3];
  rigid_body_rotation(b, q);
  quaternion_to_matrix(R, q);
  m3_mulv(w, R, k->direction);
  v3_cross(c, k->direction, w);
  *value = atan2(v3_norm(c), v3_dot(k->direction, w));
  return PETSC_SUCCESS;
}

/* --- maximum speed ------------------------------------------------------------------------------------------------- */

static double fastest_vertex(const rigid_body *b)
{
  double R[9], most = v3_norm(b->v);
  quaternion_to_matrix(R, b->q);
  for (int64_t i = 0; b->surface && i < b->surface->n_vertices; ++i) {
    double arm[3], v[3];
    m3_mulv(arm, R, b->surface->x + 3 * i);
    v3_cross(v, b->w, arm);
    v3_axpy(v, 1.0, b->v);
    most = fmax(most, v3_norm(v));
  }
  return most;
}

static double fastest_in(body *b)
{
  const particles *p     = particles_of(b);
  body_nodes       nodes = {0};
  double           most  = 0.0; /* of the square */
  if (b->ops->nodes) b->ops->nodes(b, &nodes);
  if (rigid_body_of(b)) return fastest_vertex(rigid_body_of(b));
  for (int64_t i = 0; p && i < p->n; ++i) most = fmax(most, p->v[0][i] * p->v[0][i] + p->v[1][i] * p->v[1][i] + p->v[2][i] * p->v[2][i]);
  for (int64_t i = 0; i < nodes.n; ++i) most = fmax(most, v3_dot(nodes.v + 3 * i, nodes.v + 3 * i));
  return sqrt(most);
}

PetscErrorCode measure_max_speed(const measure_moment *now, measure *k, double *value)
{
  *value = 0.0;
  for (int b = 0; b < now->scene->n_bodies; ++b)
    if (!now->scene->bodies[b].body->is_waiting &&
        (body_range_has(k->bodies, b) || (k->body < 0 && body_system(now->scene->bodies[b].body))))
      *value = fmax(*value, fastest_in(now->scene->bodies[b].body));
  return PETSC_SUCCESS;
}

/* ==== joints ==== */

/* Quantities of the joints of articulated bodies; a joint is identified by the link that it carries. */
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
  const articulated_body *b  = tree_of(now, k, &i);
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

/* All forces on the bodies beyond the joint act through it, except contacts. */
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

/* ==== errors against expressions ==== */

/* Deviation of a body from a known solution that is given as expressions. */
static PetscErrorCode error_of(const measure_moment *now, const measure *k, bool is_velocity, double *value)
{
  const scene_body *b = &now->scene->bodies[k->body];
  const double      t = now->clock.time;
  PetscFunctionBegin;
  if (b->kind == &fem_body_kind)
    PetscCall(tetrahedra_error(nodal_body_of(b->body), k->expected, t, is_velocity ? TETRAHEDRA_VELOCITY : TETRAHEDRA_DISPLACEMENT, value));
  else if (b->body->ops->nodes) *value = body_nodes_error(b->body, k->expected, t, is_velocity);
  else *value = particle_origins_error(particles_of(b->body), k->expected, t, is_velocity);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode measure_velocity_error(const measure_moment *now, measure *k, double *value)
{
  PetscFunctionBegin;
  PetscCall(error_of(now, k, true, value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode measure_displacement_error(const measure_moment *now, measure *k, double *value)
{
  PetscFunctionBegin;
  PetscCall(error_of(now, k, false, value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode measure_gradient_error(const measure_moment *now, measure *k, double *value)
{
  PetscFunctionBegin;
  PetscCall(tetrahedra_error(nodal_body_of(measure_body_of(now, k)), k->expected, now->clock.time, TETRAHEDRA_GRADIENT, value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ==== continuum ==== */

/* Quantities of a continuum with a pressure solver. */
PetscErrorCode measure_pressure(const measure_moment *now, measure *k, double *value)
{
  *value = now->formulation->ops->pressure ? now->formulation->ops->pressure(now->formulation, k->point) : NAN;
  return PETSC_SUCCESS;
}
