/* Quantities of whole bodies and of points that are fixed to them. */
#include "core/quaternion.h"
#include "discretize/fem/tetrahedra.h"
#include "discretize/nodal/nodal_body.h"
#include "discretize/rigid/rigid_body.h"
#include "discretize/particles/particles.h"
#include "sim/measure/measure_quantity.h"
#include "sim/scene/scene.h"

static PetscErrorCode totals(const measure_moment *now, const measure *k, body_totals *sum)
{
  PetscFunctionBegin;
  if (k->body >= 0) PetscCall(scene_body_totals(now->scene, k->body, sum));
  else PetscCall(scene_totals(now->scene, sum));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Quantities that are one of the totals. */
#define TOTAL(name, expression)                                                          \
  PetscErrorCode measure_##name(const measure_moment *now, measure *k, double *value)    \
  {                                                                                      \
    body_totals sum;                                                                     \
    PetscFunctionBegin;                                                                  \
    PetscCall(totals(now, k, &sum));                                                     \
    *value = expression;                                                                 \
    PetscFunctionReturn(PETSC_SUCCESS);                                                  \
  }
TOTAL(position, measure_along(k, sum.center))
TOTAL(mass, sum.mass)
TOTAL(momentum, measure_along(k, sum.momentum))
TOTAL(angular_momentum, measure_along(k, sum.angular_momentum))
TOTAL(kinetic_energy, sum.kinetic)
TOTAL(elastic_energy, sum.elastic)
TOTAL(potential_energy, sum.potential)
TOTAL(mechanical_energy, sum.kinetic + sum.elastic + sum.potential + now->report->contact.stored_energy)

PetscErrorCode measure_velocity(const measure_moment *now, measure *k, double *value)
{
  body_totals sum;
  double      v[3];
  PetscFunctionBegin;
  PetscCall(totals(now, k, &sum));
  v3_scale(v, 1.0 / sum.mass, sum.momentum);
  *value = measure_along(k, v);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode measure_distance(const measure_moment *now, measure *k, double *value)
{
  body_totals one, other;
  double      d[3];
  PetscFunctionBegin;
  PetscCall(scene_body_totals(now->scene, k->body, &one));
  PetscCall(scene_body_totals(now->scene, k->other, &other));
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
  } else rigid_body_follow(rigid_body_of(b), k->point, x);
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

/* --- turning ------------------------------------------------------------------------------------------------------- */

PetscErrorCode measure_angular_velocity(const measure_moment *now, measure *k, double *value)
{
  *value = measure_along(k, rigid_body_of(measure_body_of(now, k))->w);
  return PETSC_SUCCESS;
}

/* Every body starts unrotated. */
PetscErrorCode measure_rotation(const measure_moment *now, measure *k, double *value)
{
  const rigid_body *b = rigid_body_of(measure_body_of(now, k));
  double            theta[3];
  quaternion_log(theta, b->q);
  *value = measure_along(k, theta);
  return PETSC_SUCCESS;
}

PetscErrorCode measure_tilt(const measure_moment *now, measure *k, double *value)
{
  const rigid_body *b = rigid_body_of(measure_body_of(now, k));
  double            R[9], w[3], c[3];
  quaternion_to_matrix(R, b->q);
  m3_mulv(w, R, k->direction);
  v3_cross(c, k->direction, w);
  *value = atan2(v3_norm(c), v3_dot(k->direction, w));
  return PETSC_SUCCESS;
}

/* --- the fastest --------------------------------------------------------------------------------------------------- */

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
  const particles     *p     = particles_of(b);
  body_nodes           nodes = {0};
  double               most  = 0.0; /* of the square */
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
    if (k->body == b || (k->body < 0 && body_system(now->scene->bodies[b].body))) *value = fmax(*value, fastest_in(now->scene->bodies[b].body));
  return PETSC_SUCCESS;
}
